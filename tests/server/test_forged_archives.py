"""Archives that somebody else made or changed: refused by a code, and nothing is left; old ones bring no key back."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import shutil
import sqlite3
import zipfile
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION, collector_here, reports_of
from tacit.cli import main
from tacit.errors import AccessError
from tacit.server.archive import export_store
from tacit.server.keys import Keys
from tacit.server.store.log import Log

JUNK = b"this is no database " * 100
Files = dict[str, bytes]
Change = Callable[[dict[str, Any], Files], None]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("archive")
    with collector_here(folder / "store") as collector:
        collector.accept(COLLECTION.id, reports_of(0, 10)).result()
        collector.move()
        Keys(folder / "store" / "keys.json").create("analyst", ["query"])
        export_store(collector, folder / "a.zip")
    with zipfile.ZipFile(folder / "a.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(files: Files, manifest: Any) -> bytes:
    """Return an archive whose hashes are right, whatever else is wrong."""
    if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict):
        known = {name: hashlib.sha256(files[name]).hexdigest() for name in manifest["files"] if name in files}
        manifest = manifest | {"files": manifest["files"] | known}
    with zipfile.ZipFile(made := io.BytesIO(), "w") as file:
        file.writestr("manifest.json", manifest if isinstance(manifest, bytes) else json.dumps(manifest))
        for name, content in files.items():
            file.writestr(name, content)
    return made.getvalue()


def set_member(name: str, value: Any) -> Change:
    return lambda manifest, _: manifest.__setitem__(name, value)


def drop_member(name: str) -> Change:
    return lambda manifest, _: manifest.pop(name)


def drop_file(name: str) -> Change:
    return lambda manifest, _: manifest["files"].pop(name)


def set_file(name: str, content: bytes) -> Change:
    return lambda _, files: files.__setitem__(name, content)


def run_in(name: str, statement: str) -> Change:
    """Change an SQLite file of the archive."""

    def change(_: dict[str, Any], files: Files) -> None:
        with closing(sqlite3.connect(":memory:")) as file:
            file.deserialize(files[name].replace(b"\x02\x02", b"\x01\x01", 1))  # no write-ahead log in memory
            file.execute(statement)
            file.commit()
            files[name] = file.serialize()

    return change


FORGED: dict[str, Change] = {
    "no kind": drop_member("kind"),
    "another kind": set_member("kind", "folder"),
    "a list as kind": set_member("kind", []),
    "no head of the log": drop_member("log"),
    "a list as head": set_member("log", []),
    "a negative length of the log": set_member("log", {"entries": -5, "head": "00"}),
    "a length that is text": set_member("log", {"entries": "1", "head": "00"}),
    "no time": drop_member("made"),
    "a time that is none": set_member("made", "\x1b[31myesterday\nFAIL"),
    "a count that is text": set_member("damaged", "many"),
    "files in a list": set_member("files", ["inbox.db", "log.db"]),
    "without its inbox": drop_file("inbox.db"),
    "without its log": drop_file("log.db"),
    "a log that is no database": set_file("log.db", JUNK),
    "an inbox that is no database": set_file("inbox.db", JUNK),
    "keys that are none": set_file("keys.json", b"[7]"),
    "keys without end": set_file("keys.json", b"[" * 100_000),
    "a trigger in the log": run_in("log.db", "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END"),
    "a trigger in the inbox": run_in("inbox.db", "CREATE TRIGGER t AFTER INSERT ON known BEGIN SELECT 1; END"),
    "a view in the inbox": run_in("inbox.db", "CREATE VIEW more AS SELECT * FROM known"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_archives_are_refused_and_leave_nothing(
    case: str, archive: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: content for name, content in archive.items() if name != "manifest.json"}
    manifest = json.loads(archive["manifest.json"])
    FORGED[case](manifest, files)
    assert_refused(pack(files, manifest), tmp_path, capsys)


def assert_refused(
    content: bytes, folder: Path, capsys: pytest.CaptureFixture[str], code: str = "damaged-archive"
) -> None:
    (folder / "forged.zip").write_bytes(content)
    assert main(["import", str(folder / "forged.zip"), str(folder / "x")]) == 2
    assert f"[{code}]" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["forged.zip"]


def marked(content: bytes, place: int, value: int) -> bytes:
    """Return an archive of which every member is marked, here and in the list at the end."""
    changed = bytearray(content)
    for start, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = content.find(start)
        while at >= 0:
            changed[at + shift + place] = value
            at = content.find(start, at + 4)
    return bytes(changed)


def test_archives_that_cannot_be_unpacked_are_refused(
    archive: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: content for name, content in archive.items() if name != "manifest.json"}
    whole = pack(files, json.loads(archive["manifest.json"]))
    with_password, by_another_method = marked(whole, 6, 1), marked(whole, 8, 99)
    for content in (with_password, by_another_method, pack(files, b"[" * 100_000), pack(files, b" " * (2 << 20))):
        assert_refused(content, tmp_path, capsys)


def test_an_archive_that_would_fill_the_disk_is_refused_before_it_does(
    archive: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A megabyte of archive can hold a gigabyte of zeros."""
    files = {name: content for name, content in archive.items() if name != "manifest.json"}
    usage = namedtuple("usage", "total used free")(1 << 30, 1 << 30, 4_000)  # noqa: PYI024  as shutil's
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert_refused(pack(files, json.loads(archive["manifest.json"])), tmp_path, capsys, "unwritable-file")


