"""Figures 3 to 16 of the DPCube paper, on ACS; each function returns what its figures show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.common import figure
from bench.dpcube.tables import acs
from bench.dpcube.trials import Ranges, measured, released
from tacit.central.guidance import useful_error
from tacit.central.noise import Laplace, OpenDp
from tacit.contract.budget import parse_epsilon

__all__ = [
    "ALPHAS",
    "METHODS",
    "one_dimension",
    "several_alphas",
    "several_heights",
    "several_queries",
    "several_thresholds",
]

ALPHA = "0.05"
"""The paper's budget in section 5.1; its other figures name none."""

ALPHAS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1")
HEIGHTS = (3, 5, 7, 9, 11, 13, 15)
THRESHOLDS = (2, 5, 10, 20, 40, 80, 160)
QUERIES = (1, 2, 3, 5, 7, 10, 20, 50, 100)
METHODS = ("cells", "hierarchical", "kdtree", "auto")


def one_dimension(folder: Path, releases: int = 100) -> dict[str, Any]:
    """Return figures 3 to 8: income alone, its noise, errors of 1,000 ranges, and the mean age by income."""
    income = acs(folder, "income")
    ranges = Ranges(income)
    first, offs = None, []
    for _ in range(releases):
        body = released(income, "cells", ALPHA)
        first = body.cell_estimates() if first is None else first
        offs.append(ranges.errors(body)[0])
    raw = income.table()
    assert first is not None
    edges = [*range(0, 620, 20), 1e9]
    by_alpha = {
        alpha: {
            "actual": figure(np.mean([ranges.errors(released(income, "cells", alpha))[0].mean() for _ in range(5)])),
            "worst": figure(max(ranges.errors(released(income, "cells", alpha))[0].max() for _ in range(5))),
            "bound": figure(useful_error(100, float(alpha))),
        }
        for alpha in ALPHAS
    }
    both = acs(folder, "age", "income")
    table, noisy = both.table().astype(float), released(both, "cells", ALPHA).cell_estimates()
    ages = np.arange(16, 95)
    return {
        "raw": raw.tolist(),
        "released": first.tolist(),
        "mean_error": figure(np.mean(offs)),
        "error_histogram": {"edges": edges[:-1], "share": np.histogram(offs, edges)[0] / np.size(offs)},
        "bound": figure(useful_error(100, float(ALPHA))),
        "by_alpha": by_alpha,
        "mean_age": {
            "raw": (ages @ table / table.sum(axis=0)).tolist(),
            "released": (ages @ noisy / noisy.sum(axis=0)).tolist(),
        },
    }


def several_heights(folder: Path, releases: int = 3) -> dict[str, Any]:
    """Return figures 9 and 10: the hierarchical kd-tree by height."""
    both = acs(folder, "age", "income")
    return {str(height): measured(both, "hierarchical", ALPHA, releases, height=height) for height in HEIGHTS}


def several_thresholds(folder: Path, releases: int = 3) -> dict[str, Any]:
    """Return figures 11 and 12: the kd-tree by thresholds, in scales of the first step's noise."""
    both = acs(folder, "age", "income")
    scale = Laplace(parse_epsilon(ALPHA) / 2).scale
    found = {}
    for count in THRESHOLDS:
        for uneven in (20, 200, 2000, float("inf")):
            options = {"count_threshold": count * scale, "uneven_threshold": uneven * scale}
            found[f"{count}|{uneven:g}"] = measured(both, "kdtree", ALPHA, releases, **options)
    return found


def several_alphas(folder: Path, releases: int = 5) -> dict[str, Any]:
    """Return figures 13 and 14: all methods by alpha."""
    both = acs(folder, "age", "income")
    return {
        method: {alpha: measured(both, method, alpha, releases) for alpha in ALPHAS}
        for method in (*METHODS, "blue", "adaptive")
    }


def several_queries(folder: Path, releases: int = 200) -> dict[str, Any]:
    """Return figures 15 and 16: the budget shared by as many interactive answers as there are questions."""
    ranges = Ranges(acs(folder, "age", "income"))
    floor = 0.001 * len(ranges.records)
    found = {}
    for count in QUERIES:
        noise = np.abs(OpenDp().draws(releases * ranges.count // 10, Laplace(parse_epsilon(ALPHA) / count).scale))
        shares = noise / np.resize(np.maximum(ranges.truth, floor), len(noise))
        found[str(count)] = {"absolute": figure(noise.mean()), "relative": figure(shares.mean())}
    return found
