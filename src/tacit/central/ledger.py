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
from tacit.central.noise import OpenDp, Source
from tacit.central.records import Records
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon
from tacit.contract.schema import Schema, Service
from tacit.contract.sqlite import transaction
from tacit.errors import BudgetError, PrivacyError, UsageError

__all__ = ["Ledger"]

VERSION = 1
"""Version of the file's tables."""

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
        clock: Callable[[], datetime.datetime] = _now,
    ) -> None:
        wanted = None if epsilon is None else parse_epsilon(epsilon)
        self._name = "ledger in memory" if path is None else Path(path).name
        if wanted is None and (path is None or not Path(path).exists()):
            message = f"There is no ledger {self._name!r} yet, and a new one needs a budget. Pass epsilon=."
            raise UsageError(message, code="no-ledger")
        self._clock, self._lock = clock, threading.RLock()
        self._root, self._seen = Spending(), 0
        with self._guard():
            self._file = sqlite3.connect(
                ":memory:" if path is None else path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA synchronous = EXTRA")
            self.epsilon = self._prepare(wanted)
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

    def _prepare(self, wanted: Fraction | None) -> Fraction:
        """Create the tables of a new file; return the budget."""
        with transaction(self._file):
            tables = {row[0] for row in self._file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables and wanted is not None:
                self._file.execute("CREATE TABLE ledger (version INTEGER NOT NULL, epsilon TEXT NOT NULL)")
                self._file.execute(
                    "CREATE TABLE events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, place TEXT NOT NULL, "
                    "epsilon TEXT NOT NULL, what TEXT NOT NULL)"
                )
                self._file.execute("INSERT INTO ledger VALUES (?, ?)", (VERSION, decimal_text(wanted)))
            rows = self._file.execute("SELECT version, epsilon FROM ledger").fetchall()
        if len(rows) != 1 or rows[0][0] != VERSION:
            raise self._damaged_error()
        kept = self._number(rows[0][1])
        if wanted is not None and kept != wanted:
            message = (
                f"The ledger {self._name!r} has a budget of {decimal_text(kept)}, not {decimal_text(wanted)}: a budget "
                "is a promise and does not change. Leave epsilon out, or use another file for other people."
            )
            raise UsageError(message, code="ledger-budget")
        return kept

    def _damaged_error(self) -> PrivacyError:
        message = f"The ledger {self._name!r} is damaged or has an unsupported version. Nothing was spent or released."
        return PrivacyError(message, code="ledger-damaged")

    def _number(self, text: Any) -> Fraction:
        try:
            return parse_epsilon(text)
        except UsageError:
            raise self._damaged_error() from None

    def _events(self, after: int) -> list[Event]:
        rows = self._file.execute(
            "SELECT number, time, place, epsilon, what FROM events WHERE number > ? ORDER BY number", (after,)
        )
        events: list[Event] = []
        for number, time, place, epsilon, what in rows:
            if number != after + len(events) + 1:
                raise self._damaged_error()  # an event is missing
            try:
                inside = tuple((str(name), int(part)) for name, part in json.loads(place))
            except (ValueError, TypeError):
                raise self._damaged_error() from None
            events.append(Event(number, time, Charge(self._number(epsilon), what, inside)))
        return events

    def _read(self) -> None:
        """Read events that any process has written since."""
        for event in self._events(self._seen):
            self._root.add(event.charge.place, event.charge.epsilon)
            self._seen = event.number

    def charge(self, charges: Sequence[Charge]) -> None:
        """Spend all of these or none; when this returns, they are on disk.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was spent.
        """
        for one in charges:
            if parse_epsilon(decimal_text(one.epsilon)) != one.epsilon:
                message = "A charge has more digits than a ledger keeps. Round it."
                raise UsageError(message, code="epsilon-out-of-range")
        stamp = self._clock().isoformat(timespec="seconds")
        with self._guard():
            try:
                with transaction(self._file):
                    self._read()
                    before = self._root.cost
                    for one in charges:
                        self._seen += 1
                        row = (self._seen, stamp, json.dumps(one.place), decimal_text(one.epsilon), one.what)
                        self._file.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)
                        self._root.add(one.place, one.epsilon)
                    if self._root.cost > self.epsilon:
                        raise self._too_much(self._root.cost - before, self.epsilon - before)
            except BaseException:
                self._root, self._seen = Spending(), 0  # drop what was not written
                self._read()
                raise

    def _too_much(self, asked: Fraction, left: Fraction) -> BudgetError:
        message = (
            f"This would spend {decimal_text(asked)}, but {decimal_text(left)} of {decimal_text(self.epsilon)} is left "
            f"in {self._name!r}. Nothing was spent. Ask for less."
        )
        return BudgetError(message, code="budget-spent")

    @property
    def spent(self) -> Fraction:
        """What has been spent, exactly."""
        with self._guard():
            self._read()
            return self._root.cost

    @property
    def remaining(self) -> Fraction:
        """The remaining budget, exactly."""
        return self.epsilon - self.spent

    @property
    def events(self) -> list[Event]:
        """Everything that was ever charged, oldest first."""
        with self._guard():
            return self._events(0)

    def open(self, table: Any, service: Service | Schema, *, source: Source | None = None) -> Data:
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
        lines = [f"{decimal_text(self.spent)} of {decimal_text(self.epsilon)} spent"]
        return "\n".join([*lines, *map(str, self.events)])
