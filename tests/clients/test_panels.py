"""Panels end to end: a collector that takes the rounds people are asked in, and wallets that know the panel."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import Serving, collector_here
from support.tiers import how_many
from tacit.cli import main
from tacit.client import Delivery, connect
from tacit.client.panel import assigned_rounds
from tacit.errors import PrivacyError, UsageError
from tacit.server.collector import Collector

SCHEMA = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Categorical("x", ["a", "b"])])])
PANEL = tc.Collection(SCHEMA, 2, panel="2026", rounds=6, reports=2)
PEOPLE = [f"p{i}" for i in range(40)]
COUNT = "SELECT round, COUNT(*) AS n FROM users GROUP BY round ORDER BY round"


@contextmanager
def panel_served(folder: Path) -> Iterator[Serving]:
    made = Serving(folder, collection=PANEL)
    try:
        yield made
    finally:
        made.end()


def asked(person: str) -> tuple[int, ...]:
    return assigned_rounds("2026", 6, 2, person)


def test_devices_report_in_their_rounds_and_the_wallet_keeps_the_panel(tmp_path: Path) -> None:
    """Six rounds, a new process in each; the whole panel costs what the contract says, and no more."""
    with panel_served(tmp_path / "store") as server:
        for number in range(1, 7):
            client = connect(
                server.address, collection=PANEL.id, store=tmp_path / "wallet", round=number, every=0, cap=2
            )
            for person in PEOPLE:
                assert client.asks(person) == (number in asked(person))
                if client.asks(person):
                    client.person(person).record("users", {"x": "ab"[number % 2]})
                else:
                    with pytest.raises(UsageError, match="not asked"):
                        client.person(person).record("users", {"x": "a"})
            delivered = client.flush()
            assert delivered == Delivery(sum(number in asked(person) for person in PEOPLE), 0, 0)
            spent = [client.person(person).budget()["spent"] for person in PEOPLE]
            assert spent == [sum(r <= number for r in asked(person)) * 1.0 for person in PEOPLE]
            client.close()


def test_a_changed_value_in_the_same_round_sends_the_same_bytes(tmp_path: Path) -> None:
    with panel_served(tmp_path / "store") as server:
        person = PEOPLE[0]
        first = asked(person)[0]
        options = {"collection": PANEL.id, "store": tmp_path / "wallet", "every": 0}
        client = connect(server.address, round=first, **options)  # type: ignore[arg-type]
        bodies = client.person(person).record("users", {"x": "a"}).bodies
        assert client.person(person).record("users", {"x": "b"}).bodies == bodies
        client.close()
        again = connect(server.address, round=asked(person)[1], cap=1, **options)  # type: ignore[arg-type]
        with pytest.raises(PrivacyError):
            again.person(person).record("users", {"x": "b"})
        again.close()
        for number in (None, 0, 7):
            with pytest.raises(UsageError, match="round"):
                connect(server.address, round=number, **options)  # type: ignore[arg-type]


def test_collectors_refuse_other_rounds_and_the_second_device(tmp_path: Path) -> None:
    with collector_here(tmp_path, PANEL) as collector:
        for person in PEOPLE:
            for part in PANEL.parts:
                report = {"person": person, "service": "users", "slot": 0, "codes": [0]}
                [status] = collector.accept(part.id, [report]).result()
                expected = "stored" if part.contract.member in asked(person) else "not-asked"
                assert status.get("code", status["status"]) == expected
        first = PANEL.round(asked("p0")[0])
        [second] = collector.accept(first.id, [report | {"person": "p0", "codes": [1]}]).result()
        assert second["code"] == "report-differs", "another device drew again: the first report counts"
        with pytest.raises(UsageError, match="id of one of its rounds"):
            collector.accept(PANEL.id, [report])
        answer = collector.query(COUNT)
        assert [one.value for one in answer["n"]] == [
            3.0 * sum(number in asked(person) for person in PEOPLE) for number in range(1, 7)
        ]
        assert collector.forget("p0") == 2
        assert sum(one.value for one in collector.query(COUNT)["n"]) == 3 * 2 * (len(PEOPLE) - 1)


def test_a_panel_survives_restarts_and_rebuilding(tmp_path: Path) -> None:
    report = {"person": "p1", "service": "users", "slot": 0, "codes": [0]}
    part = PANEL.round(asked("p1")[0])
    with collector_here(tmp_path, PANEL) as collector:
        collector.accept(part.id, [report]).result()
        before = collector.query("SELECT COUNT(*) AS n FROM users")["n"].value
    (tmp_path / "reports.tacit").unlink()
    with collector_here(tmp_path, PANEL) as again:
        assert list(again.collections) == [PANEL.id]
        assert again.query("SELECT COUNT(*) AS n FROM users")["n"].value == before == 3
        [status] = again.accept(part.id, [report]).result()
        assert status["status"] == "again"


def test_a_panel_in_snapshots_states_both_guarantees(tmp_path: Path) -> None:
    """Each round has snapshots and a crowd of its own; over the panel a person's two reports add up."""
    people = [f"q{i}" for i in range(600)]
    collector = Collector(tmp_path, snapshot=50)
    collector.publish(PANEL)
    try:
        for part in PANEL.parts:
            reports = [
                {"person": person, "service": "users", "slot": 0, "codes": [0]}
                for person in people
                if part.contract.asks(person)
            ]
            collector.accept(part.id, reports).result()
            collector.move()
        answer = collector.query(COUNT)
        assert answer.privacy is not None
        assert answer.privacy == collector.privacy(PANEL)
        assert answer.privacy.local == pytest.approx(2)
        central = answer.privacy.central
        assert 150 < central.people < 200
        one = PANEL.round(1).audit(people=central.people).central_epsilon
        assert one is not None
        assert central.epsilon == pytest.approx(2 * one, rel=0.05)
        assert float(central.delta) == pytest.approx(2e-8)
    finally:
        collector.close()
    assert main(["doctor", str(tmp_path), "--verify"]) == 0


