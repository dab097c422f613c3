"""R12: export and import give the same answers, byte for byte; a copy made under load is a beginning of what came.

Bytes are compared with the engine on one thread: several add numbers up in the order in which they come to finish.
"""

from __future__ import annotations

import io
import json
import socket
import sqlite3
import threading
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

import tacit as tc
from support.collectors import COLLECTION, Serving, body_of, collector_here, reports_of
from tacit.cli import main
from tacit.engines.duckdb import SHUT
from tacit.errors import OverloadedError
from tacit.server.archive import export_store
from tacit.server.collector import Collector
from tacit.server.keys import Keys

QUESTIONS = [
    "SELECT COUNT(*) AS n FROM users WHERE os = 'i'",
    "SELECT COUNT(*) AS n, AVG(pay) AS p FROM users JOIN orders USING (uid) WHERE age < 5",
    "SELECT age, COUNT(*) AS n FROM users GROUP BY age",
    "SELECT os, SUM(age) AS n FROM users GROUP BY os",
]


def filled(folder: Path, people: int = 300) -> Collector:
    collector = Collector(folder)
    collector.publish(COLLECTION)
    collector.accept(COLLECTION.id, reports_of(0, people)).result()
    collector.move()
    collector.database.rollup("users", by=["os"])
    collector.forget("u-7")
    partly = [report for report in reports_of(5_000, 1) if report["service"] == "orders"][:1]
    collector.accept(COLLECTION.id, partly).result()
    return collector


def answers(collector: Collector) -> list[str]:
    return [collector.query(question).to_json() for question in QUESTIONS]


def test_a_store_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHUT, "threads", 1)  # sums do not depend on which thread is first
    collector = filled(tmp_path / "store")
    Keys(tmp_path / "store" / "keys.json").create("analyst", ["query"])
    before = answers(collector)
    collector.close()
    assert main(["export", str(tmp_path / "store"), str(tmp_path / "a.zip")]) == 0
    assert (tmp_path / "a.zip").stat().st_mode & 0o77 == 0
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again")]) == 0
    restored = Collector(tmp_path / "again")
    assert answers(restored) == before
    assert Keys(tmp_path / "again" / "keys.json").required
    statuses = restored.accept(COLLECTION.id, reports_of(0, 300)).result()
    assert {one.get("code", one["status"]) for one in statuses} == {"again", "forgotten"}
    events = [entry["event"] for entry in restored.log.read().entries]
    assert {"exported", "restored", "person-deleted"} <= set(events)
    assert restored.database._engine.rollups()
    restored.close()
    assert (tmp_path / "again").stat().st_mode & 0o77 == 0
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again")]) == 2, "nothing is overwritten"
    assert main(["export", str(tmp_path / "store"), str(tmp_path / "a.zip")]) == 2


def test_a_database_file_comes_back_as_it_was(tmp_path: Path) -> None:
    db = tc.connect(tmp_path / "shop.tacit")
    db.create(COLLECTION)
    users = {"uid": range(900), "age": [i % 10 for i in range(900)], "os": ["i", "a", "b"] * 300}
    db.load(COLLECTION.encode(users=users, orders={"uid": range(0, 900, 2), "pay": [1, 2, 3] * 150}))
    before = [db.sql(question).to_json() for question in QUESTIONS]
    db.close()
    assert main(["export", str(tmp_path / "shop.tacit"), str(tmp_path / "a.zip")]) == 0
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again.tacit")]) == 0
    again = tc.connect(tmp_path / "again.tacit")
    assert [again.sql(question).to_json() for question in QUESTIONS] == before
    again.close()


