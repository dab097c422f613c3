"""Assigned views and seeds end to end: coins from a real collector, kept in wallets, and forged views refused."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import tacit as tc
from support.collectors import Serving, collector_here, served_here
from support.engines import postgres_address
from tacit.cli import main
from tacit.client import Client, Delivery, Interpreter, connect
from tacit.client.coin import coin_of, secret_of
from tacit.client.tokens import sign
from tacit.errors import EngineError, ReportError, UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.store.coins import UNBOUND

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 31), tc.Ordinal("pay", 0, 31)])
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Ordinal("sum", 0, 7)], at_most=3, sends=2)
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 4, assigned=True)
ROW = {"age": 4, "pay": 30}
PEOPLE: list[int | str] = ["ada", "42", 42, "Zoë", *range(100, 110)]


def report(coin: str, person: int | str, service: str = "users", seed: int = 1) -> list[dict[str, Any]]:
    """Return a person's reports by a coin."""
    interpreter = Interpreter(COLLECTION.to_json())
    draws = [int(draw) for draw in np.random.default_rng(seed).integers(0, 2**53, interpreter.draws(service))]
    rows = [ROW] if service == "users" else [{"sum": 3}]
    codes = interpreter.encode_rows(service, rows, interpreter.assign(service, coin, draws))
    return [{"person": person, "service": service, "slot": slot, "codes": own} for slot, own in enumerate(codes)]


def told(collector: Collector, reports: list[dict[str, Any]]) -> list[str]:
    return [one.get("code", one["status"]) for one in collector.accept(COLLECTION.id, reports).result()]


@contextmanager
def assigned_served(folder: Path) -> Iterator[Serving]:
    made = Serving(folder, collection=COLLECTION)
    try:
        yield made
    finally:
        made.end()


def test_devices_fetch_their_coin_keep_it_and_report_by_it(tmp_path: Path) -> None:
    with assigned_served(tmp_path / "store") as server:
        client = connect(server.address, collection=COLLECTION.id, store=tmp_path / "wallet", every=0)
        for person in PEOPLE:
            client.person(person).record("users", ROW)
        client.close()
        again = connect(server.address, collection=COLLECTION.id, store=tmp_path / "wallet", every=0)
        for person in PEOPLE:
            again.person(person).rows("orders", [{"sum": 3}])
        assert again.flush() == Delivery(3 * len(PEOPLE), 0, 0)
        with server.client() as http:
            shown = http.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}).json()
        assert shown["rows"][0]["n"] == len(PEOPLE)
    bodies = again.person("ada").history()[0].bodies
    for person in PEOPLE:  # drawn before: the collector is away, and nobody asks it
        again.person(person).record("users", ROW)
    assert again.person("ada").history()[0].bodies == bodies
    with pytest.raises(EngineError) as refusal:
        again.person("new").record("users", ROW)
    assert refusal.value.code == "no-coin"
    assert again.person("new").history() == [], "nothing was drawn or charged"
    again.close()


def test_collectors_refuse_other_views_and_seeds(tmp_path: Path) -> None:
    """Every code of another view or seed is refused, in every channel and slot; the coins of others do not fit."""
    with collector_here(tmp_path, COLLECTION) as collector:
        coin = collector.coin(COLLECTION.id, "ada")
        key = collector.coin_key
        assert key is not None
        assert coin == coin_of(secret_of(key, COLLECTION.id), "ada")
        [good] = report(coin, "ada")
        [channel] = COLLECTION.contract["users"].channels
        view, own = channel.locate(good["codes"][0])
        codes = {one.offset for one in channel.views if one is not view}
        if view.oracle.name == "lh":
            codes |= {view.offset + 1 + (own - 1 + view.oracle.g) % (view.oracle.alphabet - 1)}  # type: ignore[attr-defined]
        assert set(told(collector, [good | {"codes": [code]} for code in codes])) == {"not-assigned"}
        other = [report(collector.coin(COLLECTION.id, person), "ada")[0] for person in PEOPLE[1:]]
        refused = told(collector, [one for one in other if one["codes"] != good["codes"]])
        assert refused.count("not-assigned") >= len(refused) - 2  # two may have the view of another, without seeds
        assert told(collector, [good]) == ["stored"]
        assert told(collector, [good]) == ["again"]
        orders = report(coin, "ada", "orders")
        for slot in range(2):
            apart = [*orders[0]["codes"]]
            others = [one.offset for one in COLLECTION.contract["orders"].channels[0].views]
            view, _ = COLLECTION.contract["orders"].channels[0].locate(orders[slot]["codes"][0])
            wrong = next((code for code in others if code != view.offset), None)
            if wrong is not None:
                apart[0] = wrong
                assert told(collector, [orders[slot] | {"codes": apart}]) == ["not-assigned"]
        assert told(collector, orders) == ["stored", "stored"]
        free = tc.Collection(COLLECTION.schema, 4, round="free")
        collector.publish(free)
        with pytest.raises(UsageError, match="draw the views and seeds"):
            collector.coin(free.id, "ada")


