"""The multiscale release of one and two attributes: exact privacy, what it reads, and how near it comes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.tape import Tape, worst_loss
from tacit import central
from tacit.central import scatter
from tacit.central.adaptive import Adaptive
from tacit.central.halving import Halving
from tacit.central.multiscale import Multiscale, NoisyTree
from tacit.central.noise import Ints, Laplace, NoiseSource, OpenDp
from tacit.central.records import Records
from tacit.errors import ContractError, LayoutError
from tacit.estimate.functional import Functional

EPSILON = Fraction(3, 10)


def service(*sizes: int) -> tc.Service:
    return tc.Service(
        "s", key="uid", attributes=[tc.Ordinal(name, 0, size - 1) for name, size in zip("xyz", sizes, strict=False)]
    )


def records(counts: Ints) -> Records:
    cells = np.unravel_index(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape)
    columns = {"uid": np.arange(counts.sum()), **dict(zip("xyz", cells, strict=False))}
    return Records.read(columns, service(*counts.shape))


class Seeded:
    """Noise of the exact distribution from a fixed seed: the difference of two geometric draws."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.default_rng(seed)

    def noisy(self, numbers: Ints, law: Laplace) -> Ints:
        first, second = self._source.geometric(-np.expm1(-1 / law.scale), (2, len(numbers)))
        return np.asarray(numbers + first - second)

    def draws(self, count: int, scale: float) -> Ints:
        raise NotImplementedError


VALUES = 3_000


def rough(source: np.random.Generator) -> Ints:
    """People at a dozen places of 3,000 values (no power of two), a few values wide, and nobody between them."""
    counts = np.zeros(VALUES, dtype=np.int64)
    for start in source.integers(0, VALUES - 8, 12):
        counts[start : start + 8] += source.integers(1, 400)
    return counts


