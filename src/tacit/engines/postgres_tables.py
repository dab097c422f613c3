"""Report tables of PostgreSQL: create them, index people, and decide how a batch finds the people who have reported."""

from __future__ import annotations

from tacit.engines.base import ReportBatch
from tacit.engines.dialect import short_name
from tacit.engines.postgres_columns import Connection, columns_of, kinds_of, quote, type_of

__all__ = ["create_table", "exists", "index_people", "is_looked_up"]

ROW_BYTES = 52
"""Minimum size of a report on disk."""

LOOKED_UP = 10
"""Ratio of table to batch size above which looking up each person is faster than reading the whole table."""


def exists(connection: Connection, table: str) -> bool:
    """Return whether a table exists."""
    query = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
    [(count,)] = connection.execute(query, [short_name(table)]).fetchall()
    return bool(count)


def create_table(connection: Connection, batch: ReportBatch) -> None:
    """Create a table for reports, partitioned by channel if there are several."""
    table, channels = quote(batch.table), sorted(set(batch.reports["channel"].to_pylist()))
    parts = " PARTITION BY LIST (channel)" if len(channels) > 1 else ""
    connection.execute(f"CREATE TABLE {table} ({columns_of(batch.reports)}){parts}")
    if parts:
        for channel in channels:  # reports of a person are complete, so every batch has all channels
            part = quote(f"{batch.table}_{channel}")
            connection.execute(f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES IN ({int(channel)})")


def index_people(connection: Connection, table: str, key: str) -> None:
    """Create an index on people unless it exists; doing so after the first batch is faster."""
    indexed = "SELECT count(*) FROM pg_index WHERE indrelid = to_regclass($1)"
    [(count,)] = connection.execute(indexed, [quote(table)]).fetchall()
    if not count:
        connection.execute(f"CREATE INDEX ON {quote(table)} ({quote(key)})")
        connection.execute(f"ANALYZE {quote(table)}")


def is_looked_up(connection: Connection, batch: ReportBatch, table: str, key: str) -> bool:
    """Return whether to look people up one by one: the table is far larger, and its index supports this type of key."""
    sizes = (
        "SELECT coalesce(sum(pg_relation_size(relid)), 0) "
        "FROM (SELECT relid FROM pg_partition_tree(to_regclass($1)) UNION SELECT to_regclass($1)) AS parts"
    )
    [(size,)] = connection.execute(sizes, [quote(table)]).fetchall()
    same = "SELECT format_type(to_regtype($1), NULL)"
    [(kind,)] = connection.execute(same, [type_of(batch.reports[batch.service.key].type)]).fetchall()
    if size < LOOKED_UP * ROW_BYTES * batch.rows or dict(kinds_of(connection, table)).get(short_name(key)) != kind:
        return False
    index_people(connection, table, key)
    return True
