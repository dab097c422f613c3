"""One spelling of a report table: built alike from codes and from clients' JSON, checked by the same rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.contract.contract import ServiceContract
from tacit.encode.reports import ReportRules, ReportTable, column_names
from tacit.errors import ReportError

STATE, AGE = tc.Categorical("state", ["CA", "NY"]), tc.Ordinal("age", 0, 9)
USERS = tc.Service("users", key="uid", attributes=[STATE, AGE, tc.Public("os", values=["ios", "web"])])
ORDERS = tc.Service("orders", key="uid", at_most=4, sends=2, attributes=[STATE, AGE])
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 4.0, mechanism="sc")
PEOPLE = ["u-anna", "u-bob", "u-cleo"]


def compiled(name: str) -> ServiceContract:
    return COLLECTION.contract[name]


def encoded(people: Sequence[Any] = PEOPLE) -> dict[str, pa.Table]:
    columns = {"uid": people, "state": ["CA", "NY", "NY"], "age": [1, 2, 3]}
    users = columns | {"os": ["ios", "web", "ios"]}
    return COLLECTION.encode(users=users, orders=columns, rng=tc.insecure_rng(1))


@pytest.mark.parametrize("name", ["users", "orders"])
@pytest.mark.parametrize("separators", [(",", ":"), None], ids=["short", "spaced"])
def test_what_clients_send_becomes_the_table_that_the_encoder_makes(name: str, separators: Any) -> None:
    table, service = encoded()[name], compiled(name).service
    rows = sorted(table.to_pylist(), key=lambda row: (row["uid"], row["slot"], row["channel"]))
    channels, contents = len(compiled(name).channels), []
    for start in range(0, len(rows), channels):
        own = rows[start : start + channels]
        said = [row["code"] for row in own], [own[0][column.name] for column in service.public]
        contents.append(json.dumps(said, separators=separators).encode())
    keys, slots = [row["uid"] for row in rows[::channels]], [row["slot"] for row in rows[::channels]]
    made = ReportTable.from_json(COLLECTION.id, compiled(name), keys, slots, contents, rows_before=0)
    assert made.check().arrow.to_pylist() == rows
    assert made.arrow.schema.names == table.schema.names == column_names(service)
    assert [made.arrow.schema.field(word).type for word in ("slot", "channel", "code")] == [
        table.schema.field(word).type for word in ("slot", "channel", "code")
    ]
    assert ReportTable.owner(made.arrow) == ReportTable.owner(table) == COLLECTION.id


def put(column: str, values: Any) -> Any:
    return lambda table: table.set_column(table.column_names.index(column), column, pa.array(values(table)))


REFUSED = {
    "no table": (lambda _: {"uid": [1]}, "wrong-columns"),
    "another order": (lambda table: table.select(table.column_names[::-1]), "wrong-columns"),
    "codes that are no whole numbers": (put("code", lambda t: np.asarray(t["code"]) + 0.5), "wrong-columns"),
    "a code that is missing": (put("code", lambda t: [None, *t["code"].to_pylist()[1:]]), "wrong-columns"),
    "a code beyond its alphabet": (put("code", lambda t: [10**9, *t["code"].to_pylist()[1:]]), "unknown-code"),
    "a channel that is not there": (put("channel", lambda t: [7, *t["channel"].to_pylist()[1:]]), "unknown-code"),
    "a slot that is not there": (put("slot", lambda t: [-1, *t["slot"].to_pylist()[1:]]), "unknown-code"),
    "keys that are neither": (put("uid", lambda t: np.arange(len(t)) / 2), "wrong-columns"),
    "a person without a channel": (lambda table: table.slice(1), "incomplete-reports"),
    "public columns that differ": (put("os", lambda t: ["web", "ios", *t["os"].to_pylist()[2:]]), "incomplete-reports"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_breaks_a_rule_is_refused_by_its_code(case: str) -> None:
    change, code = REFUSED[case]
    with pytest.raises(ReportError) as refusal:
        ReportTable.from_arrow(COLLECTION.id, compiled("users"), change(encoded()["users"]))
    assert refusal.value.code == code
    assert not any(person in str(refusal.value) for person in PEOPLE)


def test_one_report_and_a_table_are_held_to_the_same_rules() -> None:
    rules = ReportRules(compiled("orders"))
    channels, sends = range(len(rules.alphabets)), rules.sends
    assert len(set(rules.alphabets)) > 1
    for slot in (-1, 0, sends - 1, sends):
        assert rules.knows_slot(slot) == rules.knows_all(np.array([slot]), np.array([0]), np.array([0]))
    for code in {-1, 0, *rules.alphabets, *(size - 1 for size in rules.alphabets)}:
        alone = [rules.knows_codes([code if k == channel else 0 for k in channels]) for channel in channels]
        assert alone == [rules.knows_all(np.array([0]), np.array([k]), np.array([code])) for k in channels]
    assert not rules.knows_codes([True] * len(channels))
    assert not rules.knows_codes([0])


def test_a_table_shows_nothing_of_its_people() -> None:
    shown = repr(ReportTable(COLLECTION.id, compiled("users"), encoded()["users"]))
    assert "9 rows" in shown
    assert not any(person in shown for person in PEOPLE)


@pytest.mark.parametrize(("first", "then"), [([1, 2, 3], ["01", "02", "03"]), (["1", "2", "3"], [1, 2, 3])])
@pytest.mark.parametrize("services", [("users", "users"), ("users", "orders"), ("orders", "users")])
def test_keys_have_one_type_over_loads_and_services(
    first: list[Any], then: list[Any], services: tuple[str, str]
) -> None:
    """Compared as numbers, '01' was the person 1; odd texts made every join of the database fail afterwards."""
    db = tc.connect()
    db.create(COLLECTION)
    before, after = services
    assert db.load({before: encoded(first)[before]})[before].stored
    with pytest.raises(ReportError, match=rf"{after}\.uid: keys are .* reports of {before} are") as refused:
        db.load({after: encoded(then)[after]})
    assert refused.value.code == "reports-do-not-fit"
    assert not any(str(key) in str(refused.value) for key in then), "no key is repeated"
