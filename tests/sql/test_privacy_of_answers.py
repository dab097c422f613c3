"""P12: answers state both guarantees, for the people who really hide each other, and nothing where nobody does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.collectors import collector_here
from tacit.contract.amplification import central_epsilon
from tests.support.engines import ENGINES, engine_named

AGE = tc.Ordinal("age", 0, 9)
USERS = tc.Service("users", key="uid", attributes=[AGE])
SHOWN = tc.Service("users", key="uid", attributes=[AGE, tc.Public("os", values=["ios", "web", "tv"])])
VISITS = tc.Service("visits", key="uid", optional=True, attributes=[tc.Categorical("place", ["home", "away"])])
ORDERS = tc.Service("orders", key="uid", at_most=3, attributes=[tc.Categorical("item", ["x", "y"])])
COUNT = "SELECT COUNT(*) AS n FROM users"


def records(first: int, people: int, **more: Any) -> dict[str, Any]:
    return {"uid": list(range(first, first + people)), "age": [i % 10 for i in range(people)]} | more


def encoded(collection: tc.Collection, first: int, people: int, **more: Any) -> dict[str, Any]:
    tables = {"users": records(first, people, **more), "visits": {"uid": [first], "place": ["home"]}}
    tables["orders"] = {"uid": [first], "item": ["x"]}
    names = [service.name for service in collection.schema.services]
    ids = list(range(first, first + people))
    return collection.encode(rng=tc.insecure_rng(first), people=ids, **{name: tables[name] for name in names})


def asked(*loads: tuple[tc.Collection, dict[str, Any]], text: str = COUNT) -> Any:
    database = tc.connect()
    for collection, reports in loads:
        database.create(collection)
        database.load(reports)
    return database.sql(text)


def test_both_numbers_are_in_the_details() -> None:
    collection = tc.Collection(tc.Schema([USERS]), 2)
    answer = asked((collection, encoded(collection, 0, 2_000)))
    expected = collection.audit(people=2_000)
    assert answer.privacy.local == expected.worst_loss
    assert answer.privacy.central.epsilon == expected.central_epsilon is not None
    data = json.loads(answer.to_json())["privacy"]
    assert data["central"]["people"] == 2_000
    assert "Against the collector: at most 2 nats. Against readers of answers: at most" in answer.explain()
    assert collection.predict(COUNT, users=100).privacy is None, "nobody has reported yet"


def test_the_crowd_is_the_smallest_class() -> None:
    """A reader who asks about people with tv, and knows one of them, has a crowd of 150, not of 2,000."""
    collection = tc.Collection(tc.Schema([SHOWN]), 1)
    os = ["tv"] * 150 + ["web"] * 850 + ["ios"] * 1_000
    answer = asked((collection, encoded(collection, 0, 2_000, os=os)))
    assert answer.privacy.central.people == 150
    assert answer.privacy.central.epsilon == collection.audit(people=2_000, alike=150).central_epsilon


def test_a_class_of_one_is_no_crowd() -> None:
    collection = tc.Collection(tc.Schema([SHOWN]), 1)
    answer = asked((collection, encoded(collection, 0, 2_000, os=["tv"] + ["web"] * 1_999)))
    assert answer.privacy.central.epsilon is None
    assert "too few" in answer.privacy.central.reason
    assert answer.privacy.local == pytest.approx(1)


def test_who_lacks_a_service_is_a_class() -> None:
    """A join drops whoever has not reported to the other service: the difference to no join reveals them."""
    collection = tc.Collection(tc.Schema([USERS, VISITS]), 1)
    reports = encoded(collection, 0, 2_000)
    whole = asked((collection, reports))
    assert whole.privacy.central.people == 2_000
    reports["visits"] = reports["visits"].slice(1)
    assert asked((collection, reports)).privacy.central.epsilon is None


def test_reports_that_come_after_an_answer_are_shown_by_difference() -> None:
    collection = tc.Collection(tc.Schema([USERS]), 1)
    database = tc.connect()
    database.create(collection)
    database.load(encoded(collection, 0, 1_000))
    database.load(encoded(collection, 1_000, 1_000))
    before = database.sql(COUNT)
    assert before.privacy is not None
    assert before.privacy.central.people == 2_000
    database.load(encoded(collection, 2_000, 1))
    after = database.sql(COUNT).privacy
    assert after is not None
    assert after.central.epsilon is None
    assert "newcomers" in after.central.reason


@pytest.mark.parametrize("place", ["shop.tacit", "lake/"])
def test_reports_that_another_connection_loads_are_noticed(place: str, tmp_path: Path) -> None:
    """A difference of two answers is about newcomers, whoever loaded them; other changes end no claim."""
    collection = tc.Collection(tc.Schema([USERS]), 1)
    mine = tc.connect(f"{tmp_path}/{place}")
    mine.create(collection)
    mine.load(encoded(collection, 0, 1_000))
    assert mine.sql(COUNT).privacy.central.people == 1_000
    mine.create(tc.Collection(tc.Schema([USERS]), 1, round="other"))
    mine.rollup("users")
    mine.dimension("ages", {"age": [1, 2], "word": ["one", "two"]}, key="age")
    assert mine.forget(0) == 1
    assert mine.sql(COUNT).privacy.central.people == 999
    other = tc.connect(f"{tmp_path}/{place}")
    other.load(encoded(collection, 1_000, 1))
    for answer in (mine.sql(COUNT), mine.marginal(["age"])):
        assert answer.privacy.central.epsilon is None
        assert "newcomers" in answer.privacy.central.reason
    other.close()
    mine.close()


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "texts"])
def test_people_of_several_reports_are_counted_once(text: bool, tmp_path: Path) -> None:
    """Counted by one row of each person, and person by person where a store holds half a message."""
    orders = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Categorical("item", ["x", "y"])])
    collection = tc.Collection(tc.Schema([SHOWN, orders]), 1)
    ids = [f"p{i}" if text else i for i in range(900)]
    database = tc.connect(tmp_path / "shop.tacit")
    database.create(collection)
    rows = {"uid": ids, "age": [1] * 900, "os": ["web"] * 600 + ["ios"] * 300}
    database.load(collection.encode(users=rows, orders={"uid": ids[:1], "item": ["x"]}, rng=tc.insecure_rng(1)))
    assert database.class_sizes(collection) == (900, 300)
    database.close()
    name = next(one for one in tables_in(tmp_path / "shop.tacit") if one.endswith("_orders"))
    with duckdb.connect(str(tmp_path / "shop.tacit")) as file:
        file.execute(f'DELETE FROM "{name}" WHERE slot = 1 AND uid = ?', [ids[0]])
    database = tc.connect(tmp_path / "shop.tacit")
    assert database.class_sizes(collection) == (900, 1)
    database.close()


def tables_in(path: Path) -> list[str]:
    with duckdb.connect(str(path), read_only=True) as file:
        return [name for (name,) in file.execute("SELECT table_name FROM duckdb_tables()").fetchall()]


def test_tiers_are_classes_and_rounds_add_up() -> None:
    schema = tc.Schema([USERS])
    tiers = [tc.Collection(schema, epsilon, tier=name) for name, epsilon in (("careful", 1), ("open", 2))]
    answer = asked(*((one, encoded(one, 10_000 * i, 1_000)) for i, one in enumerate(tiers)))
    assert answer.privacy.local == pytest.approx(2)
    assert answer.privacy.central.epsilon == tiers[1].audit(people=1_000).central_epsilon
    rounds = [tc.Collection(schema, 1, round=name) for name in ("a", "b")]
    trend = asked(*((one, encoded(one, 0, 1_000)) for one in rounds), text=f"{COUNT} GROUP BY round")
    assert trend.privacy.local == pytest.approx(2)
    assert trend.privacy.central.epsilon == pytest.approx(2 * rounds[0].audit(people=1_000).central_epsilon)
    assert float(trend.privacy.central.delta) == 2e-8


def test_the_message_is_everything_a_person_sends() -> None:
    """A question about one service states the loss of all: other questions may ask the others."""
    collection = tc.Collection(tc.Schema([USERS, ORDERS]), 2)
    answer = asked((collection, encoded(collection, 0, 1_000)))
    ratio = collection.audit().ratio
    assert ratio is not None
    assert answer.privacy.central.epsilon == central_epsilon(ratio, 1 / ratio, 1_000)


@pytest.mark.parametrize("name", ENGINES)
def test_classes_are_counted_alike_in_all_engines(name: str, tmp_path: Path) -> None:
    collection = tc.Collection(tc.Schema([SHOWN, ORDERS]), 1)
    with engine_named(name, tmp_path) as database:
        database.create(collection)
        database.load(encoded(collection, 0, 500, os=["tv"] * 200 + ["web"] * 300))
        found = database.sql(COUNT).privacy
        assert found is not None
        assert found.central.people == 200


@pytest.mark.parametrize("look", [lambda one: one.marginal(["age"]), lambda one: one.synthesize(5, seed=1)])
def test_tables_and_synthetic_rows_are_answers_too(look: Callable[[tc.Database], object]) -> None:
    """A newcomer after a marginal is shown by the difference to any later answer."""
    collection = tc.Collection(tc.Schema([USERS]), 1)
    database = tc.connect()
    database.create(collection)
    database.load(encoded(collection, 0, 2_000))
    made = look(database)
    if isinstance(made, tc.Answer):
        assert made.privacy is not None
        assert made.privacy.central.people == 2_000
    database.load(encoded(collection, 2_000, 1))
    after = database.sql(COUNT).privacy
    assert after is not None
    assert after.central.epsilon is None


def test_a_union_adds_up_the_rounds_and_collections_of_all_its_parts() -> None:
    schema = tc.Schema([USERS])
    rounds = [tc.Collection(schema, 1, round=name) for name in ("a", "b")]
    other = tc.Collection(tc.Schema([VISITS]), 2)
    parts = [*((one, encoded(one, 0, 1_000)) for one in rounds), (other, encoded(other, 0, 1_000))]
    newest, oldest = COUNT, f"{COUNT} WHERE round = 'a'"
    assert asked(*parts, text=f"{newest} UNION ALL {newest}").privacy.local == pytest.approx(1)
    assert asked(*parts, text=f"{newest} UNION ALL {oldest}").privacy.local == pytest.approx(2)
    both = asked(*parts, text=f"{newest} UNION ALL SELECT COUNT(*) AS n FROM visits").privacy
    assert both.local == pytest.approx(3)
    assert both.central.epsilon > asked(*parts, text="SELECT COUNT(*) AS n FROM visits").privacy.central.epsilon


def test_panels_of_one_name_in_two_schemas_add_up() -> None:
    panels = [tc.Collection(tc.Schema([one]), 1, panel="p", rounds=2) for one in (USERS, VISITS)]
    parts = [(panel, encoded(panel.round(1), 0, 1_000)) for panel in panels]
    text = f"{COUNT} UNION ALL SELECT COUNT(*) AS n FROM visits"
    assert asked(*parts, text=text).privacy.local == pytest.approx(2)


def test_collectors_answer_unions_and_lists_of_tables_and_claim_nothing_while_they_count(tmp_path: Path) -> None:
    """Marginals of an open collector differ by the newcomers as other answers do."""
    collection = tc.Collection(tc.Schema([USERS]), 1)
    with collector_here(tmp_path, collection) as collector:
        reports = [{"person": i, "service": "users", "slot": 0, "codes": [0]} for i in range(2_000)]
        collector.accept(collection.id, reports).result()
        for answer in (
            collector.query(COUNT),
            collector.query(f"{COUNT} UNION ALL {COUNT}"),
            collector.marginal(["age"]),
        ):
            assert answer.privacy is not None
            assert answer.privacy.central.epsilon is None
            assert "as it arrives" in answer.privacy.central.reason
        assert collector.query("SHOW TABLES").rows == [("users",)]
        assert collector.query("SHOW TABLES").privacy is None
