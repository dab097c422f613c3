"""Versions and numbers of the reports in a PostgreSQL database, which every writer changes.

Every report table has a trigger that gives it a new random version in the transaction of the change, so a version is
visible exactly when the change is. A database restored from a copy has the versions of the copy.

PostgreSQL reads a whole table to count its rows. So writers of this package keep the number beside the version, in the
transaction of their change. The trigger removes it, so a change by anybody else leaves none, and rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tacit.engines.dialect import short_name
from tacit.engines.postgres_columns import Connection, compose_postgres, quote
from tacit.tables.statements import Sql, compose

__all__ = ["Change", "change_rows", "count_rows", "kept_rows", "prepare_versions", "version_of", "watch"]

TRIGGER = "tacit_changed"

LOCK = "LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"

BODY = """
BEGIN
  INSERT INTO {schema}.tacit_versions (name, version) VALUES (TG_TABLE_NAME, gen_random_uuid())
  ON CONFLICT (name) DO UPDATE SET version = excluded.version, rows = NULL;
  UPDATE {schema}.tacit_versions SET rows = NULL
  WHERE rows IS NOT NULL AND name = (SELECT relname FROM pg_class WHERE oid = pg_partition_root(TG_RELID));
  RETURN NULL;
END """
"""Qualified with its schema: it runs with its owner's rights, under any search path of the caller."""

FUNCTION = """
CREATE OR REPLACE FUNCTION tacit_note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $body${body}$body$
"""

OLD_FUNCTION = """
SELECT current_schema(), coalesce((SELECT prosrc FROM pg_proc WHERE oid = to_regproc('tacit_note_change')), '')
"""

MARKS = Sql("""
WITH parts AS (SELECT relid FROM pg_partition_tree(to_regclass($1)) UNION SELECT to_regclass($1)),
marks AS (
  SELECT array_agg(concat(t.oid, ' ', t.xmin) ORDER BY t.oid) AS triggers, count(*) = count(t.oid) AS all_watched
  FROM parts LEFT JOIN pg_trigger t ON t.tgrelid = relid AND t.tgname = $2 AND t.tgenabled = 'A')
""")
"""What a kept number belongs to: a table that was dropped, restored or left without its trigger has other marks."""

KEPT = compose(
    "{marks} SELECT rows FROM tacit_versions JOIN marks USING (triggers) "
    "WHERE name = $3 AND rows IS NOT NULL AND all_watched",
    marks=MARKS,
)

KEEP = compose(
    "{marks} UPDATE tacit_versions v SET rows = $4, triggers = marks.triggers FROM marks WHERE name = $3", marks=MARKS
)

VERSIONS = """
SELECT string_agg(v.version::text, ' ' ORDER BY c.relname), count(*) = count(t.tgrelid)
FROM pg_class c
LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = $1 AND t.tgenabled = 'A'
LEFT JOIN tacit_versions v ON v.name = c.relname
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND starts_with(c.relname, 'reports_')
"""


def prepare_versions(connection: Connection) -> None:
    """Create the table and trigger function of versions, unless they exist."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS tacit_versions (name TEXT PRIMARY KEY, version UUID, rows BIGINT, triggers TEXT[])"
    )
    [(schema, known)] = connection.execute(OLD_FUNCTION).fetchall()
    body = BODY.format(schema=quote(schema))
    if known != body:  # an earlier program's, which keeps no numbers
        connection.execute("ALTER TABLE tacit_versions ADD COLUMN IF NOT EXISTS rows BIGINT")
        connection.execute("ALTER TABLE tacit_versions ADD COLUMN IF NOT EXISTS triggers TEXT[]")
        connection.execute(FUNCTION.format(body=body))


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


class Change:
    """A change of a report table in one transaction; ``more`` is the number of rows that it adds."""

    more = 0


@contextmanager
def change_rows(connection: Connection, table: str) -> Iterator[Change]:
    """Change a report table that nobody else changes meanwhile, and keep the number of its rows."""
    connection.execute(compose_postgres(LOCK, table=table))
    rows, change = count_rows(connection, table), Change()
    watch(connection, table)
    yield change
    connection.execute(KEEP, [quote(table), TRIGGER, short_name(table), rows + change.more])


def count_rows(connection: Connection, table: str) -> int:
    """Return the number of rows of a report table, as kept or else counted."""
    number = kept_rows(connection.cursor(), table)
    if number is not None:
        return number
    [(rows,)] = connection.execute(compose_postgres("SELECT count(*) FROM {table}", table=table)).fetchall()
    return int(rows)


def kept_rows(cursor: psycopg.Cursor[tuple[int]], table: str) -> int | None:
    """Return the kept number of rows of a report table; None if others may have changed it since."""
    rows = cursor.execute(KEPT, [quote(table), TRIGGER, short_name(table)]).fetchall()
    return int(rows[0][0]) if rows else None
