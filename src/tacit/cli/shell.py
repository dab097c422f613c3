"""The work of `tacit shell`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import io
import sys

from tacit.cli.query import open_existing, print_answer
from tacit.errors import TacitError, UsageError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Read questions from the terminal or a pipe, a line each, and print their answers."""
    database = open_existing(options.database, options.key_file)
    if sys.stdin is None:
        message = "Standard input is closed, so no questions can be read. Use tacit query for one question."
        raise UsageError(message, code="closed-input")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # undecodable bytes make an invalid question
    prompt = "tacit> " if sys.stdin.isatty() else ""
    try:
        while question := input(prompt).strip():
            try:
                print_answer(database.sql(question, confidence=options.confidence), as_json=options.json)
            except TacitError as error:
                print(f"{type(error).__name__} {error}", file=sys.stderr)
    except EOFError:
        pass
    finally:
        database.close()
    return 0
