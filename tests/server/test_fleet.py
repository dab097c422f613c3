"""Several collectors on one PostgreSQL: one truth, whoever is asked; a collector that was stopped changes nothing."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from support.engines import postgres_address
from tacit.cli import main
from tacit.errors import EngineError, OverloadedError, ReportError, TacitError
from tacit.server.collector import Collector
from tacit.server.keys import Keys
from tacit.server.readiness import Readiness
from tacit.server.shared_keys import open_keys
from tacit.server.store import mover, watermarks
from tacit.server.store.ledger import cost_of
from tacit.server.store.shared.keys import StoredKeys
from tacit.server.store.shared.schema import VERSION
from tacit.server.store.shared.session import LOCK

COUNT = "SELECT COUNT(*) AS n FROM users"
FEES = tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3), tc.Public("fee")])
ROUND = tc.Collection(tc.Schema([FEES]), 1.0)
HIGHER = tc.Collection(tc.Schema([FEES]), 2.0, tier="high")
RUN_OUT = "UPDATE tacit_leases SET until = '-infinity'"
HELD = "UPDATE tacit_leases SET holder = 'another', clean = false, until = clock_timestamp() + interval '{}'"


@pytest.fixture
def address() -> Iterator[str]:
    with postgres_address() as made:
        yield made


def told(collector: Collector, reports: list[Any], collection: tc.Collection = COLLECTION) -> list[str]:
    return [one.get("code", one["status"]) for one in collector.accept(collection.id, reports).result()]


def fee(person: int | str, value: Any) -> dict[str, Any]:
    return {"person": person, "service": "s", "slot": 0, "codes": [0], "public": {"fee": value}}


def run(address: str, statement: str) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def fleet(address: str, tmp_path: Path) -> Iterator[list[Collector]]:
    with ExitStack() as opened:
        first = opened.enter_context(collector_here(tmp_path / "0", COLLECTION, ROUND, HIGHER, store=address))
        yield [first, *(opened.enter_context(collector_here(tmp_path / f"{n}", store=address)) for n in (1, 2))]


def test_each_report_is_stored_once_and_every_collector_counts_all(fleet: list[Collector]) -> None:
    """Three collectors get the same reports at the same time, and three different draws of the same person."""
    reports = [reports_of(start, 25) for start in range(0, 200, 25)]
    with ThreadPoolExecutor(12) as pool:
        heard = list(pool.map(lambda n: told(fleet[n % 3], reports[n // 3]), range(24)))
    for number in range(8):
        for statuses in zip(*heard[3 * number : 3 * number + 3], strict=True):
            assert sorted(statuses) == ["again", "again", "stored"]
    with ThreadPoolExecutor(3) as pool:
        draws = [[fee(person, number) for person in range(50)] for number in range(3)]
        heard = list(pool.map(lambda n: told(fleet[n], draws[n], ROUND), range(3)))
    for statuses in zip(*heard, strict=True):
        assert sorted(statuses) == ["report-differs", "report-differs", "stored"]
    for collector in fleet:
        answer = collector.query(COUNT)
        assert (answer["n"].value, answer.watermark) == (200, (200, 200))
        assert collector.query("SELECT COUNT(*) AS n FROM s")["n"].value == 50


def test_an_answer_counts_what_others_acknowledged_before_it_was_asked(fleet: list[Collector]) -> None:
    for start in range(0, 60, 10):
        told(fleet[start % 3], reports_of(start, 10))
        for collector in fleet:
            answer = collector.query(COUNT)
            assert (answer["n"].value, answer.watermark) == (start + 10, (start + 10, start + 10))


def test_first_reports_that_are_not_moved_yet_are_not_denied(
    fleet: list[Collector], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another collector leads and moves nothing: there are reports, so "no reports" would be wrong."""
    run(address, HELD.format("9 seconds"))
    told(fleet[0], reports_of(0, 5))
    with monkeypatch.context() as impatient:
        for module, name in ((watermarks, "MOVING_SECONDS"), (mover, "ALONE_SECONDS")):
            impatient.setattr(module, name, 0.1)
        run(address, HELD.format("9 seconds"))
        with pytest.raises(OverloadedError):
            fleet[1].query(COUNT)
        with pytest.raises(ReportError):  # of which there are none
            fleet[1].query("SELECT COUNT(*) AS n FROM s")
    run(address, RUN_OUT)
    assert fleet[1].query(COUNT)["n"].value == 5


