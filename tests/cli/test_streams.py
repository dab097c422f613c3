"""Pipes that close, full disks, terminals of other encodings, closed streams, Ctrl-C: no traceback, nothing lost."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tacit as tc
from support.tiers import keeping
from tacit.central import Ledger, Release
from tacit.cli import main

COMMAND = [sys.executable, "-m", "tacit.cli"]
QUESTION = "SELECT age, COUNT(*) AS n FROM users WHERE age < 5 GROUP BY age"
COLLECTION = """epsilon = 3
[[services]]
name = 'users'
key = 'uid'
attributes = [{ name = 'age', low = 0, high = 9 }]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    (made / "c.toml").write_text(COLLECTION)
    (made / "u.csv").write_text("uid,age\n" + "".join(f"{i},{i % 10}\n" for i in range(800_000)))
    assert main(["encode", str(made / "c.toml"), f"users={made / 'u.csv'}", "--out", str(made / "reports")]) == 0
    assert main(["load", str(made / "d.tacit"), str(made / "reports")]) == 0
    return made


def shell(folder: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `tacit` is the command."""
    line = f"{sys.executable} -m tacit.cli {line.removeprefix('tacit ')}"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=os.environ | environment,
        timeout=60,
    )


@pytest.mark.parametrize(
    "line", [f'tacit query d.tacit "{QUESTION}" | head -1', "tacit --help | head -1", "tacit audit c.toml | true"]
)
def test_a_reader_that_leaves_is_no_error(line: str, folder: Path) -> None:
    result = shell(folder, line)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f'tacit query d.tacit "{QUESTION}" >&-', "closed-output"),
        ("tacit keys new create name >&-", "closed-output"),
        (f'tacit query d.tacit "{QUESTION}" > /dev/full', "unusable-file"),
        ("tacit shell d.tacit <&-", "closed-input"),
    ],
)
def test_streams_that_cannot_be_used_are_named(line: str, code: str, folder: Path) -> None:
    result = shell(folder, line)
    assert result.returncode == 2
    assert f"[{code}]" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "new").exists(), "a key that nobody has seen"


def test_without_an_error_stream_the_answer_is_still_printed(folder: Path) -> None:
    assert shell(folder, f'tacit query d.tacit "{QUESTION}" 2>&-').stdout.count("±") == 6


@pytest.mark.parametrize(
    "encoding", keeping(["ascii"], ["ascii", "latin-1", "cp1252", "utf-8"], "encodings of a terminal")
)
def test_any_encoding_of_a_terminal(encoding: str, folder: Path) -> None:
    for line in (f'tacit query d.tacit "{QUESTION}"', "tacit doctor reports", "tacit audit absent.toml"):
        result = shell(folder, line, PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C")
        assert result.returncode in (0, 1, 2)
        assert "Error at" not in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("columns", keeping(["1"], ["1", "40", "10000"], "widths of a terminal"))
def test_any_width_of_a_terminal(columns: str, folder: Path) -> None:
    for line in ("tacit --help", "tacit query --help", f'tacit query d.tacit "{QUESTION}"'):
        result = shell(folder, line, COLUMNS=columns)
        assert (result.returncode, result.stderr) == (0, "")


def test_the_shell_reads_lines_of_any_system_until_the_end(folder: Path) -> None:
    question = "SELECT COUNT(*) AS n FROM users"
    for end in ("", "\r\n\r\n"):
        result = subprocess.run(
            [*COMMAND, "shell", "d.tacit", "--json"],
            input=(question + end).encode(),
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (result.returncode, result.stderr) == (0, b"")
        assert json.loads(result.stdout)["rows"][0]["n"] == 800_000
    broken = subprocess.run(
        [*COMMAND, "shell", "d.tacit"], input=b"\xff\xfe\n", cwd=folder, capture_output=True, check=False, timeout=60
    )
    assert broken.returncode == 0
    assert b"Traceback" not in broken.stderr


BEGUN = "from tacit.cli import main; print('begun', flush=True); raise SystemExit(main())"
"""Run the command as usual, and say when: while Python itself starts, no program can catch an interruption."""

VERBS = [
    ["encode", "c.toml", "users=u.csv", "--out", "{new}/reports"],
    ["load", "{new}/d.tacit", "reports"],
    ["plan", "c.toml", "SELECT COUNT(*) FROM users WHERE age < 5", "--like", "u.csv"],
    ["query", "d.tacit", QUESTION],
    ["shell", "d.tacit"],
    ["audit", "c.toml", "--trials", "1e7"],
    ["synthesize", "d.tacit", "{new}/rows.csv", "--rows", "20000000"],
    ["init", "{new}/c.toml", "users=u.csv"],
    ["export", "d.tacit", "{new}/archive"],
    ["demo", "--people", "2000000", "--no-serve"],
    [
        "release",
        "u.csv",
        "--epsilon",
        "1",
        "--collection",
        "c.toml",
        "--out",
        "{new}/r.parquet",
        "--ledger={new}/ledger",
    ],
]


@pytest.mark.parametrize(
    ("seconds", "words"),
    keeping(
        [(0.1, VERBS[0]), (0.5, VERBS[6]), (1.5, VERBS[4])],
        itertools.product([0.1, 0.5, 1.5], VERBS),
        "Ctrl-C in every verb at three moments",
    ),
    ids=lambda given: given[0] if isinstance(given, list) else given,
)
def test_ctrl_c_leaves_one_line_and_nothing_half_written(
    words: list[str], seconds: float, folder: Path, tmp_path: Path
) -> None:
    """While libraries load, while it works, and (for the shell) while it waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGUN, *(word.format(new=tmp_path) for word in words)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    if process.returncode == 0:
        assert not error, "it was faster"
    else:
        assert process.returncode == 130
        error = error.removeprefix(b"ledger was charged, but nothing was published.\n")
        assert error == b"\ntacit: interrupted\n"
    assert sorted(path.name for path in folder.iterdir()) == ["c.toml", "d.tacit", "reports", "u.csv"]
    for path in tmp_path.iterdir():
        WHOLE[path.name](path)


LATE = """
import atexit, os, signal
atexit.register(os.kill, os.getpid(), signal.SIGINT)  # called last: these are called in reverse order
from tacit.cli import main
raise SystemExit(main())
"""


def test_ctrl_c_after_the_work_is_done_changes_nothing(folder: Path) -> None:
    words = [sys.executable, "-c", LATE, "query", "d.tacit", QUESTION]
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("±") == 6


def _has_every_service(path: Path) -> None:
    assert {file.name for file in path.iterdir()} == {"contract.json", "users.parquet"}


def _opens(path: Path) -> None:
    tc.connect(path).close()


def _restores(path: Path) -> None:
    assert main(["import", str(path), str(path.with_suffix(".tacit"))]) == 0


def _has_every_row(path: Path) -> None:
    assert path.read_bytes().count(b"\n") == 20_000_001


WHOLE: dict[str, Callable[[Path], object]] = {
    "reports": _has_every_service,
    "d.tacit": _opens,
    "rows.csv": _has_every_row,
    "c.toml": lambda path: tc.Collection.from_toml(path.read_text()),
    "archive": _restores,
    "r.parquet": Release.load,
    "ledger": lambda path: Ledger(path).close(),
}
"""How each output shows that it is whole: where one is, it was written before the interruption came."""
