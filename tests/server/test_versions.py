"""R12: stores of every version open, and a migration that is killed at any step goes on at the next start."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tacit.errors import EngineError
from tacit.server.collector import Collector
from tacit.server.store.versions import VERSION, version_of

GOLDEN = sorted((Path(__file__).parent / "golden").glob("store-*.zip"))

STATED = ("_error", "_low", "_high")
"""What newer programs state otherwise about the same reports: estimates stay as they were."""

KILLED = """
import os, sqlite3, sys
from pathlib import Path
from tacit.server.store.inbox import Inbox
left = 0
class Mortal(sqlite3.Connection):
    def execute(self, *words):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return super().execute(*words)
connect = sqlite3.connect
sqlite3.connect = lambda *words, **options: connect(*words, factory=Mortal, **options)
for statements in range(200):
    if os.fork() == 0:
        left = statements
        Inbox(Path(sys.argv[1]) / "inbox.db").close()
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    if code == 0:
        break
    assert code == 9, code
print(statements)
"""
"""A copy of the process ends at its n-th statement, for every n until one comes through; says how many there were."""


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as file:
        file.extractall(tmp_path / "store")
    return tmp_path / "store"


def check(store: Path) -> None:
    """Open a store of the golden files and compare everything that it can tell."""
    collector = Collector(store)
    try:
        assert version_of(sqlite3.connect(store / "inbox.db")) == VERSION
        sent = json.loads((store / "reports.json").read_text())  # as they were made then: contracts compile anew
        name = sent["collection"]
        assert {one["status"] for one in collector.accept(name, sent["kept"]).result()} == {"again"}
        assert {one["code"] for one in collector.accept(name, sent["forgotten"]).result()} == {"forgotten"}
        for person in ("u-2000", "u-2001", "u-2002"):
            assert collector.forget(person) == 3
        for question, rows in json.loads((store / "answers.json").read_text()).items():
            answered = json.loads(collector.query(question).to_json())["rows"]
            kept = [row for row in rows if row.get("n", 1)]  # groups that WHERE excludes were listed as 0 then
            for row, expected in zip(answered, kept, strict=True):
                values = {name: value for name, value in expected.items() if not name.endswith(STATED)}
                assert {name: row[name] for name in values} == pytest.approx(values, rel=1e-12)
    finally:
        collector.close()


def test_a_store_of_an_earlier_version_opens(store: Path) -> None:
    assert version_of(sqlite3.connect(store / "inbox.db")) < VERSION
    check(store)
    check_again = Collector(store)
    check_again.close()


def test_a_killed_migration_goes_on(store: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(store)]
    assert int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) > 8
    check(store)


def test_a_store_of_a_later_version_is_refused(store: Path) -> None:
    with sqlite3.connect(store / "inbox.db") as file:
        file.execute(f"PRAGMA user_version = {VERSION + 1}")
    file.close()
    with pytest.raises(EngineError) as caught:
        Collector(store)
    assert caught.value.code == "store-too-new"


def test_there_is_a_golden_file_of_every_earlier_version() -> None:
    assert [path.stem for path in GOLDEN] == [f"store-{version}" for version in range(1, VERSION)]
