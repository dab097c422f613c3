"""Agents: a real process of `tacit mcp`, asked line by line, over a file and over a collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.adapters.mcp.server import VERSIONS, answers
from tacit.datasets import town, town_schema

COUNT = "SELECT COUNT(*) AS n FROM users WHERE age > 2"


def talk(database: str, *requests: Any, **environment: str) -> list[dict[str, Any]]:
    """Return what a process answers to some requests."""
    lines = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in requests)
    words = [sys.executable, "-m", "tacit.cli", "mcp", database]
    run = subprocess.run(
        words, input=lines, capture_output=True, text=True, check=True, timeout=60, env=os.environ | environment
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def call(number: int, name: str, **given: Any) -> dict[str, Any]:
    parameters = {"name": name, "arguments": given}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}


def test_an_agent_asks_a_collector(place: Any) -> None:
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    found = talk(
        place.address,
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        call(2, "catalogue"),
        call(3, "ask", sql=COUNT, confidence=0.8),
        call(4, "predict", sql=COUNT, users=1000),
        call(5, "explain", sql=COUNT),
        call(6, "ask", sql="SELECT agee FROM users"),
        TACIT_KEY=place.query,
    )
    assert [one["id"] for one in found] == list(range(7))
    assert found[0]["result"]["protocolVersion"] == "2024-11-05"
    assert [tool["name"] for tool in found[1]["result"]["tools"]] == ["catalogue", "predict", "ask", "explain"]
    texts = [one["result"]["content"][0]["text"] for one in found[2:]]
    assert [table["name"] for table in json.loads(texts[0])] == ["orders", "users"]
    expected = place.collector.query(COUNT, confidence=0.8)["n"]
    row = json.loads(texts[1])["rows"][0]
    assert (row["n"], row["n_low"], row["n_high"]) == pytest.approx((expected.value, expected.low, expected.high))
    assert json.loads(texts[2])["rows"][0]["n_error"] > 0
    assert "predicted for" in texts[3]
    assert (found[6]["result"]["isError"], "unknown-column" in texts[4]) == (True, True)


def test_what_the_key_may_not_is_refused(place: Any) -> None:
    [refused] = talk(place.address, call(1, "ask", sql=COUNT), TACIT_KEY=place.ingest)
    assert refused["result"]["isError"]
    assert "wrong-scope" in refused["result"]["content"][0]["text"]
    assert place.ingest not in json.dumps(refused)


def test_an_agent_asks_a_file(tmp_path: Path) -> None:
    collection = tc.Collection(town_schema(), epsilon=4.0)
    database = tc.connect(tmp_path / "town.tacit")
    database.create(collection)
    database.load(collection.encode(**town(300)))
    database.close()
    text = "SELECT COUNT(*) AS n FROM shop"
    found = talk(str(tmp_path / "town.tacit"), call(1, "ask", sql=text), call(2, "predict", sql=text))
    assert [json.loads(one["result"]["content"][0]["text"])["rows"][0]["n"] for one in found] == [300, 300]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601),
        (json.dumps(call(1, "forget")), -32602),
        (json.dumps(call(1, "ask")), -32602),
        (json.dumps(call(1, "ask", sql=3)), -32602),
        (json.dumps(call(1, "ask", sql=COUNT, decoder="x")), -32602),
        (json.dumps(call(1, "predict", sql=COUNT, users=True)), -32602),
        ('"' + "x" * 2_000_000 + '"', -32600),
    ],
)
def test_bad_requests_have_codes(line: str, code: int) -> None:
    [answer] = answers([line], tc.connect(), "0")
    assert json.loads(answer)["error"]["code"] == code


def test_notifications_and_unknown_versions() -> None:
    assert list(answers(['{"jsonrpc": "2.0", "method": "x"}', "\n"], tc.connect(), "0")) == []
    [answer] = answers(['{"jsonrpc": "2.0", "id": 1, "method": "initialize"}'], tc.connect(), "0")
    assert json.loads(answer)["result"]["protocolVersion"] == VERSIONS[0]


def test_a_mistake_of_ours_ends_no_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails is said without its message, which may repeat values, and the next question is answered."""
    secret = "a value"

    def fail(*_: Any, **__: Any) -> tc.Answer:
        raise ZeroDivisionError(secret)

    database = tc.connect()
    monkeypatch.setattr(database, "sql", fail)
    lines = [json.dumps(call(1, "ask", sql=COUNT)), json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})]
    [failed, pinged] = map(json.loads, answers(lines, database, "0"))
    assert failed["result"]["isError"]
    assert "ZeroDivisionError" in failed["result"]["content"][0]["text"]
    assert secret not in json.dumps(failed)
    assert pinged["result"] == {}
