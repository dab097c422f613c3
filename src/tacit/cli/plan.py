"""The work of `tacit plan`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tacit.adapters.functions import POSTGRES, rewrite, sharing_statement
from tacit.adapters.functions.rewriter import EngineName
from tacit.adapters.functions.sharing import SharingDialect
from tacit.answers.forecast.curves import EPSILONS, half_width
from tacit.cli.query import draw, print_answer
from tacit.collection import Collection
from tacit.contract.view_codes import codes_text
from tacit.errors import LayoutError, UnanswerableError, UsageError
from tacit.sql.parse import parse
from tacit.sql.tables import tables_of
from tacit.tables.numbers import number_text

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print the expected answer with its error, or the number of people that an error needs."""
    collection = Collection.from_file(options.file)
    if options.question is None:
        return _likely(collection, options)
    users = 100_000 if options.users is None else options.users
    if options.sql:
        texts = statements(collection, options.question)
        print(json.dumps(texts) if options.json else "\n\n".join(f"-- {name}\n{text}" for name, text in texts.items()))
        return 0
    if options.budgets:
        rows = list(budgets(collection, options.question, users, options.alike, options.confidence))
        print(json.dumps(rows) if options.json else _table(rows, users))
        return 0
    if options.error is not None or options.relative is not None:
        people = collection.predict(options.question, error=options.error, relative=options.relative, like=options.like)
        print(json.dumps({"people": people}) if options.json else f"{people:,} people")
        return 0
    answer = collection.predict(options.question, users=users, like=options.like, confidence=options.confidence)
    print_answer(answer, as_json=options.json)
    if not options.json:
        print(f"codes: {codes_text(collection.contract)}")
        for service in collection.contract.services:
            if service.why:
                print(f"reports of {service.service.name}: {service.why}")
        print(f"verdict: {collection.report(options.question, users=users, like=options.like).verdicts[0].sentence}")
    return 0


def _likely(collection: Collection, options: argparse.Namespace) -> int:
    """Print verdicts on likely questions."""
    if options.sql or options.budgets or options.error is not None or options.relative is not None:
        message = "--sql, --budgets, --error and --relative need a question. Add it after the file."
        raise UsageError(message, code="bad-option")
    forecast = collection.report(users=options.users, like=options.like)
    print(forecast.to_json() if options.json else forecast)
    if options.plot:
        draw(forecast, options.plot)
    return 0


def budgets(
    collection: Collection, question: str, users: int, alike: int | None, confidence: float
) -> Iterator[dict[str, float | None]]:
    """Yield, for some budgets, the local and the central epsilon, and the half width of the first estimate."""
    for epsilon in sorted({*EPSILONS, collection.contract.epsilon}):
        with suppress(LayoutError, UnanswerableError):
            other = collection.with_epsilon(epsilon)
            _, half = half_width(other, question, people=users, confidence=confidence)
            central = other.audit(people=users, alike=alike).central_epsilon
            yield {"local": float(epsilon), "central": central, "half_width": half}


def _table(rows: Sequence[dict[str, float | None]], users: int) -> str:
    """Return the budgets as a table."""
    lines = [f"{users:,} people", f"{'the collector learns':>20} {'readers of answers':>20} {'half width':>14}"]
    for row in rows:
        central = "no less" if row["central"] is None else f"{row['central']:.4g}"
        half = row["half_width"]
        width = "not finite" if half is None or not math.isfinite(half) else number_text(half)
        lines.append(f"{row['local']:>20.6g} {central:>20} {width:>14}")
    return "\n".join(lines)


def statements(collection: Collection, question: str) -> dict[str, str]:
    """Return the statements for each engine: how to encode tables, and how to estimate a question from the reports."""
    texts: dict[str, str] = {}
    service = tables_of(parse(question), question)[0].name
    everybody = next((service.name for service in collection.schema.services if service.one_to_one), "people")
    sharing: tuple[SharingDialect, ...] = ("duckdb", "spark")
    for dialect in sharing:
        for declared in collection.schema.services:
            people = "" if declared.one_to_one else everybody
            text = sharing_statement(
                collection, declared.name, declared.name, f"ldp_{declared.name}", dialect=dialect, people=people
            )
            texts[f"{dialect}: share {declared.name}"] = text + ";"
    texts["postgres: functions"] = POSTGRES.rstrip()
    engines: tuple[EngineName, ...] = ("duckdb", "spark", "postgres")
    for engine in engines:
        texts[f"{engine}: estimate"] = rewrite(collection, question, f"ldp_{service}", dialect=engine) + ";"
    return texts
