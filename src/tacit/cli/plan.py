"""Say how accurate a question would be, before anything is collected."""

from __future__ import annotations

import argparse
import json

from tacit.cli.query import print_answer
from tacit.collection import Collection

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a collection file (.toml, .json) or a contract (.json)")
    parser.add_argument("question", help="SELECT … FROM service …")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--users", type=int, default=100_000, help="people expected to report (default 100000)")
    asked.add_argument("--error", type=float, help="instead: say how many people give this standard error")
    asked.add_argument("--relative", type=float, help="the same, with the error as a share of the value")
    parser.add_argument("--like", help="a sample table of the service, for the frequencies of values")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the expected answer with its error, or the people that an error takes."""
    collection = Collection.from_file(options.file)
    if options.error is not None or options.relative is not None:
        people = collection.predict(options.question, error=options.error, relative=options.relative, like=options.like)
        print(json.dumps({"people": people}) if options.json else f"{people:,} people")
        return 0
    answer = collection.predict(options.question, users=options.users, like=options.like, confidence=options.confidence)
    print_answer(answer, as_json=options.json)
    return 0
