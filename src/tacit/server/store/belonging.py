"""Whether an analytical database and an inbox belong together, by the database's stamp and what the inbox remembers."""

from __future__ import annotations

from tacit.engines.base import Stamp
from tacit.errors import EngineError, OverloadedError

__all__ = ["is_of"]


def is_of(stamp: Stamp | None, identity: str, generation: str | None, *, is_elsewhere: bool) -> bool:
    """Return whether a stamp is of this inbox; raise if the inbox is new, or older than the database.

    Files may be copied back one by one. In PostgreSQL both are in one database, so neither can be older.
    """
    if stamp is None:
        return False
    mine = stamp.identity == identity
    if not mine and generation is None:
        message = (
            "The analytical database belongs to another inbox, and this one is new. "
            "Restore inbox.db from the newest copy, or move reports.tacit away."
        )
        raise EngineError(message, code="inbox-missing")
    if mine and generation is not None and stamp.generation > int(generation) + 1 and not is_elsewhere:
        message = (
            "The inbox is older than the analytical database: it lacks reports that were acknowledged. "
            "Restore the newest inbox.db, or remove reports.tacit to continue with the reports in the inbox."
        )
        raise OverloadedError(message, code="inbox-behind", retry_after=60)
    return mine