def neighbours(*sizes: int) -> tuple[dict[tuple[int, ...], Records], list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Return all tables of one to three records in three cells, and all pairs that differ by one record."""
    cells = int(np.prod(sizes))
    places = sorted({0, cells // 2, cells - 1})
    tables = [t for n in (1, 2, 3) for t in itertools.combinations_with_replacement(places, n)]
    kept = {t: records(np.bincount(t, minlength=cells).reshape(sizes)) for t in tables}
    return kept, [(t, tuple(sorted((*t, more)))) for t in tables if len(t) < 3 for more in places]


def loss_of(method: central.Method, *sizes: int, seed: int = 1) -> Fraction | None:
    """Return the worst exact loss over neighbours; outputs of the first calls lead to one to four stages."""
    kept, pairs = neighbours(*sizes)
    source = np.random.default_rng(seed)

    def run(table: object, tape: Tape) -> object:
        body = method.run(kept[table], EPSILON, tape)  # type: ignore[index]
        return str(body.facts()), body.columns().to_pydict()

    scattered = [[np.array([people]), *(source.integers(-40, 300, 16) for _ in range(3))] for people in (90, 2_000)]
    outputs = [(), [np.array([-3])] * 3, [np.array([2])] * 3, [np.array([500])] * 3, *scattered]
    return worst_loss(run, pairs, lambda: outputs)


@pytest.mark.parametrize("sizes", [(1,), (5,), (17,), (300,), (3, 2), (40, 7)])
def test_no_pair_of_neighbours_loses_more_than_epsilon(sizes: tuple[int, ...]) -> None:
    """All tables of one or two records and one more, against the exact distribution: no sampling."""
    worst = loss_of(Multiscale(), *sizes)
    assert worst is not None
    assert EPSILON * Fraction(99, 100) < worst <= EPSILON


@dataclass(frozen=True)
class Twice(Multiscale):
    """Mutant: every stage gets the budget of two."""

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> NoisyTree:
        return super().with_total(records, 2 * epsilon, source, people)


@dataclass(frozen=True)
class RawSplits(Multiscale):
    """Mutant: boxes are split where people are, not where noisy counts say so."""

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> NoisyTree:
        tree = NoisyTree(records.sizes, epsilon, people)
        raw = NoisyTree(records.sizes, epsilon, people)
        sums, boxes = tree.halving.sums(records.table()), tree.first_boxes()
        for law in tree.laws:
            counts = np.concatenate([sums[depth][nodes] for depth, nodes in boxes.items()]).astype(np.int64)
            tree.add(boxes, source.noisy(counts, law))
            raw.add(boxes, 50 * counts)
            boxes = raw.next_boxes()
        return tree


@dataclass(frozen=True)
class Overlapping(Multiscale):
    """Mutant: a stage counts the boxes of the stage before again, with the same law: a record is counted twice."""

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> NoisyTree:
        tree = super().with_total(records, epsilon, source, people)
        sums = tree.halving.sums(records.table())
        [(boxes, _)] = tree.stages[-1:]
        source.noisy(np.concatenate([sums[d][nodes] for d, nodes in boxes.items()]).astype(np.int64), tree.laws[-1])
        return tree


@pytest.mark.parametrize("mutant", [Twice(), RawSplits(), Overlapping()])
def test_mutants_lose_more(mutant: central.Method) -> None:
    worst = loss_of(mutant, 40, 7)
    assert worst is None or worst > EPSILON


@pytest.mark.parametrize("sizes", [(11,), (5, 3), (2, 9, 3), (1, 6)])
def test_sums_are_of_boxes_and_contrasts_rebuild_the_cells(sizes: tuple[int, ...]) -> None:
    """A vector is its mean plus, at every box with two halves, its contrast times each half's share of the rest."""
    tree, vector = Halving(sizes), np.arange(float(np.prod(sizes))) ** 2
    assert [len(level) for level in tree.sums(vector)] == [2**depth for depth in range(tree.depth + 1)]
    assert {level.sum() for level in tree.sums(vector)} == {vector.sum()}
    *contrasts, mean = tree.contrasts(vector)
    means = mean
    for depth, contrast in enumerate(contrasts):
        share, splits = tree.shares(depth)
        halves = np.stack([means + (1 - share) * contrast * splits, means - share * contrast * splits], axis=1)
        means = halves.ravel()
    assert means[tree.leaf] == pytest.approx(vector, abs=1e-9)


def test_boxes_have_the_shape_of_the_table() -> None:
    """Attributes take turns: the sixteen boxes of the first stage are four by four, until the smaller is used up."""
    for sizes, shape in [((64, 256), (16, 64)), ((2, 64), (1, 8)), ((200, 3), (64, 1))]:
        box = np.argwhere((Halving(sizes).leaf >> (Halving(sizes).depth - 4)).reshape(sizes) == 0)
        assert tuple(box.max(axis=0) + 1) == shape


def test_without_noise_the_values_are_the_counts() -> None:
    counts = np.array([0, 7, 0, 0, 900, 3, 3, 3, 1, 0, 40])
    for table in (counts, counts[:10].reshape(2, 5), counts[:9].reshape(3, 3)):
        tree = Multiscale().run(records(table), Fraction(10**6), Tape())
        assert tree.cell_estimates() == pytest.approx(table, abs=1e-6)


@pytest.mark.parametrize("size", [1, 6])
def test_one_value_and_all_rows_at_one_value(size: int) -> None:
    made = central.release({"uid": range(2_000), "x": [0] * 2_000}, service(size), 4, method="multiscale")
    estimate = made.sql("SELECT COUNT(*) AS n FROM s WHERE x = 0")["n"]
    assert estimate.value == pytest.approx(2_000, abs=max(60, 8 * estimate.error))
    assert made.synthesize(10, seed=1).num_rows == 10


def test_counts_are_not_negative_and_add_up(source: np.random.Generator) -> None:
    read = records(rough(source))
    tree = Multiscale().with_total(read, Fraction(1, 5), Seeded(1), len(read))
    table = tree.cell_estimates()
    assert table.min() >= 0
    everybody = Functional.constant(tree.sizes)
    assert tree.value(everybody) == pytest.approx(table.sum(), rel=1e-12)
    assert tree.deviation(everybody)[0] < np.sqrt(tree.total_law.variance)


def measured(counts: Ints, source: np.random.Generator, method: central.Method) -> tuple[float, float]:
    """Return the mean error of 40 random ranges in 40 releases at epsilon 0.2, and the share of intervals that hold."""
    ends = np.sort(source.integers(0, VALUES, (40, 2)), axis=1)
    below, marks = np.concatenate([[0], np.cumsum(counts)]), np.arange(VALUES)
    truth = below[ends[:, 1] + 1] - below[ends[:, 0]]
    asked = [Functional.of((VALUES,), 0, (marks >= low) & (marks <= high)) for low, high in ends]
    errors, held, read = [], [], records(counts)
    for seed in range(40):
        body = method.run(read, Fraction(1, 5), Seeded(seed))
        off = np.abs(np.array([body.value(one) for one in asked]) - truth)
        errors.append(off.mean())
        held.append(np.mean(off <= 1.96 * np.array([body.deviation(one)[0] for one in asked])))
    return float(np.mean(errors)), float(np.mean(held))


@pytest.mark.long("sparse tables beside boxes; even ones stay")
def test_sparse_values_are_nearer_than_by_boxes_and_intervals_hold(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Error: below 0.85 of that of `adaptive` (0.75 measured). Ranges of a release miss together, so the limits of the
    share of intervals that hold are wide. Mutant: people are always divided evenly.
    """
    counts = rough(np.random.default_rng(seed))
    by_boxes, _ = measured(counts, np.random.default_rng(seed), Adaptive())
    error, held = measured(counts, np.random.default_rng(seed), Multiscale())
    assert error < 0.85 * by_boxes
    assert 0.90 <= held <= 0.995
    monkeypatch.setattr(scatter, "SCALES", np.zeros(1))
    assert measured(counts, np.random.default_rng(seed), Multiscale())[0] > 0.85 * by_boxes


def test_even_values_are_learned_to_be_even(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three people at every value: the error is below 0.8 of that of a mutant that does not shrink deviations."""
    counts = np.full(VALUES, 3)
    error, held = measured(counts, np.random.default_rng(seed), Multiscale())
    monkeypatch.setattr(scatter, "SCALES", np.array([1e3]))
    assert error < 0.8 * measured(counts, np.random.default_rng(seed), Multiscale())[0]
    assert held >= 0.90


def worst_miss(spread: int, seed: int) -> float:
    """Return the most stated errors that answers are off: 60 releases of few people, a third of them at one value."""
    source, worst = np.random.default_rng(seed), 0.0
    for number in range(60):
        counts = np.bincount(source.integers(0, VALUES, 700), minlength=VALUES)
        place = int(source.integers(spread, VALUES - spread))
        counts[place] += 300
        body = Multiscale().run(records(counts), Fraction(1, 10), Seeded(number))
        table, marks = body.cell_estimates(), np.arange(VALUES)
        for low, high in ((place, place), (place - spread, place + spread), (0, place), (place, VALUES - 1)):
            asked = Functional.of((VALUES,), 0, (marks >= low) & (marks <= high))
            off = abs(float(table[low : high + 1].sum() - counts[low : high + 1].sum()))
            worst = max(worst, off / body.deviation(asked)[0])
    return worst


def test_no_answer_about_few_people_is_six_errors_off(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions about a value where noise may hide 300 of 1,000 people, at epsilon 0.1: what was 14 errors off once.

    at most 5.3 in 12 seeds. Mutant: posterior errors alone (14).
    """
    assert worst_miss(20, seed) < 6
    monkeypatch.setattr(NoisyTree, "_within", lambda *_: 0.0)
    monkeypatch.setattr(scatter, "HIDDEN", 0.0)
    assert worst_miss(20, seed) > 6


def test_auto_takes_it_for_one_attribute_with_few_people(source: np.random.Generator) -> None:
    few = records(rough(source) // 20)
    assert isinstance(central.METHODS["auto"]().run(few, Fraction(1, 10), OpenDp()), NoisyTree)
    assert central.advise(service(VALUES), "0.1", 500).method == "multiscale"
    assert central.advise(service(VALUES), 1, 1_000 * VALUES).method == "blue"
    assert central.advise(service(50), "0.1", 500).method == "adaptive"  # few values: see decision 0094
    assert central.advise(service(50, 40), "0.1", 500).method == "multiscale"
    assert central.advise(service(50, 40, 30), "0.1", 500).method == "adaptive"


def test_three_attributes_are_refused_with_what_to_use() -> None:
    with pytest.raises(LayoutError, match=r"one or two attributes.*adaptive") as caught:
        central.release({"uid": [1], "x": [1], "y": [2], "z": [0]}, service(4, 4, 4), 1, method="multiscale")
    assert caught.value.code == "domain-too-large"


def test_a_saved_release_answers_alike_and_a_shorter_one_is_refused(tmp_path: Path) -> None:
    table = {"uid": range(600), "x": np.arange(600) % 37}
    made = central.release(table, service(37), 1, method="multiscale")
    made.save(tmp_path / "kept.parquet")
    text = "SELECT COUNT(*) AS n, AVG(x) AS m, MEDIAN(x) AS q FROM s WHERE x < 20"
    again = central.Release.load(tmp_path / "kept.parquet")
    assert again.id == made.id
    assert str(again.sql(text)) == str(made.sql(text))
    assert "divided evenly where the noisy counts show no difference" in str(made.sql(text).notes)
    kept = pq.read_table(tmp_path / "kept.parquet")
    boxes = kept.column("box").to_pylist()
    for damaged in ([boxes[0] + 1, *boxes[1:]], [-1, *boxes[1:]], [2**20, *boxes[1:]]):
        with pytest.raises(ValueError, match="0"):
            NoisyTree.of_file((37,), made.body.facts(), kept.set_column(2, "box", pa.array(damaged, pa.int32())))
    pq.write_table(kept.slice(1), tmp_path / "cut.parquet")
    with pytest.raises(ContractError):
        central.Release.load(tmp_path / "cut.parquet")


def test_what_boxes_hide_adds_to_the_noise_of_what_was_counted(source: np.random.Generator) -> None:
    """Totals over one column held in 0.72 to 0.92 on real tables where the larger of the two was stated."""
    tree = Multiscale().run(records(source.integers(0, 9, (74, 99))), Fraction(1), Seeded(1))
    asked = Functional.of((74, 99), 0, (np.arange(74) < 31).astype(float))
    counted = tree.covariance(asked, asked) - tree._hidden_variance(tree._contrasts(asked))
    hidden = tree._within(asked)
    assert min(counted, hidden) > 10
    assert tree.deviation(asked)[0] ** 2 >= counted + hidden - 1e-6
