"""The bulk encoder and the one-record interpreter are two implementations of one contract: they must agree always."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from support.tiers import how_many
from tacit.client import Interpreter
from tacit.client.coin import coin_of, secret_of
from tacit.client.interpreter import draw_of_words
from tacit.contract.randomness import ReplayRng
from tacit.errors import LayoutError, RecordError

KEY = "3c" * 32
SERVICE = tc.Service(
    "s",
    key="uid",
    attributes=[
        tc.Ordinal("age", 0, 26, null=True, fanout=3),
        tc.Categorical("state", ["CA", "NY"], other="rest"),
        tc.Ordinal("spend", 0, 499, cells=17, outside="clamp"),
        tc.Ordinal("band", 0, 99, cells=7, dither=False),
        tc.Categorical("grade", [1, 2, 3], other=0),
        tc.Ordinal("day", datetime.date(2026, 1, 1), datetime.date(2026, 3, 1), outside="clamp"),
    ],
)

records = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(0, 26),
        "state": st.sampled_from(["CA", "NY", "rest", "TX", ""]),
        "spend": st.floats(-10, 600, allow_nan=False) | st.integers(0, 499).map(float),
        "band": st.integers(0, 99),
        "grade": st.sampled_from([0, 1, 2, 3, 7]),
        "day": st.dates(datetime.date(2025, 12, 1), datetime.date(2026, 4, 1)),
    }
)


@settings(max_examples=how_many(6, 60, "tables for both encoders"), deadline=None, derandomize=True)
@given(
    rows=st.lists(records, min_size=1, max_size=20),
    mechanism=st.sampled_from(["hio", "hi", "sc", "fc", "am(2)", "am(3)", "pairs", "partitions"]),
    oracle=st.sampled_from(["auto", "lh", "olh"]),
    epsilon=st.sampled_from(["0.3", "1", "2.5", "6"]),
    words=st.randoms(use_true_random=False),
    assigned=st.booleans(),
)
def test_bulk_and_single_record_give_the_same_codes(
    rows: list[dict[str, Any]], mechanism: str, oracle: str, epsilon: str, words: Any, *, assigned: bool
) -> None:
    try:
        collection = tc.Collection(tc.Schema([SERVICE]), epsilon, mechanism=mechanism, oracle=oracle, assigned=assigned)
    except LayoutError:
        assert mechanism in ("hio", "hi", "fc")  # many views at a large epsilon need codes beyond 53 bits
        return
    interpreter = Interpreter(collection.to_json())
    per_record = interpreter.draws("s")
    stream = [words.getrandbits(32) for _ in range(2 * per_record * len(rows))]
    table = {"uid": list(range(len(rows))), **{name: [row[name] for row in rows] for name in rows[0]}}
    table["age"] = pa.array(table["age"], pa.int64())
    key = KEY if assigned else None
    out = collection.encode(s=table, rng=ReplayRng(stream), key=key)["s"]
    bulk = np.array(out["code"]).reshape(-1, len(rows))
    draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
    for i, row in enumerate(rows):
        own = draws[i * per_record : (i + 1) * per_record]
        if assigned:
            own = interpreter.assign("s", coin_of(secret_of(KEY, collection.id), i), own)
        assert interpreter.encode("s", row, own) == bulk[:, i].tolist()


weird = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.decimals(allow_nan=True),
    st.text(max_size=5),
    st.characters(categories=["Cs"]),
    st.dates(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([-0.0, 26, 26.0, "CA", Decimal(5), 2**63]),
)


CHECKED = tc.Collection(tc.Schema([SERVICE]), 1.0, mechanism="sc")
CHECKER = Interpreter(CHECKED.to_json())


@settings(max_examples=how_many(120, 1_500, "odd values for both encoders"), deadline=None, derandomize=True)
@given(name=st.sampled_from([attribute.name for attribute in SERVICE.attributes]), value=weird)
def test_any_value_is_encoded_by_a_declared_rule_or_refused_by_name_in_both(name: str, value: Any) -> None:
    good = {"age": 3, "state": "CA", "spend": 2.5, "band": 50, "grade": 2, "day": datetime.date(2026, 2, 1)}
    count = CHECKER.draws("s")
    words = list(range(1, 2 * count + 1))
    draws = [draw_of_words(*pair) for pair in zip(words[::2], words[1::2], strict=True)]
    outcomes: list[list[int] | str] = []
    for encode in (
        lambda record: CHECKER.encode("s", record, draws),
        lambda record: CHECKED.encode(s={"uid": 1, **record}, rng=ReplayRng(words))["s"]["code"].to_pylist(),
    ):
        try:
            outcomes.append(encode({**good, name: value}))
        except RecordError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
