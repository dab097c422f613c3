"""Few codes of a large alphabet are counted without its Fourier transform: the same numbers in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles import sparse_tally
from tacit.contract.oracles.digits import distinct
from tacit.contract.oracles.linear_hash import LinearHash


def views(sizes: list[int], epsilon: float) -> list[LinearHash]:
    """Return the hashes that a layout of all levels takes."""
    attributes = [tc.Categorical(f"a{i}", list(range(size))) for i, size in enumerate(sizes)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    compiled = tc.Collection(schema, epsilon, mechanism="hio").contract["t"]
    return [view.oracle for view in compiled.channels[0].views if isinstance(view.oracle, LinearHash)]


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_both_ways_of_counting_agree(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(1)
    found = views([3, 6, 9, 5], epsilon)
    assert found
    for oracle in found:
        codes = np.unique(np.append(source.integers(0, oracle.alphabet, 300), 0))
        people = source.integers(1, 9, len(codes)).astype(np.float64)
        monkeypatch.setattr(sparse_tally, "WORK", 0)
        dense = oracle.tally(codes, people)
        monkeypatch.setattr(sparse_tally, "WORK", 2**60)
        assert np.allclose(oracle.tally(codes, people), dense, atol=1e-6)


@pytest.mark.parametrize(
    ("g", "sizes"), [(2, (5, 3)), (3, (20, 7)), (5, (1, 6)), (7, (30, 50)), (13, (40,)), (5, (1,))]
)
def test_counts_are_those_of_all_codes(g: int, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the Fourier transform suffices; with one cell there is nothing to transform."""
    monkeypatch.setattr(sparse_tally, "WORK", 0)
    oracle = LinearHash(sizes, 52, g, 2**40, tuple(g + 1 if size > g else 1 for size in sizes))
    source = np.random.default_rng(4)
    codes = np.unique(source.integers(0, oracle.alphabet, 500))
    people = source.integers(1, 9, len(codes)).astype(np.float64)
    assert np.allclose(oracle.tally(codes, people), people @ oracle.support(codes), rtol=1e-12)


@pytest.mark.parametrize("most", [40, 400, 4_000])
def test_distinct_numbers_are_those_of_sorting(most: int) -> None:
    numbers = np.random.default_rng(most).integers(0, most, 100)
    for left, right in zip(distinct(numbers, most), np.unique(numbers, return_inverse=True), strict=True):
        assert left.tolist() == right.tolist()


def test_a_census_table_of_few_cells_and_many_codes_takes_little_memory() -> None:
    """16,416 cells with 426 million codes: their transform took 20 GB, and a whole machine."""
    [oracle] = [one for one in views([3, 6, 8, 114], 4.0) if one.domain == 16_416]
    assert oracle.alphabet > 400_000_000
    codes = np.unique(np.random.default_rng(2).integers(0, oracle.alphabet, 2_000))
    tracemalloc.start()
    oracle.tally(codes, np.ones(len(codes)))
    assert tracemalloc.get_traced_memory()[1] < 300e6
    tracemalloc.stop()


def test_few_reports_of_a_view_take_little_memory_and_time() -> None:
    """30 of 8 million codes: their transform took a second and 300 MB for each view, however few had reported it."""
    [oracle] = [one for one in views([125, 92], 4.0) if one.domain == 11_500]
    assert 2**22 < oracle.alphabet < sparse_tally.LARGE
    codes = np.unique(np.random.default_rng(3).integers(0, oracle.alphabet, 30))
    tracemalloc.start()
    oracle.tally(codes, np.ones(len(codes)))
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()
