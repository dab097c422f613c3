"""Blocks of views against views one by one: what codes add, what tables know, totals, and margins of oracles."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles import Grr, LinearHash, Oracle, Subset
from tacit.contract.oracles.nearly_constant import NearlyConstant
from tacit.estimate.batch import batch_of, variance_shares
from tacit.estimate.blocks import blocks_of, known_row, rows_of_codes, totals_of
from tacit.estimate.decoder import Decoder
from tacit.estimate.tallies import Tallies
from unit.test_batch import ATTRIBUTES, KINDS, random_functionals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mechanism", "most"), [("hio", 1), ("hio", 3), ("pairs", 2), ("am(1)", 1), ("partitions", 2)])
def test_blocks_read_what_batches_read(mechanism: str, most: int, kind: str, source: np.random.Generator) -> None:
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES, **KINDS[kind])])  # type: ignore[arg-type]
    service = tc.Collection(schema, 2.0, mechanism=mechanism, users=100_000).contract["u"]
    decoder, channel = Decoder(service), service.channels[0]
    functionals = random_functionals(service, most, source)
    functionals += [one.scaled(-2.5) for one in functionals]  # which share the directions of the others
    batch = batch_of(decoder, functionals)
    assert batch is not None
    blocks, joint = blocks_of(batch, len(channel.views))
    codes = np.unique(source.integers(0, channel.alphabet, 1_000))
    tallies = Tallies(channel, codes, source.normal(size=len(codes)))
    seen = set(joint)
    for block in blocks:
        assert block.shared.directions.max(initial=0) < len(functionals) / 2
        for view in block.views:
            seen.add(view)
            own = codes[(codes >= channel.views[view].offset)] - channel.views[view].offset
            own = own[own < channel.views[view].oracle.alphabet]
            right = batch.contributions(view, own)
            made = np.zeros((len(own), int(block.shared.directions.max(initial=0)) + 1))
            for reading in block.readings:
                rows = rows_of_codes(reading.way, view, own)
                made = made + rows @ reading.vectors.T
                only = Tallies(channel, own + channel.views[view].offset, np.ones(len(own)))
                scale = np.abs(rows).max(initial=1.0) * max(1, len(own))
                assert np.allclose(known_row(reading.way, view, only), rows.sum(axis=0), rtol=0, atol=1e-9 * scale)
            added = block.shared.constants + block.shared.slopes * made[:, block.shared.directions]
            assert np.allclose(added, right, rtol=1e-8, atol=1e-8 * np.abs(right).max(initial=1.0))
    assert seen == set(range(len(channel.views)))
    right = batch.totals(tallies, range(len(channel.views)))
    assert np.allclose(totals_of(batch, tallies), right, rtol=1e-10, atol=1e-10 * np.abs(right).max())


ORACLES: list[tuple[type[Oracle], tuple[int, ...]]] = [
    (Grr, (3, 4)),
    (Subset, (2, 5)),
    (LinearHash, (20,)),
    (LinearHash, (7, 60)),
    (LinearHash, (3, 5, 4)),
]


@pytest.mark.parametrize(("kind", "sizes"), ORACLES)
def test_readers_and_margins_sum_over_supported_cells(
    kind: type[Oracle], sizes: tuple[int, ...], source: np.random.Generator
) -> None:
    oracle = kind.build(sizes, Fraction(8))  # type: ignore[attr-defined]
    codes = np.unique(np.concatenate([[0], source.integers(0, oracle.alphabet, 200)]))
    support = oracle.support(codes).reshape(len(codes), *sizes).astype(float)
    axes = [source.normal(size=(7, size)) for size in sizes]
    for own in axes:  # as groups have: one cell, one cell beside a number, and a number
        own[4:] = [[0.0], [0.3], [2.0]]
        own[4, 1], own[5, 0] = 1.5, -0.7
    picks = source.integers(0, 7, (40, len(sizes)))
    letters = "abc"[: len(sizes)]
    right = np.stack(
        [
            np.einsum(
                f"x{letters},{','.join(letters)}->x", support, *(own[i] for own, i in zip(axes, row, strict=True))
            )
            for row in picks
        ],
        axis=1,
    )
    assert np.allclose(oracle.reader(codes)(axes, picks), right, rtol=0, atol=1e-9)
    assert np.allclose(oracle.reader(codes, np.float32)(axes, picks), right, rtol=0, atol=1e-3)
    vectors = [own[0] for own in axes]
    for axis in (None, *range(len(sizes))):
        others = [i for i in range(len(sizes)) if i != axis]
        summed = f"x{letters}{''.join(',' + letters[i] for i in others)}->x{'' if axis is None else letters[axis]}"
        margins = np.einsum(summed, support, *(vectors[i] for i in others)).reshape(len(codes), -1)
        assert np.allclose(oracle.margins(axis, vectors, codes), margins, rtol=0, atol=1e-9)


def test_named_cells_are_read_without_tables_of_support(source: np.random.Generator) -> None:
    """Tables of support would have 10**10 entries, and take minutes."""
    wide = Grr((1_000, 100), 53, flip=1)
    codes = np.arange(wide.domain)
    axes = [source.normal(size=(1, size)) for size in wide.sizes]
    began = time.process_time()
    wide.reader(codes)(axes, np.zeros((1, 2), dtype=np.int64))
    wide.margins(1, [own[0] for own in axes], codes)
    assert time.process_time() - began < 5


def test_views_that_matter_are_sampled_most() -> None:
    """Views of a question's attributes together have a larger share than any that shows one of them."""
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES)])
    service = tc.Collection(schema, 2.0, mechanism="partitions", users=100_000).contract["u"]
    shares = variance_shares(Decoder(service), [(0, 2)])
    views = service.channels[0].views
    both = [share for view, share in shares.items() if set(views[view].active) == {0, 2}]
    alone = [share for view, share in shares.items() if set(views[view].active) == {0, 1}]
    assert max(both) > 5 * max(alone)


@pytest.mark.parametrize("cells", [2, 3, 40])
def test_vectors_that_are_constant_but_for_a_cell_are_multiplied_by_it_alone(
    cells: int, source: np.random.Generator
) -> None:
    vectors = np.repeat(source.normal(size=(9, 1)), cells, axis=1)
    vectors[np.arange(9), source.integers(0, cells, 9)] += source.normal(size=9)
    rows, nearly = source.normal(size=(5, cells)), NearlyConstant.of(vectors)
    assert nearly.is_so.all()
    np.testing.assert_allclose(nearly.multiply(rows), vectors @ rows.T, atol=1e-12)
    if cells > 3:
        vectors[4, :2] += 1.0, 2.0
        assert not NearlyConstant.of(vectors).is_so[4]
