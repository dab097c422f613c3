"""The file of keys: no writer loses another's, what is revoked stays so, and its owner can read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from support.tiers import how_many
from tacit.cli import main
from tacit.errors import UsageError
from tacit.server.app import make_app
from tacit.server.keys import Keys
from tacit.tables.atomic import write_atomically

WRITERS, EACH = how_many(3, 8, "processes that write keys"), 12
PROGRAM = """
import sys
from pathlib import Path
from tacit.server.keys import Keys

keys, name = Keys(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    keys.create(f"{name}-{number}", ["query"])
    doomed = keys.create(f"doomed-{name}-{number}", ["query"])
    [row] = keys.list_keys(doomed)
    assert keys.revoke(str(row["digest"])) == 1
"""
NOBODY = 65534


def test_many_processes_lose_no_key_and_bring_none_back(tmp_path: Path) -> None:
    """Processes make 12 keys each and as many that they revoke; of eight, the old writer kept about 117 of 123."""
    path = tmp_path / "keys.json"
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), f"writer{number}", str(EACH)])
        for number in range(WRITERS)
    ]
    reader = Keys(path)
    while any(one.poll() is None for one in running):
        reader.list_keys()  # a reader never meets half a file
    assert [one.returncode for one in running] == [0] * WRITERS
    names = {str(key["name"]) for key in Keys(path).list_keys()}
    assert names == {f"writer{number}-{k}" for number in range(WRITERS) for k in range(EACH)}
    assert {str(key["name"]) for key in reader.list_keys()} == names
    assert {one.name for one in tmp_path.iterdir()} == {"keys.json", "keys.json.lock"}


def test_origins_are_kept_as_browsers_send_them(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    pages = {"HTTPS://Shop.Example:443/": "https://shop.example", "http://localhost:80": "http://localhost"}
    pages |= {"https://shop.example:8443": "https://shop.example:8443", "": ""}
    for number, (given, sent) in enumerate(pages.items()):
        [row] = keys.list_keys(keys.create(f"page-{number}", ["ingest"], given))
        assert row["origin"] == sent


def test_every_version_is_told_from_the_one_before(tmp_path: Path) -> None:
    """Readers know a file by its date: two versions of one length, in one tick of the clock, must differ."""
    path = tmp_path / "file"
    dates = set()
    for number in range(200):
        write_atomically(path, f"{number:03}".encode())
        dates.add(path.stat().st_mtime_ns)
    assert len(dates) == 200


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@needs_root
def test_keys_made_by_root_belong_to_the_folder_owner(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    assert main(["keys", str(folder), "create", "shop"]) == 0
    assert {one.stat().st_uid for one in folder.iterdir()} == {NOBODY}
    assert (folder / "keys.json").stat().st_mode & 0o777 == 0o600
    (folder / "keys.json").chmod(0o640)
    assert main(["keys", str(folder), "create", "till"]) == 0
    found = (folder / "keys.json").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (NOBODY, NOBODY, 0o640)


@needs_root
def test_a_stranger_does_not_take_the_file_from_its_owner(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if not parent.stat().st_mode & 0o001:  # folders of pytest, which are closed to others
            parent.chmod(0o755)
    keys = Keys(tmp_path / "keys.json")
    keys.create("shop", ["query"])
    for name in ("keys.json", "keys.json.lock"):
        (tmp_path / name).chmod(0o644)
    before = (tmp_path / "keys.json").read_bytes()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            keys.create("till", ["query"])
        except UsageError as refusal:
            os._exit(7 if refusal.code == "wrong-owner" else 8)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (tmp_path / "keys.json").read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {"keys.json", "keys.json.lock"}


DAMAGED = [b"", b"[", b"{}x", b"7", b'"x"', b"[7]", b'[{"name": "x"}]', b"\xff\xfe", b"null", b'[{"scopes": 7}]']


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_lets_nobody_in_and_says_why(tmp_path: Path, content: bytes) -> None:
    store = tmp_path / "store"
    with collector_here(store) as collector:
        keys = Keys(store / "keys.json")
        key = keys.create("shop", ["ingest"], "https://shop.example")
        good = (store / "keys.json").read_bytes()
        with served_here(make_app(collector, keys)) as client:
            (store / "keys.json").write_bytes(content)
            for answer in _tries(client, key):
                assert (answer.status_code, answer.json()["code"]) == (503, "unreadable-keys")
                assert "Retry-After" in answer.headers
            assert client.get("/v1/collections").status_code == 200, "what needs no key is answered"
            (store / "keys.json").unlink()
            for answer in _tries(client, key):
                assert answer.json()["code"] == "unreadable-keys", "a lost file opens nothing"
            (store / "keys.json").write_bytes(good)
            assert {answer.status_code for answer in _tries(client, key)} == {403}
            assert {answer.json()["code"] for answer in _tries(client, key)} <= {"token-needed", "wrong-scope"}


def _tries(client: httpx.Client, key: str) -> list[httpx.Response]:
    headers = {"Origin": "https://shop.example"}
    path = f"/v1/collections/{COLLECTION.id}/reports"
    return [
        client.post(path, json=body_of(reports_of(0, 1), key=key), headers=headers),
        client.post("/v1/query", json={"tacit": 1, "key": key, "sql": "SELECT 1"}, headers=headers),
        client.get("/v1/log", headers=headers | {"Authorization": f"Bearer {key}"}),
    ]


def test_the_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "keys.json").write_text("{", encoding="utf-8")
    for words in (["list"], ["create", "shop"], ["revoke", "0" * 12]):
        assert main(["keys", str(tmp_path), *words]) == 2
        assert "[unreadable-keys]" in capsys.readouterr().err
    assert (tmp_path / "keys.json").read_text() == "{", "nothing is written over what cannot be read"


def test_the_log_tells_of_the_key_that_was_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.server.store.log import Log

    for name in ("one", "two"):
        assert main(["keys", str(tmp_path), "create", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["key"].startswith("tacit_live_")
    log = Log(tmp_path / "log.db")
    assert [entry["details"]["name"] for entry in log.read().entries] == ["one", "two"]
    log.close()