def test_bulk_reports_need_the_collectors_key(tmp_path: Path) -> None:
    raw = {
        "users": {"uid": range(50), "age": [3] * 50, "pay": [5] * 50},
        "orders": {"uid": [1, 1, 2], "sum": [1, 2, 3]},
    }
    with collector_here(tmp_path, COLLECTION) as collector:
        with pytest.raises(ReportError) as refusal:
            collector.load(COLLECTION.encode(**raw, key="0" * 64))
        assert refusal.value.code == "not-assigned"
        collector.load(COLLECTION.encode(**raw, key=collector.coin_key))
        assert collector.query("SELECT COUNT(*) AS n FROM users")["n"].value == 50
        [again] = report(collector.coin(COLLECTION.id, 7), 7)
        assert told(collector, [again]) == ["stored"], "whole numbers have the same coin in bulk and one by one"


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_the_key_survives_restarts_and_rebuilding(tmp_path: Path, store: str) -> None:
    with postgres_address() if store == "postgres" else nothing() as address:
        with collector_here(tmp_path, COLLECTION, store=address) as collector:
            key, coin = collector.coin_key, collector.coin(COLLECTION.id, "ada")
            assert told(collector, report(coin, "ada")) == ["stored"]
        if store == "sqlite":
            (tmp_path / "reports.tacit").unlink()
        with collector_here(tmp_path, COLLECTION, store=address) as again:
            assert (again.coin_key, again.coin(COLLECTION.id, "ada")) == (key, coin)
            assert told(again, report(coin, "ada")) == ["again"]
            assert told(again, report(again.coin(COLLECTION.id, 5), 5)) == ["stored"]


@contextmanager
def nothing() -> Iterator[str]:
    yield ""


def test_an_archive_has_the_key_and_the_database_file_does_not(tmp_path: Path) -> None:
    with collector_here(tmp_path / "store", COLLECTION) as collector:
        key = collector.coin_key
        assert key is not None
        told(collector, report(collector.coin(COLLECTION.id, "ada"), "ada"))
        collector.move()
    assert main(["export", str(tmp_path / "store"), str(tmp_path / "a.zip")]) == 0
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again")]) == 0
    restored = Collector(tmp_path / "again")
    assert restored.coin_key == key
    restored.close()
    for path in (tmp_path / "again").iterdir():
        if path.name != "inbox.db" and path.is_file():
            assert key.encode() not in path.read_bytes(), f"{path.name} is given to analysts, or published"


