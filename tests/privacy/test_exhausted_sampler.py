"""The sampler is its channel: run over every word of a small word size, its counts equal the weights exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.channels import all_records, channel_row, enumerable
from tacit.collection import Collection
from tacit.contract.budget import exp_below
from tacit.contract.contract import compile_contract
from tacit.contract.oracles import ORACLES, Oracle
from tacit.contract.randomness import ReplayRng
from tacit.errors import LayoutError

BITS = 8
SIZES = [(1,), (2,), (3,), (5,), (6,), (2, 3), (3, 4), (2, 2, 2)]


def fitting(name: str, epsilon: Fraction) -> list[Oracle]:
    """Return an oracle's channels over small domains, as far as it accepts them and all their draws can be tried."""
    found = []
    for sizes in SIZES:
        try:
            oracle = ORACLES[name](sizes, exp_below(epsilon), BITS)
        except LayoutError:
            continue
        found += [oracle] if oracle.answers <= 2 else []
    return found


def counts(oracle: Oracle, cell: int) -> np.ndarray:
    """Return how many of all words (seed and answer, or two answers) give each code."""
    words = np.arange(1 << BITS, dtype=np.uint64)
    seed, answer = (grid.ravel() for grid in np.meshgrid(words, words))
    cells = [np.full(len(seed), part) for part in np.unravel_index(cell, oracle.sizes)]
    answers = answer if oracle.answers == 1 else np.stack([seed, answer], axis=1)
    return np.bincount(oracle.randomise(cells, seed, answers), minlength=oracle.alphabet)


@pytest.mark.parametrize("name", enumerable())
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)])
def test_all_words_together_are_the_channel(name: str, epsilon: Fraction) -> None:
    channels = fitting(name, epsilon)
    assert any(oracle.domain > 1 for oracle in channels)
    for oracle in channels:
        scale = Fraction(1 << 2 * BITS, oracle.denominator)
        for cell in range(oracle.domain):
            expected = [oracle.weight(cell, code) * scale for code in range(oracle.alphabet)]
            assert counts(oracle, cell).tolist() == expected, oracle.sizes


def test_a_different_threshold_would_be_seen() -> None:
    oracle = ORACLES["grr"]((5,), exp_below(Fraction(1)), BITS)
    mutant = type(oracle)(oracle.sizes, BITS, flip=oracle.flip - 1)  # type: ignore[call-arg]
    assert counts(mutant, 0).tolist() != [oracle.weight(0, code) << BITS for code in range(5)]


def exhaust(bits: int, mechanism: str, schema: tc.Schema, record: dict[str, object]) -> list[np.ndarray]:
    """Encode one record with every combination of words of a one-channel service through the public encoder."""
    contract = compile_contract(schema, Fraction(1), mechanism=mechanism, oracle="auto", round_name="", bits=bits)
    collection = Collection._of(contract)
    words = np.arange(1 << bits, dtype=np.uint64)
    draws = np.stack([grid.ravel() for grid in np.meshgrid(words, words, words, indexing="ij")], axis=1)
    rows = len(draws)
    table = pa.table({"uid": np.arange(rows), **{name: pa.array([value] * rows) for name, value in record.items()}})
    out = collection.encode(rng=ReplayRng.of_draws(draws.ravel()), s=table)["s"]
    alphabet = contract.services[0].channels[0].alphabet
    return [np.bincount(out["code"].to_numpy(), minlength=alphabet)]


SCHEMA = tc.Schema(
    [
        tc.Service(
            "s", key="uid", attributes=[tc.Ordinal("a", 0, 3, fanout=2), tc.Categorical("c", ["x", "y"], null=True)]
        )
    ]
)


@pytest.mark.parametrize("mechanism", ["hio", "fc", "am(1)", "am(2)", "partitions"])
def test_the_whole_encoder_is_the_whole_channel_at_six_bits(mechanism: str) -> None:
    contract = compile_contract(SCHEMA, Fraction(1), mechanism=mechanism, oracle="auto", round_name="", bits=6)
    service = contract.services[0]
    for record in all_records(service):
        raw = {"a": record[0], "c": ["x", "y", None][record[1]]}
        [seen] = exhaust(6, mechanism, SCHEMA, raw)
        row = channel_row(service, service.channels[0], record)
        assert seen.tolist() == [probability * (1 << 18) for probability in row]


@pytest.mark.long("all draws of eight bits; those of six stay")
def test_the_whole_encoder_is_the_whole_channel_at_eight_bits() -> None:
    contract = compile_contract(SCHEMA, Fraction(1), mechanism="hio", oracle="auto", round_name="", bits=8)
    service = contract.services[0]
    [seen] = exhaust(8, "hio", SCHEMA, {"a": 2, "c": "y"})
    row = channel_row(service, service.channels[0], (2, 1))
    assert seen.tolist() == [probability * (1 << 24) for probability in row]
