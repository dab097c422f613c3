"""Print the table of some attributes of a service: how many people have each combination of values."""

from __future__ import annotations

import argparse

from tacit.cli.query import draw, open_existing, print_answer

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("database", help="a database file that `tacit load` wrote")
    parser.add_argument("attributes", nargs="+", help="sensitive attributes of one service")
    parser.add_argument("--service", help="needed if several services have these attributes")
    parser.add_argument("--method", help="shrink (default), calm, linear, em or uniform")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--plot", metavar="FILE", help="also write a chart (SVG); two attributes give a heat map")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print one table."""
    database = open_existing(options.database)
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