def test_only_the_person_gets_the_coin_where_tokens_are_needed(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    sending, secret = keys.create("shop", ["ingest"]), keys.create("shop", ["sign"])
    path = f"/v1/collections/{COLLECTION.id}/coin"
    with collector_here(tmp_path / "store", COLLECTION) as collector:
        app = make_app(collector, keys, settings=Settings(tokens=frozenset({"shop"})))
        with served_here(app) as http:

            def ask(**body: Any) -> tuple[int, Any]:
                answered = http.post(path, json={"tacit": 1, **body})
                return answered.status_code, answered.json().get("code", answered.json().get("coin"))

            token = sign(secret, collection=COLLECTION.id, person="ada")
            assert ask(key=sending, token=token, person="ada") == (200, collector.coin(COLLECTION.id, "ada"))
            assert ask(key=sending, token=token, person="bob") == (403, "bad-token")
            assert ask(key=sending, person="ada") == (403, "token-needed")
            assert ask(token=token, person="ada")[0] == 401
            assert ask(key=sending, token=token, person=[])[0] == 400
            assert (
                http.post(path.replace(COLLECTION.id, "0" * 64), json={"tacit": 1, "key": sending}).status_code >= 400
            )
            client = connect(
                str(http.base_url), collection=COLLECTION.id, store=tmp_path / "w", key=sending, every=0, token=token
            )
            client.person("ada").record("users", ROW)
            assert client.flush() == Delivery(1, 0, 0)
            client.close()


CHILD = """
import os, signal, sys
import tacit.client.client as module
from tacit.client import connect

def killed(count):
    os.kill(os.getpid(), signal.SIGKILL)

module.draws = killed  # after the coin is kept, before anything is drawn
address, collection, store = sys.argv[1:]
connect(address, collection=collection, store=store, every=0).person("ada").record("users", {"age": 4, "pay": 30})
"""


def test_a_kill_between_coin_and_draw_leaves_the_coin_and_nothing_charged(tmp_path: Path) -> None:
    with assigned_served(tmp_path / "store") as server:
        words = [sys.executable, "-c", CHILD, server.address, COLLECTION.id, str(tmp_path / "w")]
        assert subprocess.run(words, check=False, timeout=60).returncode == -signal.SIGKILL
        client: Client = connect(server.address, collection=COLLECTION.id, store=tmp_path / "w", every=0)
        kept = client.wallet.coin(COLLECTION.id, "ada")
        assert kept is not None
        assert client.person("ada").history() == []
        assert client.person("ada").budget()["spent"] == 0
        with server.client() as http:
            fetched = http.post(f"/v1/collections/{COLLECTION.id}/coin", json={"tacit": 1, "person": "ada"}).json()
        assert fetched == {"coin": kept}
        client.person("ada").record("users", ROW)
        assert client.flush() == Delivery(1, 0, 0)
        client.person("ada").forget()
        assert client.wallet.coin(COLLECTION.id, "ada") is None
        client.close()


def test_rounds_of_a_panel_have_coins_of_their_own(tmp_path: Path) -> None:
    panel = tc.Collection(tc.Schema([USERS]), 2, panel="2026", rounds=3, reports=1, assigned=True)
    with collector_here(tmp_path, panel) as collector:
        for part in panel.parts:
            for person in ("ada", "bob", "eve"):
                if part.contract.asks(person):
                    assert collector.coin(part.id, person) == coin_of(
                        secret_of(str(collector.coin_key), part.id), person
                    )
                else:
                    with pytest.raises(UsageError, match="not asked"):
                        collector.coin(part.id, person)
        people = {"uid": range(90), "age": [1] * 90, "pay": [2] * 90}
        for part in panel.parts:
            collector.load(part.encode(users=people, key=collector.coin_key))
        assert (
            sum(one.value for one in collector.query("SELECT round, COUNT(*) AS n FROM users GROUP BY round")["n"])
            == 270
        )


def test_the_command_line_makes_a_key_and_loads_by_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tc.Collection(tc.Schema([USERS]), 2, assigned=True)
    (tmp_path / "contract.json").write_text(made.to_json())
    (tmp_path / "users.csv").write_text("uid,age,pay\n" + "".join(f"{i},{i % 32},3\n" for i in range(40)))
    tables = [str(tmp_path / "contract.json"), f"users={tmp_path / 'users.csv'}"]
    assert main(["encode", *tables, "--out", str(tmp_path / "out")]) == 2
    key = tmp_path / "coin.key"
    assert main(["encode", *tables, "--out", str(tmp_path / "out"), "--coin-key", str(key)]) == 0
    assert key.stat().st_mode & 0o77 == 0
    load = ["load", str(tmp_path / "db.tacit"), str(tmp_path / "out")]
    assert main(load) == 2
    assert main([*load, "--coin-key", str(tmp_path / "none")]) == 2
    assert main([*load, "--coin-key", str(key)]) == 0
    captured = capsys.readouterr()
    assert "40 reports stored" in captured.out
    assert key.read_text().strip() not in captured.out + captured.err


def test_the_first_report_without_a_token_waits_for_the_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where views are assigned, the store remembers that ids are not bound to people."""
    asked, go_on = threading.Event(), threading.Event()
    with collector_here(tmp_path / "store", COLLECTION) as collector:
        remember = collector.inbox.remember

        def slow_remember(**values: str) -> None:
            if any(name.startswith(UNBOUND) for name in values):
                asked.set()
                go_on.wait(120)
            remember(**values)

        monkeypatch.setattr(collector.inbox, "remember", slow_remember)
        app = make_app(collector, Keys(tmp_path / "store" / "keys.json"))
        with served_here(app) as client, ThreadPoolExecutor(2) as pool:
            own = report(collector.coin(COLLECTION.id, "ada"), "ada")
            path = f"/v1/collections/{COLLECTION.id}/reports"
            waiting = pool.submit(client.post, path, json={"tacit": 1, "reports": own})
            assert asked.wait(60)
            try:
                assert httpx.get(f"{client.base_url}/healthz", timeout=10, trust_env=False).status_code == 200
            finally:
                go_on.set()
            assert waiting.result().json() == {"statuses": [{"status": "stored"}]}
