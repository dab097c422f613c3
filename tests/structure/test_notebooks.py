"""Notebooks run: their pages in test_docs, what is made of them in a kernel of Jupyter and in marimo. And the magic."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

import tacit as tc
from docs.notebooks import HERE, files
from support.tiers import keeping

JUPYTER = sorted(HERE.glob("*.ipynb"))
MARIMO = sorted((HERE / "marimo").glob("*.py"))


def test_notebooks_are_current() -> None:
    made = files()
    assert {path: path.read_text() for path in made} == made, "run make docs"
    assert set(made) == {*JUPYTER, *MARIMO}
    assert len(JUPYTER) == len(MARIMO) == 5


@pytest.mark.filterwarnings("ignore")  # of other packages
@pytest.mark.parametrize("path", keeping(JUPYTER[-1:], JUPYTER, "notebooks in a kernel of Jupyter; one stays"))
def test_notebooks_run_in_a_kernel(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    asyncio.set_event_loop_policy(None)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.get("outputs") for cell in book.cells)


@pytest.mark.parametrize("path", keeping(MARIMO[-1:], MARIMO, "notebooks in marimo; one stays"))
def test_notebooks_run_in_marimo(path: Path, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture
def shell() -> Any:
    """Lend a shell that has loaded the extension, with a database in its variable db."""
    made = InteractiveShell()
    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=9)])
    collection = tc.Collection(tc.Schema([users]), epsilon=8.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users={"uid": range(500), "age": np.arange(500) % 10}, rng=tc.insecure_rng(1)))
    made.user_ns["db"] = db
    made.run_line_magic("load_ext", "tacit")
    return made


QUESTION = "SELECT COUNT(*) AS n FROM users WHERE age < 5"


def test_the_magic_asks_and_keeps_the_answer(shell: Any) -> None:
    shell.run_line_magic("tacit", "db")
    answer = shell.run_cell_magic("tacit", "kept --confidence 0.9", QUESTION)
    assert shell.user_ns["kept"] is answer
    plain = shell.user_ns["db"].sql(QUESTION, confidence=0.9)["n"]
    assert (answer["n"].low, answer["n"].high) == (plain.low, plain.high)
    assert "<table" in answer._repr_html_()
    assert shell.run_cell_magic("tacit", "--consistent", QUESTION)["n"].value >= 0
    expected = shell.run_cell_magic("tacit", "--users 1000", QUESTION)["n"].error
    assert expected == shell.user_ns["db"].collections[0].predict(QUESTION, users=1_000)["n"].error


@pytest.mark.parametrize(
    ("line", "cell", "code"),
    [
        ("", None, "bad-option"),
        ("nowhere.tacit", None, "no-database"),
        ("", QUESTION, "no-database"),
        ("--confidence many", QUESTION, "bad-option"),
        ("one two", QUESTION, "bad-option"),
    ],
)
def test_the_magic_refuses_with_one_line(shell: Any, line: str, cell: str | None, code: str, tmp_path: Path) -> None:
    if line == "nowhere.tacit":
        line = str(tmp_path / "folder" / line)
    ask = [shell.run_line_magic, line] if cell is None else [shell.run_cell_magic, line, cell]
    with pytest.raises(tc.TacitError) as refused:
        ask[0]("tacit", *ask[1:])
    assert refused.value.code in (code, "unreadable-database")
    assert refused.value._render_traceback_() == [f"{type(refused.value).__name__} {refused.value}"]  # type: ignore[attr-defined]


def test_a_wrong_question_shows_where(shell: Any) -> None:
    shell.run_line_magic("tacit", "db")
    with pytest.raises(tc.TacitError) as refused:
        shell.run_cell_magic("tacit", "", "SELECT agee FROM users")
    assert "~~~~" in refused.value._render_traceback_()[0]  # type: ignore[attr-defined]
