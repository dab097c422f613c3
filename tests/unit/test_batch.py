"""Functionals read together against functionals decoded one by one: totals, and what each code adds."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.contract.contract import ServiceContract
from tacit.estimate.batch import batch_of
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.reading import contributions
from tacit.estimate.tallies import Tallies

ATTRIBUTES = [tc.Ordinal("age", 0, 11), tc.Ordinal("income", 0, 8), tc.Categorical("state", list("abcde"))]

KINDS = {
    "one row": {},
    "at most three rows": {"at_most": 3, "sends": 1},
    "optional": {"optional": True},
}


def random_functionals(service: ServiceContract, most: int, source: np.random.Generator) -> list[Functional]:
    """Return functionals with one or two terms over at most so many attributes, extra cells among them."""
    sizes = tuple(levels.size for levels in service.levels) + ((1 + service.extras,) if service.extras else ())
    made = []
    for _ in range(12):
        functional = Functional.constant(sizes, float(source.normal()))
        for i in source.permutation(len(service.levels))[: source.integers(0, most + 1)].tolist():
            vector = source.normal(size=sizes[i]) if source.random() < 0.5 else source.random(sizes[i]) < 0.5
            functional = functional * Functional.of(sizes, i, vector)
        if service.extras and source.random() < 0.3:
            functional = functional * Functional.of(sizes, len(sizes) - 1, source.normal(size=sizes[-1]))
        if source.random() < 0.4:
            functional = functional + Functional.of(sizes, 0, source.normal(size=sizes[0]))
        made.append(functional)
    return made


def one_by_one(decoder: Decoder, functional: Functional, codes: np.ndarray) -> Vector:
    channel = decoder.service.channels[0]
    values = np.zeros(len(codes))
    for coefficient, [factor] in decoder.decode(functional).products:
        values += coefficient * factor.constant
        if 0 in factor.readings:
            values += coefficient * contributions(channel, [factor.readings[0]], codes)[:, 0]
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", keeping([4.0], [0.5, 4.0], "budgets of batches"))
@pytest.mark.parametrize(
    ("mechanism", "most"), [("hio", 3), ("pairs", 2), ("am(1)", 1), ("am(2)", 2), ("fc", 3), ("partitions", 2)]
)
def test_batches_read_what_the_decoder_reads(
    mechanism: str, most: int, epsilon: float, kind: str, source: np.random.Generator
) -> None:
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES, **KINDS[kind])])  # type: ignore[arg-type]
    service = tc.Collection(schema, epsilon, mechanism=mechanism, users=100_000).contract["u"]
    decoder, channel = Decoder(service), service.channels[0]
    functionals = random_functionals(service, most, source)
    batch = batch_of(decoder, functionals)
    assert batch is not None
    codes = np.unique(source.integers(0, channel.alphabet, 1_000))
    weights = source.normal(size=len(codes))
    right = np.stack([one_by_one(decoder, functional, codes) for functional in functionals], axis=1)
    totals = batch.totals(Tallies(channel, codes, weights), range(len(channel.views)))
    assert np.allclose(totals, weights @ right, rtol=1e-9, atol=1e-9 * np.abs(weights @ right).max())
    chosen = [1, 4, 5, 9]
    part = batch.part(chosen)
    assert part.views <= batch.views
    assert part.attribute_sets <= batch.attribute_sets
    bounds = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
    for number, view in enumerate(channel.views):
        own = slice(bounds[number], bounds[number + 1])
        added = batch.contributions(number, codes[own] - view.offset)
        assert np.allclose(added, right[own], rtol=1e-9, atol=1e-9 * np.abs(right).max())
        few = part.contributions(number, codes[own] - view.offset)
        assert np.allclose(few, right[own][:, chosen], rtol=1e-9, atol=1e-9 * np.abs(right).max())
        if number not in batch.views:
            assert (added == added[:1]).all()


def test_what_cannot_be_read_together_is_refused() -> None:
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES)])
    sizes = (12, 9, 5)
    three = Functional.constant(sizes)
    for i, size in enumerate(sizes):
        three = three * Functional.of(sizes, i, np.arange(size))
    pairs = tc.Collection(schema, 2.0, mechanism="pairs").contract["u"]
    assert batch_of(Decoder(pairs), [three]) is None
    hio = tc.Collection(schema, 2.0, mechanism="hio").contract["u"]
    assert batch_of(Decoder(hio), [three]) is not None
    assert batch_of(Decoder(hio, "cover"), [three]) is None
    sc = tc.Collection(schema, 2.0, mechanism="sc").contract["u"]
    assert batch_of(Decoder(sc), [three]) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("mechanism", "most", "epsilon"), [("hio", 3, 1.0), ("pairs", 2, 2.0), ("fc", 3, 4.0), ("partitions", 2, 1.0)]
)
def test_ranges_are_those_of_all_codes(
    mechanism: str, most: int, epsilon: float, kind: str, source: np.random.Generator
) -> None:
    """Subset selection is not visited code by code; its extremes are those of the w largest and smallest cells."""
    attributes = [tc.Ordinal("age", 0, 9), tc.Categorical("state", list("abcd"))]
    schema = tc.Schema([tc.Service("u", key="uid", attributes=attributes, **KINDS[kind])])  # type: ignore[arg-type]
    service = tc.Collection(schema, epsilon, mechanism=mechanism, users=100_000).contract["u"]
    decoder, channel = Decoder(service), service.channels[0]
    functionals = random_functionals(service, min(most, 2), source)
    batch = batch_of(decoder, functionals)
    assert batch is not None
    ends = batch.ranges(channel)
    assert ends is not None
    every = np.arange(channel.alphabet)
    right = np.stack([one_by_one(decoder, functional, every) for functional in functionals], axis=1)
    assert np.allclose(ends[0], right.min(axis=0), rtol=1e-9, atol=1e-9 * np.abs(right).max())
    assert np.allclose(ends[1], right.max(axis=0), rtol=1e-9, atol=1e-9 * np.abs(right).max())
