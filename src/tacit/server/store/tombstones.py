"""Tombstones of deleted people: keyed hashes, which identify a person only to holders of the key.

The key is 32 random bytes, generated once. It is stored with the tombstones: with another key, deleted people would not
be recognised, and their reports would be stored again. Lists of tombstones, such as the log in published evidence, can
be shown without it; once the key is destroyed, no tombstone can be linked to anybody.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from pathlib import Path

from tacit.errors import EngineError
from tacit.tables.atomic import create_once

__all__ = ["KEY_FILE", "Tombstones", "adopt_key", "scope_of"]

KEY_BYTES = 32
"""Bytes of the key that tombstones are made with."""

KEY_FILE = "tombstones.key"
"""Where stores before version 4 kept the key."""


def scope_of(collection: str, service: str = "") -> str:
    """Return the name of what a person is deleted from: a collection, or one service of it."""
    return f"{collection}/{service}" if service else collection


class Tombstones:
    """Computes the tombstones of one store."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_file(cls, path: Path) -> Tombstones:
        """Return the tombstones of a store before version 4; one of version 1 gets a key."""
        if not path.exists():
            with suppress(FileExistsError):  # another process was first
                create_once(path, secrets.token_bytes(KEY_BYTES))
        return cls(path.read_bytes())

    def of(self, collection: str, person: int | str, service: str = "") -> bytes:
        """Return the tombstone of a person in a collection, or in one service of it."""
        return self.key_hash(_plain(scope_of(collection, service), person))

    def key_hash(self, plain: bytes) -> bytes:
        """Return the keyed hash of a hash; stores of version 1 kept the inner hash."""
        return hashlib.blake2b(plain, digest_size=16, key=self._key).digest()


def adopt_key(path: Path, *, needed: bool) -> bytes:
    """Return the key that an earlier version kept in a file, or a new one unless there are tombstones already."""
    if path.exists():
        return path.read_bytes()
    if needed:
        message = (
            f"The store holds tombstones, and {path.name} is missing: people who were deleted would be stored again. "
            "Copy it from the folder that the collector used before."
        )
        raise EngineError(message, code="tombstone-key-missing")
    return secrets.token_bytes(KEY_BYTES)


def _plain(collection: str, person: int | str) -> bytes:
    return hashlib.blake2b(f"{collection} {type(person).__name__} {person}".encode(), digest_size=16).digest()
