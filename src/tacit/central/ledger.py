"""A ledger: one budget for the people of one table, and every charge to it.

Charges are events in an SQLite file. A charge is written atomically and synced to disk *before* any noise is drawn: a
crash can lose an answer, but never a charge. The amount spent is computed from the events alone
(`tacit.central.charges`).
"""

from __future__ import annotations

import datetime
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.central.charges import Charge, Event, Spending
from tacit.central.data import Data
from tacit.central.noise import NoiseSource, OpenDp
from tacit.central.records import Records
from tacit.contract.amplification import parse_delta
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon
from tacit.contract.schema import Schema, Service
from tacit.contract.sqlite import transaction
from tacit.errors import BudgetError, PrivacyError, UsageError

__all__ = ["Ledger"]

VERSION = 2
"""Version of the file's tables; files of version 1, which had no deltas, are brought up to it when they are opened."""

WAIT = 30.0
"""Seconds to wait for another charging process."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Ledger:
    """A budget on disk that cannot be overspent.

    Parameters
    ----------
    path : path or None
        The file, created if it does not exist. None keeps the ledger in memory, for trials.
    epsilon : number, optional
        The total budget per person. Required for a new file; for an existing one it must be the same.
    delta : number, optional
        The total chance that epsilon does not bound a person's loss; 0 if left out, which refuses Gaussian noise. For
        an existing file it must be the same.
    clock : callable, optional
        Returns the time that events are stamped with.

    Examples
    --------
    >>> from tacit.central.charges import Charge
    >>> ledger = Ledger(None, "0.5")
    >>> ledger.charge([Charge(Fraction(1, 10), "a count")])
    >>> ledger.spent, ledger.remaining
    (Fraction(1, 10), Fraction(2, 5))
    """

    def __init__(
        self,
        path: str | Path | None,
        epsilon: BudgetLike | None = None,
        *,
        delta: BudgetLike | None = None,
        clock: Callable[[], datetime.datetime] = _now,
    ) -> None:
        wanted = None if epsilon is None else parse_epsilon(epsilon)
        wanted_delta = None if delta is None else parse_delta(delta)
        self._name = "ledger in memory" if path is None else Path(path).name
        if wanted is None and (path is None or not Path(path).exists()):
            message = f"There is no ledger {self._name!r} yet, and a new one needs a budget. Pass epsilon=."
            raise UsageError(message, code="no-ledger")
        self._clock, self._lock = clock, threading.RLock()
        self._root, self._seen = Spending(), 0
        self._deltas = Fraction(0)
        with self._guard():
            self._file = sqlite3.connect(
                ":memory:" if path is None else path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA synchronous = EXTRA")
            self.epsilon, self.delta = self._prepare(wanted, wanted_delta)
            self._read()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite errors into ours, and admit one thread at a time."""
        with self._lock:
            try:
                yield
                return
            except sqlite3.Error as cause:
                failure = cause
            busy = isinstance(failure, sqlite3.OperationalError) and "locked" in str(failure)
            why = "is in use by another process" if busy else f"cannot be used ({type(failure).__name__})"
            message = f"The ledger {self._name!r} {why}. Nothing was spent or released."
            raise PrivacyError(message, code="ledger-busy" if busy else "ledger-damaged") from None

    def _prepare(self, wanted: Fraction | None, wanted_delta: Fraction | None) -> tuple[Fraction, Fraction]:
        """Create the tables of a new file, or bring older ones up to date; return the budget."""
        with transaction(self._file):
            tables = {row[0] for row in self._file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables and wanted is not None:
                self._file.execute(
                    "CREATE TABLE ledger (version INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL)"
                )
                self._file.execute(
                    "CREATE TABLE events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, place TEXT NOT NULL, "
                    "epsilon TEXT NOT NULL, what TEXT NOT NULL, delta TEXT NOT NULL)"
                )
                row = (VERSION, decimal_text(wanted), decimal_text(wanted_delta or Fraction(0)))
                self._file.execute("INSERT INTO ledger VALUES (?, ?, ?)", row)
            elif self._file.execute("SELECT version FROM ledger").fetchall() == [(1,)]:
                for table in ("ledger", "events"):
                    self._file.execute(f"ALTER TABLE {table} ADD COLUMN delta TEXT NOT NULL DEFAULT '0'")
                self._file.execute("UPDATE ledger SET version = ?", (VERSION,))
            rows = self._file.execute("SELECT version, epsilon, delta FROM ledger").fetchall()
        if len(rows) != 1 or rows[0][0] != VERSION:
            raise self._damaged_error()
        stored = self._number(rows[0][1]), self._delta(rows[0][2])
        for name, known, value in zip(("budget", "delta"), stored, (wanted, wanted_delta), strict=True):
            if value is not None and known != value:
                message = (
                    f"The ledger {self._name!r} has a {name} of {decimal_text(known)}, not {decimal_text(value)}: a "
                    "budget is a promise and does not change. Leave it out, or use another file for other people."
                )
                raise UsageError(message, code="ledger-budget")
        return stored

    def _damaged_error(self) -> PrivacyError:
        message = f"The ledger {self._name!r} is damaged or has an unsupported version. Nothing was spent or released."
        return PrivacyError(message, code="ledger-damaged")

    def _number(self, text: Any) -> Fraction:
        try:
            return parse_epsilon(text)
        except UsageError:
            raise self._damaged_error() from None

    def _delta(self, text: Any) -> Fraction:
        try:
            return Fraction(0) if text == "0" else parse_delta(text)
        except UsageError:
            raise self._damaged_error() from None

    def _events(self, after: int) -> list[Event]:
        rows = self._file.execute(
            "SELECT number, time, place, epsilon, what, delta FROM events WHERE number > ? ORDER BY number", (after,)
        )
        events: list[Event] = []
        for number, time, place, epsilon, purpose, delta in rows:
            if number != after + len(events) + 1:
                raise self._damaged_error()  # an event is missing
            try:
                inside = tuple((str(name), int(part)) for name, part in json.loads(place))
            except (ValueError, TypeError):
                raise self._damaged_error() from None
            events.append(Event(number, time, Charge(self._number(epsilon), purpose, inside, self._delta(delta))))
        return events

    def _read(self) -> None:
        """Read events that any process has written since."""
        for event in self._events(self._seen):
            self._root.add(event.charge.place, event.charge.epsilon)
            self._deltas += event.charge.delta
            self._seen = event.number

    def charge(self, charges: Sequence[Charge]) -> None:
        """Spend all of these or none; when this returns, they are on disk.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was spent.
        """
        for charge in charges:
            if parse_epsilon(decimal_text(charge.epsilon)) != charge.epsilon:
                message = "A charge has more digits than a ledger keeps. Round it."
                raise UsageError(message, code="epsilon-out-of-range")
        stamp = self._clock().isoformat(timespec="seconds")
        with self._guard():
            try:
                with transaction(self._file):
                    self._read()
                    before = self._root.cost
                    for charge in charges:
                        self._seen += 1
                        place, delta = json.dumps(charge.place), decimal_text(charge.delta)
                        row = (self._seen, stamp, place, decimal_text(charge.epsilon), charge.what, delta)
                        self._file.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
                        self._root.add(charge.place, charge.epsilon)
                        self._deltas += charge.delta
                    if self._root.cost > self.epsilon:
                        raise self._too_much(self._root.cost - before, self.epsilon - before)
                    if self._deltas > self.delta:
                        raise self._too_much_delta(charges)
            except BaseException:
                self._root, self._seen, self._deltas = Spending(), 0, Fraction(0)  # drop what was not written
                self._read()
                raise

    def _too_much(self, epsilon: Fraction, left: Fraction) -> BudgetError:
        message = (
            f"This would spend {decimal_text(epsilon)}, but {decimal_text(left)} of {decimal_text(self.epsilon)} is "
            f"left in {self._name!r}. Nothing was spent. Ask for less."
        )
        return BudgetError(message, code="budget-spent")

    def _too_much_delta(self, charges: Sequence[Charge]) -> BudgetError:
        delta = sum((charge.delta for charge in charges), Fraction(0))
        message = (
            f"This would spend a delta of {float(delta):.3g}, but {float(self.delta - self._deltas + delta):.3g} is "
            f"left in {self._name!r}. Nothing was spent. Use noise='laplace', or a new ledger with delta=."
        )
        return BudgetError(message, code="budget-spent")

    @property
    def spent(self) -> Fraction:
        """What has been spent, exactly."""
        with self._guard():
            self._read()
            return self._root.cost

    @property
    def spent_delta(self) -> Fraction:
        """The chances, spent by Gaussian noise, that the budget does not bound a person's loss."""
        with self._guard():
            self._read()
            return self._deltas

    @property
    def remaining(self) -> Fraction:
        """The remaining budget, exactly."""
        return self.epsilon - self.spent

    @property
    def events(self) -> list[Event]:
        """Everything that was ever charged, oldest first."""
        with self._guard():
            return self._events(0)

    def open(self, table: Any, service: Service | Schema, *, source: NoiseSource | None = None) -> Data:
        """Return a table behind this ledger: it can be counted and summed, and every answer is charged.

        Parameters
        ----------
        table : table or path
            One row for each person.
        service : Service or Schema
            What its columns may hold, never taken from the data; a schema must be of one service.
        source : Source, optional
            Where noise comes from; for audits.
        """
        return Data(Records.read(table, service), self.charge, source or OpenDp())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __str__(self) -> str:
        delta = f", delta {float(self.spent_delta):.3g} of {float(self.delta):.3g}" if self.delta else ""
        lines = [f"{decimal_text(self.spent)} of {decimal_text(self.epsilon)} spent{delta}"]
        return "\n".join([*lines, *map(str, self.events)])
