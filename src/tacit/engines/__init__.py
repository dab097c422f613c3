"""Where reports live and statements run: DuckDB by default, PostgreSQL or Spark where they are used already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.engines.base import Engine
from tacit.engines.duckdb import DuckDB
from tacit.errors import UsageError

__all__ = ["open_engine"]


def open_engine(path: Any, engine: Any, *, read_only: bool = False) -> Engine:
    """Return the engine that a path or an engine names; heavy ones are imported only then.

    ``read_only`` opens a file so that other processes can read it, too; the other engines look after that themselves.
    """
    if _is_session(path):
        path, engine = None, path
    address = next((x for x in (path, engine) if isinstance(x, str) and x.startswith(("postgresql:", "postgres:"))), "")
    if address:
        from tacit.engines.postgres import Postgres

        return Postgres(address)
    if engine == "spark" or _is_session(engine):
        from tacit.engines.spark import Spark, local_session

        return Spark(local_session() if engine == "spark" else engine, path)
    if engine != "duckdb" or not isinstance(path, str | Path | None):
        message = "Name a file, or engine='duckdb', 'postgresql://…', 'spark' or a SparkSession."
        raise UsageError(message, code="bad-option")
    return DuckDB(path, read_only=read_only)


def _is_session(value: Any) -> bool:
    """Tell a SparkSession, classic or Connect, without importing pyspark."""
    return type(value).__module__.startswith("pyspark.") and hasattr(value, "createDataFrame")
