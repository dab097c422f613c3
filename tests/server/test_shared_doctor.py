"""`tacit doctor` and `tacit audit` of a PostgreSQL database that collectors share."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.collectors import COLLECTION, collector_here, reports_of
from support.engines import postgres_address
from tacit.cli import main


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    with postgres_address() as made:
        yield made


@pytest.fixture(scope="module")
def address(empty: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert main(["doctor", empty]) == 0, "before the first collector"
    with collector_here(tmp_path_factory.mktemp("collector"), store=empty) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 5)).result()
        collector.forget("u-1")
        collector.move()
        wait_for_heartbeat(empty)
        yield empty


def wait_for_heartbeat(address: str) -> None:
    """Return when the collector, whose own thread writes them, has written a heartbeat within the last second."""
    with psycopg.connect(address, autocommit=True) as session:
        for _ in range(600):
            if session.execute("SELECT 1 FROM tacit_collectors WHERE seen > now() - interval '1 second'").fetchone():
                return
            time.sleep(0.05)
    pytest.fail("no heartbeat in 30 seconds")


def found(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, tuple[bool | None, str]]]:
    code = main(["doctor", *words, "--json"])
    return code, {one["what"]: (one["ok"], one["detail"]) for one in json.loads(capsys.readouterr().out)}


def test_a_healthy_store_is_well_while_a_collector_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, findings = found(capsys, address, "--verify", "--reports")
    assert code == 0, findings
    assert findings["reports"] == (True, "12 reports match their digests")
    assert findings["analytical"] == (True, "12 reports are there, as the inbox has moved")
    assert findings["log"][0] is True
    assert findings["keys"] == (True, "none: only this machine is served")
    assert findings["inbox"][0] is True
    assert findings["collectors"] == (True, "1 running, of version 0.1.0")
    assert any(name.startswith("views and seeds") for name in findings)


@pytest.mark.parametrize(
    ("change", "undo", "where", "words"),
    [
        (
            "UPDATE tacit_reports SET content = content || ' ' WHERE number = 1",
            "UPDATE tacit_reports SET content = substr(content, 1, length(content) - 1) WHERE number = 1",
            "reports",
            "1 of 12 reports do not match",
        ),
        (
            "UPDATE tacit_known SET slot = slot + 7 WHERE number = 1",
            "UPDATE tacit_known SET slot = slot - 7 WHERE number = 1",
            "reports",
            "1 rows of the index",
        ),
        (
            "UPDATE tacit_sizes SET known = known + 1",
            "UPDATE tacit_sizes SET known = known - 1",
            "reports",
            "counts of 2",
        ),
        ("UPDATE tacit_sizes SET bulk = -9", "UPDATE tacit_sizes SET bulk = 0", "analytical", "more reports of"),
        (
            "UPDATE tacit_versions SET rows = rows + 1",
            "UPDATE tacit_versions SET rows = rows - 1",
            "analytical",
            "kept number",
        ),
        ("UPDATE tacit_sizes SET lost = 3", "UPDATE tacit_sizes SET lost = 0", "acknowledged reports", "6 were lost"),
        (
            "UPDATE tacit_log SET line = replace(line, 'person', 'nobody') WHERE number = 2",
            "UPDATE tacit_log SET line = replace(line, 'nobody', 'person') WHERE number = 2",
            "log",
            "line 2",
        ),
        ("UPDATE tacit_store SET least = 99", "UPDATE tacit_store SET least = 3", "database", "version 3 of 3"),
    ],
)
def test_whatever_is_not_well_is_found(
    address: str, capsys: pytest.CaptureFixture[str], change: str, undo: str, where: str, words: str
) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(change)  # type: ignore[arg-type]
        try:
            code, findings = found(capsys, address, "--verify")
        finally:
            connection.execute(undo)  # type: ignore[arg-type]
    assert code == 1
    assert findings[where][0] is False, findings
    assert words in findings[where][1]


def test_an_address_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody listens there, and the password is nobody's business."""
    assert main(["doctor", "postgresql://tacit:secret@127.0.0.1:1/x"]) == 1
    shown = "".join(capsys.readouterr())
    assert "cannot be" in shown
    assert "secret" not in shown


def test_evidence_includes_the_log_of_the_database(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = tmp_path / "contract.json"
    contract.write_text(COLLECTION.to_json())
    evidence = str(tmp_path / "evidence")
    assert main(["audit", str(contract), "--report", evidence, "--store", address]) == 0
    assert main(["audit", "--verify", evidence, "--store", address]) == 0
    assert "log" in capsys.readouterr().out
