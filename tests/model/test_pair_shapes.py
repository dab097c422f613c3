"""Tables of two attributes are smooth over places, or also over ranks.

Two draws of noise of each of two tables of 24 x 24 values. Limits are errors measured with this seed, with a margin;
the mutant, which knows places alone, misses both.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.model import table as fits
from tacit.model.evidence import Observed
from tacit.model.smooth import TableAxis, pair_shapes

CELLS, DRAWS, PRECISION = 24, 2, 2e4
STACK = np.concatenate([np.kron(np.eye(CELLS // size), np.ones(size)) for size in (1, 4, 12)])
AXES = (TableAxis(CELLS, ordered=True), TableAxis(CELLS, ordered=True))
PLACES = np.arange(CELLS)


def _zeros() -> np.ndarray:
    """Most people have neither of two amounts, all others have both."""
    amounts = np.where(PLACES > 0, np.exp(-0.5 * ((np.log(np.maximum(PLACES, 1)) - 1.5) / 0.6) ** 2), 0.0)
    together = np.multiply.outer(amounts, amounts) * np.exp(-0.02 * np.subtract.outer(PLACES, PLACES) ** 2)
    table = 0.4 * together / together.sum()
    table[0, 0] += 0.6
    return np.asarray(table)


def _power() -> np.ndarray:
    """Two power laws; ranks depend on each other."""
    marginal = (PLACES + 1) ** -1.3
    ranks = (marginal.cumsum() - marginal / 2) / marginal.sum()
    table = np.multiply.outer(marginal, marginal) * np.exp(-6 * np.subtract.outer(ranks, ranks) ** 2)
    return np.asarray(table / table.sum())


def error_of(truth: np.ndarray) -> float:
    """Return the root mean squared error of a quarter of the table's range, over all quarters."""
    source, squares = np.random.default_rng(8), []
    margins = truth.sum(axis=1), truth.sum(axis=0)
    base = np.multiply.outer(*margins)
    for _ in range(DRAWS):
        sums = STACK @ truth @ STACK.T
        observed = Observed(
            (STACK, STACK), sums + source.normal(0, PRECISION**-0.5, sums.shape), np.full_like(sums, PRECISION)
        )
        off = fits.fit_table(observed, base, ((0,), (1,)), AXES, margins).table - truth
        below = off.cumsum(axis=0).cumsum(axis=1)
        squares.append(np.mean(below**2))
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize("truth", [_zeros(), _power()], ids=["zeros", "power"])
def test_shapes_follow_what_waves_over_places_do_not(truth: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    now = error_of(truth)
    monkeypatch.setattr(fits, "pair_shapes", lambda *own: pair_shapes(*own)[:1])
    assert now < 0.85 * error_of(truth)


def test_functions_change_no_margin() -> None:
    axes = (TableAxis(12, ordered=True, apart=1), TableAxis(5, ordered=False))
    margins = np.linspace(1, 2, 12) / 18, np.full(5, 1 / 5)
    for _, given in pair_shapes(axes, margins, 4):
        weighted = given.values.reshape(12, 5, -1) * np.multiply.outer(*margins)[:, :, None]
        assert given.values.shape[1] == len(given.order)
        assert np.allclose(weighted.sum(axis=0), 0, atol=1e-12)
        assert np.allclose(weighted.sum(axis=1), 0, atol=1e-12)
