"""Open a collector's keys and log: in its folder, or in the database that several collectors share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.server.keys import KeyFile, Keys
from tacit.server.store.log import Log

if TYPE_CHECKING:
    from tacit.server.store.shared.log import SharedLog

__all__ = ["is_address", "keeps_keys_elsewhere", "open_keys", "open_log", "read_keys"]

ELSEWHERE = "keys.elsewhere"
"""An empty file in the folder of a collector whose keys are in PostgreSQL."""


def is_address(place: str) -> bool:
    """Return whether a place is a PostgreSQL database and not a folder."""
    return place.startswith(("postgresql:", "postgres:"))


def open_keys(folder: Path, store: str) -> Keys:
    """Return the keys of a running collector: those of its folder and, if there is one, of its shared store."""
    if not store:
        return Keys(folder / "keys.json")
    from tacit.server.store.shared.keys import StoredKeys

    (folder / ELSEWHERE).touch()
    return Keys(StoredKeys(store, watch=True), KeyFile(folder / "keys.json"))


def read_keys(place: str) -> Keys:
    """Return the keys of a folder or of a shared store, for programs other than its collector."""
    if not is_address(place):
        return Keys(Path(place) / "keys.json")
    from tacit.server.store.shared.keys import StoredKeys

    return Keys(StoredKeys(place))


def keeps_keys_elsewhere(folder: Path) -> bool:
    """Return whether the collector of a folder has its keys in PostgreSQL, and those of the folder beside them."""
    return (folder / ELSEWHERE).exists()


def open_log(place: str) -> Log | SharedLog:
    """Return the log of a folder or of a shared store."""
    if not is_address(place):
        return Log(Path(place) / "log.db")
    from tacit.server.store.shared.log import SharedLog

    return SharedLog(place)
