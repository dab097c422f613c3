"""Every verb with files that cannot be right: exit code 2, one coded line, nothing written, nothing changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tiers import keeping
from support.users import obey_modes
from tacit.cli import main
from tacit.cli.command import VERBS

COLLECTION = """epsilon = 3
[[services]]
name = 'users'
key = 'uid'
attributes = [{ name = 'age', low = 0, high = 9 }, { name = 'os', kind = 'public' }]
"""
ROWS = "uid,age,os\n" + "".join(f"{i},{i % 10},ios\n" for i in range(200))
BINARY = bytes(range(256)) * 50
QUESTION = "SELECT COUNT(*) AS n FROM users WHERE age < 5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of good and bad files of every kind."""
    made = tmp_path_factory.mktemp("files")
    (made / "good.toml").write_text(COLLECTION)
    (made / "sensitive.toml").write_text(COLLECTION.replace(", { name = 'os', kind = 'public' }", ""))
    (made / "good.csv").write_text(ROWS)
    (made / "sensitive.csv").write_text(re.sub(",[a-z]+$", "", ROWS, flags=re.MULTILINE))
    (made / "bom.toml").write_text("\ufeff" + COLLECTION, encoding="utf-8")
    (made / "crlf.toml").write_bytes(COLLECTION.replace("\n", "\r\n").encode())
    (made / "latin.toml").write_bytes(COLLECTION.encode() + b"# caf\xe9\n")
    (made / "bom.csv").write_text("\ufeff" + ROWS, encoding="utf-8")
    (made / "crlf.csv").write_bytes(ROWS.replace("\n", "\r\n").encode())
    (made / "twice.csv").write_text("uid,age,age,os\n1,2,3,ios\n")
    (made / "rowless.csv").write_text("uid,age,os\n")
    (made / "wrong.txt").write_text(ROWS)
    (made / "deep.json").write_text("[" * 100_000)
    (made / "list.json").write_text("[]")
    (made / "nan.json").write_text('{"epsilon": NaN}')
    for ending in ("toml", "json", "csv", "parquet", "tacit", "archive"):
        (made / f"empty.{ending}").touch()
        (made / f"binary.{ending}").write_bytes(BINARY)
        (made / f"folder.{ending}").mkdir()
    here = Path.cwd()
    os.chdir(made)
    try:
        assert main(["encode", "good.toml", "users=good.csv", "--out", "reports"]) == 0
        assert main(["load", "good.tacit", "reports"]) == 0
        assert main(["export", "good.tacit", "good.archive"]) == 0
    finally:
        os.chdir(here)
    return made


COLLECTIONS = [f"{kind}.{ending}" for kind in ("absent", "empty", "binary", "folder") for ending in ("toml", "json")]
COLLECTIONS += ["latin.toml", "deep.json", "list.json", "nan.json", "good.csv", "good.tacit"]
TABLES = [f"{kind}.{ending}" for kind in ("absent", "empty", "binary", "folder") for ending in ("csv", "parquet")]
TABLES += ["twice.csv", "rowless.csv", "wrong.txt", "good.tacit"]
DATABASES = ["absent.tacit", "empty.tacit", "binary.tacit", "folder.tacit", "good.csv", "good.toml", "binary.archive"]

