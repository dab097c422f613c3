"""What cells leave open: all tables with the same cells are in the range, and it is nothing where values are shown."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.estimate.functional import Functional
from tacit.model.coarse import coarse_range, divide
from tacit.model.evidence import Attribute, NoisyTable
from tacit.model.model import Model

SIZES = (12, 2)
RUNS = np.arange(12) // 3
PRECISE = np.asarray(1e10)


def model_of(table: np.ndarray, *, runs: np.ndarray = RUNS, single: bool = True) -> Model:
    """Return the model of a table shown in runs, and of both attributes alone."""
    cells = np.zeros((runs.max() + 1, 2))
    np.add.at(cells, runs, table)
    evidence = [NoisyTable((0, 1), (runs, np.arange(2)), cells, PRECISE)]
    if single:
        evidence.append(NoisyTable((0,), (np.arange(12),), table.sum(axis=1), PRECISE))
        evidence.append(NoisyTable((1,), (np.arange(2),), table.sum(axis=0), PRECISE))
    return Model([Attribute("x", 12, ordered=True), Attribute("y", 2)], evidence, 1000)


def ends(model: Model, functionals: list[Functional]) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much means can be below and above the fitted ones."""
    hidden = model.hidden(functionals)
    return hidden.low, hidden.high


def inside(values: list[int]) -> Functional:
    """Return the share of people with some values of x, and y."""
    held = np.isin(np.arange(12), values).astype(np.float64)
    return Functional.of(SIZES, 0, held) * Functional.of(SIZES, 1, [0.0, 1.0])


@pytest.mark.parametrize("values", [[4], [1, 2, 3, 4], [0, 2, 4, 6, 8, 10], [5, 9]])
@pytest.mark.parametrize("kind", ["parity", "random", "first of each run"])
def test_tables_with_the_same_cells_are_in_the_range(kind: str, values: list[int]) -> None:
    """A second attribute that depends on values within runs cannot be told from an independent one."""
    source = np.random.default_rng(5)
    shares = source.dirichlet(np.full(12, 2.0))
    odd = {"parity": np.arange(12) % 2, "random": source.random(12), "first of each run": np.arange(12) % 3 == 0}[kind]
    table = np.stack([shares * (1 - odd), shares * odd], axis=1)
    model = model_of(table)
    [low], [high] = ends(model, [inside(values)])
    [fitted] = model.means([inside(values)])
    assert fitted + low - 1e-3 <= table[values, 1].sum() <= fitted + high + 1e-3
    assert high - low <= shares[values].sum() + 1e-3  # what x alone shows limits it


def test_runs_and_values_that_tables_show_have_no_range() -> None:
    source = np.random.default_rng(6)
    table = source.dirichlet(np.ones(24)).reshape(12, 2)
    for model, values in [(model_of(table), [3, 4, 5]), (model_of(table, runs=np.arange(12)), [4])]:
        low, high = ends(model, [inside(values)])
        assert np.abs([low, high]).max() < 2e-3
    alone = Functional.of(SIZES, 0, np.eye(12)[4])
    assert ends(model_of(table), [alone])[1] == pytest.approx(0.0, abs=2e-3)


def test_a_value_of_a_run_may_have_all_of_its_people_or_none() -> None:
    table = np.full((12, 2), 1 / 24)
    [low], [high] = ends(model_of(table, single=False), [Functional.of(SIZES, 0, np.eye(12)[4])])
    assert [low, high] == pytest.approx([-1 / 12, 1 / 4 - 1 / 12], abs=2e-3)


def test_runs_that_overlap_show_what_lies_between_their_ends() -> None:
    first, second = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    tables = [NoisyTable((0,), (runs,), np.array([0.4, 0.6]), PRECISE) for runs in (first, second)]
    model = Model([Attribute("x", 6, ordered=True)], tables, 1000)
    third, fourth = (Functional.of((6,), 0, np.eye(6)[k]) for k in (2, 3))
    assert np.abs(ends(model, [third])).max() < 2e-3
    assert ends(model, [fourth])[1][0] > 0.1


def test_many_values_of_a_cell_count_as_the_largest_and_the_smallest_of_a_few_classes() -> None:
    """Never narrower than the true range: nine values of one cell, of which any may have everybody."""
    weights = np.arange(9.0)
    division = divide(np.zeros(9, dtype=np.int64), np.arange(9), np.full(9, 1 / 9))
    functional = Functional.of((9,), 0, weights)
    table = np.bincount(division.labels, np.full(9, 1 / 9)).astype(np.float64)
    low, high = coarse_range(functional, {0: division}, table, [[(0, False)]])
    assert low <= -4 + 1e-6
    assert high >= 4 - 1e-6
