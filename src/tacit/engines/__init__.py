"""Where reports are stored and statements run: DuckDB by default, or PostgreSQL, Spark or a lake."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.engines.base import Engine
from tacit.engines.lake.place import is_lake
from tacit.errors import UsageError

__all__ = ["ENGINES", "EngineKind", "is_postgres", "is_there", "open_engine"]


@dataclass(frozen=True)
class EngineKind:
    """One kind of engine: whether a path and an ``engine=`` select it, and the function that opens it."""

    is_meant: Callable[[Any, Any], bool]
    opener: str
    """A function of path, engine and ``read_only``, as ``module:name``; the module is imported on first use."""

    def open(self, path: Any, engine: Any, *, read_only: bool) -> Engine:
        """Open it."""
        module, _, name = self.opener.partition(":")
        opened: Engine = getattr(importlib.import_module(module), name)(path, engine, read_only=read_only)
        return opened


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("postgresql:", "postgres:"))


def _is_session(value: Any) -> bool:
    """Return whether a value is a SparkSession, classic or Connect, without importing pyspark."""
    return type(value).__module__.startswith("pyspark.") and hasattr(value, "createDataFrame")


ENGINES: dict[str, EngineKind] = {
    "postgres": EngineKind(
        lambda path, engine: _is_address(path) or _is_address(engine), "tacit.engines.postgres:open_postgres"
    ),
    "lake": EngineKind(is_lake, "tacit.engines.lake.engine:open_lake"),
    "spark": EngineKind(
        lambda path, engine: engine == "spark" or _is_session(engine) or _is_session(path),
        "tacit.engines.spark:open_spark",
    ),
    "duckdb": EngineKind(
        lambda path, engine: engine == "duckdb" and isinstance(path, str | Path | None),
        "tacit.engines.duckdb:open_duckdb",
    ),
}
"""All engines; the first that matches is opened."""


def open_engine(path: Any, engine: Any, *, read_only: bool = False) -> Engine:
    """Open the engine that a path or an engine selects.

    ``read_only`` opens a file so that other processes can read it too; the other engines allow this anyway.
    """
    for kind in ENGINES.values():
        if kind.is_meant(path, engine):
            return kind.open(path, engine, read_only=read_only)
    message = "Pass a file or folder, or engine='duckdb', 'lake', 'postgresql://…', 'spark' or a SparkSession."
    raise UsageError(message, code="bad-option")


def is_postgres(path: Any, engine: Any) -> bool:
    """Return whether a path or an engine is the address of a PostgreSQL database."""
    return ENGINES["postgres"].is_meant(path, engine)


def is_there(path: str | Path) -> bool:
    """Return whether a database exists, to avoid creating one; servers and buckets check it themselves."""
    return _is_address(path) or Path(path).is_file() or is_lake(path, "")