OPTIONS = """
query good.tacit QUESTION --key-file good.toml
query http://reports.example QUESTION
query https://name:key@reports.example QUESTION
serve new good.toml --pg-port 70000
serve new good.toml --pg-port 0 --host 0.0.0.0 --behind-proxy
audit
audit good.toml --trials nan
audit good.toml --trials inf
audit good.toml --trials -1
audit good.toml --store reports
audit --verify reports
audit --verify absent
audit good.toml --report good.csv
encode good.toml good.csv --out new
encode good.toml other=good.csv --out new
encode good.toml users=good.csv users=good.csv --out new
encode good.toml users=good.csv --out good.csv
encode good.toml users=good.csv --out good.csv/new
encode good.toml users=good.csv --out reports
init good.toml
bench --people 10
init new.json
init absent/new.toml
init new.toml --epsilon nan
init new.toml =good.csv
load new.tacit absent
load new.tacit good.csv
load folder.tacit reports
load good.csv reports
load absent/new.tacit reports
plan good.toml QUESTION --users 0
plan good.toml QUESTION --users 99999999999999999999
plan good.toml QUESTION --error nan
plan good.toml QUESTION --like absent.csv
plan good.toml QUESTION --like binary.csv
query good.tacit QUESTION --confidence nan
query good.tacit QUESTION --decoder none
query good.tacit QUESTION --plot absent/new.svg
query good.tacit nonsense
marginal good.tacit nothing
synthesize good.tacit new.txt
synthesize good.tacit absent/new.csv
synthesize good.tacit good.csv
synthesize good.tacit new.csv --rows 0
synthesize good.tacit new.csv --seed -1
keys new create
keys new create two\\nlines
keys new create name --scope everything
keys new create name --origin shop.example
keys new create name --origin https://shop.example/path
keys new revoke 0123456789ab
keys good.csv create name
export absent new.archive
export folder.tacit new.archive
export good.tacit good.archive
export http://127.0.0.1:1 new.archive
export http://collector.example new.archive
export good.tacit /proc/new.archive
import absent.archive new
import empty.archive new
import binary.archive new
import folder.archive new
import good.archive good.tacit
import good.archive /proc/new
import good.archive new --deletions absent
import good.archive new --deletions binary.csv
import good.archive new --deletions good.csv
release good.csv --epsilon 1 --collection absent.toml
release sensitive.csv --epsilon x --collection sensitive.toml
release good.csv --epsilon 1 --collection good.toml
release sensitive.csv --epsilon 1 --collection sensitive.toml --out new.csv
release sensitive.csv --epsilon 1 --collection sensitive.toml --out absent/new.parquet
release sensitive.csv --epsilon 1 --collection sensitive.toml --synthetic new.csv
release sensitive.csv --epsilon 1 --collection sensitive.toml --compare nothing
release sensitive.csv --epsilon 1 --collection sensitive.toml --ledger folder.tacit
release sensitive.csv --epsilon 1 --collection sensitive.toml --ledger binary.tacit
release sensitive.csv --epsilon 1 --collection sensitive.toml --ledger absent/new.ledger
advise sensitive.toml --prior nan
advise sensitive.toml --like absent.csv
advise sensitive.toml --like binary.csv
serve good.csv good.toml
serve new absent.toml
serve new good.toml --port 65536
serve new good.toml --port -1
serve new good.toml --host 192.0.2.1 --behind-proxy
serve new good.toml --certificate absent.pem
serve new good.toml --certificate good.toml --private-key good.toml
serve new good.toml --private-key good.toml
serve new good.toml --log absent/new.log --port 0
serve new good.toml --log folder.csv --port 0
serve new good.toml --store nonsense
serve new good.toml --reports-per-second nan
serve new good.toml --question-seconds -1
serve new good.toml --questions-per-minute 0
serve new good.toml --deletions-per-minute 0
serve new good.toml --deletions-per-minute nan
demo --people 1
demo --epsilon nothing
"""

