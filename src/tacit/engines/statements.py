"""Statements about an engine's own tables, in DuckDB's dialect: names are quoted, values are parameters."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.sql.printing import Statement
from tacit.tables.statements import Sql, compose

__all__ = ["codes_of", "count_of", "dimension_of", "insert_rows", "rows_of", "some_value", "unknown_rows"]


def dimension_of(name: str) -> str:
    """Return the table that holds a dimension."""
    return f"dimension_{name}"


def rows_of(table: str) -> Sql:
    """Return the statement of all rows of a table."""
    return compose("SELECT * FROM {table}", table=table)


def count_of(table: str) -> Sql:
    """Return the statement that counts a table's rows."""
    return compose("SELECT count(*) FROM {table}", table=table)


def codes_of(table: str) -> Sql:
    """Return the statement of the distinct codes of a channel, which is its parameter."""
    return compose("SELECT DISTINCT code FROM {table} WHERE channel = ? ORDER BY code", table=table)


def some_value(table: str, column: str) -> Sql:
    """Return the statement that returns a row if any value of a column is not NULL."""
    return compose("SELECT 1 FROM {table} WHERE {column} IS NOT NULL LIMIT 1", table=table, column=column)


def insert_rows(table: str, rows: Statement) -> Sql:
    """Return the statement that inserts the rows of another statement."""
    return compose("INSERT INTO {table} {rows}", table=table, rows=Sql(rows.text))


def unknown_rows(incoming: str, key: str, stored: str | None, elsewhere: Sequence[tuple[str, str]]) -> Sql:
    """Return the statement of incoming reports that are not stored, of people without rows elsewhere.

    Each table elsewhere is given with its key.
    """
    known = compose(" ANTI JOIN {stored} o USING ({key}, slot, channel)", stored=stored, key=key) if stored else Sql()
    for table, other_key in elsewhere:
        people = compose("SELECT {own} AS {key} FROM {table}", own=other_key, key=key, table=table)
        known = compose("{known} ANTI JOIN ({people}) USING ({key})", known=known, people=people, key=key)
    new = "SELECT DISTINCT ON ({key}, slot, channel) n.* FROM {incoming} n{known}"
    return compose(new, key=key, incoming=incoming, known=known)
