"""Nothing heavy is loaded before there is work to do. Seconds are measured in bench/start; here, what is in memory."""

from __future__ import annotations

import subprocess
import sys

import tacit as tc
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


FIRST_ANSWER = """
import sys
import tacit as tc
collection = tc.Collection.from_json(sys.argv[1])
db = tc.connect()
db.create(collection)
rows = {"uid": list(range(50)), "age": [1, 2] * 25}
db.load(collection.encode(t=rows))
db.sql("SELECT AVG(age) AS m FROM t WHERE age < 5")
print(*sorted(name for name in sys.modules if name.startswith(("tacit.model.", "tacit.answers.forecast."))))
"""


def test_an_unbiased_answer_loads_neither_models_nor_forecasts() -> None:
    """Their modules take 30 ms of a new process; most questions need none of them."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("age", 0, 9)])])
    text = tc.Collection(schema, 1.0, mechanism="hio").to_json()
    words = [sys.executable, "-c", FIRST_ANSWER, text]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["tacit.answers.forecast.methods"]
