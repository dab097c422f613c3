"""An inbox in a PostgreSQL database that several collectors share: rows are looked up and stored in groups.

The database decides: a primary key allows one report per slot, and a transaction that conflicts with another
collector's is repeated. Transactions that store reports hold a shared lock; deletions and snapshots hold it
exclusively, so nobody is stored after their tombstone, and no number appears after a larger one was counted. The first
lock is older: a collector of version 2 or before holds it exclusively, so it never runs beside others.
"""

from __future__ import annotations

import random
import secrets
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

from tacit.engines.failures import failure_code
from tacit.errors import EngineError
from tacit.server.store.base import Identity, Lead, PendingReports, RacedError, Row, ServicePlace, Sizes, Standing
from tacit.server.store.quotas import USED
from tacit.server.store.shared.lease import Lease
from tacit.server.store.shared.progress import Progress
from tacit.server.store.shared.schema import VERSION, migrate
from tacit.server.store.shared.session import LOCK, Connection, address_of, connect, join, unreachable
from tacit.server.store.shared.statements import BEAT, HAS_LOCK, RESIZE, YESTERDAY
from tacit.server.store.tombstones import KEY_FILE
from tacit.server.store.validate import Person, person_of, stored_key
from tacit.tables.statements import Sql, compose

__all__ = ["PostgresStore"]

PROGRAM = version("tacit")

STORING, PEOPLE = 0x7461_6373, 0x7461_6370
"""Numbers of advisory locks: "tacs" for storing, "tacp" for hashes of people."""

BUCKETS = 1024
"""Number of hash buckets of people for locks; PostgreSQL has room for about 6,000 locks."""

SHARDS = 16
"""Rows of each total: collectors that update the same row wait for each other's commits."""

LISTED = Sql("number = ANY(%s)")