def test_damaged_archives_are_refused_and_leave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector = filled(tmp_path / "store", 20)
    export_store(collector, tmp_path / "a.zip")
    collector.close()
    content = (tmp_path / "a.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files["manifest.json"])
    bad = {"cut": content[: len(content) // 2], "nothing": b""}
    for name in ("inbox.db", "reports.tacit", "log.db"):  # a bit, where it is sure to be one of the file's own
        middle, whole = len(files[name]) // 2, files[name]
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
            for other, data in (files | {name: flipped}).items():
                archive.writestr(other, data)
        bad[f"flipped {name}"] = made.getvalue()
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
        assert main(["import", str(tmp_path / name), str(tmp_path / "x")]) == 2
        assert "damaged-archive" in capsys.readouterr().err
        assert not (tmp_path / "x").exists()
    manifest["files"]["../evil"] = "0" * 64
    with zipfile.ZipFile(tmp_path / "evil", "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("../evil", "x")
    assert main(["import", str(tmp_path / "evil"), str(tmp_path / "y" / "x")]) == 2
    assert not (tmp_path / "y" / "evil").exists()


def test_an_archive_says_how_many_of_its_reports_are_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path / "store", 20).close()
    with sqlite3.connect(tmp_path / "store" / "inbox.db") as file:
        file.execute("UPDATE reports SET content = CAST('[[0],[null]]' AS BLOB) WHERE number IN (2, 3)")
    file.close()
    assert main(["export", str(tmp_path / "store"), str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["reports"], manifest["damaged"]) == (58, 2)
    capsys.readouterr()
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["damaged_reports"] == 2


def test_people_who_were_deleted_since_are_deleted_again(tmp_path: Path) -> None:
    """S12: a copy holds who was forgotten later; restoring it with the newer log forgets them again."""
    collector = filled(tmp_path / "store", 40)
    export_store(collector, tmp_path / "a.zip")
    collector.forget("u-9", COLLECTION.id)
    collector.forget("u-11")
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in collector.log.lines()))
    collector.close()
    words = ["import", str(tmp_path / "a.zip"), str(tmp_path / "again"), "--deletions", str(tmp_path / "log.jsonl")]
    assert main(words) == 0
    restored = Collector(tmp_path / "again")
    gone = [r for r in reports_of(0, 40) if r["person"] in ("u-7", "u-9", "u-11")]
    assert {one["code"] for one in restored.accept(COLLECTION.id, gone).result()} == {"forgotten"}
    assert restored.query("SELECT COUNT(*) AS n FROM users")["n"].value == 37
    restored.close()
    (tmp_path / "log.jsonl").write_text("broken\n")
    assert main([*words[:2], str(tmp_path / "z"), *words[3:]]) == 2
    assert not (tmp_path / "z").exists()


def test_people_who_came_and_left_since_stay_away(tmp_path: Path) -> None:
    """S12: nobody knows who they were, but the archive has the key of their tombstones, and the log has those."""
    collector = filled(tmp_path / "store", 20)
    bulk = COLLECTION.encode(
        users={"uid": ["b-1", "b-2"], "age": [1, 2], "os": ["i", "a"]}, orders={"uid": [], "pay": []}
    )
    collector.load(bulk)
    export_store(collector, tmp_path / "a.zip")
    late = [report for report in reports_of(700, 1) if report["service"] == "users"]
    collector.accept(COLLECTION.id, late).result()
    collector.forget("u-700", COLLECTION.id, ["users"])
    collector.forget("b-1")
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{line}\n" for line in collector.log.lines()))
    collector.close()
    words = ["import", str(tmp_path / "a.zip")]
    for name in ("again", "once-more"):  # the log of a restored store repeats the same deletions
        assert main([*words, str(tmp_path / name), "--deletions", str(log)]) == 0
        restored = Collector(tmp_path / name)
        assert {one["code"] for one in restored.accept(COLLECTION.id, late).result()} == {"forgotten"}, name
        assert restored.query("SELECT COUNT(*) AS n FROM users")["n"].value == 20, name  # 0 to 19 without 7, and b-2
        log.write_text("".join(f"{line}\n" for line in restored.log.lines()))
        restored.close()


def test_a_store_with_a_lake_comes_back_beside_the_lakes_backup(tmp_path: Path) -> None:
    """The archive has the inbox, the log and the keys; the lake has copies of its own."""
    lake, archive, log = str(tmp_path / "lake"), str(tmp_path / "a.zip"), tmp_path / "log.jsonl"
    with collector_here(tmp_path / "store", lake=lake) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 30)).result()
        collector.move()
    assert main(["export", str(tmp_path / "store"), archive, "--lake", lake]) == 0
    assert main(["lake", "backup", lake, str(tmp_path / "backup")]) == 0
    with collector_here(tmp_path / "store", lake=lake) as collector:
        collector.accept(COLLECTION.id, reports_of(100, 10)).result()
        collector.forget("u-3")
        log.write_text("".join(f"{line}\n" for line in collector.log.lines()))
    again = str(tmp_path / "lake-again")
    assert main(["lake", "restore", str(tmp_path / "backup"), again]) == 0
    words = ["import", archive, str(tmp_path / "again"), "--deletions", str(log)]
    assert main(words) == 2
    assert main([*words, "--lake", again]) == 0
    with collector_here(tmp_path / "again", lake=again) as restored:
        assert restored.query("SELECT COUNT(*) AS n FROM users").watermark == (29, 29)
        [one] = [report for report in reports_of(3, 1) if report["service"] == "users"]
        assert restored.accept(COLLECTION.id, [one]).result() == [{"status": "refused", "code": "forgotten"}]


