"""The work of `tacit advise`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict

from tacit.central.advisor import advise
from tacit.central.guidance import posterior_bound, sufficient_epsilon, useful_error, useful_rows
from tacit.cli.release import declared_service
from tacit.contract.budget import parse_epsilon

__all__ = ["run"]


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
