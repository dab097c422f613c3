"""How far a collector has seen its database come, so that it notices when the database goes back.

A standby that was behind, or a restored backup, lacks reports, deletions and keys that this process knows, and gives
their numbers again. Nothing that the process has in memory fits it then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.errors import EngineError
from tacit.server.store.shared.session import Connection

__all__ = ["Progress"]

REACHED = """
SELECT (SELECT token FROM tacit_fences WHERE name = 'lead'), (SELECT last_value FROM tacit_pending_number_seq)
"""
"""Both only grow: the token with every lease, the number with every report."""


class Progress:
    """The last lease that this collector has seen, and the last report that it has stored."""

    def __init__(self) -> None:
        self._token = self._number = self._inserted = 0
        self._went_back = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Surround a transaction of the writer: the numbers that are noted within count once it is committed."""
        self.check()
        self._inserted = 0
        yield
        self._number = max(self._number, self._inserted)

    def note(self, number: int) -> None:
        """Note the number of a report that is being stored."""
        self._inserted = max(self._inserted, number)

    def compare(self, connection: Connection) -> None:
        """Raise if the database is not as far as it was; from then on, `check` raises too."""
        least = self._token, self._number  # before reading: other threads go on meanwhile
        [(token, number)] = connection.execute(REACHED).fetchall()
        self._went_back = self._went_back or token < least[0] or number < least[1]
        self.check()
        self._token = max(self._token, token)

    def check(self) -> None:
        """Raise if the database was found to have gone back."""
        if self._went_back:
            message = "The database lacks what was committed before: it was restored, or a standby was behind."
            raise EngineError(message, code="store-older")
