"""Every method on all neighbouring pairs of tiny tables, against the exact noise distribution: no sampling.

A tape plays outputs back to the shipped code (`support.tape`); the loss of an output is an exact fraction.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.tape import Tape, worst_loss
from tacit import central
from tacit.central.body import Body
from tacit.central.boxes import Boxes
from tacit.central.kdtree import KdTree, grow
from tacit.central.methods import METHODS
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.sparse import unravel
from tacit.errors import InternalError

EPSILON = Fraction(3, 10)
SERVICE = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 2), tc.Categorical("c", ["a", "b"])])
CELLS = list(itertools.product(range(3), "ab"))

Table = tuple[tuple[int, str], ...]


def tables(most: int) -> list[Table]:
    """Return all tables of one to ``most`` records."""
    return [t for n in range(1, most + 1) for t in itertools.combinations_with_replacement(CELLS, n)]


def neighbours() -> Iterator[tuple[Table, Table]]:
    """Yield all pairs of tables of one or two records and one record more."""
    for table in tables(2):
        for record in CELLS:
            yield table, (*table, record)


def read(table: Table) -> Records:
    columns = {"uid": list(range(len(table))), "x": [x for x, _ in table], "c": [c for _, c in table]}
    return Records.read(columns, SERVICE)


CACHE = {tuple(sorted(table)): read(table) for table in tables(3)}


def published(body: Body) -> object:
    """Return everything that a release of this body would say."""
    return str(body.facts()), body.columns().to_pydict()


def running(method: central.Method) -> Callable[[object, Tape], object]:
    def run(table: object, tape: Tape) -> object:
        assert isinstance(table, tuple)
        return published(method.run(CACHE[tuple(sorted(table))], EPSILON, tape))

    return run


def few_outputs(seed: int, calls: int = 1) -> Callable[[], Iterable[Sequence[Ints]]]:
    """Return a fixed set of outputs of the first calls: true numbers, extremes, and scattered ones."""
    source = np.random.default_rng(seed)
    scattered = [[source.integers(-2, 6, 12) for _ in range(calls)] for _ in range(3)]
    extremes = [[np.array([level] * 12)] * calls for level in (-3, 1, 500)]
    return lambda: [(), *extremes, *scattered]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cells", {}),
        ("kdtree", {"count_threshold": 1.0, "uneven_threshold": 1.0}),
        pytest.param("kdtree", {}, marks=pytest.mark.long("the k-d tree's default thresholds; others stay")),
        ("hierarchical", {"height": 2}),
        ("blue", {}),
        pytest.param("adaptive", {}, marks=pytest.mark.long("every pair of neighbours of `adaptive`")),
        pytest.param("auto", {}, marks=pytest.mark.long("the neighbours of `auto`, which takes one of the others")),
    ],
)
def test_no_pair_of_neighbours_loses_more_than_epsilon(name: str, options: dict[str, float]) -> None:
    """Every method, every pair: the exact loss is at most epsilon, and not far below for the worst pair."""
    worst = worst_loss(running(METHODS[name](**options)), neighbours(), few_outputs(1, calls=2))
    assert worst is not None
    assert worst <= EPSILON
    assert worst > EPSILON * Fraction(99, 100)


def test_the_kdtree_on_all_noisy_tables_of_four_cells() -> None:
    """All 3**4 first steps with counts -1, 1 and 3: whatever tree they give, the loss is at most epsilon."""
    service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 1), tc.Ordinal("y", 0, 1)])
    cells = list(itertools.product(range(2), repeat=2))
    kept = {
        t: Records.read({"uid": range(len(t)), "x": [x for x, _ in t], "y": [y for _, y in t]}, service)
        for n in (1, 2)
        for t in itertools.combinations_with_replacement(cells, n)
    }
    pairs = [((one,), tuple(sorted((one, more)))) for one in cells for more in cells]
    method = KdTree(count_threshold=1.0, uneven_threshold=2.0)
    shapes = set()

    def run(table: object, tape: Tape) -> object:
        made = published(method.run(kept[table], EPSILON, tape))  # type: ignore[index]
        shapes.add(len(tape.said[1]))
        return made

    outputs = [(np.array(y),) for y in itertools.product((-1, 1, 3), repeat=4)]
    worst = worst_loss(run, pairs, lambda: outputs)
    assert worst is not None
    assert EPSILON * Fraction(99, 100) < worst <= EPSILON
    assert shapes == {1, 2, 3, 4}, "the outputs lead to trees of every size"


@dataclass(frozen=True)
class NotHalved(KdTree):
    """Mutant: both steps get the whole budget."""

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        return super().run(records, 2 * epsilon, source)


@dataclass(frozen=True)
class RawPartition(KdTree):
    """Mutant: the tree is grown on the raw table."""

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        law = Laplace(epsilon / 2)
        source.noisy(records.table(), law)
        places = unravel(np.arange(len(CELLS)), records.sizes)
        raw = records.table().ravel()
        tree = grow(records.sizes, places, raw, count_threshold=1.0, uneven_threshold=1.0)
        return Boxes(records.sizes, tree.low, tree.high, source.noisy(tree.count_leaves(records), law), law)


@dataclass(frozen=True)
class RawCount(KdTree):
    """Mutant: a leaf count leaves without noise."""

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        body = super().run(records, epsilon, source)
        assert isinstance(body, Boxes)
        body.unevenness = float(len(records))
        return body


def test_mutants_are_caught() -> None:
    """Budget not halved: twice the loss. Partition on raw data, or any raw number published: an infinite loss."""
    doubled = worst_loss(running(NotHalved()), neighbours(), few_outputs(1))
    assert doubled is not None
    assert doubled > EPSILON * Fraction(19, 10)
    assert worst_loss(running(RawPartition()), neighbours(), few_outputs(1)) is None
    assert worst_loss(running(RawCount()), neighbours(), few_outputs(1)) is None


def test_a_method_that_draws_for_more_than_it_charged_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mutant", NotHalved)
    table = {"uid": [1, 2], "x": [0, 2], "c": ["a", "b"]}
    with pytest.raises(InternalError):
        central.release(table, SERVICE, EPSILON, method="mutant")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("epsilon", ["1", "0.1", "1/3", "2.718"])
def test_what_is_charged_is_epsilon_and_what_is_drawn_is_charged(name: str, epsilon: str) -> None:
    """The calls of the noise, each one parallel over disjoint parts, add up to the charges, and those to epsilon."""
    tape, ledger = Tape(), central.Ledger(None, epsilon)
    columns = {"uid": range(40), "x": [0, 1, 2, 2] * 10, "c": ["a", "b"] * 20}
    central.release(columns, SERVICE, epsilon, method=name, ledger=ledger, source=tape)
    drawn = sum((1 / Fraction(scale) for _, scale in tape.asked), Fraction(0))
    assert ledger.spent == ledger.epsilon
    assert drawn <= ledger.epsilon < drawn * (1 + Fraction(1, 2**48))


def test_interactive_answers_lose_what_they_charge() -> None:
    """A session over all pairs: a count, a sum, a partition with a part asked twice. The loss is at most the charge."""
    totals = set()

    def run(table: object, tape: Tape) -> object:
        assert isinstance(table, tuple)
        ledger = central.Ledger(None, 5)
        columns = {"uid": list(range(len(table))), "x": [x for x, _ in table], "c": [c for _, c in table]}
        data = ledger.open(columns, SERVICE, source=tape)
        said = [data.where("x > 0").noisy_count("0.2").value, data.noisy_sum("x", "0.3").value]
        parts = data.partition("c")
        said += [part.noisy_count("0.25").value for part in parts]
        said += [cell.value for *_, cell in parts[1].partition("x").noisy_counts("0.5")]
        totals.add(ledger.spent)
        return said

    worst = worst_loss(run, neighbours(), lambda: [()])
    assert totals == {Fraction(2, 10) + Fraction(3, 10) + Fraction(25, 100) + Fraction(5, 10)}
    assert worst is not None
    assert max(totals) * Fraction(99, 100) < worst <= max(totals)
