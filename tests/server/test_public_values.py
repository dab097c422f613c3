"""S13: what somebody sends in a public column changes neither what is taken from others nor whether questions work."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from support.engines import ENGINES, engine_named, postgres_address
from support.tiers import keeping
from tacit.encode.public import stored_text
from tacit.server.collector import Collector

HOSTILE = [1, 1.5, -7, 2**62, True, False, None, "", "i", "1", "nan", "inf", "-inf", "1e999", "1e400", "1e-400", "٣"]
HOSTILE += ["9" * 400, "1.", ".5", "0x10", "1_000", " 1", "1 ", "true", "NULL", "'; DROP TABLE x; --", 1e300, 1e-300]
TYPED = tc.Collection(
    tc.Schema(
        [
            tc.Service(
                "users",
                key="uid",
                attributes=[
                    tc.Ordinal("age", 0, 9),
                    tc.Public("os", values=["i", "a"]),
                    tc.Public("year", type=int),
                    tc.Public("score", type=float, null=True),
                    tc.Public("paid", type=bool),
                ],
            )
        ]
    ),
    6.0,
)


@pytest.fixture(params=["duckdb", "postgres"])
def collector(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collector]:
    with ExitStack() as stack:
        store = stack.enter_context(postgres_address()) if request.param == "postgres" else ""
        yield stack.enter_context(collector_here(tmp_path / "store", COLLECTION, TYPED, store=store))


def users(first: int, count: int, *values: Any) -> list[dict[str, Any]]:
    """Return reports of people to one service, with these values in turn."""
    made = [report for report in reports_of(first, count) if report["service"] == "users"]
    return [report | {"public": {"os": values[i % len(values)]}} for i, report in enumerate(made)]


def statuses(collector: Collector, reports: list[dict[str, Any]], collection: tc.Collection = COLLECTION) -> list[str]:
    found = collector.accept(collection.id, json.loads(json.dumps(reports))).result()
    return [one.get("code", one["status"]) for one in found]


def asked(collector: Collector, question: str) -> float:
    return float(collector.query(question)["n"].value)


def test_one_request_spoils_nothing_for_others(collector: Collector) -> None:
    """The first value of a column used to fix its type: `{"os": 1}` made every honest report final-refused."""
    assert statuses(collector, users(0, 1, 1)) == ["stored"]
    collector.move()
    assert set(statuses(collector, users(1, 9, "i"))) == {"stored"}
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os = 'i'") == 9
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os = 1") == 1


def test_hostile_values_are_taken_and_every_question_still_works(collector: Collector) -> None:
    assert set(statuses(collector, users(0, 40, "i", "a"))) == {"stored"}
    collector.move()
    for number, value in enumerate(HOSTILE):
        assert statuses(collector, users(100 + number, 1, value)) == ["stored"], value
        collector.move()
    assert collector.inbox.counts()["pending"] == 0
    people = 40 + len(HOSTILE)
    assert asked(collector, "SELECT COUNT(*) AS n FROM users") == people
    groups = collector.query("SELECT os, COUNT(*) AS n FROM users GROUP BY os")
    counts = {row[0]: row[1].value for row in groups}
    assert (counts["i"], counts["a"], counts["1"], counts["true"], counts[None]) == (21, 20, 2, 2, 1)
    assert sum(counts.values()) == people
    for sign in ("=", "<>", "<", "<=", ">", ">="):
        for constant in ("'i'", "1", "-7", "1.5", "TRUE", "1e30"):
            asked(collector, f"SELECT COUNT(*) AS n FROM users WHERE os {sign} {constant}")
    for condition in ("os BETWEEN 0 AND 2", "os BETWEEN 'a' AND 'z'", "os IN (1, 'i', TRUE)", "NOT os = 1"):
        asked(collector, f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os IN (1, 'i', TRUE)") == 2 + 21 + 2
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os BETWEEN 1 AND 2") == 3
    assert asked(collector, "SELECT COUNT(os) AS n FROM users") == people - 1
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os IS NULL") == 1


def test_sums_leave_out_what_is_no_number_and_say_how_many(collector: Collector) -> None:
    statuses(collector, users(0, 10, 1, 2.5))
    statuses(collector, users(10, 4, "ios", "nan", True, None))
    answer = collector.query("SELECT SUM(os) AS n, AVG(os) AS mean, COUNT(os) AS some FROM users")
    assert answer["n"].value == pytest.approx(17.5)
    assert answer["mean"].value == pytest.approx(1.75)
    assert answer["some"].value == 13
    assert "3 values of os are not numbers and were left out" in answer.notes
    assert not any("not numbers" in note for note in collector.query("SELECT COUNT(*) AS n FROM users").notes)
    assert any("not numbers" in n for n in collector.query("SELECT COUNT(*) AS n FROM users WHERE os > 1").notes)


def test_typed_columns_take_what_they_declare_and_keep_its_type(collector: Collector) -> None:
    codes = [report["codes"] for report in users(0, 30, "i")]
    good = {"os": "i", "year": 2024, "score": 0.5, "paid": True}
    bad = [
        {"os": "x"}, {"os": 1}, {"os": None}, {"year": "2024"}, {"year": 2.5}, {"year": None}, {"year": True},
        {"year": 2**63}, {"score": "1"}, {"score": True}, {"paid": 1}, {"paid": "true"}, {"paid": None},
    ]  # fmt: skip

    def report(number: int, public: dict[str, Any]) -> dict[str, Any]:
        return {"person": f"t-{number}", "service": "users", "slot": 0, "codes": codes[number], "public": public}

    for number, wrong in enumerate(bad):
        assert statuses(collector, [report(number, good | wrong)], TYPED) == ["wrong-public"], wrong
    fine = [good, good | {"year": -(2**63)}, good | {"score": None}, good | {"score": 3}, good | {"paid": False}]
    for number, public in enumerate(fine):
        assert statuses(collector, [report(number, public)], TYPED) == ["stored"], public
    collector.move()
    assert collector.inbox.counts()["pending"] == 0
    rows = collector.query("SELECT year, paid, COUNT(*) AS n FROM users GROUP BY year, paid")
    assert {(type(row[0]), type(row[1])) for row in rows} == {(int, bool)}
    assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE year = 2024 AND paid = TRUE") == 3
    assert asked(collector, "SELECT SUM(score) AS n FROM users") == pytest.approx(3 * 0.5 + 3)


def test_a_column_of_an_older_store_becomes_text(tmp_path: Path) -> None:
    """Collectors gave a column the type of its first value; what they stored stays, and text joins it."""
    with collector_here(tmp_path / "store") as collector:
        [made] = [table for name, table in _encoded().items() if name == "users"]
        old = made.set_column(made.column_names.index("os"), "os", [[float(2000 + i // 2) for i in range(len(made))]])
        collector.database.load({"users": old.replace_schema_metadata(made.schema.metadata)})
        assert statuses(collector, users(100, 2, "i", 2000)) == ["stored"] * 2
        collector.inbox._store._writer.execute("UPDATE sizes SET known = known + ?", (len(old),))  # as if it had them
        collector.move()
        assert collector.inbox.counts()["pending"] == 0
        counts = {row[0]: row[1].value for row in collector.query("SELECT os, COUNT(*) AS n FROM users GROUP BY os")}
        assert counts["i"] == 1
        assert counts["2000"] >= 2
        assert asked(collector, "SELECT COUNT(*) AS n FROM users WHERE os < 2001") == counts["2000"]


def _encoded() -> dict[str, Any]:
    people = list(range(8))
    raw = {"users": {"uid": [f"o-{i}" for i in people], "age": [i % 10 for i in people], "os": ["x"] * 8}}
    return COLLECTION.encode(**raw, orders={"uid": [], "pay": []}, rng=tc.insecure_rng(0))


BULK = tc.Collection(tc.Schema([tc.Service("u", key="k", attributes=[tc.Ordinal("a", 0, 9), tc.Public("p")])]), 4)
PEOPLE = list(range(20))


def loaded(db: tc.Database, values: pa.Array) -> None:
    db.create(BULK)
    db.load(BULK.encode(u=pa.table({"k": PEOPLE, "a": [i % 10 for i in PEOPLE], "p": values})))


@pytest.mark.parametrize(
    ("values", "condition", "count"),
    [
        (pa.array(PEOPLE, pa.int64()), "p >= 5", 15),
        (pa.array([float(i) for i in PEOPLE]), "p BETWEEN 2 AND 3", 2),
        (pa.array([i % 2 == 0 for i in PEOPLE]), "p = TRUE", 10),
        (pa.array([datetime.date(2026, 1, 1 + i) for i in PEOPLE]), "p >= '2026-01-11'", 10),
        (pa.array([2**62 + i for i in PEOPLE], pa.int64()), f"p > {2**62 + 9}", 10),
        (pa.array([str(i) for i in PEOPLE]), "p = '7'", 1),
    ],
)
def test_bulk_loads_keep_their_types(values: pa.Array, condition: str, count: int) -> None:
    """Arrow columns of any type are stored as they are, and compared as they are."""
    db = tc.connect()
    loaded(db, values)
    assert db.sql(f"SELECT COUNT(*) AS n FROM u WHERE {condition}")["n"].value == count
    assert db.stored_types("u")["p"] == values.type
    db.close()


@pytest.mark.parametrize("name", keeping(["duckdb", "postgres"], ENGINES, "texts and numbers in one column of Spark"))
def test_engines_agree_on_mixed_texts(name: str, tmp_path: Path) -> None:
    texts = [stored_text(one) for one in (*HOSTILE[: len(PEOPLE) - 2], 3, 0.25)]
    with engine_named(name, tmp_path) as db:
        loaded(db, pa.array(texts, pa.string()))
        answer = db.sql("SELECT SUM(p) AS total, COUNT(p) AS some FROM u")
        assert answer["total"].value == pytest.approx(1 + 1.5 - 7 + 2**62 + 1 + 3 + 0.25)
        assert answer["some"].value == 19
        assert "12 values of p are not numbers and were left out" in answer.notes
        for condition, count in (
            ("p = 1", 2),
            ("p = TRUE", 1),
            ("p = 'i'", 1),
            ("p IN (3, 'i', FALSE)", 3),
            ("p < 1", 2),
        ):
            assert db.sql(f"SELECT COUNT(*) AS n FROM u WHERE {condition}")["n"].value == count, condition
