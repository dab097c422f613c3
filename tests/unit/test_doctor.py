"""`tacit doctor`: each line is well, or names one command to run."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION
from tacit.cli import main
from tacit.server.collector import Collector


def looked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, object]]]:
    code = main(["doctor", *words, "--json"])
    return code, {one["what"]: one for one in json.loads(capsys.readouterr().out)}


def test_a_healthy_store_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector = Collector(tmp_path / "store")
    collector.publish(COLLECTION)
    collector.close()
    (tmp_path / "c.json").write_text(COLLECTION.to_json())
    _, found = looked(capsys, str(tmp_path / "store"), str(tmp_path / "c.json"))
    bad = {name for name, one in found.items() if not one["ok"]}
    assert bad <= {"disk", "Java"}, "what depends on this machine"
    names = ["disk", "clock", "files", "inbox", "database", "log", "contract c.json", "keys", "address", "Java"]
    assert list(found) == names
    assert "6" in str(found["contract c.json"]["detail"])
    main(["doctor", str(tmp_path / "store")])
    assert capsys.readouterr().out.count("✓") >= 7


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
    assert "line 1" in str(found["log"]["detail"])
    (store / "inbox.db").write_bytes(b"nonsense" * 4_000)
    assert not looked(capsys, str(store))[1]["inbox"]["ok"]
    assert isinstance(tc.__version__, str)
