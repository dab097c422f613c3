"""`tacit doctor`: each line is well, or names one command to run."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION, Serving, body_of, reports_of
from support.users import obey_modes
from tacit.cli import main
from tacit.server.collector import Collector

TLS = Path(__file__).parents[1] / "data" / "tls"


def looked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, object]]]:
    code = main(["doctor", *words, "--json"])
    return code, {one["what"]: one for one in json.loads(capsys.readouterr().out)}


def test_a_healthy_store_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector = Collector(tmp_path / "store")
    collector.publish(COLLECTION)
    collector.close()
    (tmp_path / "c.json").write_text(COLLECTION.to_json())
    _, found = looked(capsys, str(tmp_path / "store"), str(tmp_path / "c.json"))
    bad = {name for name, one in found.items() if one["ok"] is False}
    assert bad <= {"disk", "Java"}, "what depends on this machine"
    names = ["disk", "clock", "files", "inbox", "database", "log", "contract c.json", "keys", "address", "Java"]
    assert list(found) == names
    assert "6" in str(found["contract c.json"]["detail"])
    main(["doctor", str(tmp_path / "store")])
    assert capsys.readouterr().out.count("✓") >= 6


def test_whatever_is_not_well_has_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    code, found = looked(capsys, str(store))
    assert (code, found["folder"]["fix"]) == (1, f"tacit serve {store}")
    collector = Collector(store)
    collector.publish(COLLECTION)
    collector.close()
    store.chmod(0o755)
    with sqlite3.connect(store / "log.db") as file:
        file.execute("UPDATE log SET line = replace(line, '6', '7')")
    file.close()
    (store / "reports.tacit").write_bytes(b"nonsense" * 4_000)
    weak = COLLECTION.to_json().replace('"epsilon": "6"', '"epsilon": "5"', 1)
    (tmp_path / "weak.json").write_text(weak)
    code, found = looked(capsys, str(store), str(tmp_path / "weak.json"), "--host", "0.0.0.0")
    assert code == 1
    for name in ("files", "log", "database", "contract weak.json", "keys", "address"):
        assert not found[name]["ok"], name
        assert found[name]["fix"], name
    assert found["files"]["fix"] == f"chmod 700 {store}"
    assert str(found["database"]["fix"]).startswith(f"tacit serve {store}"), "a collector rebuilds it"
    assert "line 1" in str(found["log"]["detail"])
    (store / "inbox.db").write_bytes(b"nonsense" * 4_000)
    assert not looked(capsys, str(store))[1]["inbox"]["ok"]
    assert isinstance(tc.__version__, str)


def test_a_damaged_database_in_a_folder_called_clocks_is_not_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages of DuckDB name the path."""
    (tmp_path / "clocks").mkdir(mode=0o700)
    (tmp_path / "clocks" / "reports.tacit").write_bytes(b"nonsense" * 4_000)
    assert looked(capsys, str(tmp_path / "clocks"))[1]["database"]["ok"] is False


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every file with its mode, time and content."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        about = path.stat()
        found[str(path)] = (about.st_mode, about.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    collector = Collector(tmp_path / "store")
    collector.publish(COLLECTION)
    collector.close()
    assert main(["keys", str(tmp_path / "store"), "create", "backend"]) == 0
    capsys.readouterr()  # the key
    return tmp_path / "store"


@pytest.mark.parametrize("more", [[], ["--verify"]])
def test_a_doctor_only_looks(store: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    before = snapshot(store)
    looked(capsys, str(store), *more)
    assert snapshot(store) == before
    (store / "log.db").unlink()
    (store / "keys.json").unlink()
    before = snapshot(store)
    _, found = looked(capsys, str(store), *more)
    assert snapshot(store) == before
    assert found["log"]["ok"] is None, "what does not exist was not checked"


def test_a_question_to_a_file_changes_nothing_beside_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector = Collector(store)
    collector.accept(COLLECTION.id, reports_of(0, 5)).result()
    collector.move()
    collector.close()
    before = snapshot(store)
    assert main(["query", str(store / "reports.tacit"), "SELECT COUNT(*) AS n FROM users"]) == 0
    after = snapshot(store)
    assert list(after) == list(before)
    assert after[str(store / "inbox.db")] == before[str(store / "inbox.db")]


def test_a_doctor_only_looks_at_what_a_crash_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = Serving(tmp_path)
    with started.client() as client:
        assert client.post(started.path, json=body_of(reports_of(0, 50))).status_code == 200
    store = tmp_path / "store"
    _, found = looked(capsys, str(store), "--verify")
    assert found["database"]["ok"] is None, "a collector uses it"
    assert found["reports"]["ok"] is True
    assert found["analytical"]["ok"] is None, "what was not read has no tick"
    assert found["inbox"]["ok"] is True
    assert found["log"]["ok"] is True
    started.end(signal.SIGKILL)
    assert (store / "inbox.db-wal").stat().st_size > 0
    before = snapshot(store)
    _, found = looked(capsys, str(store), "--verify")
    assert found["inbox"]["ok"] is True
    assert found["reports"]["ok"] is True
    assert snapshot(store) == before


def test_a_read_only_folder_is_a_finding(store: Path) -> None:
    store.chmod(0o500)
    words = [sys.executable, "-m", "tacit.cli", "doctor", str(store), "--json", "--verify"]
    result = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=obey_modes, timeout=60)
    store.chmod(0o700)
    assert (result.returncode, result.stderr) == (1, "")
    found = {one["what"]: one for one in json.loads(result.stdout)}
    assert found["files"]["detail"] == "this user cannot write to it"
    for name in ("inbox", "log", "reports", "analytical"):
        assert found[name]["ok"] is True, name


def test_without_an_inbox_there_is_nothing_to_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With PostgreSQL as the store the folder has none."""
    tmp_path.chmod(0o700)
    _, found = looked(capsys, str(tmp_path), "--verify")
    assert found["reports"]["ok"] is None
    assert "analytical" not in found


@pytest.mark.parametrize(
    ("certificate", "key", "ok", "words"),
    [
        ("good.pem", "key.pem", True, "for stats.example.org"),
        ("absent.pem", "key.pem", False, "absent.pem cannot be read"),
        ("good.pem", "absent.pem", False, "absent.pem cannot be read"),
        ("good.pem", None, False, "not a PEM certificate with its unencrypted private key"),
        ("good.pem", "other.pem", False, "not a PEM certificate with its unencrypted private key"),
        ("key.pem", "key.pem", False, "not a PEM certificate"),
        ("expired.pem", "key.pem", False, "certificate has expired"),
    ],
)
def test_a_certificate_is_tried(
    certificate: str, key: str | None, ok: bool, words: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--host", "0.0.0.0", "--certificate", str(TLS / certificate)]
    options += ["--private-key", str(TLS / key)] if key else []
    _, found = looked(capsys, str(store), *options)
    assert found["address"]["ok"] is ok
    assert words in str(found["address"]["detail"])


def test_what_was_not_checked_has_no_tick(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = looked(capsys, str(store), "--behind-proxy")
    assert found["address"]["ok"] is None
    _, found = looked(capsys, str(store), "--host", "192.0.2.1", "--behind-proxy")
    assert found["address"]["ok"] is False, "this machine has no such address"
    (store / "keys.json").write_text("{")
    assert not looked(capsys, str(store))[1]["keys"]["ok"]
    main(["doctor", str(store), "--behind-proxy"])
    assert "– address: 127.0.0.1, behind a proxy whose TLS is not checked here" in capsys.readouterr().out


def test_verify_reads_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    collector = Collector(store)
    collector.publish(COLLECTION)
    collector.accept(COLLECTION.id, reports_of(0, 50)).result()
    collector.move()
    collector.database.rollup("users", by=["os"])
    collector.accept(COLLECTION.id, reports_of(100, 10)).result()
    collector.forget("u-2")
    _, found = looked(capsys, str(store), "--verify")
    assert found["reports"]["ok"]
    assert found["analytical"]["ok"]
    collector.move()
    collector.close()
    _, found = looked(capsys, str(store), "--verify")
    assert found["reports"]["detail"] == "177 reports match their digests"
    assert found["analytical"]["ok"], found
    assert "reports" not in looked(capsys, str(store))[1]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE reports SET content = CAST(replace(content, '[[', '[ [') AS BLOB) WHERE number = 3", "digests"),
        ("UPDATE reports SET person = 'u-99' WHERE number = 3", "digests"),
        ("UPDATE reports SET place = place + 1 WHERE number = 3", "digests"),
        ("UPDATE known SET digest = zeroblob(12) WHERE number = 3", "index"),
        ("DELETE FROM known WHERE number = 3", "index"),
        ("DELETE FROM reports WHERE number = 3", "index"),
        ("UPDATE sizes SET known = known + 1", "counts"),
    ],
)
def test_verify_finds_what_was_altered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, statement: str, what: str
) -> None:
    monkeypatch.setattr("tacit.server.store.sqlite.RECENT", 20)
    store = tmp_path / "store"
    collector = Collector(store)
    collector.publish(COLLECTION)
    collector.accept(COLLECTION.id, reports_of(0, 50)).result()
    collector.inbox.tidy(threading.Event())
    collector.move()
    collector.close()
    with sqlite3.connect(store / "inbox.db") as file:
        file.execute(statement)
    file.close()
    code, found = looked(capsys, str(store), "--verify")
    assert (code, found["reports"]["ok"]) == (1, False)
    assert what in str(found["reports"]["detail"])
    assert "u-99" not in str(found)


def test_verify_compares_the_two_stores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    collector = Collector(store)
    collector.publish(COLLECTION)
    collector.accept(COLLECTION.id, reports_of(0, 50)).result()
    collector.move()
    collector.close()
    older = (store / "reports.tacit").read_bytes()
    collector = Collector(store)
    collector.accept(COLLECTION.id, reports_of(60, 5)).result()
    collector.move()
    collector.close()
    newer = (store / "reports.tacit").read_bytes()
    (store / "reports.tacit").write_bytes(older)
    _, found = looked(capsys, str(store), "--verify")
    assert "older than the inbox" in str(found["analytical"]["detail"])
    assert "lacks reports of users" in str(found["analytical"]["detail"])
    for position in range(len(newer) // 2, len(newer), len(newer) // 20):
        (store / "reports.tacit").write_bytes(newer[:position] + bytes([newer[position] ^ 4]) + newer[position + 1 :])
        main(["doctor", str(store), "--verify", "--json"])
        assert "Traceback" not in capsys.readouterr().err
