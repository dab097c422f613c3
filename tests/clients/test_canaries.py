"""S10: raw values are nowhere: not in errors, logs, wallet, requests, metrics, nor in any file of the collector.

Canaries are long values that occur nowhere else: undeclared texts, which count as the catch-all, and long numbers.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sqlite3
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.collectors import Serving
from tacit.client import connect
from tacit.errors import TacitError

PEOPLE = 120
NUMBERS = tc.Ordinal("amount", 0, 1_999_999_999, cells=10)
USERS = tc.Service("users", key="uid", attributes=[tc.Categorical("city", ["Oslo", "other"], other="other"), NUMBERS])
ORDERS = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[NUMBERS])
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 4.0)


def attempts(text: str, number: int) -> list[tuple[str, Any]]:
    """Return what an app may hand over: right, wrong, and of forms that make code raise in odd places."""
    good = {"city": text, "amount": number}
    return [
        ("users", [good | {"amount": text}]),
        ("users", [{"city": text}]),
        ("users", [good, good]),
        ("users", [good | {"city": number}]),
        ("users", [good | {"amount": float(number) * 1e9}]),
        ("users", [good | {"amount": {text: number}}]),
        ("users", [good | {"city": [text]}]),
        ("users", text),
        ("users", [text]),
        ("users", [number]),
        (text, [good]),
        ("orders", [{"amount": number * 1_000}]),
        ("orders", [{"amount": number}, {"amount": text}]),
        ("users", [good]),
        ("orders", [{"amount": number}] * (number % 5)),
        ("users", [good | {"city": "Oslo"}]),
    ]


def test_no_canary_is_anywhere(tmp_path: Path, source: np.random.Generator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said, canaries, errors = io.StringIO(), [], 0
    log = tmp_path / "requests.log"
    serving = Serving(tmp_path / "c", collection=COLLECTION, options=["--log", str(log)])
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        client = connect(serving.address, collection=COLLECTION.id, store=tmp_path / "wallet.db", cap=4, every=0)
        for person in range(PEOPLE):
            number = int(source.integers(10**9, 2 * 10**9))
            text = f"canary-{source.integers(2**60):x}-{source.integers(2**60):x}"
            canaries += [text, str(number)]
            me = client.person(f"p-{person}")
            for service, rows in attempts(text, number):
                for act in (me.rows, me.preview):
                    try:
                        print(str(act(service, rows))[:0], client, me.history()[:1])
                    except TacitError as refusal:
                        errors += 1
                        if service != text:  # a name that was given as a service's is a name, and is shown
                            print(refusal, refusal.args)
                            print("".join(traceback.format_exception(refusal)))
                    except (TypeError, AttributeError) as misuse:
                        errors += 1
                        print(misuse)
            if person % 40 == 0:
                print(client.flush())
        print(client.flush())
        client.close()
    logged = caplog.text
    with serving.client() as http:
        body = {"tacit": 1, "sql": f"SELECT COUNT(*) FROM users WHERE city = '{canaries[0]}'"}
        said.write(str(http.post("/v1/query", json=body).status_code))
        said.write(http.get(f"/v1/{canaries[0]}").text)
        said.write(http.get("/metrics").text + http.get("/v1/collections").text)
    assert serving.end() == 0
    said.write(serving.printed)
    assert errors > 10 * PEOPLE
    kept = {path.name: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert {"wallet.db", "inbox.db", "reports.tacit", "log.db", "requests.log"} <= set(kept)
    texts = {name: content.decode("latin-1") for name, content in kept.items()}
    texts |= {"said": said.getvalue(), "logged": logged}
    for where, text in texts.items():
        found = [canary for canary in canaries if canary in text]
        assert not found, f"{len(found)} canaries in {where}"
    with contextlib.closing(sqlite3.connect(tmp_path / "wallet.db")) as file:
        stored = file.execute("SELECT status, count(*) FROM reports GROUP BY status").fetchall()
    assert stored == [("stored", 3 * PEOPLE)], "the canaries were handed over, encoded and delivered"


def test_the_journal_is_json_without_addresses_or_paths(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    serving = Serving(tmp_path / "c", options=["--log", str(log)])
    with serving.client() as http:
        http.get("/healthz")
        http.get(f"/v1/collections/{'a' * 64}")
        http.get("/secret-path")
        http.post(serving.path, content=b"not JSON")
    assert serving.end() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("GET", "/healthz", 200),
        ("GET", "/v1/collections/{id}", 404),
        ("GET", "unknown", 404),
        ("POST", "/v1/collections/{id}/reports", 400),
    ]
    assert [line.pop("code", "") for line in lines] == ["", "unknown-collection", "not-found", "bad-body"]
    for line in lines:
        assert set(line) == {"time", "level", "logger", "method", "route", "status", "milliseconds"}
    assert "127.0.0.1" not in log.read_text()
    assert log.stat().st_mode & 0o77 == 0
