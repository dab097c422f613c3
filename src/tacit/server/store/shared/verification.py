"""Read a whole shared store and compare its parts, in one snapshot, while collectors may be running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from tacit.collection import Collection
from tacit.encode.reports import report_table
from tacit.engines.postgres_changes import kept_rows
from tacit.server.store.base import Sizes, digests_of
from tacit.server.store.shared.session import Connection, connect
from tacit.server.store.verification import Verified
from tacit.tables.statements import compose

__all__ = ["read_only", "verify_analytical", "verify_inbox"]

ROWS = 10_000
"""Reports that are read at once."""

REPORTS = "SELECT place, person, slot, digest, content FROM tacit_reports ORDER BY place"

UNINDEXED = """
SELECT (SELECT count(*) FROM tacit_known k LEFT JOIN tacit_reports r USING (number) WHERE k.number IS NOT NULL AND
    (r.place, r.person, r.slot, r.digest) IS DISTINCT FROM (k.place, k.person, k.slot, k.digest)) +
  (SELECT count(*) FROM tacit_reports r LEFT JOIN tacit_known k USING (number) WHERE k.number IS NULL)
"""

MISCOUNTED = """
SELECT count(*) FROM (SELECT place, sum(known) AS n FROM tacit_sizes GROUP BY place) s
FULL JOIN (SELECT place, count(*) AS n FROM tacit_known GROUP BY place) k USING (place)
WHERE coalesce(s.n, 0) <> coalesce(k.n, 0)
"""

SIZES = """
SELECT collection, service, sum(known)::bigint, (SELECT count(*) FROM tacit_waiting w WHERE w.place = p.place),
  sum(damaged)::bigint, sum(lost)::bigint, sum(bulk)::bigint
FROM tacit_sizes JOIN tacit_places p USING (place) GROUP BY p.place, collection, service
"""


@contextmanager
def read_only(address: str) -> Iterator[Connection]:
    """Lend a connection that changes nothing and sees one state of the database."""
    with closing(connect(address)) as connection:
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.isolation_level, connection.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        with connection.transaction():
            yield connection


def verify_inbox(connection: Connection) -> Verified:
    """Check every report against its digest, the index of people against the reports, and the counts."""
    reports = damaged = 0
    with connection.cursor(name="reports") as cursor:
        cursor.execute(REPORTS)
        while rows := cursor.fetchmany(ROWS):
            reports += len(rows)
            damaged += sum(
                next(digests_of(place, [key], [slot], [content])) != digest
                for place, key, slot, digest, content in rows
            )
    [(unindexed,)] = connection.execute(UNINDEXED).fetchall()
    [(miscounted,)] = connection.execute(MISCOUNTED).fetchall()
    problems = {
        f"{damaged:,} of {reports:,} reports do not match their digests": damaged,
        f"{unindexed:,} rows of the index of people do not match the reports": unindexed,
        f"the counts of {miscounted:,} services are wrong": miscounted,
    }
    return Verified(reports, damaged, tuple(words for words, is_so in problems.items() if is_so))


def verify_analytical(connection: Connection) -> Verified:
    """Compare the number of reports that answers count with those that have left the inbox."""
    reports, problems = 0, []
    sizes = {(collection, service): Sizes(*counts) for collection, service, *counts in connection.execute(SIZES)}
    contracts = connection.execute("SELECT contract FROM tacit_contracts ORDER BY number").fetchall()
    for part in (part for (text,) in contracts for part in Collection.from_json(text).parts):
        for compiled in part.contract.services:
            name, table = compiled.service.name, report_table(part.id, compiled.service.name)
            rows = 0
            if connection.execute("SELECT to_regclass(quote_ident(%s))", [table]).fetchone() != (None,):
                [(rows,)] = connection.execute(compose("SELECT count(*) FROM {table}", table=table)).fetchall()
                if _kept_number(connection, table) not in (None, rows):
                    problems.append(f"the kept number of reports of {name} is wrong")
            stored, size = rows // len(compiled.channels), sizes.get((part.id, name), Sizes())
            reports += stored
            if stored < size.settled:
                problems.append(f"reports of {name} are missing")
            if stored > size.settled + size.pending + size.bulk:  # pending reports may be there already
                problems.append(f"there are more reports of {name} than the inbox knows")
    return Verified(reports, 0, tuple(problems))


def _kept_number(connection: Connection, table: str) -> int | None:
    """Return the kept number of rows of a report table; None if there is none, as in a store of an earlier version."""
    known = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('tacit_versions') AND attname = 'triggers'"
    return kept_rows(psycopg.RawCursor(connection), table) if connection.execute(known).fetchall() else None