@pytest.mark.parametrize("answer", ["cut off", "elsewhere"])
def test_what_is_not_a_whole_archive_is_not_kept(
    answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A connection that ends early is not an error of every library; a backup must not look like one and be none."""
    collector = filled(tmp_path / "store", 20)
    export_store(collector, tmp_path / "a.zip")
    collector.close()
    whole = (tmp_path / "a.zip").read_bytes()
    heads = {"cut off": "200 OK\r\nContent-Length: 9999999", "elsewhere": "302 Found\r\nLocation: http://127.0.0.1:1/"}

    def respond(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(
                f"HTTP/1.1 {heads[answer]}\r\nConnection: close\r\n\r\n".encode() + whole[: len(whole) // 2]
            )

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=respond, args=(listening,))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert main(["export", address, str(tmp_path / "b.zip")]) == 2
        thread.join()
    assert "no-archive" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"store", "a.zip"}


def test_no_store_is_left_without_its_deletions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = filled(tmp_path / "store", 20)
    export_store(collector, tmp_path / "a.zip")
    collector.forget("u-9", COLLECTION.id)
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in collector.log.lines()))
    collector.close()
    monkeypatch.setattr(Collector, "forget", fail)
    words = ["import", str(tmp_path / "a.zip"), str(tmp_path / "again"), "--deletions", str(tmp_path / "log.jsonl")]
    assert main(words) == 2
    assert not (tmp_path / "again").exists()


def fail(*_: object, **__: object) -> int:
    message = "The deletion is recorded."
    raise OverloadedError(message, code="deletion-pending")


def test_a_copy_under_load_is_a_beginning_of_what_was_acknowledged(tmp_path: Path) -> None:
    """Three connections send; what was acknowledged before is in the copy, and of each one's batches a prefix."""
    serving, stop = Serving(tmp_path), threading.Event()
    sent: list[list[list[dict[str, Any]]]] = [[], [], []]

    def send(number: int) -> None:
        with serving.client() as client:
            while not stop.is_set():
                reports = reports_of(100_000 * (number + 1) + 20 * len(sent[number]), 20)
                assert client.post(serving.path, json=body_of(reports)).status_code == 200
                sent[number].append(reports)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while min(map(len, sent)) < 8:
        stop.wait(0.01)
    before = [len(one) for one in sent]
    assert main(["export", serving.address, str(tmp_path / "a.zip")]) == 0
    assert main(["export", str(tmp_path / "store"), str(tmp_path / "b.zip")]) == 2, "its files are in use"
    while min(len(one) - first for one, first in zip(sent, before, strict=True)) < 3:
        stop.wait(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    assert serving.end() == 0
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again")]) == 0
    restored = Collector(tmp_path / "again")
    for batches, first in zip(sent, before, strict=True):
        kept = []
        for batch in batches:
            known = {one["status"] for one in restored.accept(COLLECTION.id, batch).result()}
            assert len(known) == 1, "a batch is there whole, or not at all"
            kept.append(known == {"again"})
        assert kept == sorted(kept, reverse=True)
        assert sum(kept) >= first
        assert sum(kept) < len(batches), "what came after the copy is not in it"
    restored.close()


def test_archives_and_the_log_need_their_scopes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(tmp_path / "store" / "keys.json")
    (tmp_path / "store").mkdir()
    admin, auditor = keys.create("admin", ["admin"]), keys.create("auditor", ["audit"])
    serving = Serving(tmp_path)
    with serving.client() as client:
        assert client.post("/v1/export", json={"tacit": 1, "key": auditor}).status_code == 403
        assert client.get("/v1/log", headers={"Authorization": f"Bearer {admin}"}).status_code == 403
        answer: httpx.Response = client.get("/v1/log", headers={"Authorization": f"Bearer {auditor}"})
        assert [json.loads(line)["event"] for line in answer.text.splitlines()] == ["contract-published"]
    assert main(["export", serving.address, str(tmp_path / "a.zip"), "--key", auditor]) == 2
    assert main(["export", serving.address, str(tmp_path / "a.zip"), "--key", admin]) == 0
    (tmp_path / "admin.key").write_text(admin)
    assert main(["export", serving.address, str(tmp_path / "b.zip"), "--key-file", str(tmp_path / "admin.key")]) == 0
    monkeypatch.setenv("TACIT_KEY", admin)  # a command line is visible to everybody on the machine
    assert main(["export", serving.address, str(tmp_path / "c.zip")]) == 0
    assert (tmp_path / "c.zip").stat().st_mode & 0o77 == 0, "it contains people's ids, and secrets"
    files = {path.name.removesuffix(".wal").partition("-")[0] for path in (tmp_path / "store").iterdir()}
    assert serving.end() == 0
    kept = {"collector.lock", "inbox.db", "keys.json", "log.db", "reports.tacit"}
    assert files - {"keys.json.lock"} == kept, "no copy is left behind"
