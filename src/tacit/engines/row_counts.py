"""How many rows a report table has."""

from __future__ import annotations

from tacit.engines.base import CountsRows, Engine
from tacit.sql.report_tables import count_rows

__all__ = ["stored_rows"]


def stored_rows(engine: Engine, table: str) -> int:
    """Return how many rows a report table has."""
    if isinstance(engine, CountsRows):
        return engine.count_rows(table)
    return int(engine.fetch(*count_rows(table), {})["n"][0].as_py())
