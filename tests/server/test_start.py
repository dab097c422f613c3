"""A collector that cannot start says so in one sentence with a code that names the file, and never by a traceback."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from support.collectors import COLLECTION, Serving, body_of, reports_of, serving
from support.tiers import keeping

SECONDS = 120
"""After which a process counts as hanging."""


def contract_in(folder: Path) -> Path:
    path = folder / "contract.json"
    path.write_text(COLLECTION.to_json(), encoding="utf-8")
    return path


def refused(store: Path, *options: str, contract: Path, before: Sequence[str] = ()) -> tuple[str, str]:
    """Start a collector that must refuse; return the code and the sentence."""
    words = [*before, sys.executable, "-m", "tacit.cli", "serve", str(store), str(contract), "--port", "0", *options]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "listening" not in ended.stdout
    assert ended.returncode == 2, (ended.returncode, ended.stderr)
    [line] = ended.stderr.splitlines()
    found = re.fullmatch(r"tacit serve: \w+ \[([a-z-]+)\] (.*)", line)
    assert found, line
    return found[1], found[2]


def without_privileges() -> list[str]:
    """Return what makes file modes hold for root, too."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("as root, file modes hold only with setpriv")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose store holds reports."""
    folder = tmp_path_factory.mktemp("template")
    with serving(folder) as running, running.client() as client:
        assert client.post(running.path, json=body_of(reports_of(0, 50))).status_code == 200
        assert client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}).status_code == 200
    return folder


