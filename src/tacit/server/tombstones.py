"""Traces of people who were deleted: keyed hashes, which say who it was only to whoever has the key and asks for her.

The key is 32 random bytes in a file of its own, made once. Lists of tombstones, such as the log in published evidence,
can be shown without it; where it is destroyed, no tombstone can ever be tied to anybody.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

__all__ = ["Tombstones"]

KEY_BYTES = 32


class Tombstones:
    """Makes the tombstones of one store."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            _write_once(path, secrets.token_bytes(KEY_BYTES))
        self._key = path.read_bytes()

    def of(self, collection: str, person: int | str, service: str = "") -> bytes:
        """Return the tombstone of a person in a collection, or in one service of it."""
        return self.keyed(_plain(f"{collection}/{service}" if service else collection, person))

    def keyed(self, plain: bytes) -> bytes:
        """Return the keyed hash of a hash; stores of version 1 kept the inner one."""
        return hashlib.blake2b(plain, digest_size=16, key=self._key).digest()


def _plain(collection: str, person: int | str) -> bytes:
    return hashlib.blake2b(f"{collection} {type(person).__name__} {person}".encode(), digest_size=16).digest()


def _write_once(path: Path, content: bytes) -> None:
    """Write a file whole, synced; of two processes that do so at once, the first one wins."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
