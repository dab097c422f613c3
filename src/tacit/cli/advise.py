"""Recommend a method, a budget and a number of people for a release; reads no private data."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict

from tacit.central.advisor import advise
from tacit.central.guidance import posterior_bound, sufficient_epsilon, useful_error, useful_rows
from tacit.cli.release import declared_service
from tacit.contract.budget import parse_epsilon

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("collection", help="a collection file (.toml, .json) that declares the columns")
    parser.add_argument("--service", help="service of the collection file, if it has several")
    parser.add_argument("--epsilon", default="1", help="budget of the release (default 1)")
    parser.add_argument(
        "--rows", type=int, default=100_000, help="approximate number of people in the table (default 100000)"
    )
    parser.add_argument("--prior", type=float, default=0.01, help="an attacker's prior belief (default 0.01)")
    parser.add_argument("--queries", type=int, default=1, help="releases or answers about the same people (default 1)")
    parser.add_argument("--error", type=float, default=0.01, help="relative error to reach (default 0.01)")
    parser.add_argument("--delta", type=float, default=0.05, help="probability of a larger error (default 0.05)")
    parser.add_argument("--like", help="a similar table that is not private, to try all methods on")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the advice."""
    service = declared_service(options.collection, options.service)
    epsilon = float(parse_epsilon(options.epsilon))
    advice = advise(service, options.epsilon, options.rows, like=options.like)
    cells = math.prod(attribute.size for attribute in service.sensitive)
    numbers = {
        "cells": cells,
        "posterior_at_most": posterior_bound(options.prior, epsilon, options.queries),
        "sufficient_epsilon": sufficient_epsilon(prior=options.prior, queries=options.queries),
        "useful_error": useful_error(cells, epsilon, delta=options.delta),
        "useful_rows": useful_rows(cells, epsilon, options.error, delta=options.delta),
    }
    if options.json:
        print(json.dumps(asdict(advice) | numbers))
        return 0
    print(advice)
    print(
        f"an attacker who believes {options.prior:g} before believes at most {numbers['posterior_at_most']:.4g} after "
        f"{options.queries} of these; below epsilon {numbers['sufficient_epsilon']:.4g} nobody ever becomes certain"
    )
    print(
        f"cells, guaranteed for all ranges at once with probability {1 - options.delta:g}: error at most "
        f"{numbers['useful_error']:,.0f} people; {numbers['useful_rows']:,} rows make it {options.error:g} of the rows"
    )
    return 0
