"""Nothing heavy is loaded before there is work to do. Seconds are measured in bench/start; here, what is in memory."""

from __future__ import annotations

import subprocess
import sys

from tacit.central import METHODS
from tacit.cli.command import VERBS

HEAVY = {"numpy", "duckdb", "sqlglot", "pyarrow", "uvicorn", "starlette", "opendp", "pyspark", "asyncio", "sqlite3"}

PROGRAM = """
import contextlib, io, sys
import tacit
def loaded(step):
    print(step, *sorted(name for name in sys.modules if name in {heavy}))
loaded("import")
from tacit.cli import main
for words in {calls}:
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        main(words)
    assert printed.getvalue().startswith(("usage: tacit", "tacit 0")), words
    loaded("_".join(words))
tacit.Collection
loaded("work")
"""


def test_help_and_import_load_nothing_heavy() -> None:
    calls = [["--version"], ["--help"], *([verb, "--help"] for verb in VERBS)]
    words = [sys.executable, "-c", PROGRAM.format(heavy=HEAVY, calls=calls)]
    *light, work = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert light == ["import", *("_".join(call) for call in calls)]
    assert {"numpy", "pyarrow"} <= set(work.split())  # so the check sees what is loaded


def test_the_help_of_release_names_all_methods() -> None:
    words = [sys.executable, "-m", "tacit.cli", "release", "--help"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert f"{', '.join(METHODS)} (default auto)" in " ".join(text.split())