def test_a_disk_that_is_full_is_no_fault_of_the_archive(
    archive: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There was space when it began, and others wrote meanwhile."""
    files = {name: content for name, content in archive.items() if name != "manifest.json"}

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(shutil, "copyfileobj", fail)
    assert_refused(pack(files, json.loads(archive["manifest.json"])), tmp_path, capsys, "disk-full")


def test_keys_that_were_revoked_since_are_revoked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The archive is older than the revocation: without the newer log, it says that all of its keys are valid again."""
    store = tmp_path / "store"
    with collector_here(store) as collector:
        keys = Keys(store / "keys.json")
        stolen, kept = keys.create("shop", ["ingest"]), keys.create("analyst", ["query"])
        typed = keys.create("till", ["ingest"])
        export_store(collector, tmp_path / "a.zip")
    digest = hashlib.sha256(stolen.encode()).hexdigest()
    assert main(["keys", str(store), "revoke", digest[:12]]) == 0
    log = Log(store / "log.db")
    log.add("key-revoked", digest=hashlib.sha256(typed.encode()).hexdigest()[:9])  # what was typed, in earlier versions
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in log.lines()))
    log.close()
    words = ["import", str(tmp_path / "a.zip")]
    capsys.readouterr()
    assert main([*words, str(tmp_path / "plain")]) == 0
    assert "Its keys are valid again" in capsys.readouterr().out
    assert main([*words, str(tmp_path / "again"), "--deletions", str(tmp_path / "log.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys_revoked_again"] == 2
    restored = Keys(tmp_path / "again" / "keys.json")
    assert restored.check(kept, ["query"]).name == "analyst"
    for revoked in (stolen, typed):
        with pytest.raises(AccessError):
            restored.check(revoked, ["ingest"])
    later = Log(tmp_path / "again" / "log.db")
    assert [entry["event"] for entry in later.read().entries][-3:] == ["restored", "key-revoked", "key-revoked"]
    later.close()


def test_a_log_of_another_kind_is_no_list_of_deletions(
    archive: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chain of hashes can hold anything."""
    files = {name: content for name, content in archive.items() if name != "manifest.json"}
    (tmp_path / "a.zip").write_bytes(pack(files, json.loads(archive["manifest.json"])))
    for details in ({}, {"tombstones": ["x"]}, {"tombstones": {"a": "not hexadecimal"}}, {"tombstones": {"a": 7}}):
        made = Log(tmp_path / "made.db")
        made.add("person-deleted", **details)
        (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in made.lines()))
        made.close()
        (tmp_path / "made.db").unlink()
        words = ["import", str(tmp_path / "a.zip"), str(tmp_path / "x"), "--deletions", str(tmp_path / "log.jsonl")]
        assert main(words) == 2
        assert "[no-log]" in capsys.readouterr().err
        assert not (tmp_path / "x").exists()