def test_a_lease_from_before_the_clock_was_set_back_holds_nobody_up(fleet: list[Collector], address: str) -> None:
    """Its holder died, and by the database's clock it would last another hour."""
    told(fleet[0], reports_of(0, 5))
    run(address, HELD.format("1 hour"))
    assert fleet[1].query(COUNT)["n"].value == 5


def test_a_tier_and_a_limit_hold_across_collectors(address: str, tmp_path: Path) -> None:
    """Each of 60 people reports to both tiers at once, through different collectors: one of the two is stored."""
    with ExitStack() as opened:
        limited = []
        for number in range(2):
            limit = max(cost_of(COLLECTION.contract["users"]), Fraction(2))
            made = Collector(tmp_path / f"{number}", address, person_epsilon=limit)
            opened.callback(made.close)
            for one in (COLLECTION, ROUND, HIGHER):
                made.publish(one)
            limited.append(made)
        people = [fee(person, 1) for person in range(60)]
        tiers = (ROUND, HIGHER)
        with ThreadPoolExecutor(12) as pool:
            parts = [(n, people[start : start + 10]) for start in range(0, 60, 10) for n in range(2)]
            heard = list(pool.map(lambda part: told(limited[part[0]], part[1], tiers[part[0]]), parts))
        statuses = Counter(status for some in heard for status in some)
        assert statuses == {"stored": 60, "wrong-tier": 60}
        with ThreadPoolExecutor(2) as pool:  # the limit is what users costs: users or s, not both
            both = [(limited[0], [fee("u-0", 1)], ROUND), (limited[1], reports_of(0, 1)[:1], COLLECTION)]
            heard = list(pool.map(lambda one: told(*one), both))
        assert sorted(status for some in heard for status in some) == ["over-total", "stored"]


def test_nobody_is_stored_behind_a_tombstone(fleet: list[Collector], address: str) -> None:
    """Reports keep coming through two collectors while the third deletes the people who send them."""
    people = [reports_of(number, 1) for number in range(30)]
    begin = threading.Barrier(3)

    def send(collector: Collector) -> None:
        begin.wait()
        for reports in people:
            told(collector, reports)

    def delete() -> None:
        begin.wait()
        for number in range(30):
            fleet[2].forget(f"u-{number}", COLLECTION.id)

    threads = [threading.Thread(target=send, args=(one,)) for one in fleet[:2]]
    threads.append(threading.Thread(target=delete))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run(address, "SELECT count(*) FROM tacit_known") == [(0,)]
    assert run(address, "SELECT count(*) FROM tacit_waiting") == [(0,)]
    for collector in fleet:
        assert set(told(collector, people[7])) == {"forgotten"}
        assert collector.inbox.sizes()[COLLECTION.id, "users"].known == 0


def test_what_one_publishes_the_others_accept_at_once(fleet: list[Collector]) -> None:
    other = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("a", 0, 3)])]), 1.0)
    fleet[1].publish(other)
    report = {"person": "p", "service": "t", "slot": 0, "codes": [0]}
    assert told(fleet[2], [report], other) == ["stored"]
    for collector in fleet:
        assert collector.query("SELECT COUNT(*) AS n FROM t").watermark == (1, 1)
    events = Counter(entry["event"] for entry in fleet[0].log.read().entries)
    assert events["contract-published"] == 4
    assert fleet[0].log.read().ok


def test_collectors_add_to_one_log_in_turn(fleet: list[Collector]) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: fleet[n % 3].log.add("question", sql=str(n), key=""), range(60)))
    chain = fleet[1].log.read()
    assert chain.ok
    assert sorted(entry["details"]["sql"] for entry in chain.entries[3:]) == sorted(map(str, range(60)))