CASES = [
    *(["audit", name] for name in COLLECTIONS),
    *(["plan", name, "QUESTION"] for name in COLLECTIONS),
    *(["encode", "good.toml", f"users={name}", "--out", "new"] for name in TABLES),
    *(["init", "new.toml", f"users={name}"] for name in TABLES),
    *([verb, name, *more] for name in DATABASES for verb, *more in (["query", "QUESTION"], ["shell"], ["mcp"])),
    *([verb, name, *more] for name in DATABASES for verb, *more in (["marginal", "age"], ["synthesize", "new.csv"])),
    *(["export", name, "new.archive"] for name in DATABASES),
    *(["lake", action, name] for action in ("versions", "verify") for name in DATABASES),
    *(["lake", "backup", name, "new.lake"] for name in DATABASES),
    *(line.replace("\\n", "\n").split(" ") for line in OPTIONS.strip().splitlines()),
]


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file with its content: what must not change."""
    return {str(path): (path.stat().st_size, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_wrong_input_exits_two_with_one_line(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = listing(folder)
    assert main([QUESTION if word == "QUESTION" else word for word in words]) == 2
    error = capsys.readouterr().err
    assert re.match(rf"tacit {words[0]}: \w+Error \[[a-z0-9-]+\] \S", error), error
    assert error.count("\n") == 1 or "~" in error, error
    if words[0] == "serve":  # it makes its store before it listens; there is nothing in it to lose
        shutil.rmtree("new", ignore_errors=True)
    assert listing(folder) == before


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in CASES} >= set(VERBS) - {"doctor"}, "the doctor has a test of its own"


@pytest.mark.parametrize("name", ["bom.toml", "crlf.toml"])
def test_marks_and_line_ends_of_other_systems_are_read(name: str, folder: Path) -> None:
    assert main(["audit", str(folder / name)]) == 0


@pytest.mark.parametrize("name", ["bom.csv", "crlf.csv"])
def test_tables_of_other_systems_are_read(name: str, folder: Path, tmp_path: Path) -> None:
    assert main(["encode", str(folder / "good.toml"), f"users={folder / name}", "--out", str(tmp_path / "out")]) == 0


def test_listing_keys_makes_no_folder(tmp_path: Path) -> None:
    assert main(["keys", str(tmp_path / "none"), "list"]) == 0
    assert not (tmp_path / "none").exists()


def test_a_collection_with_bugs_of_ours_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tacit.cli.audit.audited", lambda _: {}["a value that must not be shown"])
    assert main(["audit", str(folder / "good.toml"), "--json"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tacit audit: InternalError [internal] KeyError at test_wrong_input.py:")
    assert "must not be shown" not in error
    monkeypatch.setenv("TACIT_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["audit", str(folder / "good.toml"), "--json"])


READERS = [
    ["audit", "secret.toml"],
    ["encode", "good.toml", "users=secret.csv", "--out", "new"],
    ["init", "new.toml", "users=secret.csv"],
    ["query", "secret.tacit", QUESTION],
    ["export", "secret.tacit", "new.archive"],
    ["import", "secret.archive", "new"],
    ["load", "new.tacit", "reports"],  # may not write here
    ["encode", "good.toml", "users=good.csv", "--out", "new"],
    ["synthesize", "good.tacit", "new.csv"],
    ["keys", "new", "create", "name"],
    ["serve", "new", "good.toml"],
    ["release", "sensitive.csv", "--epsilon", "1", "--collection", "sensitive.toml"],
]


@pytest.mark.parametrize("words", keeping(READERS[::3], READERS, "verbs on files of others"), ids=" ".join)
def test_files_that_this_user_may_not_use(words: list[str], folder: Path) -> None:
    for ending in ("toml", "csv", "tacit", "archive"):
        secret = folder / f"secret.{ending}"
        secret.touch()
        secret.chmod(0)
    folder.chmod(0o555)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "tacit.cli", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=obey_modes,
            timeout=60,
        )
    finally:
        folder.chmod(0o755)
    assert (result.returncode, result.stdout) == (2, "")
    assert re.fullmatch(rf"tacit {words[0]}: \w+Error \[[a-z0-9-]+\] .+\n", result.stderr), result.stderr


ADDRESSES = [f"{scheme}://u:hunter2@127.0.0.1:1/db" for scheme in ("postgresql", "https", "tacit")]
ADDRESSES += ["mysql://u:hunter2@host"]


@pytest.mark.parametrize("address", [*ADDRESSES, "host=127.0.0.1 port=1 password=hunter2"])
@pytest.mark.parametrize("verb", ["doctor", "export", "query", "lake", "plan"])
def test_no_command_repeats_a_password_of_an_address(
    verb: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = {"doctor": [address], "export": [address, "out"], "lake": ["verify", address]}
    assert main([verb, *words.get(verb, [address, QUESTION])]) in (1, 2)
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    assert said.out + said.err


def test_release_names_the_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there.csv").write_text("uid,age\n1,2\n")
    for table, said in {"absent.csv": "absent.csv does not exist", "there.csv": "tacit init there.csv"}.items():
        assert main(["release", str(tmp_path / table), "--epsilon", "1"]) == 2
        assert said in capsys.readouterr().err
