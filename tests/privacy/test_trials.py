"""P2: what the public encoder sends, against what was proved; broken encoders are found by the same trials.

The false-alarm rate of a run is 1e-6 by construction, and seeds are fixed here, so that nothing flakes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.collection import Collection
from tacit.evidence.trials import Encode, run_trials

TRIALS = 1_000_000
KINDS = tc.Service("s", key="uid", attributes=[tc.Categorical("kind", ["a", "b", "c", "d"])])
SIMPLE = tc.Collection(tc.Schema([KINDS]), 0.8, mechanism="fc", oracle="grr")


def seeded(collection: Collection, seed: int) -> Encode:
    """Return the public encoder with a new seed for each call."""
    calls = iter(range(seed, seed + 10_000))
    return lambda **tables: collection.encode(rng=tc.insecure_rng(next(calls)), **tables)


STATE = tc.Categorical("state", ["CA", "NY"])
MIXED = [
    tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 30), STATE, tc.Public("os")]),
    tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Ordinal("pay", 0, 400, cells=5)]),
    tc.Service("card", key="uid", optional=True, attributes=[tc.Ordinal("points", 0, 9, null=True)]),
]


@pytest.mark.parametrize(
    ("mechanism", "oracle"),
    [("hio", "auto"), ("pairs", "lh"), ("sc", "ss"), ("hi", "auto"), ("fc", "olh"), ("sc", "oue")],
)
def test_the_public_encoder_passes(mechanism: str, oracle: str) -> None:
    services = MIXED if (mechanism, oracle) == ("hio", "auto") else MIXED[:1]
    collection = tc.Collection(tc.Schema(services), 4.0, mechanism=mechanism, oracle=oracle)
    found = run_trials(collection, 20_000, encode=seeded(collection, 7))
    assert found.ok, found.problems
    bounds = found.lower_bound
    assert len(bounds) == sum(len(one.channels) for one in collection.contract.services)
    assert max(bounds.values()) > 0, "the trials tell people apart at all"


def test_the_operating_systems_generator_passes() -> None:
    found = run_trials(SIMPLE, 50_000)
    assert found.ok, found.problems
    assert 0.6 < found.lower_bound["s, fc"] <= 0.8


def codes(make: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Encode:
    """Return an encoder of the one categorical attribute by a program of the test's own."""
    source = np.random.default_rng(11)

    def encode(people: Any, s: dict[str, Any]) -> dict[str, pa.Table]:
        del people
        cells = np.searchsorted(["a", "b", "c", "d"], np.asarray(s["kind"].to_pylist()))
        made = make(cells, source)
        return {"s": pa.table({"uid": s["uid"], "channel": np.zeros(len(made), np.int32), "code": made})}

    return encode


def respond(cells: np.ndarray, keep: float, source: np.random.Generator) -> np.ndarray:
    lies = (cells + 1 + source.integers(3, size=len(cells))) % 4
    return np.where(source.random(len(cells)) < keep, cells, lies)


TRUE = float(SIMPLE.contract["s"].channels[0].views[0].oracle.keep)
MUTANTS: dict[str, Encode] = {
    "epsilon × 1.1": seeded(tc.Collection(tc.Schema([KINDS]), "0.88", mechanism="fc", oracle="grr"), 900),
    "p and q swapped": codes(lambda cells, source: respond(cells, (1 - TRUE) / 3, source)),
    "p rounded up to 8 bits": codes(lambda cells, source: respond(cells, np.ceil(TRUE * 256) / 256, source)),
    "q dropped": codes(lambda cells, _: cells),
    "encoded twice": codes(lambda cells, source: respond(respond(cells, TRUE, source), TRUE, source)),
}


def test_the_program_of_the_mutants_is_right_without_mutation() -> None:
    found = run_trials(SIMPLE, TRIALS, encode=codes(lambda cells, source: respond(cells, TRUE, source)))
    assert found.ok, found.problems


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_flagged(mutant: str) -> None:
    found = run_trials(SIMPLE, TRIALS, encode=MUTANTS[mutant])
    assert not found.ok
    if mutant in ("epsilon × 1.1", "q dropped"):
        assert any("reveals more" in problem for problem in found.problems)
