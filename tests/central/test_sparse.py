"""Sparse domains: empty cells appear as if each had noise of its own, and no more can be learned from them."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.chances import assert_distribution, assert_mean
from tacit import central
from tacit.central import sparse
from tacit.central.boxes import Boxes
from tacit.central.noise import Ints, Laplace, Law, OpenDp
from tacit.central.records import Records
from tacit.central.sparse import Background, gap_scale, lowest_threshold, unravel, visible_cells

SERVICE = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 199), tc.Ordinal("y", 0, 99)])


def records(rows: int) -> Records:
    place = np.arange(rows)
    return Records.read({"uid": place, "x": place % 7, "y": place % 5}, SERVICE)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.7, 40.0, 2000.0])
@pytest.mark.parametrize("threshold", [1, 2, 9, 300])
def test_empty_cells_appear_no_less_often_than_with_noise_on_every_cell(scale: float, threshold: int) -> None:
    """The proof's one inequality, p <= p' < p (1 + 2**-38), in 80 digits: then no output loses more than 1/scale.

    Shown for the pair of an empty cell and one with a record: appearing with any height, and not appearing.
    """
    getcontext().prec = 80
    a = (-1 / Decimal(scale)).exp()
    p = (-threshold / Decimal(scale)).exp() / (1 + a)
    if p < Decimal(10) ** -60:
        return  # beyond any domain
    appears = 1 - (-1 / Decimal(gap_scale(scale, threshold))).exp()
    assert p <= appears < p * (1 + Decimal(2) ** -38)
    one_more = p / a  # chance of the cell with one record to reach the threshold >= 1
    limit = 1 / a
    assert one_more / appears <= limit
    assert appears / one_more <= limit
    assert (1 - appears) / (1 - one_more) <= limit
    assert (1 - one_more) / (1 - appears) <= limit


class Seeded:
    """Discrete Laplace noise from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def noisy(self, numbers: Ints, law: Law) -> Ints:
        """Return the numbers with noise."""
        assert isinstance(law, Laplace)
        return numbers + self.draws(np.size(numbers), law.scale).reshape(np.shape(numbers))

    def draws(self, count: int, scale: float) -> Ints:
        """Return noise alone."""
        p = 1 - math.exp(-1 / scale)
        return self.random.geometric(p, count) - self.random.geometric(p, count)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2"])
def test_errors_contain_the_people_of_dropped_cells(monkeypatch: pytest.MonkeyPatch, epsilon: str) -> None:
    """20,000 cells with few people each: answers were many stated errors too low, as dropped cells were left out."""
    monkeypatch.setattr("tacit.central.cells.DENSE", 1000)
    monkeypatch.setattr(sparse, "FALSE_CELLS", 100)
    source = np.random.default_rng(8)
    x, y = source.normal(100, 30, 20_000).astype(int) % 200, source.integers(0, 100, 20_000)
    made = central.release(
        {"uid": np.arange(20_000), "x": x, "y": y}, SERVICE, epsilon, method="cells", source=Seeded(3)
    )
    assert isinstance(made.body, Boxes)
    assert made.body.threshold > 1
    asked = {"x < 100": x < 100, "y < 7": y < 7, "x BETWEEN 80 AND 99 AND y > 50": (x >= 80) & (x < 100) & (y > 50)}
    asked |= {"x = 3": x == 3, "x < 30 OR y = 1": (x < 30) | (y == 1)}
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {text}) AS n{k}" for k, text in enumerate(asked))
    [row] = made.sql(f"SELECT {counts}, AVG(x) AS n FROM s")
    truths = [*(held.sum() for held in asked.values()), x.mean()]
    assert max(abs(own.value - right) / own.error for own, right in zip(row, truths, strict=True)) < 4
    dense = central.release(
        {"uid": np.arange(50), "x": x[:50], "y": y[:50]}, SERVICE, epsilon, method="cells", source=Seeded(4)
    )
    [few] = dense.sql("SELECT COUNT(*) FILTER (WHERE x < 100) AS n FROM s")
    assert few[0].error < 20_000  # nobody is hidden in most cells


def test_a_scale_without_slack_would_not_do() -> None:
    """The mutant leaves the scale as the nearest double, and p' falls below p for some thresholds."""
    getcontext().prec = 80
    broken, noise = 0, 7.75
    for threshold in range(1, 60):
        a = (-1 / Decimal(noise)).exp()
        p = (-threshold / Decimal(noise)).exp() / (1 + a)
        scale = gap_scale(noise, threshold) / (1 - sparse.SLACK)
        broken += 1 - (-1 / Decimal(scale)).exp() < p
    assert broken > 0