CHILD = """
import os, signal, sys
from tacit.client.client import Client
from tacit.client.panel import turn_of
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
import json

store, contract, person, stop = sys.argv[1:]
text, left = open(contract).read(), int(stop)
for number in range(1, 7):
    turn = turn_of(json.loads(text), text, number)
    if not turn.asks(person):
        continue
    wallet = Wallet(store)

    def count(_):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    wallet._file.set_trace_callback(count)  # called before each statement
    client = Client(Transport("http://127.0.0.1:1"), wallet, turn.id, text, "", 2, 0, turn=turn)
    client.person(person).record("users", {"x": "ab"[number % 2]})
"""


def test_kills_between_draw_and_charge_leave_the_panel_whole(tmp_path: Path) -> None:
    """Kill at statements of both rounds of a person, go on, and kill again: two reports, charged once each.

    Every later process finds what the killed one left; bytes that were drawn once never change.
    """
    contract, store = tmp_path / "contract.json", tmp_path / "w.db"
    contract.write_text(PANEL.to_json())
    drawn: dict[tuple[str, str], str] = {}
    kills = how_many(3, 59, "kills of a panel's wallet")
    for stop in (*range(1, 60, max(1, 59 // kills)), 0):
        words = [sys.executable, "-c", CHILD, str(store), str(contract), "p0", str(stop)]
        code = subprocess.run(words, check=False, timeout=60).returncode
        assert code in (0, -signal.SIGKILL)
        with closing(sqlite3.connect(store)) as file:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchone():
                continue
            charged = {row[0] for row in file.execute("SELECT collection FROM entries")}
            reports = {(one, body) for one, body in file.execute("SELECT collection, body FROM reports")}
        assert {one for one, _ in reports} == charged <= {PANEL.round(number).id for number in asked("p0")}
        assert len(reports) == len(charged), "one report for each charge"
        for one, body in reports:
            assert drawn.setdefault((one, "p0"), body) == body, "drawn twice"
    assert code == 0
    assert len(drawn) == 2
