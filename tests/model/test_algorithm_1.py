"""Table 2 of the CALM paper: Algorithm 1 gives the listed (l, m), in all 360 cells."""

from __future__ import annotations

import itertools
import math

import pytest

import tacit as tc
from tacit.contract.layouts.calm import view_sets, view_shape
from tacit.contract.layouts.covering import covering, least_sets, spread
from tacit.errors import TacitError

EPSILONS = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]

TABLE = """
8 3 16: 2,28*7 3,56*2 4,14
8 4 16: 2,28*7 3,56*3
8 5 16: 2,28*8 3,56*2
8 6 16: 2,28*8 3,56*2
8 7 16: 2,28*9 3,56
8 8 16: 2,28*9 3,56
16 3 16: 2,65*8 3,65*2
16 4 16: 2,65*9 3,65
16 5 16: 2,65*10
16 6 16: 2,65*10
16 7 16: 2,65*10
16 8 16: 2,65*10
32 3 16: 2,65*10
32 4 16: 2,65*10
32 5 16: 2,65*10
32 6 16: 2,65*10
32 7 16: 2,65*10
32 8 16: 2,65*10
8 3 18: 2,28*4 3,56*5 4,14
8 4 18: 2,28*4 3,56*2 4,70*4
8 5 18: 2,28*5 3,56*2 4,70 5,56*2
8 6 18: 2,28*5 3,56*2 4,70*2 5,56
8 7 18: 2,28*5 3,56*3 4,70 5,56
8 8 18: 2,28*6 3,56*2 4,70*2
16 3 18: 2,120*5 3,262*2 4,140*3
16 4 18: 2,120*6 3,262*2 4,262*2
16 5 18: 2,120*6 3,262*2 4,262*2
16 6 18: 2,120*7 3,262*2 4,262
16 7 18: 2,120*7 3,262*2 4,262
16 8 18: 2,120*7 3,262*3
32 3 18: 2,262*7 3,262*2 4,262
32 4 18: 2,262*7 3,262*3
32 5 18: 2,262*8 3,262*2
32 6 18: 2,262*8 3,262*2
32 7 18: 2,262*9 3,262
32 8 18: 2,262*9 3,262
"""
"""d, k, log2 n: (l, m) for epsilon = 0.2, 0.4, …, 2; ``*7`` repeats a pair."""


def listed() -> dict[tuple[int, int, int, float], tuple[int, int]]:
    cells: dict[tuple[int, int, int, float], tuple[int, int]] = {}
    for line in TABLE.strip().splitlines():
        head, _, body = line.partition(": ")
        d, k, power = map(int, head.split())
        pairs = []
        for item in body.split():
            pair, _, times = item.partition("*")
            shown, _, count = pair.partition(",")
            pairs += [(int(shown), int(count))] * int(times or 1)
        cells |= {(d, k, power, e): pair for e, pair in zip(EPSILONS, pairs, strict=True)}
    return cells


def test_algorithm_1_gives_table_2() -> None:
    found = {(d, k, p, e): view_shape([2] * d, 2**p, e, asked=k) for d, k, p, e in listed()}
    assert len(found) == 360
    assert {cell: (found[cell], pair) for cell, pair in listed().items() if found[cell] != pair} == {}


@pytest.mark.parametrize(
    ("d", "size", "covered"), [(8, 4, 3), (16, 4, 3), (8, 4, 2), (9, 3, 2), (10, 5, 3), (12, 12, 4)]
)
def test_designs_cover(d: int, size: int, covered: int) -> None:
    design = covering(d, size, covered, most=10_000)
    assert design is not None
    missing = set(itertools.combinations(range(d), covered))
    for one in design:
        assert len(set(one)) == size
        missing -= set(itertools.combinations(one, covered))
    assert not missing
    assert len(design) >= least_sets(d, size, covered)


@pytest.mark.parametrize(("d", "size", "count"), [(16, 2, 65), (32, 2, 65), (32, 2, 262), (16, 3, 262), (32, 4, 262)])
def test_spread_sets_are_different_and_even(d: int, size: int, count: int) -> None:
    sets = spread(d, size, count)
    assert len(set(sets)) == count
    uses = [sum(i in one for one in sets) for i in range(d)]
    assert max(uses) - min(uses) <= 0.1 * count * size / d + 2
    pairs = {pair for one in sets for pair in itertools.combinations(one, 2)}
    assert len(pairs) >= min(math.comb(d, 2), count * math.comb(size, 2)) * 0.95


def test_views_of_uneven_sizes() -> None:
    sets = view_sets([3, 3, 2, 5, 2, 2], 2**18, 1.0, asked=3)
    assert {i for one in sets for i in one} == set(range(6))


def service(d: int) -> tc.Schema:
    return tc.Schema(
        [tc.Service("s", key="uid", attributes=[tc.Categorical(f"a{i}", values=[0, 1]) for i in range(d)])]
    )


def test_a_collection_by_calm_follows_algorithm_1_and_is_audited() -> None:
    collection = tc.Collection(service(8), 2.0, mechanism="calm(3)", users=2**16)
    [channel] = collection.contract["s"].channels
    assert {sum(map(bool, view.levels)) for view in channel.views} == {4}
    assert len(channel.views) == 14
    assert collection.audit().ok
    assert tc.Collection.from_json(collection.to_json()) == collection


@pytest.mark.parametrize(
    ("mechanism", "users", "code"),
    [
        ("calm(3)", None, "users-needed"),
        ("calm(9)", 1000, "mechanism-number"),
        ("calm", 1000, "mechanism-number"),
        ("calm(3)", 0, "bad-option"),
    ],
)
def test_what_calm_refuses(mechanism: str, users: int | None, code: str) -> None:
    with pytest.raises(TacitError) as refused:
        tc.Collection(service(8), 1.0, mechanism=mechanism, users=users)
    assert refused.value.code == code
