"""Predict how accurate the answer to a question would be, before anything is collected."""

from __future__ import annotations

import argparse
import json

from tacit.adapters.functions import POSTGRES, rewrite, sharing_statement
from tacit.adapters.functions.rewriter import EngineName
from tacit.adapters.functions.sharing import SharingDialect
from tacit.cli.query import print_answer
from tacit.collection import Collection
from tacit.sql.parse import parse
from tacit.sql.tables import tables_of

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a collection file (.toml, .json) or a contract (.json)")
    parser.add_argument("question", help="SELECT … FROM service …")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--users", type=int, default=100_000, help="people expected to report (default 100000)")
    asked.add_argument("--error", type=float, help="instead: predict how many people give this standard error")
    asked.add_argument("--relative", type=float, help="the same, for an error relative to the value")
    parser.add_argument("--like", help="a sample table of the service, to estimate frequencies from")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument(
        "--sql", action="store_true", help="instead: print SQL that encodes the tables and estimates the answer"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the expected answer with its error, or the number of people that an error needs."""
    collection = Collection.from_file(options.file)
    if options.sql:
        texts = statements(collection, options.question)
        print(json.dumps(texts) if options.json else "\n\n".join(f"-- {name}\n{text}" for name, text in texts.items()))
        return 0
    if options.error is not None or options.relative is not None:
        people = collection.predict(options.question, error=options.error, relative=options.relative, like=options.like)
        print(json.dumps({"people": people}) if options.json else f"{people:,} people")
        return 0
    answer = collection.predict(options.question, users=options.users, like=options.like, confidence=options.confidence)
    print_answer(answer, as_json=options.json)
    return 0


def statements(collection: Collection, question: str) -> dict[str, str]:
    """Return the statements for each engine: how to encode tables, and how to estimate a question from the reports."""
    texts: dict[str, str] = {}
    service = tables_of(parse(question), question)[0].name
    everybody = next((one.name for one in collection.schema.services if one.one_to_one), "people")
    sharing: tuple[SharingDialect, ...] = ("duckdb", "spark")
    for dialect in sharing:
        for one in collection.schema.services:
            people = "" if one.one_to_one else everybody
            text = sharing_statement(collection, one.name, one.name, f"ldp_{one.name}", dialect=dialect, people=people)
            texts[f"{dialect}: share {one.name}"] = text + ";"
    texts["postgres: functions"] = POSTGRES.rstrip()
    engines: tuple[EngineName, ...] = ("duckdb", "spark", "postgres")
    for engine in engines:
        texts[f"{engine}: estimate"] = rewrite(collection, question, f"ldp_{service}", dialect=engine) + ";"
    return texts
