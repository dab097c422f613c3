"""Say how accurate a question would be, before anything is collected."""

from __future__ import annotations

import argparse

from tacit.cli.query import print_answer
from tacit.collection import Collection

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a collection file (.toml, .json) or a contract (.json)")
    parser.add_argument("question", help="SELECT … FROM service …")
    parser.add_argument("--users", type=int, default=100_000, help="people expected to report (default 100000)")
    parser.add_argument("--like", help="a sample table of the service, for the frequencies of values")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the expected answer with its error."""
    collection = Collection.from_file(options.file)
    answer = collection.predict(options.question, users=options.users, like=options.like, confidence=options.confidence)
    print_answer(answer, as_json=options.json)
    return 0
