"""The raw rows of a demo's synthetic people, so that exact answers can be shown beside the estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from tacit.errors import EngineError
from tacit.sql.parse import parse
from tacit.tables.statements import compose

__all__ = ["Demo"]


@dataclass(frozen=True)
class Demo:
    """The raw tables of a demo, questions to start with, and people to try.

    Parameters
    ----------
    tables : dict
        The raw rows of each service: of the people whose reports were loaded.
    questions : sequence of dict
        A ``title`` and its ``sql``.
    people : sequence of dict
        Sample people for the owner's screen: ``person``, ``name`` and ``rows`` of each service. They are not in the
        tables, so that they can report themselves.
    """

    tables: Mapping[str, pa.Table]
    questions: Sequence[Mapping[str, str]]
    people: Sequence[Mapping[str, Any]]
    _engine: duckdb.DuckDBPyConnection = field(init=False, repr=False)

    def __post_init__(self) -> None:
        engine = duckdb.connect(config={"enable_external_access": "false"})
        for name, table in self.tables.items():
            engine.register("given", table)
            engine.execute(compose("CREATE TABLE {table} AS SELECT * FROM given", table=name))
            engine.unregister("given")
        engine.execute("SET lock_configuration = true")
        object.__setattr__(self, "_engine", engine)

    def exact(self, text: str) -> dict[str, Any]:
        """Answer one SELECT from the raw rows: its column names and its rows."""
        parse(text)  # only a question reaches the tables
        try:
            answer = self._engine.cursor().execute(text)
            return {"columns": [column[0] for column in answer.description], "rows": answer.fetchall()}
        except duckdb.Error as cause:
            message = (
                "The demo's raw tables cannot answer this question: it uses functions that exist for estimates only."
            )
            raise EngineError(message, code="not-exact") from cause

    def to_json(self) -> dict[str, Any]:
        """Return what the screens need."""
        loaded = {name: table.num_rows for name, table in self.tables.items()}
        return {"demo": True, "loaded": loaded, "people": list(self.people), "questions": list(self.questions)}
