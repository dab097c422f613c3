"""S12: a person's reports are deleted from one collection or all, and leave a keyed trace and a log entry."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION, reports_of
from tacit.errors import UnknownNameError
from tacit.server.collector import Collector

NEXT = tc.Collection(COLLECTION.schema, 6.0, round="next")
PERSON = "u-7"


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(tmp_path / "store")
    for collection in (COLLECTION, NEXT):
        made.publish(collection)
        made.accept(collection.id, reports_of(0, 40)).result()
    made.move()
    made.database.rollup("users", by=["os"])
    yield made
    made.close()


def people(collector: Collector, condition: str = "") -> dict[str, float]:
    answer = collector.query(f"SELECT round, COUNT(*) AS n FROM users {condition} GROUP BY round")
    return {row[0]: row[1].value for row in answer}


def statuses(collector: Collector, collection: tc.Collection) -> set[str]:
    mine = [report for report in reports_of(0, 40) if report["person"] == PERSON]
    found = collector.accept(collection.id, mine).result()
    return {one.get("code", one["status"]) for one in found}


def test_one_collection_or_all(collector: Collector) -> None:
    assert people(collector) == {"": 40, "next": 40}
    assert collector.forget(PERSON, NEXT.id) == 3
    assert people(collector) == {"": 40, "next": 39}
    assert people(collector, "WHERE os = 'i'") == {"": 20, "next": 19}, "rollups follow"
    assert statuses(collector, NEXT) == {"forgotten"}
    assert statuses(collector, COLLECTION) == {"again"}
    assert collector.forget(PERSON) == 3
    assert people(collector) == {"": 39, "next": 39}
    assert statuses(collector, COLLECTION) == {"forgotten"}
    assert collector.forget("nobody") == 0
    with pytest.raises(UnknownNameError):
        collector.forget(PERSON, "0" * 64)


def test_reports_that_wait_in_the_inbox_are_deleted_too(collector: Collector) -> None:
    partly = [report for report in reports_of(100, 1) if report["service"] == "orders"][:1]
    collector.accept(COLLECTION.id, partly).result()
    assert collector.inbox.counts()["pending"] == 1
    assert collector.forget("u-100", COLLECTION.id) == 1
    assert collector.inbox.counts()["pending"] == 0


def test_the_trail_is_a_keyed_hash_and_nothing_more(collector: Collector, tmp_path: Path) -> None:
    """Nobody without the key can tell from the log who was deleted, not even by trying all ids."""
    collector.forget(PERSON, NEXT.id, asker="support")
    chain = collector.log.read()
    assert chain.ok
    assert [entry["event"] for entry in chain.entries] == ["contract-published"] * 2 + ["person-deleted"]
    details = chain.entries[-1]["details"]
    assert details["key"] == "support"
    [(collection, trace)] = details["tombstones"].items()
    assert collection == NEXT.id
    plain = hashlib.blake2b(f"{NEXT.id} str {PERSON}".encode(), digest_size=16)
    assert trace != plain.hexdigest()
    with sqlite3.connect(tmp_path / "store" / "inbox.db") as file:
        [(key,)] = file.execute("SELECT value FROM state WHERE name = 'tombstone-key'").fetchall()
    assert trace == hashlib.blake2b(plain.digest(), digest_size=16, key=bytes.fromhex(key)).hexdigest()
    assert key not in "".join(collector.log.lines())
    lines = "".join(collector.log.lines())
    assert PERSON not in lines


def test_questions_and_contracts_are_logged_without_their_words(collector: Collector) -> None:
    text = "SELECT COUNT(*) AS n FROM users WHERE age < 5"
    collector.query(text, asker="analyst")
    entry = collector.log.read().entries[-1]
    assert entry["event"] == "question"
    assert entry["details"] == {"sql": hashlib.sha256(text.encode()).hexdigest(), "key": "analyst"}
    collector.publish(NEXT)
    assert len(collector.log.read().entries) == 3, "publishing again changes nothing"


def test_keys_are_logged_by_name_and_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.cli import main
    from tacit.server.store.log import Log

    folder = tmp_path / "keys"
    assert main(["keys", str(folder), "create", "shop", "--scope", "ingest"]) == 0
    made = capsys.readouterr().out.split()[0]
    assert folder.stat().st_mode & 0o77 == 0
    assert main(["keys", str(folder), "list"]) == 0
    digest = capsys.readouterr().out.split()[0]
    for wrong in ("", digest[:4], digest + "00"):  # what revokes nothing is not logged
        assert main(["keys", str(folder), "revoke", wrong]) == 2
    assert main(["keys", str(folder), "revoke", digest]) == 0
    chain = Log(folder / "log.db").read()
    assert [entry["event"] for entry in chain.entries] == ["key-created", "key-revoked"]
    assert {entry["details"]["digest"] for entry in chain.entries} == {digest}
    assert made not in str(chain.entries)
