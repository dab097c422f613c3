"""A wallet: a person's drawn reports and what each cost, in one SQLite file.

Charge, report and outbox change in one transaction, which is synced to disk before anything is sent. So no crash leaves
a report that was sent but not stored (it would be drawn again), stored but not charged, or charged but never sent. A
report is drawn once per (collection, person, service); claiming it again returns the stored one. No raw value is
stored.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.client.cap import Cap, Spent, day_of
from tacit.client.record import is_person
from tacit.errors import PrivacyError, UsageError

__all__ = ["Claim", "Entry", "Person", "Waiting", "Wallet"]

Person = int | str

FORMAT = 1
"""File format. Format 0 had no tiers and days, and let `record` draw and release in two transactions."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS entries (collection TEXT, person TEXT, service TEXT, round TEXT, epsilon TEXT,
      PRIMARY KEY (collection, person, service)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS reports (number INTEGER PRIMARY KEY, collection TEXT, person TEXT, service TEXT,
      slot INTEGER, body TEXT, status TEXT, code TEXT, UNIQUE (collection, person, service, slot))""",
    "CREATE INDEX IF NOT EXISTS waiting ON reports (collection, number) WHERE status = 'waiting'",
    """CREATE TABLE IF NOT EXISTS forgotten (collection TEXT, person TEXT, told INTEGER,
      PRIMARY KEY (collection, person))""",
    "CREATE TABLE IF NOT EXISTS contracts (collection TEXT PRIMARY KEY, contract TEXT)",
    "CREATE TABLE IF NOT EXISTS unasked (collection TEXT, person TEXT, PRIMARY KEY (collection, person)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS spending ON entries (person)",
    *(f"ALTER TABLE entries ADD COLUMN {name} TEXT NOT NULL DEFAULT ''" for name in ("tier", "services", "url", "day")),
)
"""Statements that migrate a file of format 0, or an empty one, to this format."""

BESIDE = (
    """CREATE TABLE IF NOT EXISTS coins (collection TEXT, person TEXT, coin TEXT,
      PRIMARY KEY (collection, person)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS unasked_services (collection TEXT, person TEXT, service TEXT,
      PRIMARY KEY (collection, person, service)) WITHOUT ROWID""",
    """INSERT OR IGNORE INTO unasked_services SELECT collection, person, service
      FROM unasked JOIN entries USING (collection, person)""",
    "DELETE FROM unasked",
)
"""Tables that clients of earlier versions ignore; these asked about a person once, not about each service."""

RELEASE = (
    "UPDATE reports SET status = 'waiting' WHERE collection = ? AND person = ? AND service = ? AND status = 'held'"
)
TAKEN = (
    "UPDATE reports SET status = 'taken', body = '' WHERE collection = ? AND person = ? AND service = ?",
    "UPDATE entries SET epsilon = '0' WHERE collection = ? AND person = ? AND service = ?",
)

Draw = Callable[[], Sequence[str]]
"""Draws the bodies of a service's reports, one for each slot."""


@dataclass(frozen=True)
class Claim:
    """A client's claim for one service of a collection: its labels and its cost."""

    collection: str
    service: str
    epsilon: Fraction
    round: str = ""
    tier: str = ""
    services: str = ""
    """All services of the collection: tiers of a round have the same ones."""
    url: str = ""
    day: str = ""
    """Today."""


@dataclass(frozen=True)
class Entry:
    """One service in one round, as stored in the wallet: its cost, and the status of its reports.

    A status is held (previewed, not released), waiting, stored, refused, or taken: the collector already had a report
    for the slot, from a lost wallet, so none was sent from this one.
    """

    collection: str
    round: str
    service: str
    epsilon: Fraction
    bodies: tuple[str, ...] = field(repr=False)
    """The reports; a repr, which may end up in a log, leaves them out."""
    statuses: tuple[str, ...]
    tier: str = ""
    day: str = ""


@dataclass(frozen=True)
class Waiting:
    """A report that the collector has not acknowledged."""

    number: int
    body: str = field(repr=False)
    person: Person = field(repr=False)


class Wallet:
    """Reports and budgets of any number of people on this device."""

    def __init__(self, path: str | Path) -> None:
        self._lock = threading.RLock()
        try:
            Path(path).touch(mode=0o600)  # on a shared device, nobody else should see which services a person uses
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
            self._file.execute("PRAGMA secure_delete = ON")  # deleted reports leave no traces in free pages
            self._upgrade()
            with self._transaction() as file:
                for statement in BESIDE:
                    file.execute(statement)
        except (sqlite3.Error, OSError) as cause:
            message = f"The wallet {Path(path).name!r} cannot be used ({type(cause).__name__}). Name another file."
            raise UsageError(message, code="unusable-wallet") from None

    def _format(self) -> int:
        return int(self._file.execute("PRAGMA user_version").fetchone()[0])

    def _upgrade(self) -> None:
        """Migrate the file to this format, once."""
        if self._format() > FORMAT:
            message = "The wallet is of a newer version of this client. Update the client; nothing was drawn."
            raise UsageError(message, code="unusable-wallet")
        if self._format() == FORMAT:
            return
        with self._transaction() as file:
            if self._format() == FORMAT:  # another process has done it
                return
            for statement in TABLES:
                file.execute(statement)
            # Format 0 left reports held after a crash. They look like previews, and both are charged.
            file.execute("UPDATE reports SET status = 'waiting' WHERE status = 'held'")
            file.execute("UPDATE entries SET day = ?", (day_of(time.time()),))  # format 0 kept no day: count from now
            for collection, text in file.execute("SELECT collection, contract FROM contracts").fetchall():
                tier, services = _labels(text)
                row = (tier, services, collection)
                file.execute("UPDATE entries SET tier = ?, services = ? WHERE collection = ?", row)
            file.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise

    def contract(self, collection: str) -> str | None:
        """Return a contract that was fetched before."""
        with self._lock:
            row = self._file.execute("SELECT contract FROM contracts WHERE collection = ?", (collection,)).fetchone()
        return None if row is None else str(row[0])

    def keep_contract(self, collection: str, text: str) -> None:
        """Remember a contract whose hash was checked."""
        with self._transaction() as file:
            file.execute("INSERT OR REPLACE INTO contracts VALUES (?, ?)", (collection, text))

    def coin(self, collection: str, person: Person) -> str | None:
        """Return the coin that assigns a person's views and seeds, if it was kept."""
        where = (collection, _key(person))
        with self._lock:
            row = self._file.execute("SELECT coin FROM coins WHERE collection = ? AND person = ?", where).fetchone()
        return None if row is None else str(row[0])

    def keep_coin(self, collection: str, person: Person, coin: str) -> str:
        """Keep a person's coin and return it; the first one stays."""
        with self._transaction() as file:
            file.execute("INSERT OR IGNORE INTO coins VALUES (?, ?, ?)", (collection, _key(person), coin))
        return self.coin(collection, person) or coin

    def is_done(self, collection: str, person: Person, service: str, *, held: bool) -> bool:
        """Return whether nothing is left to be drawn, or to be released unless it is to be held."""
        who = _key(person)
        with self._lock:
            entry = self._entry(collection, who, service)
            return self._is_forgotten(collection, who) or (entry is not None and (held or "held" not in entry.statuses))

    def claim(self, claim: Claim, person: Person, cap: Cap, draw: Draw, *, held: bool, asked: bool = True) -> Entry:
        """Return the reports of a service: those drawn before, or new ones, charged and stored.

        Held ones stay here until they are claimed again without `held`. If the collector could not be asked which
        reports it has, what is drawn or released now stays until `note_taken` records its answer.
        """
        who = _key(person)
        place = (claim.collection, who, claim.service)
        with self._transaction() as file:
            if self._is_forgotten(claim.collection, who):
                message = "This person has left this round. What was spent stays spent; the next round is open."
                raise PrivacyError(message, code="forgotten")
            if self._entry(claim.collection, who, claim.service) is None:
                self._refuse_tier(claim, who)
                day = max([claim.day, *(day for day, _ in self._charges(who))])  # setting the clock back renews nothing
                self._refuse_overspending(claim, who, cap, day)
                self._insert(claim, who, claim.epsilon, day, draw(), "held")
            if not asked and self._is_held(*place):
                file.execute("INSERT OR IGNORE INTO unasked_services VALUES (?, ?, ?)", place)
            if not held:
                file.execute(RELEASE, place)
            entry = self._entry(claim.collection, who, claim.service)
        if entry is None:
            message = "The wallet lost what was just stored. Nothing was sent."
            raise PrivacyError(message, code="unusable-wallet")
        return entry

    def _refuse_tier(self, claim: Claim, who: str) -> None:
        """Refuse a second tier of a round: tiers are alternatives, and two would spend both budgets."""
        query = (
            "SELECT 1 FROM entries WHERE person = ? AND round = ? AND tier <> ? AND url IN ('', ?) "
            "AND (services = ? OR (services = '' AND service = ?))"
        )
        where = (who, claim.round, claim.tier, claim.url, claim.services, claim.service)
        if self._file.execute(query, where).fetchone() is not None:
            message = f"{claim.service}: this person has reported in another tier of this round. Nothing was drawn."
            raise PrivacyError(message, code="other-tier")

    def _refuse_overspending(self, claim: Claim, who: str, cap: Cap, day: str) -> None:
        charges = self._charges(who)
        spent = cap.total(charges, day)
        if spent + claim.epsilon <= cap.limit:
            return
        free = cap.free_on(charges, day, claim.epsilon)
        period = "" if cap.days is None else f" per {cap.days} days"
        later = f" There is enough again on {free}." if free else ""
        message = (
            f"This would spend {float(claim.epsilon):g}, and {float(max(cap.limit - spent, Fraction(0))):g} of "
            f"{float(cap.limit):g}{period} is left for this person. Nothing was drawn.{later}"
        )
        raise PrivacyError(message, code="cap-exceeded")

    def _insert(self, claim: Claim, who: str, epsilon: Fraction, day: str, bodies: Sequence[str], status: str) -> None:
        where = (claim.collection, who, claim.service)
        row = (*where, claim.round, str(epsilon), claim.tier, claim.services, claim.url, day)
        self._file.execute(
            "INSERT INTO entries (collection, person, service, round, epsilon, tier, services, url, day) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        self._file.executemany(
            "INSERT INTO reports (collection, person, service, slot, body, status) VALUES (?, ?, ?, ?, ?, ?)",
            ((*where, slot, body, status) for slot, body in enumerate(bodies)),
        )

    def people_to_ask(self, collection: str) -> list[Person]:
        """Return people whose reports wait until the collector has said which of them it already has."""
        query = "SELECT DISTINCT person FROM unasked_services WHERE collection = ?"
        with self._lock:
            return [json.loads(who) for (who,) in self._file.execute(query, (collection,))]

    def note_taken(self, claims: Collection[Claim], collection: str, person: Person) -> None:
        """Record the services for which the collector already has reports: ours are not sent, and cost nothing."""
        who = _key(person)
        with self._transaction() as file:
            query = "DELETE FROM unasked_services WHERE collection = ? AND person = ? RETURNING service"
            unasked = {service for (service,) in file.execute(query, (collection, who)).fetchall()}
            for claim in claims:
                if self._entry(collection, who, claim.service) is None:
                    self._insert(claim, who, Fraction(0), claim.day, [""], "taken")
                elif claim.service in unasked or self._is_held(collection, who, claim.service):  # none was ever sent
                    for query in TAKEN:
                        file.execute(query, (collection, who, claim.service))

    def _entry(self, collection: str, who: str, service: str) -> Entry | None:
        where = (collection, who, service)
        query = "SELECT round, epsilon, tier, day FROM entries WHERE collection = ? AND person = ? AND service = ?"
        row = self._file.execute(query, where).fetchone()
        if row is None:
            return None
        query = "SELECT body, status FROM reports WHERE collection = ? AND person = ? AND service = ? ORDER BY slot"
        reports = self._file.execute(query, where).fetchall()
        bodies, statuses = tuple(body for body, _ in reports if body), tuple(status for _, status in reports)
        return Entry(collection, row[0], service, Fraction(row[1]), bodies, statuses, row[2], row[3])

    def _is_held(self, collection: str, who: str, service: str) -> bool:
        query = "SELECT 1 FROM reports WHERE collection = ? AND person = ? AND service = ? AND status = 'held'"
        return self._file.execute(query, (collection, who, service)).fetchone() is not None

    def _is_forgotten(self, collection: str, who: str) -> bool:
        query = "SELECT 1 FROM forgotten WHERE collection = ? AND person = ?"
        return self._file.execute(query, (collection, who)).fetchone() is not None

    def _charges(self, who: str) -> list[Spent]:
        rows = self._file.execute("SELECT day, epsilon FROM entries WHERE person = ?", (who,))
        return [(day, Fraction(epsilon)) for day, epsilon in rows]

    def charges(self, person: Person) -> list[Spent]:
        """Return a person's charges with their days, over all services and rounds."""
        with self._lock:
            return self._charges(_key(person))

    def spent(self, person: Person) -> Fraction:
        """Return the total that a person has ever spent, over all services and rounds."""
        return sum((epsilon for _, epsilon in self.charges(person)), Fraction(0))

    def history(self, person: Person) -> list[Entry]:
        """Return everything that was drawn for a person, by round and service."""
        who = _key(person)
        with self._lock:
            query = "SELECT collection, service FROM entries WHERE person = ? ORDER BY round, service, collection"
            rows = self._file.execute(query, (who,)).fetchall()
            entries = [self._entry(collection, who, service) for collection, service in rows]
        return [entry for entry in entries if entry is not None]

    def waiting(self, collection: str, most: int, after: int = 0) -> list[Waiting]:
        """Return released reports that were not acknowledged, oldest first, after a number."""
        query = (
            "SELECT number, body, person FROM reports AS r "
            "WHERE collection = ? AND status = 'waiting' AND number > ? AND NOT EXISTS "
            "(SELECT 1 FROM unasked_services AS u "
            "WHERE u.collection = r.collection AND u.person = r.person AND u.service = r.service) "
            "ORDER BY number LIMIT ?"
        )
        with self._lock:
            rows = self._file.execute(query, (collection, after, most))
            return [Waiting(number, body, json.loads(who)) for number, body, who in rows]

    def settle(self, collection: str, outcomes: Sequence[tuple[Waiting, str, str]]) -> None:
        """Record statuses and codes of reports.

        A report may have been deleted, and its number reused for another one that the collector has not seen.
        """
        with self._transaction() as file:
            file.executemany(
                "UPDATE reports SET status = ?, code = ? "
                "WHERE number = ? AND collection = ? AND body = ? AND status = 'waiting'",
                ((status, code, report.number, collection, report.body) for report, status, code in outcomes),
            )

    def counts(self, collection: str) -> dict[str, int]:
        """Return how many reports have each status."""
        query = "SELECT status, count(*) FROM reports WHERE collection = ? GROUP BY status"
        with self._lock:
            return {status: int(count) for status, count in self._file.execute(query, (collection,))}

    def forget(self, collection: str, person: Person) -> None:
        """Delete a person's reports of a collection; the spent budget stays spent, and nothing is drawn again."""
        where = (collection, _key(person))
        with self._transaction() as file:
            file.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?, 0)", where)
            file.execute("DELETE FROM reports WHERE collection = ? AND person = ?", where)
            file.execute("DELETE FROM coins WHERE collection = ? AND person = ?", where)

    def pending_deletions(self, collection: str, url: str) -> list[tuple[str, Person]]:
        """Return the deletions, of a collection and of others of the collector with this address, not confirmed yet."""
        query = (
            "SELECT collection, person FROM forgotten AS f WHERE told = 0 AND (collection = ? OR (? <> '' AND EXISTS "
            "(SELECT 1 FROM entries AS e WHERE e.collection = f.collection AND e.person = f.person AND e.url = ?)))"
        )
        with self._lock:
            return [(name, json.loads(who)) for name, who in self._file.execute(query, (collection, url, url))]

    def mark_forgotten(self, collection: str, person: Person) -> None:
        """Record that the collector has deleted a person."""
        with self._transaction() as file:
            query = "UPDATE forgotten SET told = 1 WHERE collection = ? AND person = ?"
            file.execute(query, (collection, _key(person)))

    def close(self) -> None:
        """Close the file; waiting reports are kept for the next start."""
        with self._lock:
            self._file.close()


def _key(person: Any) -> str:
    """Return a person's key as the wallet stores it: 42 and "42" are different people."""
    if not is_person(person):
        message = "A person's id must be text of 1 to 200 printable characters, or a whole number of 64 bits."
        raise UsageError(message, code="wrong-person")
    return json.dumps(person)


def _labels(contract: str) -> tuple[str, str]:
    """Return the tier and services of a contract, as claims carry them."""
    try:
        data = json.loads(contract)
        return str(data.get("tier", "")), ",".join(str(service["name"]) for service in data["services"])
    except (ValueError, TypeError, LookupError, AttributeError):
        return "", ""
