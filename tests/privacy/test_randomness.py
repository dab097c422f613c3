"""Words come from the operating system, are never used twice, and a failing generator stops everything."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tacit as tc
from support.tiers import how_many
from tacit.contract.randomness import DRAW_BITS, ReplayRng, SystemRng, insecure_rng
from tacit.errors import RandomnessError, UsageError

SCHEMA = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 624)])])


def test_draws_have_53_bits_and_all_of_them_move() -> None:
    draws = SystemRng().draws(20_000)
    assert draws.dtype == np.uint64
    assert int(draws.max()) < 2**DRAW_BITS
    for bit in range(DRAW_BITS):
        ones = int(np.count_nonzero(draws >> np.uint64(bit) & np.uint64(1)))
        assert abs(ones - 10_000) < 6.11 * (20_000 / 4) ** 0.5 * 1.2  # 53 bits, false alarm below 1e-9 each


def test_a_draw_is_made_of_two_words_in_order() -> None:
    words = [0xFFFFFFFF, 0, 0, 1, 2**11, 0, 0x12345678, 0x9ABCDEF0]
    expected = [2**21 - 1, 2**21, 1, 0x9ABCDEF0 * 2**21 + (0x12345678 >> 11)]
    assert ReplayRng(words).draws(4).tolist() == expected


def test_reused_words_are_noticed() -> None:
    def repeats(draws: np.ndarray) -> int:
        return len(draws) - len(np.unique(draws))

    fresh = np.concatenate([SystemRng().draws(1_000) for _ in range(4)])
    assert repeats(fresh) == 0  # two equal 53-bit draws among 4,000: chance 9e-10 that there is even one

    class Stuck(SystemRng):
        """A generator that returns the same words again."""

        def draws(self, count: int) -> np.ndarray:
            return insecure_rng(1).draws(count)

    stuck = np.concatenate([Stuck().draws(1_000) for _ in range(4)])
    assert repeats(stuck) == 3_000


def test_encoding_twice_sends_different_codes_and_labels_its_source() -> None:
    collection = tc.Collection(SCHEMA, 1.0)
    table = {"uid": list(range(1000)), "a": [7] * 1000}
    first, second = (collection.encode(s=table)["s"] for _ in range(2))
    assert first["code"] != second["code"]
    assert first.schema.metadata[b"tacit.randomness"] == b"system"
    seeded = [collection.encode(s=table, rng=tc.insecure_rng(5))["s"] for _ in range(2)]
    assert seeded[0]["code"] == seeded[1]["code"]
    assert seeded[0].schema.metadata[b"tacit.randomness"] == b"insecure"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_share_no_stream() -> None:
    children = how_many(10, 200, "forks of a process that draws")
    streams = [SystemRng().draws(2).tobytes()]
    for _ in range(children):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, SystemRng().draws(2).tobytes())
            os._exit(0)
        os.close(writer)
        streams.append(os.read(reader, 16))
        os.close(reader)
        os.waitpid(child, 0)
    assert len(set(streams)) == children + 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_seeded_source_would_fail_the_fork_test() -> None:
    source = insecure_rng(3)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.draws(2).tobytes())
        os._exit(0)
    os.close(writer)
    copied = os.read(reader, 16)
    os.close(reader)
    os.waitpid(child, 0)
    assert copied == source.draws(2).tobytes()


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError()])
def test_a_failing_generator_raises_and_nothing_is_encoded(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fail(_count: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(RandomnessError):
        tc.Collection(SCHEMA, 1.0).encode(s={"uid": [1], "a": [7]})


def test_a_generator_that_returns_too_little_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: b"\0" * (count // 2))
    with pytest.raises(RandomnessError):
        SystemRng().draws(8)


def test_recorded_words_run_out_loudly() -> None:
    with pytest.raises(RandomnessError):
        ReplayRng([1, 2]).draws(2)


@pytest.mark.parametrize("seed", [-1, 2**128, 1.5, "7", True, None])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(UsageError):
        tc.insecure_rng(seed)  # type: ignore[arg-type]


def test_sources_print_no_secrets() -> None:
    assert "314159" not in repr(insecure_rng(314159))
    assert "12345" not in repr(ReplayRng([12345, 12345]))
