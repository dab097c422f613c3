"""Assigned views, seeds and places of many people at once: what `tacit.client.coin` computes for one person.

DuckDB hashes whole columns, so nothing proportional to people happens in a Python loop.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.client.coin import coin_of, is_key, secret_of
from tacit.contract.contract import Contract
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.encode.keys import Ints
from tacit.errors import UsageError
from tacit.tables.compute import pc
from tacit.tables.statements import Sql, compose

if TYPE_CHECKING:
    import duckdb

__all__ = ["Assignment", "Ints", "Texts", "assignment_of", "hash_words", "join_texts"]

NUMBER = "\x01"
"""Prefix of integer keys in a collector's tables, where all keys are text."""

Texts: TypeAlias = pa.Array | pa.ChunkedArray


class Assignment:
    """What a key assigns to the people of one collection."""

    def __init__(self, key: str, collection: str) -> None:
        self._secret = secret_of(key, collection)

    def __repr__(self) -> str:
        return "Assignment(key withheld)"

    def coin(self, person: int | str) -> str:
        """Return a person's coin."""
        return coin_of(self._secret, person)

    def coins(self, people: Texts) -> pa.ChunkedArray:
        """Return the coins of people, whose keys are integers or text as in a report table."""
        start = f"{self._secret}\0person\0"
        if pa.types.is_integer(people.type):
            return _hash(join_texts(f"{start}n", people), "substr(sha256(text), 1, 32)")
        is_number = pc.starts_with(people, NUMBER)
        marked = pc.if_else(is_number, join_texts("n", pc.utf8_slice_codeunits(people, 1)), join_texts("t", people))
        return _hash(join_texts(start, marked), "substr(sha256(text), 1, 32)")

    @staticmethod
    def draws(coins: Texts, service: str, slots: Ints, channels: Ints | int) -> tuple[Draws, Draws]:
        """Return the draws of views and of seeds for the slots and channels of some reports."""
        channel = str(channels) if isinstance(channels, int) else pa.array(channels)
        words = hash_words(join_texts(coins, f"\0view\0{service}\0", pa.array(slots), "\0", channel))
        return _draws(words[:, 0:2]), _draws(words[:, 2:4])

    @staticmethod
    def places(coins: Texts, service: str, sends: int) -> Draws:
        """Return the draws that pick the places of each person's slots: a row for each person."""
        columns = [
            _draws(hash_words(join_texts(coins, f"\0place\0{service}\0{slot}"))[:, 0:2]) for slot in range(sends)
        ]
        return np.stack(columns, axis=1)


def assignment_of(contract: Contract, collection: str, key: str | None) -> Assignment | None:
    """Return what a key assigns in a collection; None where devices draw views and seeds freely."""
    if not contract.assigned:
        if key is not None:
            message = "Devices draw the views and seeds of this collection themselves, so it takes no key."
            raise UsageError(message, code="bad-option")
        return None
    if key is None:
        message = "Views and seeds of this collection are assigned by a key: pass key=, the same to encode and to load."
        raise UsageError(message, code="key-needed")
    if not is_key(key):
        message = "The key is not 64 hexadecimal digits in lower case, as secrets.token_hex(32) returns."
        raise UsageError(message, code="bad-key")
    return Assignment(key, collection)


def join_texts(*parts: str | Texts) -> Texts:
    """Return the parts of each row as one text."""
    kind = pa.large_string()
    texts = [pa.scalar(part, kind) if isinstance(part, str) else pc.cast(part, kind) for part in parts]
    joined: Texts = pc.binary_join_element_wise(*texts, pa.scalar("", kind))
    return joined


@cache
def _hasher() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect()


def _hash(texts: Texts, expression: Literal["substr(sha256(text), 1, 32)", "unhex(sha256(text))"]) -> pa.ChunkedArray:
    """Hash each text, in order."""
    with _hasher().cursor() as cursor:
        cursor.register("asked", pa.table({"text": texts}))
        return cursor.sql(compose("SELECT {made} AS hash FROM asked", made=Sql(expression))).to_arrow_table()["hash"]


def hash_words(texts: Texts) -> npt.NDArray[np.uint64]:
    """Return the first four words of 32 bits of each text's digest."""
    digests = _hash(texts, "unhex(sha256(text))").cast(pa.binary(32))
    parts = [
        np.frombuffer(part.buffers()[1], np.uint8)[32 * part.offset : 32 * (part.offset + len(part))]
        for part in digests.chunks
    ]
    digits = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
    return digits.view(">u4").reshape(-1, 8)[:, :4].astype(np.uint64)


def _draws(words: npt.NDArray[np.uint64]) -> Draws:
    return (words[:, 1] << np.uint64(DRAW_BITS - 32)) | (words[:, 0] >> np.uint64(64 - DRAW_BITS))
