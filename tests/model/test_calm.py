"""The papers' tables: consistency, non-negativity, maximum entropy, expectation maximisation; and synthetic rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from support.channels import enumerable
from tacit.contract.budget import exp_below
from tacit.contract.oracles import ORACLES, Grr
from tacit.model.calm import Calm
from tacit.model.em import likeliest, rows_of
from tacit.model.entropy import maximum_entropy
from tacit.model.nonnegative import norm_sub, ripple
from tacit.model.reports import decode_frequencies
from tacit.model.synthesis import draw_rows


def joint(*sizes: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.7)).reshape(sizes)


def in_subset_order(
    tables: list[np.ndarray], views: list[tuple[int, ...]], sizes: list[int], noise: list[float]
) -> None:
    """Make tables consistent as the paper does, set by set; a naive copy of its section 4.4 and appendix A.3."""
    sets = {one for view in views for k in range(len(view) + 1) for one in itertools.combinations(view, k)}
    for one in sorted(sets, key=len):
        holding = [v for v, view in enumerate(views) if set(one) <= set(view)]
        sums = [tables[v].sum(axis=tuple(k for k, i in enumerate(views[v]) if i not in one)) for v in holding]
        spread = [np.prod([sizes[i] for i in views[v] if i not in one]) for v in holding]
        weights = [1 / (count * noise[v]) for count, v in zip(spread, holding, strict=True)]
        average = np.tensordot(weights, sums, axes=1) / sum(weights) if one else np.ones(())
        for v, own, count in zip(holding, sums, spread, strict=True):
            shape = [sizes[i] if i in one else 1 for i in views[v]]
            tables[v] += ((average - own) / count).reshape(shape)


def test_views_agree_as_in_the_papers_subset_order() -> None:
    sizes, rng = [3, 2, 4, 2], np.random.default_rng(5)
    views = [(0, 1, 2), (1, 2, 3), (0, 3), (0, 2, 3)]
    noise = [1.0, 2.0, 0.5, 3.0]
    noisy = [
        view + 0.2 * rng.standard_normal(view.shape) for view in (rng.random([sizes[i] for i in v]) for v in views)
    ]
    precisions = tuple(np.asarray(1 / own) for own in noise)
    found = Calm(tuple(sizes), tuple(views), tuple(noisy), precisions)._average_margins(noisy)
    naive = [table.copy() for table in noisy]
    in_subset_order(naive, views, sizes, noise)
    for ours, table in zip(found, naive, strict=True):
        assert np.allclose(ours, table)
    assert not np.allclose(found[0], noisy[0], atol=0.01)


def test_norm_sub_is_the_nearest_point() -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal((50, 9))
    near = norm_sub(values, np.full(50, 1.0))
    assert np.allclose(near.sum(axis=-1), 1)
    assert (near >= 0).all()
    others = rng.dirichlet(np.ones(9), 50)
    assert (((values - near) * (others - near)).sum(axis=-1) <= 1e-9).all()  # the condition of a projection


def test_ripple_keeps_totals_and_leaves_nothing_negative() -> None:
    table = np.random.default_rng(2).normal(1 / 24, 0.05, (6, 2, 3, 4))
    table += (1 - table.sum(axis=(1, 2, 3), keepdims=True)) / 24
    found = ripple(table, 3)
    assert (found >= -1e-9).all()
    assert np.allclose(found.sum(axis=(1, 2, 3)), 1)
    one = np.array([[0.5, -0.2], [0.4, 0.3]])
    assert np.allclose(ripple(one, 2), [[0.4, 0.0], [0.4, 0.2]])


def test_maximum_entropy_of_a_chain_has_its_closed_form() -> None:
    first, second = joint(3, 4), joint(4, 2, seed=9)
    second *= (first.sum(axis=0) / second.sum(axis=1))[:, None]
    fit = maximum_entropy([3, 4, 2], [(0, 1), (1, 2)], [first, second])
    assert np.allclose(fit.table, first[:, :, None] * second / first.sum(axis=0)[:, None], atol=1e-9)
    assert fit.converged
    assert fit.gap < 1e-9


def test_maximum_entropy_says_what_contradicts() -> None:
    fit = maximum_entropy([2, 2, 2], [(0, 1), (1, 2), (0, 2)], [np.eye(2) / 2, np.eye(2) / 2, np.eye(2)[::-1] / 2])
    assert fit.gap > 0.1


def test_raking_keeps_what_pairs_do_not_say() -> None:
    seen, other = joint(2, 3, 2), joint(2, 3, 2, seed=8)
    faces = [(0, 1), (1, 2), (0, 2)]
    given = [other.sum(axis=axis) for axis in (2, 0, 1)]
    raked = maximum_entropy([2, 3, 2], faces, given, seen).table
    assert all(np.allclose(raked.sum(axis=axis), own) for axis, own in zip((2, 0, 1), given, strict=True))

    def ratios(table: np.ndarray) -> np.ndarray:
        """Return how the odds ratios of two attributes differ by the third: what pairs cannot say."""
        odds: np.ndarray = table[0, :-1] * table[1, 1:] / (table[0, 1:] * table[1, :-1])
        return odds[:, 0] / odds[:, 1]

    assert np.allclose(ratios(raked), ratios(seen), rtol=1e-4)
    assert not np.allclose(ratios(raked), ratios(other), rtol=0.1)


@pytest.mark.parametrize("name", enumerable())
def test_tables_of_expected_counts_are_exact(name: str) -> None:
    """With every code as often as expected, decoding gives the frequencies back: the estimate is unbiased."""
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    oracle = ORACLES[name]((2, 2), exp_below(Fraction(1)))
    codes, chances = np.arange(oracle.alphabet), rows_of(oracle)
    assert np.allclose(chances.sum(axis=0), 1)
    assert np.allclose(decode_frequencies(oracle, codes, chances @ truth).ravel(), truth)


def test_likeliest_frequencies() -> None:
    oracles = [Grr.build((3,), exp_below(Fraction(1))), Grr.build((2,), exp_below(Fraction(2)))]
    truth, rows = joint(3, 2), [rows_of(one) for one in oracles]
    expected = np.einsum("ab,ca,db->cd", truth, *rows)
    fit = likeliest(oracles, np.round(10**12 * expected).astype(np.int64))
    assert np.allclose(fit.start, truth, atol=1e-9)
    assert np.allclose(fit.table, truth, atol=2e-3)
    assert fit.converged

    def fits(table: np.ndarray) -> float:
        return float((expected * np.log(np.einsum("ab,ca,db->cd", table, *rows))).sum())

    assert fits(fit.table) > fits(np.full((3, 2), 1 / 6))


def test_leading_axes_are_separate_collections() -> None:
    rng, sizes = np.random.default_rng(6), (2, 3, 2, 2)
    views = tuple(itertools.combinations(range(4), 2))
    tables = tuple(rng.normal(0.2, 0.1, (3, *(sizes[i] for i in view))) for view in views)
    together = Calm(sizes, views, tables, tuple(np.full(3, 50.0) for _ in views))
    for run in range(3):
        alone = Calm(sizes, views, tuple(table[run] for table in tables), tuple(np.asarray(50.0) for _ in views))
        for asked in ((1, 3), (3, 1), (0, 1, 2)):
            assert np.allclose(together.table(asked)[run], alone.table(asked), atol=1e-4)


def test_rows_follow_their_tables() -> None:
    """200,000 rows; a cell's share is off by more than 0.008 with probability below 1e-9 (6.1 standard errors)."""
    truth = joint(3, 4, 2)

    def table_of(attributes: Sequence[int]) -> np.ndarray:
        found: np.ndarray = truth.sum(axis=tuple(i for i in range(3) if i not in attributes))
        return found

    drawn = draw_rows((3, 4, 2), table_of, 200_000, np.random.default_rng(1))
    found = np.bincount(np.ravel_multi_index(drawn, (3, 4, 2)), minlength=24).reshape(3, 4, 2) / 200_000
    assert np.abs(found - truth).max() < 0.008
    assert np.abs(found - truth.mean()).max() > 0.008
