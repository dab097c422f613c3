"""Cells of learned sizes: spikes are found, errors hold, marginal likelihood tells rough tables from smooth ones."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.model.evidence import Attribute, NoisyTable, Observed, observe
from tacit.model.model import Model
from tacit.model.scatter import scatter

CELLS = 60


def rough(source: np.random.Generator) -> np.ndarray:
    """Return a table as codes of occupations have it: two spikes, some small cells, most empty."""
    table = np.zeros(CELLS)
    table[[7, 31]] = 0.5, 0.3
    others = source.permutation(CELLS)[:14]
    table[others] += 0.2 * source.dirichlet(np.ones(14))
    return table / table.sum()


def seen(table: np.ndarray, noise: float, source: np.random.Generator) -> list[NoisyTable]:
    """Return evidence about single values and about runs of five, with the same noise in every cell."""
    found = []
    for width in (1, 5):
        cells = np.arange(CELLS) // width
        shares = np.bincount(cells, table)
        noisy = shares + source.normal(0, noise, len(shares))
        found.append(NoisyTable((0,), (cells,), noisy, np.asarray(noise**-2)))
    return found


def observed(evidence: list[NoisyTable]) -> Observed:
    return observe(evidence, (0,), [np.arange(CELLS)], [np.full(CELLS, 1 / CELLS)])


def test_rough_tables_are_far_closer_than_least_squares_and_errors_hold() -> None:
    """40 tables of 60 cells, noise of 0.02: half of the least-squares error, which is near 0.02, at most.

    Normal 95 % intervals held in 2,196 of these 2,400, so in 0.915: the learned distribution is taken as known. Fewer
    than 2,100 then have a chance of 1e-9, at a standard deviation of 14. The mutant, a third of the error, has fewer.
    """
    source, off, held, narrow = np.random.default_rng(3), [], 0, 0
    for _ in range(40):
        table = rough(source)
        found = scatter(observed(seen(table, 0.02, source)), np.full(CELLS, 1 / CELLS))
        assert found is not None
        assert found.table.min() > 0
        assert np.isclose(found.table.sum(), 1)
        errors = np.sqrt(np.diag(found.covariance))
        off.append(((found.table - table) ** 2).mean())
        held += int((np.abs(found.table - table) <= 1.96 * errors + 1e-4).sum())
        narrow += int((np.abs(found.table - table) <= 1.96 * errors / 3 + 1e-4).sum())
    assert np.sqrt(np.mean(off)) < 0.01
    assert held > 2_100
    assert narrow < 2_100


def test_a_cell_that_holds_nearly_everybody_is_found() -> None:
    """A factor far from 1, known to a thousandth: a coarse grid of factors would miss it."""
    table = np.full(CELLS, 0.05 / (CELLS - 1))
    table[3] = 0.95
    found = scatter(observed(seen(table, 1e-3, np.random.default_rng(1))), np.full(CELLS, 1 / CELLS))
    assert found is not None
    assert np.abs(found.table - table).max() < 6.1 * 1e-3


@pytest.mark.parametrize("is_rough", [True, False])
def test_marginal_likelihood_chooses(is_rough: bool) -> None:
    source = np.random.default_rng(5)
    bell = np.exp(-0.5 * ((np.arange(CELLS) - 25) / 9) ** 2)
    table = rough(source) if is_rough else bell / bell.sum()
    model = Model([Attribute("x", CELLS, ordered=True)], seen(table, 0.01, source), 1.0)
    assert ("learned" in model.how((0,))) == is_rough
    assert np.sqrt(((model.values(0) - table) ** 2).mean()) < 0.005


def test_what_no_table_shows_follows_through_others() -> None:
    """A chain of three: the outer two depend on each other through the middle one; nothing shows them together."""
    source = np.random.default_rng(2)
    first = source.dirichlet(np.full(9, 0.5)).reshape(3, 3)
    second = source.dirichlet(np.ones(3), 3)
    joint = first[:, :, None] * second
    cells = tuple(np.arange(3) for _ in range(2))
    evidence = [
        NoisyTable((0, 1), cells, joint.sum(axis=2), np.asarray(1e10)),
        NoisyTable((1, 2), cells, joint.sum(axis=0), np.asarray(1e10)),
    ]
    model = Model([Attribute(name, 3) for name in "abc"], evidence, 1.0)
    assert np.allclose(model.table((0, 2)), joint.sum(axis=1), atol=1e-3)
    assert np.allclose(model.table((2, 0)), joint.sum(axis=1).T, atol=1e-3)
    assert np.allclose(model.table((0, 1, 2)), joint, atol=1e-3)
    product = np.multiply.outer(joint.sum(axis=(1, 2)), joint.sum(axis=(0, 1)))
    assert not np.allclose(product, joint.sum(axis=1), atol=1e-2)
