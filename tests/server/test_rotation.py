"""Log files of requests: rotated in every usual way, full disks, hangups. No line is lost without being counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.collectors import Serving, body_of, reports_of


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Serving]:
    started = Serving(tmp_path / "collector", options=["--log", str(tmp_path / "requests.log")])
    yield started
    if started.process.poll() is None:
        started.end()


def lines(path: Path) -> list[str]:
    """Return the routes that a log file tells of; every line must be whole."""
    return [json.loads(line)["route"] for line in path.read_text(encoding="utf-8").splitlines()]


def wait_for_lines(path: Path, count: int) -> None:
    """Wait until a log file has so many lines: a request is logged after its answer is sent."""
    until = time.monotonic() + 30
    while len(lines(path)) < count and time.monotonic() < until:
        time.sleep(0.01)
    assert len(lines(path)) == count


def rename(path: Path, process: int) -> None:
    path.rename(path.with_suffix(".1"))


def rename_and_hang_up(path: Path, process: int) -> None:
    path.rename(path.with_suffix(".1"))
    os.kill(process, signal.SIGHUP)
    time.sleep(0.2)


def create(path: Path, process: int) -> None:
    """As logrotate's `create`: the new file is there before anybody writes to it."""
    path.rename(path.with_suffix(".1"))
    path.touch(mode=0o600)
    os.kill(process, signal.SIGHUP)


def copy_and_truncate(path: Path, process: int) -> None:
    path.with_suffix(".1").write_bytes(path.read_bytes())
    os.truncate(path, 0)


def hang_up_only(path: Path, process: int) -> None:
    path.with_suffix(".1").write_bytes(b"")
    os.kill(process, signal.SIGHUP)


WAYS = [rename, rename_and_hang_up, create, copy_and_truncate, hang_up_only]


@pytest.mark.parametrize("rotate", WAYS, ids=lambda way: way.__name__)
def test_rotation_loses_no_line(running: Serving, tmp_path: Path, rotate: Callable[[Path, int], None]) -> None:
    log = tmp_path / "requests.log"
    with running.client() as client:
        for _ in range(3):
            client.get("/healthz")
        wait_for_lines(log, 3)
        rotate(log, running.process.pid)
        for _ in range(2):
            assert client.get("/openapi.json").status_code == 200
        assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
    assert running.end() == 0
    old, new = lines(log.with_suffix(".1")), lines(log)
    assert old + new == ["/healthz"] * 3 + ["/openapi.json"] * 2 + ["/v1/collections/{id}/reports"]
    assert rotate is hang_up_only or len(new) == 3, "what comes later is in the new file"
    assert log.stat().st_mode & 0o77 == 0


def test_hanging_up_never_ends_it(tmp_path: Path) -> None:
    running = Serving(tmp_path)
    for _ in range(20):
        os.kill(running.process.pid, signal.SIGHUP)
    with running.client() as client:
        assert client.get("/healthz").status_code == 200
    assert running.end() == 0


def test_a_deleted_folder_is_said_and_requests_go_on(running: Serving, tmp_path: Path) -> None:
    """The log file cannot be made anew: reports are stored all the same, and the lost lines are counted."""
    log = tmp_path / "requests.log"
    with running.client() as client:
        client.get("/healthz")
        wait_for_lines(log, 1)
        log.unlink()
        log.mkdir()
        for _ in range(5):
            assert client.get("/healthz").status_code == 200
        assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
        looks = 1  # each look is a request whose line is lost, too
        while (count := lost(client)) < 6:
            looks += 1
        assert 6 <= count < 6 + looks
        log.rmdir()
        assert client.get("/healthz").status_code == 200
    assert running.end() == 0
    assert "The log file cannot be written." in running.printed
    assert running.printed.count("The log file cannot be written.") == 1, "it does not flood the other log"
    assert "Traceback" not in running.printed
    assert lines(log)[-1] == "/healthz"


def lost(client: httpx.Client) -> int:
    text = client.get("/metrics").text
    [found] = [line for line in text.splitlines() if line.startswith("tacit_log_lines_lost_total ")]
    return int(found.split()[1])


def test_a_full_log_disk_stops_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "logs"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    try:
        log = disk / "requests.log"
        running = Serving(tmp_path / "collector", options=["--log", str(log)])
        with running.client() as client:
            until = time.monotonic() + 30
            while not lost(client) and time.monotonic() < until:
                for _ in range(50):
                    assert client.get("/healthz").status_code == 200
            assert lost(client) > 0
            assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
            os.truncate(log, 0)
            before = lost(client)
            for _ in range(10):
                client.get("/openapi.json")
            assert lost(client) == before
        assert running.end() == 0
        assert '"code": "disk-full"' in running.printed
        assert lines(log).count("/openapi.json") == 10
    finally:
        subprocess.run(["umount", str(disk)], check=True)
