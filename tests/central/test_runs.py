"""`method="runs"`: the loss of the choice is exact on small tables, files come back, flat data make long runs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from tacit import central
from tacit.central.noise import Ints, Laplace
from tacit.central.runs import SENSITIVITY, RunCounts, _best_runs, _unevenness, curve
from tacit.errors import LayoutError

SERVICE = tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, 1023)])


class Tape:
    """A source whose noise is given: the draws of a table of possibilities, one after another."""

    def __init__(self, draws: list[int]) -> None:
        self.draws_left = list(draws)

    def noisy(self, numbers: Ints, law: Laplace) -> Ints:
        return numbers + np.array([self.draws_left.pop(0) for _ in range(numbers.size)]).reshape(numbers.shape)

    def draws(self, count: int, scale: float) -> Ints:
        return np.zeros(count, dtype=np.int64)


def chances(counts: list[int], scale: float) -> np.ndarray:
    """Return the probabilities of one run of two cells, and of two runs, over all noise up to 40."""
    limit, ratio = 40, math.exp(-1 / scale)
    values = np.arange(-limit, limit + 1)
    mass = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    mass[[0, -1]] = ratio**limit / (1 + ratio)
    source, below = np.array(counts), np.concatenate([[0], np.cumsum(counts)])
    costs = [int(own) for k in (1, 2) for own in _unevenness(source, below, np.arange(3 - k), k)]
    first, second, both = np.meshgrid(*(np.maximum(cost + values, 0) for cost in costs), indexing="ij")
    weight = np.multiply.outer(np.multiply.outer(mass, mass), mass)
    apart = first + second + 1 < both  # each run costs 1 to count; the longer one is taken if both cost the same
    return np.array([weight[~apart].sum(), weight[apart].sum()])


@pytest.mark.parametrize(("before", "after"), [([2, 0], [3, 0]), ([0, 0], [0, 1]), ([9, 1], [9, 2]), ([4, 4], [5, 4])])
def test_choosing_runs_loses_at_most_epsilon(before: list[int], after: list[int]) -> None:
    """All noise of three runs is enumerated. The mutant, a quarter of the scale, loses more where it is tight."""
    epsilon = 1.0
    scale = Laplace(Fraction(1), SENSITIVITY).scale
    assert scale == SENSITIVITY / epsilon

    def loss(at: float) -> float:
        left, right = (chances(own, at) for own in (before, after))
        assert math.isclose(left.sum(), 1.0, abs_tol=1e-9)
        return float(np.abs(np.log(left / right)).max())

    assert 0 < loss(scale) <= epsilon
    if before == [4, 4]:
        assert loss(scale / 8) > epsilon


def test_one_record_changes_a_cost_by_at_most_two() -> None:
    source = np.random.default_rng(1)
    for length in (2, 4, 8, 16):
        counts = source.integers(0, 9, (400, length))
        more = counts.copy()
        more[:, 0] += 1
        for own, other in zip(counts, more, strict=True):
            first, second = (
                _unevenness(c, np.concatenate([[0], np.cumsum(c)]), np.array([0]), length)[0] for c in (own, other)
            )
            assert abs(int(first) - int(second)) <= SENSITIVITY // 2


def test_without_noise_runs_are_the_even_stretches() -> None:
    counts = np.array([7] * 8 + [0] * 4 + [3] * 4)
    starts = _best_runs(counts, Laplace(Fraction(1), SENSITIVITY), 0.5, Tape([0] * 100))
    assert starts.tolist() == [0, 8, 12]


def test_cells_of_two_attributes_follow_a_curve() -> None:
    order = curve((5, 6))
    assert sorted(order.tolist()) == list(range(30))
    assert set(order[:4].tolist()) == {0, 1, 6, 7}


def test_runs_beat_blue_where_people_are_few_and_come_back_from_files(tmp_path: Path) -> None:
    source = np.random.default_rng(2)
    x = np.where(source.random(4_000) < 0.5, 100, source.integers(500, 600, 4_000))
    table = {"uid": np.arange(4_000), "x": x}
    made = {name: central.release(table, SERVICE, "0.2", method=name) for name in ("runs", "blue", "auto")}
    truth = np.bincount(x, minlength=1024)
    off = {name: np.abs(np.cumsum(own.body.cell_estimates() - truth)).mean() for name, own in made.items()}
    assert off["runs"] < off["blue"]
    assert made["auto"].body.kind == "runs"
    made["runs"].save(tmp_path / "r.parquet")
    again = central.Release.load(tmp_path / "r.parquet")
    assert isinstance(again.body, RunCounts)
    [(one,)] = made["runs"].sql("SELECT COUNT(*) FROM t WHERE x < 550")
    [(other,)] = again.sql("SELECT COUNT(*) FROM t WHERE x < 550")
    assert (one.value, one.error) == (other.value, other.error)
    assert abs(one.value - truth[:550].sum()) < 6 * one.error
    assert made["runs"].synthesize(100, seed=1).num_rows == 100


def test_large_tables_are_refused() -> None:
    wide = tc.Service("w", key="uid", attributes=[tc.Ordinal("a", 0, 2**16)])
    with pytest.raises(LayoutError) as refused:
        central.release({"uid": [1], "a": [1]}, wide, 1, method="runs")
    assert refused.value.code == "domain-too-large"
