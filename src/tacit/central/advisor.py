"""Recommend a method: by errors predicted from public numbers, or by trials on a similar table."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.central.auto import is_wide, prefers_blue, prefers_marginals, prefers_multiscale
from tacit.central.blue import MAX_CELLS, view_cells
from tacit.central.cells import DENSE
from tacit.central.methods import METHODS, method_of
from tacit.central.noise import Laplace, OpenDp
from tacit.central.records import Records, released_service
from tacit.central.shares import service_shares
from tacit.contract.budget import BudgetLike, parse_epsilon
from tacit.contract.schema import Schema, Service
from tacit.errors import LayoutError, UsageError
from tacit.estimate.functional import Functional

__all__ = ["Advice", "MethodTrial", "advise", "random_ranges", "try_methods"]

RANGES = 200
"""Random ranges that methods are tried on."""

RELEASES = 4
"""Releases of each method: the ranges of one release share its noise, so one would not be enough."""

RUNOFF = 20
"""Further releases of the methods that are close to the best."""

CLOSE = 1.6
"""Errors within this factor of the smallest are close: means of four releases vary by a fifth."""

HIERARCHICAL_CELLS = 2**16
"""Cells up to which the comparator, the hierarchical kd-tree, is tried too."""


@dataclass(frozen=True)
class MethodTrial:
    """A method's result on a table: mean absolute and relative error of random ranges, and coverage of intervals."""

    method: str
    error: float
    relative: float
    covered: float


@dataclass(frozen=True)
class Advice:
    """The recommended method, the reason, and the predictable standard errors."""

    method: str
    why: str
    expected: dict[str, float]
    trials: tuple[MethodTrial, ...] = ()

    def __str__(self) -> str:
        lines = [f"use method={self.method!r}: {self.why}"]
        lines += [
            f"  {name}: standard error of a random range about {error:,.1f}" for name, error in self.expected.items()
        ]
        lines += [
            f"  {trial.method}: mean error {trial.error:,.1f}, relative {trial.relative:.3f}, 95 % intervals held "
            f"{trial.covered:.0%}"
            for trial in self.trials
        ]
        return "\n".join(lines)


def advise(service: Service | Schema, epsilon: BudgetLike, rows: int, *, like: Any = None) -> Advice:
    """Recommend a method.

    Parameters
    ----------
    service : Service or Schema
        The declared columns of the table.
    epsilon : number
        The budget of the release.
    rows : int
        The approximate number of people; a public guess is enough.
    like : table or path, optional
        A similar table that is *not private* (public or synthetic): every method is tried on it. Do not pass the real
        table: the advice would reveal information about it without any noise.
    """
    declared = released_service(service)
    budget = parse_epsilon(epsilon)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        message = f"rows is {rows!r}; it must be a whole number above 0."
        raise UsageError(message, code="bad-option")
    cells = math.prod(attribute.size for attribute in declared.sensitive)
    expected = _expected_errors(declared, Laplace(budget).variance, cells)
    if like is not None:
        trials = tuple(try_methods(like, declared, budget))
        best = min(trials, key=lambda trial: trial.error)
        return Advice(best.method, "it had the smallest error on the given table", expected, trials)
    if is_wide(declared):
        why = f"{cells:,} cells are too many to count; single columns and pairs of them are not"
        return Advice("marginals", why, expected)
    per_cell = rows * float(budget) / cells
    shown = f"{per_cell:,.0f}" if per_cell >= 10 else f"{per_cell:.2g}"
    if prefers_blue(declared, float(budget), rows):
        return Advice("blue", f"{shown} people times epsilon per cell are enough to estimate every cell", expected)
    why = f"{shown} people times epsilon per cell are too few to estimate all {cells:,} cells"
    few = "multiscale" if prefers_multiscale(declared) else "adaptive"
    return Advice("marginals" if prefers_marginals(declared) else few, why, expected)


def _expected_errors(service: Service, variance: float, cells: int) -> dict[str, float]:
    """Return the standard error of random ranges on all attributes, for methods where it can be predicted."""
    errors = {}
    if cells <= DENSE:
        errors["cells"] = math.sqrt(variance * math.prod(shares.cells for shares in service_shares(service)))
    if cells <= MAX_CELLS and view_cells(service) <= MAX_CELLS:
        errors["blue"] = math.sqrt(variance * math.prod(shares.cost for shares in service_shares(service)))
    return errors


def random_ranges(sizes: tuple[int, ...], count: int, source: np.random.Generator) -> list[Functional]:
    """Return conjunctions of a random range on every attribute."""
    functionals = []
    for _ in range(count):
        functional = Functional.constant(sizes)
        for i, size in enumerate(sizes):
            low, high = np.sort(source.integers(0, size, 2))
            marks = (np.arange(size) >= low) & (np.arange(size) <= high)
            functional = functional * Functional.of(sizes, i, marks)
        functionals.append(functional)
    return functionals


def try_methods(table: Any, service: Service, epsilon: BudgetLike) -> list[MethodTrial]:
    """Try every method on a table, which must not be private: the result itself has no noise."""
    records = Records.read(table, service)
    ranges = random_ranges(records.sizes, RANGES, np.random.default_rng(0))
    truth = np.array([records.evaluate(functional).sum() for functional in ranges])
    floor = 0.001 * len(records)

    def run_trial(name: str, releases: int) -> MethodTrial:
        method, budget = method_of(name, {}), parse_epsilon(epsilon)
        method.charges(service, budget)  # refuses services that it cannot release
        bodies = [method.run(records, budget, OpenDp()) for _ in range(releases)]
        off = np.abs(np.array([[body.value(functional) for functional in ranges] for body in bodies]) - truth)
        errors = np.array([bodies[0].deviation(functional)[0] for functional in ranges])
        relative = float((off / np.maximum(truth, floor)).mean())
        return MethodTrial(name, float(off.mean()), relative, float(np.mean(off[0] <= 1.96 * errors)))

    trials = {}
    for name in METHODS:
        if name == "auto" or (name == "hierarchical" and math.prod(records.sizes) > HIERARCHICAL_CELLS):
            continue
        with suppress(LayoutError):  # too many cells for this method
            trials[name] = run_trial(name, RELEASES)
    least = min(trial.error for trial in trials.values())
    close = [name for name, trial in trials.items() if trial.error <= CLOSE * least]
    return list((trials | {name: run_trial(name, RUNOFF) for name in close if len(close) > 1}).values())