@pytest.fixture
def filled(template: Path, tmp_path: Path) -> Path:
    """Return a copy of it to damage."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda content: b"\x00garbage" * (len(content) // 8),
    "text": lambda content: b"not a database at all, but a letter\n" * 100,
    "half": lambda content: content[: len(content) // 2],
    "head": lambda content: b"?" * 100 + content[100:],
    "middle": lambda content: content[:4096] + b"\xff" * (len(content) - 8192) + content[-4096:],
}


def started_on(folder: Path) -> tuple[str, subprocess.Popen[str]]:
    words = [sys.executable, "-m", "tacit.cli", "serve", str(folder / "store"), str(folder / "contract.json")]
    process = subprocess.Popen([*words, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process.stdout.readline(), process


@pytest.mark.parametrize(
    ("file", "damage"),
    keeping(
        [("inbox.db", "middle"), ("log.db", "half"), ("inbox.db", "text")],
        itertools.product(["inbox.db", "log.db"], sorted(DAMAGES)),
        "kinds of damage to each file of a store",
    ),
)
def test_a_damaged_file_is_named(filled: Path, file: str, damage: str) -> None:
    """Some damage is seen when the file is opened; the rest must not look like a mistake of ours while it runs."""
    path = filled / "store" / file
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    line, process = started_on(filled)
    try:
        answers = asked_of(line.split()[-1]) if line else []
    finally:
        process.terminate()
        errors = process.communicate(timeout=SECONDS)[1]
    assert "Traceback" not in errors, errors
    if not line:
        assert process.returncode == 2
        assert re.search(rf"\[damaged-store\] '[^']*{file}' cannot be opened \(SQLITE_\w+\)\. Restore", errors), errors
    else:
        assert damage in ("half", "middle"), "what does not look like a database is refused at once"
        assert all(status == 200 or code in ("damaged-store", "io-error") for status, code in answers), answers


def asked_of(address: str) -> list[tuple[int, str]]:
    """Send reports, ask and delete; return statuses and codes."""
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        responses = [
            client.post(f"/v1/collections/{COLLECTION.id}/reports", json=body_of(reports_of(0, 60))),
            client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}),
            client.post("/v1/forget", json={"tacit": 1, "person": "u-1", "collection": COLLECTION.id}),
        ]
    return [(one.status_code, one.json().get("code", "")) for one in responses]


def test_a_second_collector_is_refused_and_the_first_one_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path) as first, first.client() as client:
        code, sentence = refused(tmp_path / "store", contract=tmp_path / "contract.json")
        assert code == "store-in-use"
        assert str(first.process.pid) in sentence
        assert str(tmp_path / "store") in sentence
        assert client.post(first.path, json=body_of(reports_of(0, 5))).status_code == 200
    with serving(tmp_path):
        pass  # the lock ends with its process


def test_a_killed_collector_leaves_no_lock_and_no_copies(tmp_path: Path) -> None:
    running = Serving(tmp_path)
    running.end(signal.SIGKILL)
    left = tmp_path / "store" / "unfinished-abc"
    left.mkdir()
    (left / "inbox.db").write_bytes(b"a copy of every report")
    with serving(tmp_path):
        assert not left.exists()


def test_a_folder_without_permission(filled: Path) -> None:
    before = without_privileges()
    (filled / "store").chmod(0o500)
    for path in (filled / "store").iterdir():
        path.chmod(0o400)
    code, sentence = refused(filled / "store", contract=filled / "contract.json", before=before)
    assert code == "read-only-store"
    assert str(filled / "store") in sentence
    (filled / "store").chmod(0o700)


@pytest.mark.parametrize("file", ["inbox.db", "reports.tacit"])
def test_a_file_without_permission(filled: Path, file: str) -> None:
    before = without_privileges()
    (filled / "store" / file).chmod(0o400)
    code, sentence = refused(filled / "store", contract=filled / "contract.json", before=before)
    assert code == "read-only-store"
    assert file in sentence


def test_a_disk_that_is_mounted_read_only(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a disk")
    try:
        with serving(disk) as running, running.client() as client:
            client.post(running.path, json=body_of(reports_of(0, 5)))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        code, sentence = refused(disk / "store", contract=disk / "contract.json")
        assert code == "read-only-store"
        assert str(disk / "store") in sentence
        new = disk / "new"
        code, sentence = refused(new, contract=disk / "contract.json")
        assert (code, str(new) in sentence) == ("read-only-store", True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_where_a_folder_is_expected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    contract = contract_in(tmp_path)
    for store in (tmp_path / "file", tmp_path / "file" / "below"):
        code, sentence = refused(store, contract=contract)
        assert code == "not-a-folder"
        assert str(store) in sentence


def test_a_folder_where_a_file_is_expected(tmp_path: Path) -> None:
    (tmp_path / "store" / "inbox.db").mkdir(parents=True)
    code, sentence = refused(tmp_path / "store", contract=contract_in(tmp_path))
    assert code in REMEDIED
    assert "inbox.db" in sentence


REMEDIED = ("io-error", "read-only-store", "not-a-folder")


def test_missing_parents_are_made_and_odd_names_work(tmp_path: Path) -> None:
    with serving(tmp_path / "a b" / "ünï 'quoted' \"café\" #%&;:" / "x") as running, running.client() as client:
        assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
        asked = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"})
        assert asked.json()["rows"][0]["n"] == 5
        assert client.post("/v1/export", json={"tacit": 1}).status_code == 200


@pytest.mark.parametrize("name", ["what?", "back\\slash"])
def test_a_path_that_the_engine_would_misread(tmp_path: Path, name: str) -> None:
    code, sentence = refused(tmp_path / name, contract=contract_in(tmp_path))
    assert code == "bad-path"
    assert name.encode("unicode_escape").decode() in sentence


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, sentence = refused(tmp_path / "store", "--port", port, contract=contract_in(tmp_path))
    assert code == "port-taken"
    assert port in sentence
    assert not (tmp_path / "store").exists(), "nothing was made"


IMPOSSIBLE = [
    (["--port", "70000"], "bad-option"),
    (["--host", "::1x", "--behind-proxy"], "bad-address"),
    (["--certificate", "missing.pem"], "bad-certificate"),
    (["--log", "missing/requests.log"], "unwritable-file"),
    (["--log", "/"], "unwritable-file"),
]


@pytest.mark.parametrize(("options", "code"), keeping(IMPOSSIBLE[:2], IMPOSSIBLE, "options that cannot be"))
def test_other_options_that_cannot_be(tmp_path: Path, options: list[str], code: str) -> None:
    assert refused(tmp_path / "store", *options, contract=contract_in(tmp_path))[0] == code


def test_too_few_descriptors(tmp_path: Path) -> None:
    limit = [shutil.which("prlimit") or pytest.skip("there is no prlimit"), "--nofile=100"]
    code, sentence = refused(tmp_path / "store", contract=contract_in(tmp_path), before=limit)
    assert code == "too-many-files"
    assert "ulimit -n" in sentence


def test_told_to_end_while_it_starts(tmp_path: Path) -> None:
    """Whenever SIGTERM comes, the process ends at once and the store can be opened."""
    contract = contract_in(tmp_path)
    words = [sys.executable, "-m", "tacit.cli", "serve", str(tmp_path / "store"), str(contract), "--port", "0"]
    for wait in (0.05, 0.2, 0.4, 0.6, 0.9):
        started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        started.send_signal(signal.SIGTERM)
        errors = started.communicate(timeout=SECONDS)[1]
        assert started.returncode in (0, -signal.SIGTERM), errors
        assert "Traceback" not in errors
    with serving(tmp_path):
        pass


def test_a_reader_who_leaves_does_not_end_it(tmp_path: Path) -> None:
    """`tacit serve … | head -1`: the second line finds nobody, and reports are collected nevertheless."""
    running = Serving(tmp_path, errors=subprocess.PIPE)
    assert running.process.stdout is not None
    assert running.process.stderr is not None
    running.process.stdout.close()
    running.process.stderr.close()
    with running.client() as client:
        assert client.post(running.path, json=body_of(reports_of(0, 5))).status_code == 200
        client.post("/v1/query", json={"tacit": 1, "sql": "SELECT"})
        assert client.get("/healthz").status_code == 200
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(SECONDS) == 0


def test_nobody_reads_from_the_start(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    port = socket.create_server(("127.0.0.1", 0))
    number = port.getsockname()[1]
    port.close()
    words = [sys.executable, "-m", "tacit.cli", "serve", str(tmp_path / "store"), str(contract_in(tmp_path))]
    started = subprocess.Popen([*words, "--port", str(number)], stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", number), 1).close()
                break
            except OSError:
                assert started.poll() is None
                time.sleep(0.02)
        assert httpx.get(f"http://127.0.0.1:{number}/healthz", timeout=SECONDS, trust_env=False).status_code == 200
        assert started.poll() is None
    finally:
        started.send_signal(signal.SIGTERM)
    assert started.wait(SECONDS) == 0
