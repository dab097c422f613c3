"""Routes of the analyst's screen: what can be asked, drafts with their problems and forecasts, curves, tuples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import tacit as tc
from support.collectors import served_here
from tacit.datasets import town, town_schema
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

COLLECTION = tc.Collection(town_schema(), epsilon=4.0)
PEOPLE = 2_000
AVERAGE = "SELECT AVG(income) AS mean FROM shop WHERE age >= 30"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    made = Collector(tmp_path_factory.mktemp("analyst"))
    made.publish(COLLECTION)
    made.load(COLLECTION.encode(**town(PEOPLE), rng=tc.insecure_rng(4)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served_here(make_app(collector, Keys(tmp_path_factory.mktemp("keys") / "keys.json"))) as made:
        yield made


def ask(client: httpx.Client, path: str, **body: Any) -> Any:
    response = client.post(f"/v1/{path}", json={"tacit": 1} | body)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_catalogue_says_what_can_be_asked(client: httpx.Client) -> None:
    services = {service["name"]: service for service in client.get("/v1/catalogue").json()["services"]}
    assert set(services) == {"shop", "clinic"}
    assert services["shop"]["people"] == PEOPLE
    assert services["shop"]["epsilon"] == 4.0
    assert services["shop"]["collection"] == COLLECTION.id
    assert [attribute["name"] for attribute in services["clinic"]["attributes"]] == ["visits", "smoker"]


def test_a_draft_is_text_and_model_with_a_forecast(client: httpx.Client) -> None:
    drafted = ask(client, "draft", sql=AVERAGE)
    assert drafted["problem"] is None
    assert drafted["people"] == PEOPLE
    predicted = COLLECTION.predict(AVERAGE, users=PEOPLE)["mean"]
    assert drafted["expected"] == {"column": "mean", "half_width": pytest.approx(predicted.margin)}
    again = ask(client, "draft", model=drafted["model"], confidence=0.5)
    assert again["sql"].split() == AVERAGE.split()
    assert again["expected"]["half_width"] < drafted["expected"]["half_width"]


@pytest.mark.parametrize(
    ("sql", "code", "marked"),
    [
        ("SELECT COUNT(*) AS n FROM shop WHERE agee > 3", "unknown-column", "agee"),
        ("SELECT COUNT(*) AS n FROM shopp", "unknown-table", "shopp"),
        ("SELECT COUNT(*) AS n FROM shop\nWHERE age > = 3", "not-readable", "="),
        ("SELECT COUNT(*) AS n FROM shop WHERE", "not-readable", "WHERE"),
        ("SELECT COUNT(*) AS n FROM shop WHERE region = 'nort", "not-readable", "'nort"),
        ("SELECT COUNT(*) AS n FROM shop WHERE region = 'mars'", "unknown-value", "region = 'mars'"),
        ("SELEC COUNT(*) AS n FROM shop", "not-readable", "SELEC"),
        ("SELECT MAX(age) AS n FROM shop", "unsupported-aggregate", "MAX(age)"),
        ("SELECT 1; SELECT 2", "several-statements", None),
        (
            "SELECT COUNT(*) AS n FROM shop WHERE age > 3 AND region = 'north' AND income > 9",
            "not-collected-together",
            None,
        ),
    ],
)
def test_problems_of_drafts_say_where(client: httpx.Client, sql: str, code: str, marked: str | None) -> None:
    problem = ask(client, "draft", sql=sql)["problem"]
    assert problem["code"] == code
    assert problem["detail"].endswith(".")
    found = sql[slice(*problem["span"])] if problem["span"] else None
    assert found == marked or (found and marked and marked.startswith(found))


@pytest.mark.parametrize(
    ("public", "plain"),
    [
        ("COUNT(*) AS n FROM shop WHERE device = 'ios' AND age < 30", "COUNT(*) AS n FROM shop WHERE age < 30"),
        ("device, AVG(age) AS n FROM shop GROUP BY device HAVING n > 3 ORDER BY n", "AVG(age) AS n FROM shop"),
        (
            "device, region, COUNT(*) AS n FROM shop WHERE (age < 30) AND device <> 'web' GROUP BY 1, region LIMIT 2",
            "region, COUNT(*) AS n FROM shop WHERE age < 30 GROUP BY region",
        ),
    ],
)
def test_public_columns_change_only_how_many_people_a_forecast_is_about(
    client: httpx.Client, public: str, plain: str
) -> None:
    """The forecast of a question with public conditions is that of the rest, from the people who satisfy them."""
    device = town(PEOPLE)["shop"]["device"].to_pylist()
    people = device.count("ios") if "'ios'" in public else device.count("android")
    drafted = ask(client, "draft", sql=f"SELECT {public}")
    assert drafted["people"] == people
    expected = COLLECTION.predict(f"SELECT {plain}", users=people)["n"]
    first = expected[0] if isinstance(expected, list) else expected
    assert drafted["expected"]["half_width"] == pytest.approx(first.margin)


def test_a_draft_that_cannot_be_foretold_says_why(client: httpx.Client) -> None:
    drafted = ask(client, "draft", sql="SELECT COUNT(*) AS n FROM shop WHERE device = 'ios' OR age > 3")
    assert drafted["problem"] is drafted["expected"] is None
    assert "public columns" in drafted["unforeseen"]
    outside = ask(client, "draft", sql="SELECT COUNT(*) AS n /* all */ FROM shop")
    assert outside["model"] is None
    assert outside["outside"]
    assert outside["sql"] == "SELECT COUNT(*) AS n /* all */ FROM shop"
    assert outside["expected"]["half_width"] == 0


def test_a_draft_without_a_likely_interval_says_so(client: httpx.Client) -> None:
    drafted = ask(client, "draft", sql="SELECT AVG(income) AS m FROM shop WHERE age = 30")
    assert drafted["problem"] is drafted["expected"] is None
    assert "No finite interval is likely" in drafted["unforeseen"]


def test_curves_fall_with_epsilon_and_with_people(client: httpx.Client) -> None:
    found = ask(client, "curves", sql=AVERAGE)
    assert not found["per_person"]
    for name in ("epsilon", "people"):
        widths = [width for _, width in found[name]]
        assert widths == sorted(widths, reverse=True)
    assert found["now"][:2] == [4.0, PEOPLE]
    assert [4.0, found["now"][2]] in found["epsilon"]
    assert all(central < local for local, central in found["central"])
    totals = ask(client, "curves", sql="SELECT COUNT(*) AS n FROM shop WHERE age < 30")
    assert totals["per_person"]
    assert [PEOPLE, totals["now"][2] / PEOPLE] in totals["people"]
    refused = client.post("/v1/curves", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM shop"})
    assert refused.json()["code"] == "not-predictable"


def test_tuples_add_up_to_the_answer_over_http(client: httpx.Client) -> None:
    question = "SELECT region, COUNT(*) AS people FROM shop WHERE age >= 30 GROUP BY region"
    row = ask(client, "query", sql=question)["rows"][1]
    found = ask(client, "contributions", sql=question, group={"region": row["region"]}, limit=500, order="value")
    pages = [
        ask(client, "contributions", sql=question, group={"region": row["region"]}, limit=500, offset=offset)
        for offset in range(0, found["people"], 500)
    ]
    total = sum(one["contributions"][0] for page in pages for one in page["rows"])
    assert total == pytest.approx(row["people"], rel=1e-9)
    assert found["values"]["people"] == pytest.approx(row["people"], rel=1e-9)
    assert found["rows"][0]["reports"][0]["meaning"]["about"]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("draft", {}, "bad-body"),
        ("draft", {"model": {}}, "bad-model"),
        ("draft", {"model": {"outputs": [[]], "tables": [1]}}, "bad-model"),
        ("curves", {"sql": 3}, "bad-body"),
        ("contributions", {"sql": AVERAGE, "group": 3}, "bad-body"),
        ("contributions", {"sql": AVERAGE, "order": []}, "unknown-name"),
        ("contributions", {"sql": AVERAGE, "limit": 1e9}, "bad-option"),
        ("contributions", {"sql": "SELECT region, COUNT(*) AS n FROM shop GROUP BY region"}, "group-needed"),
    ],
)
def test_bad_bodies_are_refused(client: httpx.Client, path: str, body: dict[str, Any], code: str) -> None:
    response = client.post(f"/v1/{path}", json={"tacit": 1} | body)
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_single_reports_are_for_auditors(collector: Collector, tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    given = {scope: keys.create(scope, [scope]) for scope in ("ingest", "query", "admin", "audit")}
    allowed = {"draft": "query", "curves": "query", "contributions": "audit"}
    with served_here(make_app(collector, keys)) as client:
        for path, needed in allowed.items():
            for scope, key in given.items():
                response = client.post(f"/v1/{path}", json={"tacit": 1, "sql": AVERAGE, "key": key})
                assert (response.status_code == 200) == (scope == needed), (path, scope)
            assert client.post(f"/v1/{path}", json={"tacit": 1, "sql": AVERAGE}).status_code == 401
        for scope, key in given.items():
            response = client.get("/v1/catalogue", headers={"Authorization": f"Bearer {key}"})
            assert (response.status_code == 200) == (scope == "query")
    assert any('"contributions"' in line for line in collector.log.lines())


def test_replies_are_json_that_browsers_can_read(tmp_path: Path) -> None:
    """Public values may be NaN, which Python writes and reads, and JSON does not have."""
    service = tc.Service("bank", key="uid", attributes=[tc.Categorical("home", ["a", "b"]), tc.Public("share")])
    collection = tc.Collection(tc.Schema([service]), 4.0)
    made = Collector(tmp_path)
    made.publish(collection)
    rows = {"uid": ["u", "v"], "home": ["a", "b"], "share": [math.nan, math.inf]}
    made.database.load(collection.encode(bank=rows, rng=tc.insecure_rng(1)))
    with served_here(make_app(made, Keys(tmp_path / "keys.json"))) as client:
        body = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM bank WHERE home = 'a'"}
        for path in ("query", "draft", "curves", "contributions"):
            reply = client.post(f"/v1/{path}", json=body)
            assert reply.status_code == 200, reply.text
            json.loads(reply.text, parse_constant=pytest.fail)
        shown = [report["public"]["share"] for row in reply.json()["rows"] for report in row["reports"]]
        assert shown == [None, None]
    made.close()
