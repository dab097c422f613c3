"""The stamp of a collector's PostgreSQL database, and changes that fail once another collector has stamped it.

A collector may lose its lock at any moment. Comparing stamps inside the transaction of a change leaves no gap between
check and change: a collector that takes over stamps the database first, which waits for running changes.
"""

from __future__ import annotations

from tacit.engines.base import Stamp, check_known
from tacit.engines.postgres_columns import Connection

__all__ = ["check_stamp", "replace_stamp", "stamp_of"]


STAMP = "SELECT identity, generation FROM tacit_stamp"
LOCKED_STAMP = "SELECT identity, generation FROM tacit_stamp FOR SHARE"


def stamp_of(connection: Connection, query: str = STAMP) -> Stamp | None:
    """Return the stamp, or None if there is none."""
    rows = connection.execute(query).fetchall()
    return Stamp(*rows[0]) if rows else None


def check_stamp(connection: Connection, known: Stamp | None) -> None:
    """Refuse a change if the stamp is not the known one, and lock the stamp until the transaction ends."""
    if known is not None:
        check_known(known, stamp_of(connection, LOCKED_STAMP))


def replace_stamp(connection: Connection, known: Stamp | None, stamp: Stamp) -> None:
    """Stamp a database, unless another collector has done so."""
    connection.execute("LOCK TABLE tacit_stamp IN SHARE ROW EXCLUSIVE MODE")
    check_stamp(connection, known)
    if not connection.execute("UPDATE tacit_stamp SET identity = $1, generation = $2", list(stamp)).rowcount:
        connection.execute("INSERT INTO tacit_stamp VALUES ($1, $2)", list(stamp))
