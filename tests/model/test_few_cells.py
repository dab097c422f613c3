"""Tables of few categories: the fit is no worse than least squares, and its own errors are of the right size.

80 draws of noise for each of six tables, at a precision at which it is in doubt whether cells differ. Draws are paired
with least squares on the same noise; with fixed seeds, means of 80 are compared with limits, and the mutant, which
trusts the fit as in large tables, must miss them.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.model import drawn
from tacit.model.entropy import maximum_entropy
from tacit.model.evidence import Observed
from tacit.model.table import fit_table

DRAWS = 80
TABLES = {
    "zipf, 4": 1 / np.arange(1, 5),
    "zipf, 6": 1 / np.arange(1, 7),
    "two levels, 4": np.array([1.0, 1.0, 3.0, 3.0]),
    "two levels, 6": np.array([1.0, 1.0, 1.0, 3.0, 3.0, 3.0]),
    "a large cell, 5": np.array([28.0, 3.0, 3.0, 3.0, 3.0]),
    "falling, 8": np.array([30.0, 22.0, 16.0, 12.0, 8.0, 6.0, 4.0, 2.0]),
}


def quality(weights: np.ndarray) -> tuple[float, float]:
    """Return the squared error over that of least squares, and how often intervals of the fit's own error hold."""
    truth, cells = weights / weights.sum(), len(weights)
    source, noise = np.random.default_rng(cells), 0.3 / cells
    even = np.full(cells, 1 / cells)
    fitted, least, held = [], [], []
    for _ in range(DRAWS):
        value = truth + source.normal(0, noise, cells)
        fit = fit_table(Observed((np.eye(cells),), value, np.full(cells, noise**-2)), even, ((),), [], (even,))
        off = fit.table - truth
        fitted.append(off @ off)
        least.append(np.sum((value - (value.sum() - 1) / cells - truth) ** 2))
        held.append(np.abs(off) <= 1.96 * fit.errors(np.eye(cells)))
    return float(np.mean(fitted) / np.mean(least)), float(np.mean(held))


@pytest.mark.long("quality of fits of many tables; those of two attributes stay")
def test_fits_are_no_worse_than_least_squares_and_say_how_far_off_they_are() -> None:
    ratios, held = zip(*(quality(weights) for weights in TABLES.values()), strict=True)
    assert max(ratios) < 1.02, ratios
    assert min(held) > 0.85, held
    assert np.mean(held) > 0.91, held


def pair_quality() -> float:
    """Return the squared error of a table of 2 x 4 cells with known margins, over that of least squares."""
    truth = np.array([[0.24, 0.12, 0.08, 0.06], [0.32, 0.12, 0.04, 0.02]])
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)
    base, source, noise = np.outer(rows, columns), np.random.default_rng(8), 0.02
    inside = np.kron(np.eye(2) - 1 / 2, np.eye(4) - 1 / 4)
    fitted, least = [], []
    for _ in range(DRAWS):
        value = truth + source.normal(0, noise, truth.shape)
        observed = Observed((np.eye(2), np.eye(4)), value, np.full(truth.shape, noise**-2))
        fit = fit_table(observed, base, ((0,), (1,)), [], (rows, columns))
        table = maximum_entropy(truth.shape, [(0,), (1,)], [rows, columns], fit.table + 1e-9).table
        fitted.append(np.sum((table - truth) ** 2))
        least.append(np.sum((inside @ (value - truth).ravel()) ** 2))
    return float(np.mean(fitted) / np.mean(least))


def test_small_tables_of_two_attributes_are_no_worse_either(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pair_quality() < 1.02
    monkeypatch.setattr(drawn, "FEW", 0)
    assert pair_quality() > 1.1


def test_trusting_the_fit_as_in_large_tables_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "FEW", 0)
    ratios, held = zip(*(quality(TABLES[name]) for name in ("two levels, 4", "zipf, 4")), strict=True)
    assert max(ratios) > 1.1
    assert min(held) < 0.85
