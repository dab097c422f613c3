"""Means of one attribute: standard errors of designs for AVG, over those of mechanisms that answer means alone.

Run ``python -m bench.limit.means``. The comparators send one noisy number a person, about this attribute and nothing
else. Variances per report are exact, over uniform records, of values scaled to -1 to 1.

Reference   Duchi, Jordan and Wainwright 2018; Wang et al. 2019 (Piecewise and Hybrid).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, write_part
from bench.limit.bound import Matrix
from bench.limit.run import variance

HERE = Path(__file__).parent
RESULTS, README = HERE / "means.json", HERE / "README.md"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
VALUES, BESIDE = (16, 100, 1_000), (None, 64)
"""Values of the attribute, and of a second one of the service."""

HYBRID = 0.61
"""Epsilon up to which Hybrid is Duchi's mechanism."""


def comparators(epsilon: float, places: Matrix) -> dict[str, float]:
    """Return the mean variance per report of each mechanism over values from -1 to 1."""
    grown, root, square = math.exp(epsilon), math.exp(epsilon / 2), float((places**2).mean())
    duchi = ((grown + 1) / (grown - 1)) ** 2 - square
    piecewise = square / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    part = 1 - 1 / root if epsilon > HYBRID else 0.0
    return {"duchi": duchi, "piecewise": piecewise, "hybrid": part * piecewise + (1 - part) * duchi}


def measure(values: int, beside: int | None, epsilon: float) -> dict[str, Any]:
    """Return the standard errors, per report, of a design for AVG and of the comparators."""
    attributes = [tc.Ordinal("x0", 0, values - 1)]
    if beside:
        attributes.append(tc.Ordinal("x1", 0, beside - 1))
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    places = 2 * np.arange(values) / (values - 1) - 1
    designed = tc.Collection(schema, epsilon, questions=["SELECT AVG(x0) FROM s"]).contract["s"]
    plain = tc.Collection(schema, epsilon).contract["s"]
    made = {"designed": designed, "auto": plain}
    found = {name: variance(service, [(1.0, {0: places})]) for name, service in made.items()}
    errors = {name: figure(math.sqrt(one)) for name, one in (found | comparators(epsilon, places)).items()}
    return {"values": values, "beside": beside, "epsilon": epsilon, "errors": errors}


def ratio(cell: dict[str, Any], name: str) -> float:
    """Return a standard error over that of the best comparator."""
    errors = cell["errors"]
    return float(errors[name] / min(errors[other] for other in ("duchi", "piecewise", "hybrid")))


def table_of(cells: Sequence[dict[str, Any]]) -> str:
    """Return a row for each service, and a column for each budget."""
    lines = ["| values | second attribute | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS) + " |"]
    lines.append("|--:|--:|" + "--:|" * len(EPSILONS))
    for values, beside in itertools.product(VALUES, BESIDE):
        own = [one for one in cells if (one["values"], one["beside"]) == (values, beside)]
        row = [f"{ratio(one, 'designed'):.2f} ({ratio(one, 'auto'):.2f})" for one in own]
        lines.append(f"| {values:,} | {beside or '–'} | {' | '.join(row)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all cells."""
    cells = []
    for values, beside, epsilon in itertools.product(VALUES, BESIDE, EPSILONS):
        cells.append(measure(values, beside, epsilon))
        say(f"{values} beside {beside} at {epsilon}: {ratio(cells[-1], 'designed'):.3f}")
    RESULTS.write_text(json.dumps({"about": provenance(["numpy"]), "cells": cells}, indent=1) + "\n", encoding="utf-8")
    write_part(README, "<!-- means -->", table_of(cells))


if __name__ == "__main__":
    main()
