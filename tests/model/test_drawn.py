"""A fitted table is drawn to data that contradict it, and left alone by data that do not.

400 draws of noise each; errors are means over them, compared with limits that are 6.1 standard errors away (1e-9).
"""

from __future__ import annotations

import numpy as np

from tacit.model.drawn import MOST_CELLS, Drawn, draw_to_data
from tacit.model.evidence import Observed
from tacit.model.smooth import TableAxis

CELLS, DRAWS = 32, 400
STACK = np.concatenate([np.kron(np.eye(CELLS // size), np.ones(size)) for size in (1, 2, 4, 8, 16)])
PRECISION = 4e6
TRUTH = np.exp(-(((np.arange(CELLS) - 12) / 6) ** 2)) + 0.4
TRUTH /= TRUTH.sum()
OFF = TRUTH + 0.004 * np.sign(np.sin((np.arange(CELLS) + 0.5) * np.pi / 8))


def drawn_to(observed: Observed, table: np.ndarray) -> Drawn:
    """Return the correction of a table that does not follow the data, about which no function is asked for most."""
    return draw_to_data(observed, table, lambda weights: np.zeros(len(weights)), np.zeros((table.size, 0)))


def errors(fitted: np.ndarray) -> tuple[float, float]:
    """Return the mean squared error of sums over observed cells, of the drawn table and of least squares."""
    source = np.random.default_rng(4)
    drawn, least = [], []
    pseudo = np.linalg.pinv(STACK)
    for _ in range(DRAWS):
        value = STACK @ TRUTH + source.normal(0, PRECISION**-0.5, len(STACK))
        observed = Observed((STACK,), value, np.full(len(STACK), PRECISION))
        drawn.append(np.mean((STACK @ (drawn_to(observed, fitted).table - TRUTH)) ** 2))
        least.append(np.mean((STACK @ (pseudo @ value - TRUTH)) ** 2))
    return float(np.mean(drawn)), float(np.mean(least))


def test_a_fit_that_data_contradict_is_no_worse_than_least_squares() -> None:
    """The mutant, the fit itself, is far worse."""
    drawn, least = errors(OFF)
    assert drawn < least
    assert np.mean((STACK @ (OFF - TRUTH)) ** 2) > 3 * least


def test_a_fit_that_is_right_is_left_alone() -> None:
    """The mutant, least squares, has four times the error."""
    drawn, least = errors(TRUTH)
    assert drawn < least / 4


def test_tables_stay_tables() -> None:
    source = np.random.default_rng(5)
    value = STACK @ TRUTH + source.normal(0, 0.02, len(STACK))
    made = drawn_to(Observed((STACK,), value, np.full(len(STACK), 1e7)), OFF).table
    assert made.min() >= 0
    assert np.isclose(made.sum(), 1.0)


def test_large_tables_are_left_as_they_are() -> None:
    for cells in (1, MOST_CELLS + 1):
        even = np.full(cells, 1 / cells)
        observed = Observed((np.eye(cells),), np.eye(cells)[0], np.full(cells, 1e9))
        assert drawn_to(observed, even).table is even


def test_few_cells_become_least_squares_where_data_are_precise() -> None:
    """The mutant, which leaves three cells alone, stays at the uniform table."""
    truth = np.array([0.36, 0.31, 0.33])
    for precision, part in ((1e6, 0.999), (12.0, 0.5)):
        observed = Observed((np.eye(3),), truth, np.full(3, precision))
        moved = drawn_to(observed, np.full(3, 1 / 3)).table - 1 / 3
        assert np.allclose(moved, part * (truth - 1 / 3), atol=1e-3)


def moment_errors(waves: np.ndarray, noise: float = 0.2 / CELLS) -> tuple[float, float]:
    """Return the mean squared errors of a variance, of the drawn table and of least squares, for heaped values.

    The fit misses it by 1.2 errors of least squares, which is too little to contradict any single value.
    """
    places = np.arange(CELLS) / CELLS
    truth = np.exp(-((places - 0.5) ** 2) / 0.08) * np.where(np.arange(CELLS) % 5, 1.0, 6.0)
    truth /= truth.sum()
    weights = (places - truth @ places) ** 2
    error = noise * np.sqrt(np.sum((weights - weights.mean()) ** 2))
    fitted = truth + 1.2 * error * (weights - weights.mean()) / np.sum((weights - weights.mean()) ** 2)
    source, made = np.random.default_rng(6), []

    def half_of_the_noise(rows: np.ndarray) -> np.ndarray:
        return 0.5 * noise**2 * np.sum(rows**2, axis=1)

    for _ in range(DRAWS):
        value = truth + source.normal(0, noise, CELLS)
        observed = Observed((np.eye(CELLS),), value, np.full(CELLS, noise**-2))
        made.append(weights @ (draw_to_data(observed, fitted, half_of_the_noise, waves).table - truth))
    return float(np.mean(np.square(made))), error**2


def test_moments_are_hardly_worse_than_those_of_least_squares() -> None:
    """The mutant, which asks for no function most, keeps the fit's error: 1.44 times the square of least squares."""
    drawn, least = moment_errors(TableAxis(CELLS, ordered=True).waves(4))
    assert drawn < 1.15 * least
    kept, least = moment_errors(np.zeros((CELLS, 0)))
    assert kept > 1.3 * least