def test_what_appears_has_the_distribution_of_noise_on_every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """n = 60 releases of 20,000 cells, false alarms 1e-9: heights and places of empty cells against dense noise.

    Mutants: heights with a scale 10 % larger; places that leave out the last tenth of the domain.
    """
    monkeypatch.setattr(sparse, "FALSE_CELLS", 800)
    data, law = records(35), Laplace(Fraction(1, 2))
    occupied = data.occupied[0]
    threshold = lowest_threshold(20_000, law.scale)
    heights, places, counts = [], [], []
    for _ in range(60):
        found = visible_cells(data, law, OpenDp())
        assert (np.diff(found.cells) > 0).all()
        empty = ~np.isin(found.cells, occupied)
        heights.append(found.counts[empty] - threshold)
        places.append(found.cells[empty] * 10 // 20_000)
        counts.append(int(empty.sum()))
    a = math.exp(-1 / law.scale)

    def geometric(a: float) -> np.ndarray:
        chance = (1 - a) * a ** np.arange(12)
        chance[-1] = a**11
        return chance

    observed = np.bincount(np.minimum(np.concatenate(heights), 11), minlength=12)
    assert_distribution(observed, geometric(a), mutant=geometric(math.exp(-1 / (1.1 * law.scale))))
    tenths = np.full(10, 0.1)
    cut = np.array([1 / 9] * 9 + [1e-12])
    assert_distribution(np.bincount(np.concatenate(places), minlength=10), tenths, mutant=cut)
    chance = a**threshold / (1 + a)
    cells = 20_000 - len(occupied)
    error = math.sqrt(cells * chance * (1 - chance) / 60)
    assert_mean(float(np.mean(counts)), cells * chance, error, mutant=cells * chance * 1.2)


def test_cells_left_out_count_so_that_empty_ones_are_unbiased() -> None:
    """Exactly, by summing the distribution; with a threshold of 1 cells of any count are unbiased."""
    scale = 3.3
    a = math.exp(-1 / scale)
    k = np.arange(-400, 401)
    chance = (1 - a) / (1 + a) * a ** np.abs(k)
    for threshold in (1, 4, 11):
        background = Background.of(scale, threshold)
        for count in range(6):
            shown = np.where(k + count >= threshold, k + count, background.level)
            mean = float(chance @ shown)
            if count == 0 or threshold == 1:
                assert mean == pytest.approx(count, abs=1e-9)
            if count == 0:
                assert float(chance @ shown**2) == pytest.approx(background.variance, rel=1e-9)


def test_large_domains_are_released_without_visiting_them() -> None:
    """A domain of 10**15 cells: cells, kdtree, adaptive and hierarchical release it in a moment; blue names another."""
    from tacit import central
    from tacit.errors import LayoutError

    huge = tc.Service("s", key="uid", attributes=[tc.Ordinal(name, 0, 99_999) for name in ("x", "y", "z")])
    place = np.arange(3_000)
    table = {"uid": place, "x": place % 10, "y": place % 7 * 9_000, "z": place * 0 + 5}
    for name in ("cells", "kdtree", "hierarchical", "adaptive"):
        made = central.release(table, huge, 2, method=name, **({"height": 1} if name == "hierarchical" else {}))
        assert isinstance(made.body, Boxes)
        whole = made.sql("SELECT COUNT(*) AS n FROM s")["n"]
        assert whole.value == pytest.approx(3_000, abs=max(600, 8 * whole.error))
    ledger = central.Ledger(None, 1)
    whole = central.release(table, huge, 2).sql("SELECT COUNT(*) AS n FROM s")["n"]
    assert whole.value == pytest.approx(3_000, abs=max(600, 8 * whole.error))
    for name in ("blue", "hierarchical"):  # the latter asks for every value of an attribute in every box
        with pytest.raises(LayoutError) as caught:
            central.release(table, huge, 1, method=name, ledger=ledger)
        assert caught.value.code == "domain-too-large"
    assert ledger.spent == 0


def test_flat_cells_and_places_agree() -> None:
    sizes = (3, 4, 5)
    places = unravel(np.arange(60), sizes)
    assert (np.ravel_multi_index(tuple(places.T), sizes) == np.arange(60)).all()


class Played:
    """Noise from a list of draws, as the library gives them: saturated at the ends of 64 bits."""

    def __init__(self, draws: list[int]) -> None:
        self.left = draws

    def noisy(self, numbers: Ints, law: Law) -> Ints:
        return numbers

    def draws(self, count: int, scale: float) -> Ints:
        drawn, self.left = self.left[:count], self.left[count:]
        return np.array(drawn + [0] * (count - len(drawn)), dtype=np.int64)


@pytest.mark.parametrize(
    ("gaps", "ranks"),
    [
        ([2**60 - 5] * 5, [2**60 - 5, 2**61 - 9, 3 * 2**60 - 13, 2**62 - 17]),
        ([2**63 - 1], []),
        ([-(2**63)], []),
        ([-1, -2, 3, 2**63 - 1], [0, 2, 6]),
        ([2**62 - 2, -(2**63)], [2**62 - 2]),
    ],
)
def test_gaps_beyond_64_bits_are_added_up_exactly(gaps: list[int], ranks: list[int]) -> None:
    """Empty cells of 2**62 - 1; a sum of 64-bit gaps would wrap around and make cells appear that noise did not."""
    assert sparse._appearing(2**62 - 1, 2.0**60, Played(gaps)).tolist() == ranks


@pytest.mark.parametrize("epsilon", [1, 10, 20, 30])
@pytest.mark.parametrize("bits", [60, 62])
def test_domains_of_2_to_the_60_and_more_take_any_budget(epsilon: int, bits: int) -> None:
    """Cells come in order, inside the domain, and about 25,000 of them at most are empty: 1e-9 above 26,000."""
    sizes = [2**15] * (bits // 15) + [2 ** (bits % 15)] * (bits % 15 > 0)
    attributes = [tc.Ordinal(f"a{i}", 0, size - 1) for i, size in enumerate(sizes)]
    huge = tc.Service("s", key="uid", attributes=attributes)
    table = {"uid": np.arange(50)} | {f"a{i}": np.full(50, size - 1) for i, size in enumerate(sizes)}
    found = visible_cells(Records.read(table, huge), Laplace(Fraction(epsilon)), OpenDp())
    assert (np.diff(found.cells) > 0).all()
    assert found.cells[0] >= 0
    assert found.cells[-1] == 2**bits - 1
    assert found.counts[-1] > 0
    assert len(found.cells) < 26_000
