"""R4: a full disk. Reports are turned away, everything else goes on, and nothing needs a restart when room returns."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.collectors import Serving, body_of, reports_of, serving

COUNT = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Lend a folder on a small disk of its own."""
    disk = ["mount", "-t", "tmpfs", "-o", "size=14m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(disk, check=False).returncode:
        pytest.skip("only root can make a small disk")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def until_full(running: Serving, client: httpx.Client) -> tuple[list[dict[str, Any]], httpx.Response]:
    """Send until reports are turned away; return what was acknowledged, and the refusal."""
    stored: list[dict[str, Any]] = []
    for first in range(0, 1_000_000, 300):
        reports = reports_of(first, 300, seed=first)
        response = client.post(running.path, json=body_of(reports))
        if response.status_code != 200:
            return stored, response
        stored += reports
    raise AssertionError("the disk was never full")


def test_a_full_disk_turns_reports_away_and_nothing_else(small: Path) -> None:
    with serving(small) as running, running.client() as client:
        stored, refused = until_full(running, client)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk-full")
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/healthz").json() == {"status": "ok"}
        waiting = client.get("/readyz")
        assert (waiting.status_code, waiting.json()["code"]) == (503, "disk-full")
        assert "retry-after" in waiting.headers
        answer = client.post("/v1/query", json=COUNT).json()
        counted = answer["rows"][0]["n"]
        assert 0 < counted <= len(stored) / 3
        assert answer["watermark"]["counted"] == counted
        assert answer["watermark"]["acknowledged"] == len({report["person"] for report in stored})
        assert bool(answer["notes"]) == (counted < answer["watermark"]["acknowledged"])
        assert client.post("/v1/forget", json={"tacit": 1, "person": "u-0"}).json() == {"deleted": 3}
        again = client.post(running.path, json=body_of(stored[-3:]))  # acknowledged ones are acknowledged again
        assert [one["status"] for one in again.json()["statuses"]] == ["again"] * 3

        with suppress(OSError), (small / "the rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4096)):
                pass
        time.sleep(1.1)
        waiting = client.get("/readyz")
        assert (waiting.status_code, waiting.json()["code"]) == (503, "disk-full"), "not even the log can be written"

        subprocess.run(["mount", "-o", "remount,size=200m", small], check=True)
        more = reports_of(2_000_000, 10)
        assert client.post(running.path, json=body_of(more)).status_code == 200
        people = {report["person"] for report in stored + more} - {"u-0"}
        assert client.post("/v1/query", json=COUNT).json()["rows"][0]["n"] == len(people)
        mine = [report for report in stored if report["person"] != "u-0"]
        for start in range(0, len(mine), 900):
            statuses = client.post(running.path, json=body_of(mine[start : start + 900])).json()["statuses"]
            assert {one["status"] for one in statuses} == {"again"}
        time.sleep(1.1)  # a result is used again for a second
        assert client.get("/readyz").json() == {"status": "ready", "warnings": []}
