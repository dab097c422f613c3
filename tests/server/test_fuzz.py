"""S1 and S5: whatever is sent, nothing breaks, nothing invalid is stored, and one bad report never sinks its batch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.collectors import COLLECTION, Serving, body_of, collector_here, reports_of, served_here, serving
from support.tiers import how_many
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

CASES = how_many(50, 2_000, "requests of any kind, of each fuzzer")

PATH = f"/v1/collections/{COLLECTION.id}/reports"
ALPHABETS = {one.service.name: [channel.alphabet for channel in one.channels] for one in COLLECTION.contract.services}
SENDS = {one.service.name: one.service.sends for one in COLLECTION.contract.services}
QUICK = settings(
    max_examples=CASES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with collector_here(tmp_path_factory.mktemp("collector")) as made:
        yield made


@pytest.fixture(scope="module")
def client(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served_here(make_app(collector, Keys(tmp_path_factory.mktemp("keys") / "keys.json"))) as made:
        made.post(PATH, json=body_of(reports_of(0, 50)))
        yield made


odd_texts = ["users", "orders", "os", "", "\x00", "u-1", "'; DROP TABLE known; --"]
odd_numbers = [2**63, -(2**63) - 1, 1e308, 10**30]
texts = st.one_of(st.text(max_size=20), st.sampled_from(odd_texts))
numbers = st.one_of(st.integers(), st.integers(-2, 40), st.floats(), st.sampled_from(odd_numbers))
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
anything = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
members = st.fixed_dictionaries(
    {},
    optional={
        "person": anything | st.sampled_from(["p", 7]),
        "service": anything | st.sampled_from(["users", "orders"]),
        "slot": anything | st.sampled_from([0, 1, 2]),
        "codes": anything | st.lists(st.integers(-1, 30), max_size=3),
        "public": anything | st.fixed_dictionaries({"os": leaves}),
        "token": anything,
    },
)
reports = members | anything


def is_valid(report: Any) -> bool:
    """Tell whether a report is one of the contract's, by a few lines that share nothing with the collector's."""
    if not isinstance(report, dict) or report.get("service") not in ("users", "orders"):
        return False
    name, codes, slot, person = report["service"], report.get("codes"), report.get("slot"), report.get("person")
    if isinstance(person, str):
        good = 1 <= len(person) <= 200 and person.isprintable()
    else:
        good = type(person) is int and -(2**63) <= person < 2**63
    good = good and type(slot) is int and 0 <= slot < SENDS[name] and isinstance(codes, list)
    good = good and len(codes) == len(ALPHABETS[name])
    return good and all(
        type(code) is int and 0 <= code < most for code, most in zip(codes, ALPHABETS[name], strict=True)
    )


@QUICK
@given(batch=st.lists(reports, max_size=6), position=st.integers(0, 6), number=st.integers(0, 2**40))
def test_bad_reports_are_named_and_the_good_one_among_them_is_stored(
    client: httpx.Client, collector: Collector, batch: list[Any], position: int, number: int
) -> None:
    good = {"person": f"good-{number}", "service": "orders", "slot": 0, "codes": [0] * len(ALPHABETS["orders"])}
    mixed = [*batch[:position], good, *batch[position:]]
    before = collector.inbox.counts()["known"]
    response = client.post(PATH, content=json.dumps(body_of(mixed)).encode())
    assert response.status_code == 200, response.text
    statuses = response.json()["statuses"]
    assert len(statuses) == len(mixed)
    assert statuses[min(position, len(batch))]["status"] in ("stored", "again")
    for report, status in zip(mixed, statuses, strict=True):
        if not is_valid(report):
            assert status["status"] == "refused", report
    stored = sum(status["status"] == "stored" for status in statuses)
    assert collector.inbox.counts()["known"] == before + stored


@QUICK
@given(body=anything, path=st.sampled_from([PATH, "/v1/forget", "/v1/query"]))
def test_bodies_of_any_kind_are_refused_by_name(client: httpx.Client, body: Any, path: str) -> None:
    if isinstance(body, dict):
        body = body | {"tacit": 1}
    response = client.post(path, content=json.dumps(body).encode())
    assert response.status_code < 500, response.text
    if response.status_code != 200:
        assert response.json()["code"]


@QUICK
@given(content=st.binary(max_size=300), path=st.sampled_from([PATH, "/v1/forget", "/v1/query"]))
def test_bytes_of_any_kind_are_refused_by_name(client: httpx.Client, content: bytes, path: str) -> None:
    for headers in ({}, {"Content-Encoding": "gzip"}):
        response = client.post(path, content=content, headers=headers)
        assert (response.status_code, response.json()["code"]) == (400, "bad-body")


@QUICK
@given(data=st.data())
def test_changed_bytes_of_a_good_body_break_nothing(client: httpx.Client, data: st.DataObject) -> None:
    content = bytearray(json.dumps(body_of(reports_of(90, 2))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert client.post(PATH, content=bytes(content)).status_code in (200, 400)


HARMFUL = [
    "DROP TABLE users",
    "SELECT COUNT(*) FROM users; DROP TABLE users",
    "DELETE FROM users",
    "ATTACH '/etc/passwd' AS x",
    "COPY users TO '/tmp/x'",
    "INSTALL httpfs",
    "SET memory_limit = '1TB'",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT COUNT(*) FROM users",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM '/etc/passwd'",
    "SELECT COUNT(*) FROM duckdb_settings()",
    "SELECT COUNT(*) FROM sqlite_master",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT read_text('/etc/passwd') AS x, COUNT(*) AS n FROM users",
    "SELECT COUNT(*) FROM users WHERE age = (SELECT 1)",
    "SELECT COUNT(*) FROM users WHERE getenv('HOME') = 'x'",
    "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM users UNION SELECT COUNT(*) FROM orders",
    "SELECT uid, age FROM users",
    "SELECT * FROM users",
    "SELECT COUNT(*) FROM users, users AS b, users AS c, users AS d",
    "SELECT COUNT(*) FROM generate_series(1, 1000000000)",
    "SELECT COUNT(*) FROM users WHERE os LIKE '%' || repeat('x', 1000000000)",
    "SELECT " + "(" * 40 + "COUNT(*)" + ")" * 40 + " FROM users",
    "SELECT COUNT(*) FROM users WHERE " + "NOT " * 4_000 + "age = 1",
    "SELECT COUNT(*) FROM users WHERE age = " + "-" * 2_001 + "1",
    "SELECT COUNT(*) FROM users WHERE " + " OR ".join(["age = 1 AND os = 'a'"] * 600),
    "SELECT COUNT(*) FROM users WHERE age IN (" + ", ".join(map(str, range(3_000))) + ")",
    "SELECT COUNT(*) FROM users " * 1_000,
    "SELECT COUNT(*) FROM users -- " + "x" * 20_000,
    "\x00SELECT COUNT(*) FROM users",
    "SELECT COUNT(*) FROM users WHERE os = '\ud800'",
    "",
    ";",
    "/* " * 5_000,
]


@pytest.mark.parametrize("sql", HARMFUL, ids=[text[:40] for text in HARMFUL])
def test_harmful_questions_are_answered_or_refused_by_name(client: httpx.Client, sql: str) -> None:
    """S5: no statement but one SELECT, no function or table but ours, no length or depth that hurts."""
    before = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}).json()["rows"]
    response = client.post("/v1/query", content=json.dumps({"tacit": 1, "sql": sql}).encode())
    assert response.status_code in (200, 400), response.text
    if response.status_code == 200:  # a question like others, only odd
        assert set(response.json()["rows"][0]) >= {"n", "n_error"} or len(response.json()["rows"]) == 1
    else:
        assert response.json()["code"] not in ("internal", "engine")
        assert "root:" not in response.text
    after = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}).json()["rows"]
    assert after == before


WORDS = """
SELECT COUNT(*) SUM( AVG( age os pay uid ) FROM users orders JOIN USING (uid) WHERE GROUP BY HAVING ORDER LIMIT 1 0 -1
1e400 'a' '' NULL AND OR NOT BETWEEN IN ( ) , . * ; = < <> >= AS n DISTINCT CASE WHEN THEN END CAST ( :: INT UNION WITH
? $1 " ` \\ -- /* */ LIKE % || read_csv('x') ATTACH SET PRAGMA EXPLAIN
""".split()  # noqa: SIM905


@QUICK
@given(words=st.lists(st.sampled_from(WORDS), max_size=25), confidence=leaves)
def test_questions_of_any_words_break_nothing(client: httpx.Client, words: list[str], confidence: Any) -> None:
    body: dict[str, Any] = {"tacit": 1, "sql": " ".join(words)}
    for asked in (body, body | {"confidence": confidence}):
        response = client.post("/v1/query", content=json.dumps(asked).encode())
        assert response.status_code in (200, 400), (asked, response.text)


@pytest.mark.long("requests that Schemathesis makes up; those of Hypothesis stay")
def test_schemathesis_finds_no_unhandled_error(tmp_path: Path) -> None:
    """What the OpenAPI description generates, against a process: no 5xx, and every answer as described."""
    pytest.importorskip("schemathesis")
    with serving(tmp_path) as running:
        seed_some(running)
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{running.address}/openapi.json"]
        command += ["--checks", "not_a_server_error,content_type_conformance,response_schema_conformance"]
        command += ["--phases", "coverage,fuzzing", "-n", str(max(3, CASES // 30)), "--seed", "1", "--no-color"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert found.returncode == 0, found.stdout[-4_000:]
        with running.client() as client:
            assert client.get("/healthz").status_code == 200


def seed_some(running: Serving) -> None:
    with running.client() as client:
        client.post(running.path, json=body_of(reports_of(0, 50)))
