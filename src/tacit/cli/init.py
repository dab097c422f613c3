"""The work of `tacit init`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.answers.forecast.verdicts import Forecast
from tacit.cli.query import draw
from tacit.cli.tables import named_tables
from tacit.collection import Collection
from tacit.contract.budget import decimal_text, parse_epsilon
from tacit.errors import UsageError
from tacit.tables.columns import Proposed
from tacit.tables.files import SUFFIXES, stem_of, suffix_of
from tacit.tables.naming import allowed_name
from tacit.tables.proposal import ProposedService, propose_services

__all__ = ["run"]

EXAMPLE = """\
[[services]]
name = "users"
key = "uid"
attributes = [
  { name = "age", low = 0, high = 124 },
  { name = "income", low = 0, high = 200000, cells = 100, outside = "clamp" },
  { name = "state", kind = "categorical", values = ["CA", "NY"], other = "elsewhere", null = true },
  { name = "os", kind = "public" },
]
"""

HEAD = """\
# Everybody who takes part can read this file, so it must not contain secrets: check the bounds and lists of values.
# `tacit plan` predicts the error of a question; `tacit audit` proves how much anyone can learn.
epsilon = {epsilon}              # per person and round, over all services
mechanism = "auto"

"""

FROM_DATA = """\
# Bounds and values below were proposed from the data, and what is read from data can reveal it. Declare what you know
# without the data, and delete these comments, which reveal more about the data, before anybody else reads the file.

"""


def run(options: argparse.Namespace) -> int:
    """Write the file; never overwrite one."""
    path, sources = _arguments(options)
    proposed = propose_services(sources, options.key) if sources else []
    epsilon = decimal_text(parse_epsilon(options.epsilon))
    services = "\n".join(map(_service_text, proposed))
    written = HEAD.format(epsilon=epsilon) + (FROM_DATA + services if proposed else EXAMPLE)
    collection = Collection.from_toml(written)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(written)
    except OSError as cause:
        why = "exists already" if isinstance(cause, FileExistsError) else f"cannot be written ({type(cause).__name__})"
        message = f"{path.name} {why}. Choose a new file in an existing folder, with --out FILE.toml."
        raise UsageError(message, code="unwritable-file") from None
    left_out = [f"{service.name}.{c.name}: {c.left_out}" for service in proposed for c in service.columns if c.left_out]
    if not options.json:
        _print_proposal(path, proposed, left_out)
    forecast = collection.report(like=sources) if proposed else None
    if forecast and options.plot:
        draw(forecast, options.plot)
    if options.json:
        _print_json(path, sources, collection, left_out, forecast)
    elif forecast:
        print(f"\n{forecast}\n\nNext, after the review; the file may be edited first:")
        for command in _commands(path, sources, forecast):
            print(f"  {command}")
    return 0


def _arguments(options: argparse.Namespace) -> tuple[Path, dict[str, str]]:
    """Return the file to write, and the table of each service."""
    first, tables = Path(options.file), list(options.tables)
    if first.suffix.lower() != ".toml" or "=" in options.file:
        tables = [options.file, *tables]
    for table in tables:
        if suffix_of(Path(table)) not in SUFFIXES:
            message = (
                f"{Path(table).name or table} is neither a table ({', '.join(SUFFIXES)}) nor a file to write (.toml). "
                "Save a spreadsheet as CSV, and JSON as .jsonl with an object on each line."
            )
            raise UsageError(message, code="bad-option")
    names = {table: allowed_name(stem_of(Path(table))) for table in tables}
    named = named_tables([table if "=" in table else f"{names[table]}={table}" for table in tables])
    out = options.out or (f"{next(iter(named))}.toml" if len(tables) > len(options.tables) else options.file)
    if Path(out).suffix.lower() != ".toml":
        message = f"{Path(out).name} must end in .toml."
        raise UsageError(message, code="bad-option")
    return Path(out), named


def _print_proposal(path: Path, proposed: Sequence[ProposedService], left_out: Sequence[str]) -> None:
    """Print what was written at once: the forecast takes some seconds."""
    print(f"{path.name} written. Review it before you collect with it.")
    for service in proposed:
        print(f"  {service.name}: {service.people:,} people, {service.rows:,} rows, key {service.key}")
        for note in service.notes:
            print(f"    {note}")
    for note in left_out:
        print(f"  left out: {note}")
    sys.stdout.flush()


def _print_json(
    path: Path, sources: dict[str, str], collection: Collection, left_out: Sequence[str], forecast: Forecast | None
) -> None:
    result: dict[str, Any] = {"file": path.name, "collection": collection.id, "left_out": [*left_out]}
    if forecast:
        result |= {"forecast": json.loads(forecast.to_json()), "next": _commands(path, sources, forecast)}
    print(json.dumps(result))


def _commands(path: Path, sources: dict[str, str], forecast: Forecast) -> list[str]:
    """Return the commands from the file to a first answer, the best of those forecast."""
    tables = [f"{name}={table}" for name, table in sources.items()]
    reports, database = f"{path.with_suffix('')}-reports", str(path.with_suffix(".tacit"))
    best = min(forecast, key=lambda verdict: verdict.relative if verdict.relative > 0 else math.inf)
    words = (
        ["tacit", "audit", str(path)],
        ["tacit", "encode", str(path), *tables, "--prepare", "--out", reports],
        ["tacit", "load", database, reports],
        ["tacit", "query", database, best.question],
    )
    return [shlex.join(command) for command in words]


def _service_text(service: ProposedService) -> str:
    """Return a service as TOML, with a comment about each column's data."""
    lines = ["[[services]]", f'name = "{service.name}"', f'key = "{service.key}"']
    if service.at_most is not None:
        lines.append(f"at_most = {service.at_most}             # rows of a person that count")
    lines.append("attributes = [")
    lines += [_attribute_text(column) for column in service.columns if column.settings]
    return "\n".join([*lines, "]\n"])


def _attribute_text(column: Proposed) -> str:
    settings = {"name": column.name} | column.settings
    text = ", ".join(f"{word} = {_toml(value)}" for word, value in settings.items())
    return f"  {{ {text} }}," + (f"  # {column.hint}" if column.hint else "")


def _toml(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)
