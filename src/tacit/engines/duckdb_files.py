"""Open, repair and recognise DuckDB files."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from tacit.errors import EngineError

__all__ = ["SHUT", "UNUSABLE", "open_file"]

SHUT: dict[str, Any] = {"enable_external_access": "false", "lock_configuration": "true"}
"""Settings of every database: it reads and writes its own file, and nothing else."""

MAGIC, MAGIC_AT = b"DUCK", 8
"""The magic bytes of a DuckDB file, and their position."""

UNUSABLE = ("?",) if os.name == "nt" else ("?", "\\")
"""Unusable characters in paths: with the first, DuckDB 2.0 puts its log elsewhere; it reads the second as a slash."""


def open_file(path: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open a file; one that this process already writes to can only be opened with the same settings."""
    _check_format(path)
    if read_only:
        try:
            return duckdb.connect(path, read_only=True, config=SHUT)
        except duckdb.ConnectionException:
            pass
    elif path != ":memory:" and not Path(path).exists():
        _create(Path(path))
    return duckdb.connect(path, config=SHUT)


def _check_format(path: str) -> None:
    """Refuse files of another format: DuckDB would read a CSV file into memory and lose the reports loaded into it."""
    if path == ":memory:":
        return
    problem = "" if re.match(r"(\w{2,}:)(?!\\)", path) is None else "It is an address, not a file."
    if not problem and Path(path).is_file():
        with Path(path).open("rb") as file:
            if file.read(MAGIC_AT + len(MAGIC))[MAGIC_AT:] != MAGIC:
                problem = "It is not a DuckDB file."
    if problem:
        message = f"{Path(path).name!r} cannot be opened as a database. {problem} Name a tacit database or a new file."
        raise EngineError(message, code="unreadable-database")


def _create(path: Path) -> None:
    """Create a new file atomically: after an interruption it could never be opened."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="unfinished-") as folder:
        target = Path(folder) / path.name
        duckdb.connect(str(target)).close()
        target.replace(path)
