"""The work of `tacit marginal`; its options are in `cli.options`."""

from __future__ import annotations

import argparse

from tacit.cli.query import draw, open_existing, print_answer

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print one table."""
    database = open_existing(options.database, options.key_file)
    try:
        table = database.marginal(
            options.attributes, service=options.service, method=options.method, confidence=options.confidence
        )
    finally:
        database.close()
    print_answer(table, as_json=options.json)
    if options.plot:
        draw(table, options.plot)
    return 0