RACES = (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


class PostgresStore:
    """Rows in a database."""

    failures: tuple[type[Exception], ...] = (psycopg.Error, EngineError)
    is_shared = True
    any_forgotten = True
    """Always true: other collectors delete people too."""

    def __init__(self, address: str, folder: Path) -> None:
        self.collector, self.reopened = secrets.token_hex(8), False
        self._opening = threading.Lock()  # of connections: several threads read
        self.address, self._shard = address_of(address, self.collector), random.SystemRandom().randrange(SHARDS)
        try:
            with ExitStack() as opened:  # closed again if the store is not usable
                self._writer = opened.enter_context(closing(join(self.address)))
                self._reader = opened.enter_context(closing(connect(self.address)))
                migrate(self._writer, folder / KEY_FILE)
                opened.pop_all()
        except psycopg.Error as cause:
            raise unreachable(cause) from None
        self._lease, self._progress = Lease(self.address, self.collector), Progress()

    def check(self) -> None:
        """Connect again, with the lock, if the connection was lost."""
        try:
            if not self._writer.closed and self._rows(HAS_LOCK, [LOCK]) == [(1,)]:
                return
        except psycopg.Error:
            pass  # the connection broke
        with self._opening:
            self._close_connections()
            self._writer = join(self.address)
            self._reader = connect(self.address)
        self.reopened = True
        self._progress.compare(self._writer)

    def _beside(self) -> Connection:
        """Return the connection that reads concurrently with the writer."""
        with self._opening:
            if self._reader.closed:
                self._reader = connect(self.address)
            return self._reader

    def lead(self, seconds: float) -> AbstractContextManager[Lead]:
        """Lead the collectors of this store; yield whether it leads, after waiting up to ``seconds``."""
        return self._lease.lead(seconds)

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._writer.execute(query, parameters).fetchall()

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure: a full disk, an unreachable store, a lost lease, or changed tables."""
        return failure.code if isinstance(failure, EngineError) else failure_code(failure) or "store-altered"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing; nothing if the thread has lost its lease."""
        if self._writer.closed:
            self.check()
        try:
            with self._progress.transaction(), self._writer.transaction():
                self._lease.check(self._writer)
                yield
        except RACES:
            raise RacedError from None

    def begin_storing(self, people: Iterable[Person]) -> None:
        """Block deletions until the transaction ends, and other collectors from storing these people."""
        self._writer.execute("SELECT pg_advisory_xact_lock_shared(%s)", [STORING])
        buckets = sorted({zlib.crc32(stored_key(person).encode(errors="replace")) % BUCKETS for person in people})
        if buckets:  # in order, to avoid deadlocks
            locks = (
                "SELECT pg_advisory_xact_lock(%s, b) FROM (SELECT b FROM unnest(%s::int[]) AS u (b) ORDER BY b) AS s"
            )
            self._writer.execute(locks, [PEOPLE, buckets])

    def _stop_storing(self) -> None:
        """Wait for running transactions that store reports, and block others until the transaction ends."""
        self._writer.execute("SELECT pg_advisory_xact_lock(%s)", [STORING])

    def standing(self) -> Standing:
        """Return what other collectors may have changed."""
        self._progress.compare(self._beside())
        query = (
            "SELECT (SELECT count(*) FROM tacit_deletions), (SELECT count(*) FROM tacit_contracts), "
            "EXISTS (SELECT 1 FROM tacit_waiting), "
            "ARRAY(SELECT name FROM tacit_state WHERE starts_with(name, 'unbound/')), "
            "ARRAY(SELECT program FROM tacit_collectors WHERE seen > clock_timestamp() - interval '10 seconds'), "
            "ARRAY(SELECT value FROM tacit_state WHERE starts_with(name, %s) AND name <> %s)"
        )
        parameters = [f"{USED} ", f"{USED} {self.collector}"]
        [(deletions, contracts, is_waiting, unbound, programs, used)] = (
            self._beside().execute(query, parameters).fetchall()
        )
        return Standing(
            deletions, contracts, is_waiting, frozenset(unbound), frozenset([PROGRAM, *programs]), tuple(used)
        )

    def places(self) -> list[ServicePlace]:
        """Return all places."""
        query = "SELECT place, collection, service, round FROM tacit_places ORDER BY place"
        return [ServicePlace(*row) for row in self._rows(query)]

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""
        insert = (
            "INSERT INTO tacit_places (collection, service, round) VALUES (%s, %s, %s) "
            "ON CONFLICT (collection, service) DO UPDATE SET round = excluded.round RETURNING place"
        )
        [(place,)] = self._rows(insert, [collection, service, round_])
        return int(place)

    def expect_parts(self) -> None:
        """Do nothing: the index exists."""

    def known_digests(self, identities: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""
        query = (
            "SELECT k.place, k.person, k.slot, k.digest FROM tacit_known k "
            "JOIN (SELECT DISTINCT * FROM unnest(%s::int[], %s::text[], %s::int[])) AS a (place, person, slot) "
            "USING (place, person, slot)"
        )
        return {
            Identity(place, person_of(person), slot): digest
            for place, person, slot, digest in self._rows(query, _columns(identities))
        }

    def with_reports(self, pairs: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return which of the given places and people have any report."""
        query = (
            "SELECT DISTINCT k.place, k.person FROM tacit_known k "
            "JOIN unnest(%s::int[], %s::text[]) AS a (place, person) USING (place, person)"
        )
        rows = list(pairs)
        if not rows:
            return set()
        columns = [[place for place, _ in rows], [stored_key(person) for _, person in rows]]
        return {(place, person_of(person)) for place, person in self._rows(query, columns)}

    def forgotten(self, tombstones: Mapping[bytes, str]) -> set[bytes]:
        """Return which of the given tombstones, by collection, exist."""
        query = (
            "SELECT digest FROM tacit_forgotten "
            "JOIN unnest(%s::text[], %s::bytea[]) AS a (collection, digest) USING (collection, digest)"
        )
        return {digest for (digest,) in self._rows(query, [list(tombstones.values()), list(tombstones)])}

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports."""
        rows = sorted(rows, key=lambda row: (row.identity.place, stored_key(row.identity.person), row.identity.slot))
        columns = _columns([row.identity for row in rows])  # in order, to avoid deadlocks
        reports = (
            "WITH new AS (INSERT INTO tacit_reports (place, person, slot, digest, content) "
            "SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::bytea[], %s::bytea[]) "
            "RETURNING number, place, person, slot, digest), "
            "listed AS (INSERT INTO tacit_waiting SELECT number, place, person FROM new), "
            "known AS (INSERT INTO tacit_known SELECT place, person, slot, digest, number FROM new) "
            "SELECT coalesce(max(number), 0) FROM new"
        )
        [(last,)] = self._rows(reports, [*columns, [row.digest for row in rows], [row.content for row in rows]])
        self._progress.note(last)
        for place, more in sorted(Counter(row.identity.place for row in rows).items()):
            self._resize(place, known=more)

    def _resize(self, place: int, *, known: int = 0, damaged: int = 0, lost: int = 0, bulk: int = 0) -> None:
        self._writer.execute(RESIZE, [place, known, damaged, lost, bulk, self._shard])

    def add_bulk(self, place: int, reports: int) -> None:
        """Record reports that were loaded in bulk."""
        self._resize(place, bulk=reports)

    def last_pending(self, place: int) -> int:
        """Return the number of the newest pending report of a place, or 0."""
        row = self._beside().execute("SELECT max(number) FROM tacit_waiting WHERE place = %s", [place]).fetchone()
        return int(row[0]) if row and row[0] else 0

    def waiting(self, places: Sequence[int]) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of some places, with their people; later numbers are larger."""
        self._stop_storing()
        query = "SELECT number, person FROM tacit_waiting WHERE place = ANY(%s)"
        return [(number, person_of(key)) for number, key in self._rows(query, [list(places)])]

    def pending(self, place: int, sends: int, people: int, numbers: Sequence[int] | None = None) -> PendingReports:
        """Return pending reports of people whose slots have all arrived, oldest first; or those given by `numbers`."""
        complete = Sql(
            "w.person IN (SELECT person FROM tacit_waiting WHERE place = %s GROUP BY person HAVING count(*) = %s "
            "ORDER BY min(number) LIMIT %s)"
        )
        chosen, parameters = (complete, [place, sends, people]) if numbers is None else (LISTED, [list(numbers)])
        query = (
            "SELECT number, r.person, slot, digest, content, "
            "(SELECT sum(known - damaged - lost)::bigint FROM tacit_sizes WHERE place = %s) - "
            "(SELECT count(*) FROM tacit_waiting WHERE place = %s) "
            "FROM tacit_reports r JOIN tacit_waiting w USING (number) "
            "WHERE w.place = %s AND {chosen} ORDER BY number"
        )
        rows = self._beside().execute(compose(query, chosen=chosen), [place, place, place, *parameters]).fetchall()
        if not rows:
            return PendingReports()
        numbers, keys, slots, digests, contents, settled = zip(*rows, strict=True)
        return PendingReports(numbers, [person_of(key) for key in keys], slots, digests, contents, settled[0])

    def sizes(self) -> dict[int, Sizes]:
        """Return the numbers of reports, by place."""
        query = (
            "SELECT s.place, known, coalesce(n, 0), damaged, lost, bulk FROM (SELECT place, sum(known) AS known, "
            "sum(damaged) AS damaged, sum(lost) AS lost, sum(bulk) AS bulk FROM tacit_sizes GROUP BY place) s "
            "LEFT JOIN (SELECT place, count(*) AS n FROM tacit_waiting GROUP BY place) w ON w.place = s.place"
        )
        return {place: Sizes(*map(int, counts)) for place, *counts in self._beside().execute(query).fetchall()}

    def drop(self, place: int, numbers: Sequence[int]) -> None:
        """Mark reports as no longer pending, now that the analytical database has them."""
        del place  # numbers belong to one place
        self._writer.execute("DELETE FROM tacit_waiting WHERE number = ANY(%s)", [list(numbers)])

    def set_aside(self, place: int, numbers: Sequence[int]) -> None:
        """Mark damaged reports as no longer pending; they are never counted."""
        self.drop(place, numbers)
        insert = "INSERT INTO tacit_damaged SELECT *, %s FROM unnest(%s::bigint[]) ON CONFLICT DO NOTHING"
        self._resize(place, damaged=self._writer.execute(insert, [place, list(numbers)]).rowcount)

    def refill(self, after: int, most: int) -> int:
        """Mark up to `most` reports after a number as pending again; return the last number, or 0 at the end."""
        [(last,)] = self._rows("SELECT max(number) FROM tacit_reports")
        if last is None or after >= last:
            return 0
        self._writer.execute(
            "INSERT INTO tacit_waiting SELECT number, place, person FROM tacit_reports WHERE number > %s "
            "AND number <= %s AND number NOT IN (SELECT number FROM tacit_damaged) ON CONFLICT DO NOTHING",
            [after, after + most],
        )
        return after + most

    def lacks_contents(self) -> bool:
        """Return whether there are reports without content, from an earlier version."""
        return bool(self._rows("SELECT 1 FROM tacit_known WHERE number IS NULL LIMIT 1"))

    def count_lost(self) -> None:
        """Mark the reports lost with an analytical database: those without content, and all loaded in bulk."""
        self._writer.execute("UPDATE tacit_sizes SET lost = 0")
        lost = "SELECT place, count(*) FROM tacit_known WHERE number IS NULL GROUP BY place ORDER BY place"
        for place, count in self._rows(lost):
            self._resize(place, lost=count)

    def state(self, name: str) -> str | None:
        """Return a remembered setting, or None."""
        rows = self._rows("SELECT value FROM tacit_state WHERE name = %s", [name])
        return rows[0][0] if rows else None

    def remember(self, name: str, value: str) -> None:
        """Remember a setting."""
        insert = "INSERT INTO tacit_state VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._writer.execute(insert, [name, value])

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by collection id, in order of publication."""
        return dict(self._rows("SELECT id, contract FROM tacit_contracts ORDER BY number"))

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract, without which reports cannot be read."""
        insert = "INSERT INTO tacit_contracts (id, contract) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(insert, [name, text])

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield a heartbeat; the server maintains itself."""
        yield self._beat

    def _beat(self) -> None:
        """Record a heartbeat, and remove collectors without one for a minute."""
        with suppress(psycopg.Error), self._writer.transaction():
            row = [self.collector, PROGRAM, VERSION]
            self._writer.execute(BEAT, row)
            gone = "DELETE FROM tacit_collectors WHERE seen < clock_timestamp() - interval '1 minute' RETURNING id"
            names = [f"probe {name}" for (name,) in self._rows(gone)]
            self._writer.execute("DELETE FROM tacit_state WHERE name = ANY(%s)", [names])
            self._writer.execute(YESTERDAY, [f"{USED} "])

    def forget(self, collection: str, service: str, tombstone: bytes, places: Sequence[int], person: Person) -> int:
        """Delete a person, leave a tombstone, and record a pending deletion; return how many reports were known."""
        self._stop_storing()
        key = stored_key(person)
        forgotten = "INSERT INTO tacit_forgotten VALUES (%s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(forgotten, [collection, tombstone])
        to_do = "INSERT INTO tacit_deletions VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(to_do, [collection, service, key])
        known = 0
        for place in places:
            delete = "DELETE FROM tacit_known WHERE place = %s AND person = %s RETURNING number"
            rows = [number for (number,) in self._rows(delete, [place, key])]
            numbers = [number for number in rows if number is not None]
            for table in ("tacit_reports", "tacit_waiting"):
                self._writer.execute(compose("DELETE FROM {table} WHERE number = ANY(%s)", table=table), [numbers])
            damaged = self._writer.execute("DELETE FROM tacit_damaged WHERE number = ANY(%s)", [numbers]).rowcount
            [(lost,)] = self._rows("SELECT coalesce(sum(lost), 0)::bigint FROM tacit_sizes WHERE place = %s", [place])
            fewer = min(len(rows) - len(numbers), lost)
            self._resize(place, known=-len(rows), damaged=-damaged, lost=-fewer)
            known += len(rows)
        return known

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have applied yet."""
        rows = self._rows("SELECT collection, service, person FROM tacit_deletions")
        return [(collection, service, person_of(key)) for collection, service, key in rows]

    def finish_deletion(self, collection: str, service: str, person: Person) -> None:
        """Record that the analytical database has applied a deletion."""
        done = "DELETE FROM tacit_deletions WHERE collection = %s AND service = %s AND person = %s"
        self._writer.execute(done, [collection, service, stored_key(person)])

    def close(self) -> None:
        """Close the connections, and unregister this collector."""
        self._lease.close()
        with suppress(psycopg.Error):
            self._writer.execute("DELETE FROM tacit_collectors WHERE id = %s", [self.collector])
            self._writer.execute("DELETE FROM tacit_state WHERE name = %s", [f"probe {self.collector}"])
        self._close_connections()

    def _close_connections(self) -> None:
        self._reader.close()
        self._writer.close()


def _columns(identities: Sequence[Identity]) -> list[list[Any]]:
    return [
        [identity.place for identity in identities],
        [stored_key(identity.person) for identity in identities],
        [identity.slot for identity in identities],
    ]
