"""Out of descriptors or memory: said with a code, in the log and in the metrics, and over when the want is over."""

from __future__ import annotations

import contextlib
import json
import resource
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.collectors import Serving, body_of, reports_of
from tacit.engines.failures import failure_code, outage

COUNT = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
LIMIT = 160


@pytest.fixture
def few_files(tmp_path: Path) -> Iterator[Serving]:
    """Lend a collector that may open few files."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("limits of other processes are set on Linux alone")
    program = tmp_path / "limited.py"
    program.write_text(
        f"import resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}))\n"
        "from tacit.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    running = Serving(tmp_path, program=str(program))
    yield running
    if running.process.poll() is None:
        running.end()


def metric(client: httpx.Client, line: str) -> float:
    found = [one for one in client.get("/metrics").text.splitlines() if one.startswith(f"{line} ")]
    return float(found[0].split()[-1]) if found else 0.0


def test_connections_leave_descriptors_for_the_store(few_files: Serving) -> None:
    port = int(few_files.address.rpartition(":")[2])
    with few_files.client() as client:
        assert client.get("/healthz").status_code == 200
        many = [socket.create_connection(("127.0.0.1", port)) for _ in range(2 * LIMIT)]
        try:
            refused = _refusals(many, lambda: metric(client, 'tacit_errors_total{code="too-many-connections"}'))
            assert len(refused) > LIMIT / 2
            assert all(one.startswith(b"HTTP/1.1 503") for one in refused)
            body = json.loads(refused[0].partition(b"\r\n\r\n")[2])
            assert body["code"] == "too-many-connections"
            assert b"retry-after: " in refused[0]
            assert client.post(few_files.path, json=body_of(reports_of(0, 50))).status_code == 200
            assert client.post("/v1/query", json=COUNT).json()["rows"][0]["n"] == 50
            assert client.post("/v1/export", json={"tacit": 1}).status_code == 200
        finally:
            for one in many:
                one.close()
    end = time.monotonic() + 60
    while not _is_served(few_files):  # once it has noticed that others ended
        assert time.monotonic() < end
        time.sleep(0.05)
    assert few_files.end() == 0
    assert '"code": "too-many-connections"' in few_files.printed
    assert "Traceback" not in few_files.printed


def _refusals(connections: list[socket.socket], counted: Callable[[], float]) -> list[bytes]:
    """Return what a server says before it is asked, as often as it says that it refused."""
    silent, said = set(connections), list[bytes]()
    while not said or len(said) < counted():
        ready, _, _ = select.select(silent, [], [], 60)
        assert ready, "fewer refusals arrived than were counted"
        said += [_first_bytes(one) for one in ready]
        silent -= set(ready)
    assert len(said) == counted()
    return said


def _is_served(running: Serving) -> bool:
    """Tell whether a new connection is served."""
    with running.client() as client, contextlib.suppress(httpx.TransportError):
        return client.get("/healthz").status_code == 200
    return False


def _first_bytes(connection: socket.socket) -> bytes:
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b"HTTP/1.1 503 lost"


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are set on Linux alone")
def test_no_descriptor_left_is_said(tmp_path: Path) -> None:
    """The limit falls below what is open already: nothing new can be opened until it is raised."""
    running = Serving(tmp_path)
    process = running.process.pid
    with running.client() as client:
        assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
        before = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (5, before[1]))
        try:
            answer = client.post("/v1/export", json={"tacit": 1})
            assert (answer.status_code, answer.json()["code"]) == (503, "too-many-files"), answer.text
        finally:
            resource.prlimit(process, resource.RLIMIT_NOFILE, before)
        assert client.post("/v1/export", json={"tacit": 1}).status_code == 200
        assert client.post("/v1/query", json=COUNT).json()["rows"][0]["n"] == 5
        assert metric(client, 'tacit_errors_total{code="too-many-files"}') == 1
    assert running.end() == 0
    assert "Traceback" not in running.printed


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are set on Linux alone")
def test_out_of_memory_is_said_and_over_when_there_is_more(tmp_path: Path) -> None:
    running = Serving(tmp_path)
    process = running.process.pid
    with running.client() as client:
        assert client.post(running.path, json=body_of(reports_of(0, 20))).status_code == 200
        assert client.post("/v1/query", json=COUNT).status_code == 200
        size = int(Path(f"/proc/{process}/statm").read_text().split()[0]) * resource.getpagesize()
        before = resource.prlimit(process, resource.RLIMIT_AS)
        resource.prlimit(process, resource.RLIMIT_AS, (size + (2 << 20), before[1]))
        try:
            codes = _asked_at_once(running)
        finally:
            resource.prlimit(process, resource.RLIMIT_AS, before)
        assert running.process.poll() is None, "it lives"
        assert codes == {"out-of-memory"}
        assert client.post(running.path, json=body_of(reports_of(100, 20))).status_code == 200
        assert client.post("/v1/query", json=COUNT).status_code == 200
        people = {f"u-{number}" for number in (*range(20), *range(100, 120))}
        assert client.post("/v1/query", json=COUNT).json()["rows"][0]["n"] >= len(people)
    assert running.end() == 0
    assert '"code": "out-of-memory"' in running.printed
    assert "Traceback" not in running.printed


def _asked_at_once(running: Serving) -> set[str]:
    """Ask for much on some connections, and return the codes of the answers."""
    codes: set[str] = set()
    wide = "SELECT age, os, COUNT(*) AS n FROM users GROUP BY age, os"

    def work() -> None:
        with running.client() as client:
            for _ in range(5):
                for path, body in (("/v1/query", {"tacit": 1, "sql": wide}), ("/v1/export", {"tacit": 1})):
                    try:
                        answer = client.post(path, json=body)
                    except httpx.HTTPError:
                        continue
                    if answer.status_code == 200:
                        continue
                    try:
                        codes.add(str(answer.json().get("code", "uncoded")))
                    except ValueError:
                        codes.add("uncoded")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return codes


def test_only_a_full_disk_is_called_full() -> None:
    import errno
    import sqlite3

    assert failure_code(OSError(errno.ENOSPC, "")) == "disk-full"
    assert failure_code(OSError(errno.EDQUOT, "")) == "disk-full"
    others = [errno.EIO, errno.EACCES, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EBADF, errno.ESTALE]
    codes = [failure_code(OSError(number, "")) for number in others]
    assert "disk-full" not in codes
    assert None not in codes
    assert failure_code(MemoryError()) == "out-of-memory"
    assert failure_code(ValueError()) is None
    assert outage("x", KeyError()) is None
    assert failure_code(sqlite3.OperationalError()) == "no-store", "one without a name is still a failure of the store"


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit")
def test_too_little_memory_to_start_is_no_traceback(tmp_path: Path) -> None:
    """A file limit stands for a disk quota: the store cannot be made, and a sentence says why."""
    words = ["prlimit", "--fsize=4096", sys.executable, "-m", "tacit.cli", "serve", str(tmp_path / "store")]
    ended = subprocess.run([*words, "--port", "0"], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "cannot be opened" in ended.stderr
