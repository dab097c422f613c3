"""Where a collector's keys and log are: in its folder, or in the database that several collectors share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.server.keys import Keys
from tacit.server.store.log import Log

if TYPE_CHECKING:
    from tacit.server.store.shared.log import SharedLog

__all__ = ["is_address", "open_keys", "open_log"]


def is_address(place: str) -> bool:
    """Return whether a place is a PostgreSQL database and not a folder."""
    return place.startswith(("postgresql:", "postgres:"))


def open_keys(folder: Path, store: str) -> Keys:
    """Return the keys of a running collector: those of its folder and, if there is one, of its shared store."""
    if not store:
        return Keys(folder / "keys.json")
    from tacit.server.store.shared.keys import SharedKeys

    keys = SharedKeys(store, folder / "keys.json")
    keys.watch()
    return keys


def open_log(place: str) -> Log | SharedLog:
    """Return the log of a folder or of a shared store."""
    if not is_address(place):
        return Log(Path(place) / "log.db")
    from tacit.server.store.shared.log import SharedLog

    return SharedLog(place)
