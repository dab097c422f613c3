"""Panels end to end: a collector that takes the rounds people are asked in, and wallets that know the panel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import Serving, collector_here
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
