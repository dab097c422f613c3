"""An attribute's own table follows power laws, people at the first or last value, and empty tails.

Three draws of noise of each of four tables of 64 values. Limits are errors measured with this seed, with a margin; the
mutant, which knows the smooth shape alone, misses each.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.model import table as fits
from tacit.model.evidence import Observed
from tacit.model.smooth import TableAxis, shapes

CELLS, DRAWS, PRECISION = 64, 3, 4e4
STACK = np.concatenate([np.kron(np.eye(CELLS // size), np.ones(size)) for size in (1, 4, 16)])
PLACES = np.arange(CELLS)


def _normal(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / weights.sum())


TABLES = {
    "power": _normal((PLACES + 1.0) ** -1.3),
    "mirrored": _normal((PLACES + 1.0) ** -1.3)[::-1],
    "zeros": 0.6 * (PLACES == 0) + 0.4 * _normal(np.exp(-0.5 * ((np.log(PLACES + 1) - 2.2) / 0.5) ** 2)),
    "limit": 0.3 * (PLACES == CELLS - 1) + 0.7 * _normal(np.exp(-0.5 * ((PLACES - 40) / 9) ** 2)),
}


def error_of(truth: np.ndarray) -> float:
    """Return the root mean squared error of a cell."""
    source, even, squares = np.random.default_rng(8), np.full(CELLS, 1 / CELLS), []
    for _ in range(DRAWS):
        value = STACK @ truth + source.normal(0, PRECISION**-0.5, len(STACK))
        observed = Observed((STACK,), value, np.full(len(STACK), PRECISION))
        fit = fits.fit_table(observed, even, ((),), [TableAxis(CELLS, ordered=True)], (even,))
        squares.append(np.mean((fit.table - truth) ** 2))
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize("name", TABLES)
def test_shapes_follow_what_waves_do_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = error_of(TABLES[name])
    monkeypatch.setattr(fits, "shapes", lambda *own: shapes(*own)[:1])
    assert now < 0.75 * error_of(TABLES[name])


def test_few_cells_and_categories_have_one_shape() -> None:
    for axis in (TableAxis(7, ordered=True), TableAxis(64, ordered=False)):
        assert len(shapes(axis, np.full(axis.cells, 1 / axis.cells))) == 1


def test_functions_have_no_part_in_the_total() -> None:
    axis = TableAxis(20, ordered=True, apart=2)
    marginal = np.linspace(1, 2, 20) / 30
    for _, given in shapes(axis, marginal):
        assert given.values.shape == (20, len(given.order))
        assert np.allclose(marginal @ given.values, 0, atol=1e-12)
