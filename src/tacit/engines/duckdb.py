"""DuckDB: reports in keyless tables, contributions as Arrow tables, sums as plain SQL.

User text never reaches the engine: statements are built from the contract's names, and constants are parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.errors import EngineError, ReportError
from tacit.schema import Service

__all__ = ["DuckDB"]


class DuckDB:
    """An engine over one DuckDB database."""

    def __init__(self, path: str | Path | None = None) -> None:
        try:
            self._connection = duckdb.connect(str(path) if path is not None else ":memory:")
            self._connection.execute("CREATE TABLE IF NOT EXISTS tacit_collections (id TEXT, contract TEXT)")
        except duckdb.Error as cause:
            message = f"The database cannot be opened ({type(cause).__name__}). Name a file of tacit, or a new one."
            raise EngineError(message, code="unreadable-database") from None

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        rows = self._connection.execute("SELECT contract FROM tacit_collections ORDER BY rowid").fetchall()
        return [text for (text,) in rows]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        self._connection.execute("INSERT INTO tacit_collections VALUES (?, ?)", [name, text])

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Keep a public table; one of the same name is replaced."""
        connection = self._connection.cursor()
        connection.register("incoming", table)
        connection.execute("CREATE TABLE IF NOT EXISTS tacit_dimensions (name TEXT, key TEXT)")
        connection.execute("DELETE FROM tacit_dimensions WHERE name = ?", [name])
        connection.execute(f'CREATE OR REPLACE TABLE "dimension_{name}" AS SELECT * FROM incoming')  # noqa: S608
        connection.execute("INSERT INTO tacit_dimensions VALUES (?, ?)", [name, key])
        connection.close()

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        if not self.has_table("tacit_dimensions"):
            return []
        rows = self._connection.execute("SELECT name, key FROM tacit_dimensions ORDER BY name").fetchall()
        return [
            (name, key, self._connection.sql(f'SELECT * FROM "dimension_{name}"').to_arrow_table())  # noqa: S608
            for name, key in rows
        ]

    def has_table(self, table: str) -> bool:
        """Tell whether a report table exists."""
        query = "SELECT count(*) FROM information_schema.tables WHERE table_name = ?"
        [(count,)] = self._connection.execute(query, [table]).fetchall()
        return bool(count)

    def append(self, table: str, service: Service, reports: pa.Table, others: Sequence[tuple[str, str]] = ()) -> int:
        """Add reports of people who have reported neither here nor in others (tables and their keys).

        Return how many rows were refused.
        """
        key = f'"{service.key}"'
        connection, problem, refused = self._connection.cursor(), "", 0
        connection.register("incoming", reports)
        present = [(name, own) for name, own in others if self.has_table(name)]
        elsewhere = "".join(
            f' ANTI JOIN (SELECT "{own}" AS {key} FROM "{name}") USING ({key})'  # noqa: S608
            for name, own in present
        )
        try:
            # Two statements, each atomic by itself: in DuckDB 2.0.0 an anti join inside an explicit transaction missed
            # rows that an earlier one had inserted (200,000 rows, in memory), and people were stored twice.
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" AS SELECT * FROM incoming LIMIT 0')  # noqa: S608
            [(stored,)] = connection.execute(
                f'INSERT INTO "{table}" BY NAME SELECT DISTINCT ON ({key}, slot, channel) n.* FROM incoming n '  # noqa: S608
                f'ANTI JOIN "{table}" o USING ({key}, slot, channel){elsewhere}'
            ).fetchall()
            refused = reports.num_rows - stored
        except duckdb.Error as cause:  # its words may quote a key
            problem = f"The reports do not fit the stored ones ({type(cause).__name__}). Keep their types as they were."
        finally:
            connection.close()
        if problem:
            raise ReportError(problem, code="reports-do-not-fit")
        return refused

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel."""
        query = f'SELECT DISTINCT code FROM "{table}" WHERE channel = ? ORDER BY code'  # noqa: S608
        return np.asarray(self._connection.execute(query, [channel]).fetchnumpy()["code"], dtype=np.int64)

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Mapping[str, pa.Table]) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        connection, failure = self._connection.cursor(), ""
        try:
            for name, table in uploads.items():  # as tables of its own: of Arrow tables it does not know the size
                connection.register(f"arrow_{name}", table)
                connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM arrow_{name}")  # noqa: S608
            return connection.sql(statement, params=list(parameters)).to_arrow_table()
        except duckdb.Error as cause:  # its words may quote stored values
            failure = type(cause).__name__
        finally:
            connection.close()
        message = (
            f"The engine refused the question ({failure}). Compare and sum public columns by their own type: "
            "text with text, numbers with numbers."
        )
        raise EngineError(message)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
