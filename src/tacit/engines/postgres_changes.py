"""Versions of the reports in a PostgreSQL database, which every writer changes.

Every report table has a trigger that gives it a new random version in the transaction of the change, so a version is
visible exactly when the change is. A database restored from a copy has the versions of the copy.
"""

from __future__ import annotations

from tacit.engines.postgres_columns import Connection, quote

__all__ = ["prepare_versions", "version_of", "watch"]

TRIGGER = "tacit_changed"

FUNCTION = """
CREATE FUNCTION tacit_note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  INSERT INTO {schema}.tacit_versions VALUES (TG_TABLE_NAME, gen_random_uuid())
  ON CONFLICT (name) DO UPDATE SET version = excluded.version;
  RETURN NULL;
END $body$
"""
"""Qualified with its schema: it runs with its owner's rights, under any search path of the caller."""

VERSIONS = """
SELECT string_agg(v.version::text, ' ' ORDER BY c.relname), count(*) = count(t.tgrelid)
FROM pg_class c
LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = $1 AND t.tgenabled = 'A'
LEFT JOIN tacit_versions v ON v.name = c.relname
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND starts_with(c.relname, 'reports_')
"""


def prepare_versions(connection: Connection) -> None:
    """Create the table and trigger function of versions, unless they exist."""
    connection.execute("CREATE TABLE IF NOT EXISTS tacit_versions (name TEXT PRIMARY KEY, version UUID)")
    [(schema, known)] = connection.execute("SELECT current_schema(), to_regproc('tacit_note_change')").fetchall()
    if known is None:
        connection.execute(FUNCTION.format(schema=quote(schema)))


def watch(connection: Connection, table: str) -> None:
    """Give a report table and its partitions a version that every change renews."""
    unwatched = (
        "SELECT relid::regclass::text FROM pg_partition_tree(to_regclass($1)) UNION SELECT to_regclass($1)::text "
        "EXCEPT SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = $2"
    )
    for (name,) in connection.execute(unwatched, [quote(table), TRIGGER]).fetchall():
        connection.execute(
            f"CREATE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION tacit_note_change()"
        )
        connection.execute(f"ALTER TABLE {name} ENABLE ALWAYS TRIGGER {TRIGGER}")


def version_of(connection: Connection) -> str | None:
    """Return the versions of all report tables; None if one of them may have changed unnoticed."""
    [(versions, all_watched)] = connection.execute(VERSIONS, [TRIGGER]).fetchall()
    return (versions or "") if all_watched else None
