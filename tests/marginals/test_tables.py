"""From views to tables: coordinates, consistency, non-negativity, maximum entropy, expectation maximisation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from support.channels import enumerable
from tacit.contract.budget import exp_below
from tacit.contract.layouts import Levels
from tacit.contract.oracles import ORACLES, Grr
from tacit.model.basis import analysis, functions, synthesis
from tacit.model.coefficients import Shape, Shown
from tacit.model.em import likeliest, rows_of
from tacit.model.entropy import maximum_entropy
from tacit.model.marginal_model import MarginalModel
from tacit.model.nonnegative import norm_sub, ripple, top_down
from tacit.model.shrink import fitted_means, posterior_means
from tacit.model.synthesis import draw_rows
from tacit.model.views import decode_frequencies

UNEVEN = Levels.build(13, fanout=3, null=True)
LEVELS = (Levels.build(3, fanout=3, null=False), UNEVEN, Levels.build(2, fanout=2, null=False))


def categories(*sizes: int) -> tuple[Levels, ...]:
    return tuple(Levels.build(size, fanout=max(2, size), null=False) for size in sizes)


def joint(*sizes: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.7)).reshape(sizes)


def view_of(table: np.ndarray, levels: tuple[Levels, ...], view: Shown) -> np.ndarray:
    axes = tuple(i for i in range(len(levels)) if i not in view.attributes)
    own: np.ndarray = table.sum(axis=axes)
    for k, (i, depth) in enumerate(zip(view.attributes, view.depths, strict=True)):
        own = np.moveaxis(np.tensordot(own, levels[i][depth].matrix(), axes=(k, 1)), -1, k)
    return own


@pytest.mark.parametrize("levels", [*LEVELS, Levels.build(27, fanout=5, null=False)])
def test_functions_are_nested_and_invertible(levels: Levels) -> None:
    table = np.random.default_rng(1).random(levels.size)
    means = functions(levels).T @ table
    assert np.allclose(synthesis(levels) @ means, table)
    for depth, level in enumerate(levels.levels):
        cells = np.bincount(level.table(), table, minlength=level.cells)
        assert np.allclose(analysis(levels, depth) @ cells, means[: level.cells])


def test_exact_views_of_any_levels_give_the_exact_table() -> None:
    truth = joint(3, 14, 2)
    views = (Shown((0, 1), (1, 3), 1.0), Shown((1, 2), (2, 1), 2.0), Shown((0, 1, 2), (1, 3, 1), 1.0))
    found = Shape(LEVELS, views).combine([view_of(truth, LEVELS, view) for view in views], [10, 20, 30])
    assert np.allclose(found.table((0, 1, 2)), truth)
    assert np.allclose(found.table((0, 2)), truth.sum(axis=1))
    assert found.faces((0, 1, 2)) == [(0, 1, 2)]


def test_coarse_views_spread_people_evenly_and_say_so() -> None:
    truth = joint(3, 14, 2)
    view = Shown((0, 1), (1, 2), 1.0)
    table = MarginalModel(Shape(LEVELS, (view,)), [view_of(truth, LEVELS, view)], [100]).marginal((1, 0))
    assert "coarser" in table.notes[0]
    assert np.isfinite(table.errors).all()
    cells = LEVELS[1][2].table()
    for cell in np.unique(cells):
        assert np.ptp(table.frequencies[cells == cell], axis=0).max() < 1e-12


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


def test_averaged_means_are_the_papers_subset_order() -> None:
    sizes, rng = [3, 2, 4, 2], np.random.default_rng(5)
    views = [(0, 1, 2), (1, 2, 3), (0, 3), (0, 2, 3)]
    noise = [1.0, 2.0, 0.5, 3.0]
    noisy = [
        view + 0.2 * rng.standard_normal(view.shape) for view in (rng.random([sizes[i] for i in v]) for v in views)
    ]
    shape = Shape(categories(*sizes), tuple(Shown(v, (1,) * len(v), e) for v, e in zip(views, noise, strict=True)))
    found = shape.combine(noisy, [1.0] * 4)
    naive = [table.copy() for table in noisy]
    in_subset_order(naive, views, sizes, noise)
    for view, table in zip(views, naive, strict=True):
        assert np.allclose(found.table(view), table)


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


def test_top_down_keeps_coarse_totals_that_are_possible() -> None:
    levels = (Levels.build(16, fanout=4, null=False), Levels.build(3, fanout=3, null=False))
    smooth = np.full((16, 3), 1 / 48)
    noisy = smooth + np.random.default_rng(4).normal(0, 0.05, (4, 16, 3))
    blocks = noisy.reshape(4, 4, 4, 3)
    noisy += ((1 / 12 - blocks.sum(axis=2)) / 4).repeat(4, axis=1)  # coarse totals are right
    found = top_down(noisy, levels)
    assert (found >= 0).all()
    assert np.allclose(found.reshape(4, 4, 4, 3).sum(axis=2), 1 / 12)
    flat = norm_sub(noisy.reshape(4, -1)).reshape(noisy.shape)
    assert not np.allclose(flat.reshape(4, 4, 4, 3).sum(axis=2), 1 / 12, atol=0.02)  # norm-sub alone does not


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


@pytest.mark.parametrize("strength", [0.0, 0.8])
def test_wide_faces_must_say_more_than_their_pairs(strength: float) -> None:
    """Of four signs the first three have an odd product more often than not, or never; views of three, with noise."""
    signs = 1 - 2 * np.indices((2, 2, 2, 2))
    truth = (1 + strength * signs[0] * signs[1] * signs[2]) / 16
    levels, source = categories(2, 2, 2, 2), np.random.default_rng(5)
    views = tuple(Shown(own, (1, 1, 1), 1.0) for own in itertools.combinations(range(4), 3))
    noisy = [view_of(truth, levels, view) + source.normal(0, 0.01, (2, 2, 2)) for view in views]
    model = MarginalModel(Shape(levels, views), [table / table.sum() for table in noisy], [10_000.0] * 4)
    for face in itertools.combinations(range(4), 3):
        table = model._face(model.linear, model.means, face)
        product = float(np.einsum("abc,a,b,c->", table, [1, -1], [1, -1], [1, -1]))
        if strength and face == (0, 1, 2):
            assert abs(product - strength) < 6.1 * 0.01 * 8**0.5
        else:
            assert abs(product) < 0.02, "noise alone has a standard deviation of .028"
    found = model.frequencies((0, 1, 2, 3))
    assert abs(float((found * signs[0] * signs[1] * signs[2]).sum()) - strength) < 6.1 * 0.01 * 8**0.5


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


def test_shrinking_follows_the_noise() -> None:
    rng = np.random.default_rng(8)
    truth = np.where(rng.random(400) < 0.1, rng.normal(0, 1, 400), 0.0)
    for noise, gain in ((0.25, 2.0), (1e-8, 0.9)):
        seen = truth + np.sqrt(noise) * rng.standard_normal((5, 400))
        kept = posterior_means(seen, np.full(400, noise))
        assert ((seen - truth) ** 2).sum() > gain * ((kept - truth) ** 2).sum()
    clusters = rng.choice([0.1, 0.9], 64)
    seen = clusters + 0.1 * rng.standard_normal(64)
    assert ((fitted_means(seen, np.full(64, 0.01)) - clusters) ** 2).sum() < 0.5 * ((seen - clusters) ** 2).sum()


@pytest.mark.parametrize("method", ["shrink", "calm", "linear"])
def test_leading_axes_are_separate_collections(method: str) -> None:
    rng, sizes = np.random.default_rng(6), (2, 3, 2, 2)
    views = tuple(Shown(pair, (1, 1), 1.0) for pair in itertools.combinations(range(4), 2))
    shape = Shape(categories(*sizes), views)
    tables = [rng.normal(0.2, 0.1, (3, *(sizes[i] for i in view.attributes))) for view in views]
    together = MarginalModel(shape, tables, [50.0] * 6, method)
    for run in range(3):
        alone = MarginalModel(shape, [table[run] for table in tables], [50.0] * 6, method)
        assert np.allclose(together.frequencies((1, 3))[run], alone.frequencies((1, 3)))


def test_rows_follow_their_tables() -> None:
    """200,000 rows; a cell's share is off by more than 0.008 with probability below 1e-9 (6.1 standard errors)."""
    truth = joint(3, 4, 2)
    levels = categories(3, 4, 2)

    def table_of(attributes: Sequence[int]) -> np.ndarray:
        found: np.ndarray = truth.sum(axis=tuple(i for i in range(3) if i not in attributes))
        return found

    drawn = draw_rows(levels, table_of, 200_000, np.random.default_rng(1))
    found = np.bincount(np.ravel_multi_index(drawn, (3, 4, 2)), minlength=24).reshape(3, 4, 2) / 200_000
    assert np.abs(found - truth).max() < 0.008
    assert np.abs(found - truth.mean()).max() > 0.008