@pytest.mark.parametrize("place", ["postgres", "lake"])
def test_a_stopped_leader_that_wakes_changes_nothing(
    place: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped before each kind of change; another one has led since, and deleted somebody it was moving."""
    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    lake = {"lake": str(tmp_path / "lake")} if place == "lake" else {}
    with (
        collector_here(tmp_path / "one", store=address, **lake) as first,
        collector_here(tmp_path / "two", store=address, **lake) as second,
    ):
        changes = [
            lambda: first.database.load({"users": batch}),
            lambda: first.inbox.mark_moved(COLLECTION.id, "users", [1]),
            lambda: first.inbox.refill(),
            lambda: first.inbox.remember(rebuilding="yes"),
            lambda: first.inbox.finish_deletion(COLLECTION.id, "", "u-1"),
            lambda: first.analytical.begin_anew(keep=False),
            lambda: first.database.forget("u-2"),
        ]
        told(first, reports_of(0, 5))
        users = COLLECTION.contract["users"]
        with first.mover.alone():
            batch = mover.batch_of(COLLECTION, users, first.inbox.pending(COLLECTION.id, "users", 1, 10))
            run(address, RUN_OUT)
            second.forget("u-1")
            told(second, reports_of(10, 2))
            assert second.query(COUNT).watermark == (6, 6)
            before = _content(address, second)
            for change in changes:
                with pytest.raises(EngineError) as refused:
                    change()
                assert refused.value.code in ("store-in-use", "lease-lost", "no-store")
            assert _content(address, second) == before
        assert second.query(COUNT)["n"].value == 6
        assert first.query(COUNT).watermark == (6, 6), "it leads again, and has compared both stores"


def _content(address: str, collector: Collector) -> list[Any]:
    tables = ("tacit_known", "tacit_waiting", "tacit_reports", "tacit_state", "tacit_deletions", "tacit_sizes")
    rows = [sorted(map(repr, run(address, f"SELECT * FROM {table}"))) for table in tables]
    return [*rows, collector.analytical.version, collector.query(COUNT)["n"].value]


def test_an_unfinished_transaction_of_a_stopped_leader_keeps_nobody_waiting(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions are ended, and what it had not committed is gone."""
    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    with (
        collector_here(tmp_path / "one", store=address) as first,
        collector_here(tmp_path / "two", store=address) as second,
    ):
        told(first, reports_of(0, 5))

        def change() -> None:
            with first.inbox._lock, first.inbox._transaction():
                first.inbox._store.remember("half", "done")
                run(address, RUN_OUT)
                assert second.query(COUNT).watermark == (5, 5)
                assert second.inbox.recall("half") is None

        with first.mover.alone(), pytest.raises(OverloadedError) as refused:
            change()
        assert refused.value.code == "no-store"
        assert told(first, reports_of(5, 1)) == ["stored"] * 3
        assert first.query(COUNT).watermark == (6, 6)


def test_a_late_number_joins_no_snapshot_that_was_counted(address: str, tmp_path: Path) -> None:
    """Numbers are given before they are committed: a person with an early one who comes late is not counted alone."""
    with ExitStack() as opened:
        made = [Collector(tmp_path / f"{number}", address, snapshot=4) for number in range(2)]
        for one in made:
            opened.callback(one.close)
            one.publish(ROUND)
        [(early,)] = run(address, "SELECT nextval('tacit_pending_number_seq')")
        assert told(made[0], [fee(person, 1) for person in range(4)], ROUND) == ["stored"] * 4
        assert made[1].query("SELECT COUNT(*) AS n FROM s")["n"].value == 4
        waiting = threading.Event()

        def store() -> None:
            waiting.set()
            told(made[1], [fee("late", 1)], ROUND)

        with made[0].inbox._lock, made[0].inbox._transaction():
            made[0].inbox._store.waiting([1])  # what a snapshot does: nobody stores meanwhile
            thread = threading.Thread(target=store)
            thread.start()
            waiting.wait()
            thread.join(0.3)
            assert thread.is_alive(), "it has no number yet"
            assert run(address, "SELECT last_value FROM tacit_pending_number_seq") == [(early + 4,)]
        thread.join()
        assert made[0].query("SELECT COUNT(*) AS n FROM s")["n"].value == 4


def test_keys_are_shared_and_exchanged_without_a_restart(fleet: list[Collector], address: str) -> None:
    del fleet
    sources = StoredKeys(address), StoredKeys(address)
    one, two = map(Keys, sources)
    made = one.create("shop", ["ingest"])
    sources[1]._refresh()
    assert two.check(made, ("ingest",)).name == "shop"
    newer = two.create("shop", ["ingest"])
    sources[0]._refresh()
    assert one.check(newer, ("ingest",)).name == "shop"
    assert one.revoke(str(one.list_keys(made)[0]["digest"])) == 1
    sources[1]._refresh()
    with pytest.raises(TacitError) as refused:
        two.check(made, ("ingest",))
    assert refused.value.code == "unknown-key"
    assert two.required
    one.close()
    two.close()


def _code(keys: Keys, key: str) -> str:
    try:
        keys.check(key, ("ingest",))
    except TacitError as refusal:
        return refusal.code
    return ""


def soon(holds: Callable[[], bool]) -> bool:
    """Return whether something becomes true within some seconds."""
    return any(holds() or time.sleep(0.1) for _ in range(100))


def test_a_damaged_row_of_keys_lets_nobody_in_and_keys_of_the_folder_are_beside_them(
    fleet: list[Collector], address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del fleet
    main(["keys", str(tmp_path), "create", "own", "--json"])
    out, err = capsys.readouterr()
    assert not err
    keys = open_keys(tmp_path, address)
    made = keys.create("shop", ["ingest"])
    for key, name in ((made, "shop"), (json.loads(out)["key"], "own")):
        assert keys.check(key, ("ingest",)).name == name
    assert main(["keys", str(tmp_path), "list"]) == 0
    out, err = capsys.readouterr()
    assert "own" in out
    assert "in PostgreSQL" in err
    run(address, "INSERT INTO tacit_keys (digest, key) VALUES ('x', '{}')")
    assert soon(lambda: _code(keys, made) == "unreadable-keys")
    run(address, "DELETE FROM tacit_keys WHERE digest = 'x'")
    assert soon(lambda: _code(keys, made) == "")
    keys.close()


def test_versions_that_cannot_share_are_refused(address: str, tmp_path: Path) -> None:
    with psycopg.connect(address, autocommit=True) as older:
        older.execute("SELECT pg_advisory_lock(%s)", [LOCK])  # as versions 1 and 2 do
        with pytest.raises(EngineError) as refused:
            Collector(tmp_path / "new", address)
        assert refused.value.code == "store-in-use"
    with collector_here(tmp_path / "one", store=address) as first, psycopg.connect(address, autocommit=True) as older:
        assert older.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchall() == [(False,)]
        run(address, f"UPDATE tacit_store SET version = {VERSION + 1}")
        with collector_here(tmp_path / "two", store=address) as second:
            assert told(second, reports_of(0, 1)) == ["stored"] * 3, "the newer one has only added to the tables"
        run(address, f"UPDATE tacit_store SET least = {VERSION + 1}")
        with pytest.raises(EngineError) as refused:
            Collector(tmp_path / "three", address)
        assert refused.value.code == "store-too-new"
        assert first.query(COUNT)["n"].value == 1


def test_a_collector_that_has_just_ended_holds_nobody_up(address: str, tmp_path: Path) -> None:
    with psycopg.connect(address, autocommit=True) as older:
        older.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        ending = threading.Timer(0.3, older.close)
        ending.start()
        with collector_here(tmp_path / "new", store=address) as collector:
            assert told(collector, reports_of(0, 1)) == ["stored"] * 3
        ending.join()


def test_a_quota_counts_the_reports_of_all_collectors(fleet: list[Collector]) -> None:
    for collector in fleet:
        collector.inbox.set_quotas({"s": 25})
    for number, collector in enumerate(fleet[:2]):
        assert told(collector, [fee(10 * number + person, 1) for person in range(10)], ROUND) == ["stored"] * 10
    third = fleet[2]
    third._learn(third.inbox.standing())
    assert told(third, [fee(person, 1) for person in range(3)], ROUND) == ["again"] * 3, "they were stored before"
    assert told(third, [fee(100 + person, 1) for person in range(5)], ROUND) == ["stored"] * 5
    with pytest.raises(OverloadedError) as refused:
        told(third, [fee(200, 1)], ROUND)
    assert refused.value.code == "over-quota"
    assert 1 <= refused.value.retry_after <= 3600
    assert set(told(third, reports_of(0, 2))) == {"stored"}, "other services have none"


def test_mixed_versions_are_said(fleet: list[Collector], address: str) -> None:
    assert Readiness(fleet[0]).warnings() == []
    run(address, "INSERT INTO tacit_collectors VALUES ('x', '0.0.9', 3, now(), 1, clock_timestamp() + '5 seconds')")
    assert Readiness(fleet[0]).warnings() == ["mixed-versions"]
