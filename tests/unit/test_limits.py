"""The declared maximum works, and one more is refused by a message that names the limit; one page lists them all."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import tacit as tc
from tacit.central import adaptive, blue, synthetic
from tacit.cli import demo
from tacit.client import cap, record
from tacit.contract import attributes, categories, schema, wire
from tacit.contract.budget import MAX_EPSILON
from tacit.contract.layouts import base
from tacit.server.store import validate
from tacit.sql import bind, bins, limits, parse, predicates, totals

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


def collected(*declared: tc.Ordinal | tc.Categorical) -> tc.Collection:
    return tc.Collection(tc.Schema([tc.Service("users", key="uid", attributes=list(declared))]), 1.0, mechanism="fc")


def texts(count: int) -> list[str]:
    return [f"{i:06}" for i in range(count)]


def test_the_longest_list_of_categories_fits_its_contract_and_one_more_is_refused() -> None:
    size = len(collected(tc.Categorical("c", texts(1_000))).to_json().encode())
    most = 1_000 + (wire.MAX_BYTES - size) // len('"000000", ')
    while True:  # numbers elsewhere in the contract have a digit more
        try:
            longest = collected(tc.Categorical("c", texts(most)))
            break
        except tc.TacitError:
            most -= 1
    assert most > 25_000
    assert len(longest.to_json().encode()) <= wire.MAX_BYTES
    assert tc.Collection.from_json(longest.to_json()).id == longest.id
    with pytest.raises(tc.TacitError, match=str(wire.MAX_BYTES)) as caught:
        collected(tc.Categorical("c", texts(most + 1)))
    assert caught.value.code == "contract-too-large"


@pytest.mark.parametrize("values", [texts(100_000), range(1_000_000)], ids=["texts", "numbers"])
def test_a_list_that_no_contract_can_hold_is_refused_at_once(values: list[str]) -> None:
    with pytest.raises(tc.TacitError, match=r"bytes, and a contract has at most 262,144") as caught:
        tc.Categorical("c", values)
    assert caught.value.code == "domain-too-large"


def test_bounds_of_ordinals_and_services() -> None:
    assert tc.Ordinal("x", 0, attributes.MAX_VALUES - 1).size == attributes.MAX_VALUES
    assert collected(tc.Ordinal("x", 0, attributes.MAX_TICKS - 1, cells=10)).audit().ok
    service = tc.Service("s", "uid", [tc.Ordinal("x", 0, 9)], at_most=schema.MAX_ROWS, sends=schema.MAX_ROWS)
    assert tc.Collection(tc.Schema([service]), MAX_EPSILON).audit().ok
    for limit, wrong in (
        (attributes.MAX_VALUES, lambda: tc.Ordinal("x", 0, attributes.MAX_VALUES)),
        (attributes.MAX_TICKS, lambda: tc.Ordinal("x", 0, attributes.MAX_TICKS, cells=10)),
        (schema.MAX_ROWS, lambda: tc.Service("s", "uid", [tc.Ordinal("x", 0, 9)], at_most=schema.MAX_ROWS + 1)),
        (
            schema.MAX_ATTRIBUTES,
            lambda: tc.Service("s", "uid", [tc.Ordinal(f"x{i}", 0, 1) for i in range(schema.MAX_ATTRIBUTES + 1)]),
        ),
        (MAX_EPSILON, lambda: tc.Collection(tc.Schema([service]), MAX_EPSILON + 1)),
    ):
        with pytest.raises(tc.TacitError, match=str(limit)):
            wrong()  # type: ignore[no-untyped-call]


def test_the_page_lists_every_limit_as_it_is() -> None:
    told = set(re.findall(r"\d[\d,]*", PAGE.read_text()))
    for limit in (
        MAX_EPSILON,
        attributes.MAX_VALUES,
        attributes.MAX_TICKS,
        categories.MAX_DICTIONARY,
        wire.MAX_BYTES,
        schema.MAX_ATTRIBUTES,
        schema.MAX_ROWS,
        base.MAX_VIEWS,
        parse.MAX_LENGTH,
        parse.MAX_DEPTH,
        limits.MAX_CONDITIONS,
        limits.MAX_TREE,
        limits.MAX_AGGREGATES,
        limits.MAX_CASES,
        limits.MAX_JOINS,
        limits.MAX_FACTORS,
        bins.MAX_BUCKETS,
        predicates.MAX_TERMS,
        totals.MAX_PRODUCTS,
        bind.MAX_GROUPS,
        validate.MOST_PUBLIC,
        record.LONGEST_PERSON,
        cap.MOST_DAYS,
        blue.MAX_CELLS,
        int(math.log2(adaptive.MOST)),
        synthetic.MAX_ROWS,
        demo.MOST_PEOPLE,
    ):
        assert f"{limit:,}" in told, limit
    assert categories.MAX_DICTIONARY == wire.MAX_BYTES, "what fits the contract may be declared"
