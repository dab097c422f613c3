"""Assigned views and seeds: a person's coin, from a key that only the collector holds.

If a contract is ``assigned``, a device does not choose the view and the seed of a report, nor the place of a row: they
are derived from its person's **coin**, and a collector refuses any other view or seed. A liar then cannot send the code
that moves an answer most. Privacy does not depend on the coin: the guarantee holds for every view, seed and place. The
secret of a collection is derived from the collector's key, the coin of a person from the secret, and draws from the
coin: all by SHA-256 over texts separated by NUL. Secrets and coins are the first half of the digest, which prevents
length extension. A device gets only its own person's coin, which reveals nothing about other coins.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

__all__ = ["assign", "assigned_draws", "coin_of", "is_coin", "is_key", "person_text", "place_draw", "secret_of"]

KEY, COIN = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{32}")


def is_key(text: object) -> bool:
    """Return whether a text can be a key: 256 bits in hexadecimal."""
    return isinstance(text, str) and KEY.fullmatch(text) is not None


def is_coin(text: object) -> bool:
    """Return whether a text can be a coin: 128 bits in hexadecimal."""
    return isinstance(text, str) and COIN.fullmatch(text) is not None


def person_text(person: int | str) -> str:
    """Return a person's key as hashed text: 42 and "42" are different people."""
    return f"{'n' if isinstance(person, int) else 't'}{person}"


def secret_of(key: str, collection: str) -> str:
    """Return the secret of a collection, or of a round of a panel, by its id."""
    return _digest(key, "collection", collection).hex()[:32]


def coin_of(secret: str, person: int | str) -> str:
    """Return a person's coin.

    Examples
    --------
    >>> coin_of(secret_of("00" * 32, "ff" * 32), "ada")
    '8de063268c8eb6dba69d63928bd20ca2'
    """
    return _digest(secret, "person", person_text(person)).hex()[:32]


def assigned_draws(coin: str, service: str, slot: int, channel: int) -> tuple[int, int]:
    """Return the draws of the view and of the seed of one channel of a report."""
    digest = _digest(coin, "view", service, str(slot), str(channel))
    return _draw(digest[:8]), _draw(digest[8:16])


def place_draw(coin: str, service: str, slot: int) -> int:
    """Return the draw that picks a slot's place among those left: over all slots one permutation of the places."""
    return _draw(_digest(coin, "place", service, str(slot))[:8])


def assign(
    draws: Sequence[int], coin: str, service: str, *, sends: int, many: bool, own: int, channels: Sequence[int]
) -> list[int]:
    """Return the draws of a person's reports to a service, those of places, views and seeds replaced by the coin's.

    ``own`` is the number of draws of a report before those of its channels, ``channels`` the draws of each channel.
    """
    assigned = list(draws)
    at = 0
    if many:
        assigned[:sends] = [place_draw(coin, service, slot) for slot in range(sends)]
        at = sends
    for slot in range(sends):
        at += own
        for channel, count in enumerate(channels):
            assigned[at : at + 2] = assigned_draws(coin, service, slot, channel)
            at += count
    return assigned


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _draw(eight: bytes) -> int:
    """Return the 53-bit draw of two big-endian words of 32 bits."""
    return int.from_bytes(eight[4:]) * 2**21 + (int.from_bytes(eight[:4]) >> 11)
