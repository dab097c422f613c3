"""Who the rows are about: one row per person, and the same people in every service."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.encode.tables import with_plain_text
from tacit.errors import RecordError
from tacit.schema import Service

__all__ = ["check_people", "key_column"]

CLAIMS = 1 << 18
"""Rows that claim slots at a time: bounds the memory of looking for repeated keys."""

Ints = npt.NDArray[np.int64]

DENSE = 4
"""Keys are dense if their range is at most this many times their number: a byte per possible key is then cheap."""


def key_column(service: Service, table: pa.Table) -> pa.ChunkedArray:
    """Return the key column as 64-bit integers or text, after refusing missing and repeated keys."""
    column = with_plain_text(table, service.key).column(service.key)

    def refuse(problem: str, code: str, rows: int = 0, first_row: int | None = None) -> RecordError:
        return RecordError(problem, code=code, service=service.name, column=service.key, rows=rows, first_row=first_row)

    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py()
        raise refuse("a key is missing. Every row names its person.", "missing-key", column.null_count, first)
    if pa.types.is_integer(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise refuse("a key is beyond 63 bits. Keys are 64-bit integers or text.", "wrong-type") from None
        repeats = _count_repeats(np.concatenate([np.asarray(chunk) for chunk in column.chunks]))
        if repeats:
            raise refuse("a person occurs in more than one row. Keep one row per person.", "duplicate-key", repeats)
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
        repeats = len(column) - pc.count_distinct(column).as_py()
        if repeats:
            raise refuse("a person occurs in more than one row. Keep one row per person.", "duplicate-key", repeats)
        return column
    raise refuse("keys are 64-bit integers or text. Convert the column.", "wrong-type")


def _count_repeats(keys: Ints) -> int:
    """Count keys that occurred before: by marking a dense range, else by claiming slots of a table."""
    lowest, highest = int(keys.min()), int(keys.max())
    if highest - lowest < DENSE * len(keys):
        seen = np.zeros(highest - lowest + 1, dtype=np.bool_)
        seen[keys - lowest if lowest else keys] = True
        return len(keys) - int(np.count_nonzero(seen))
    repeats, rows = 0, np.arange(len(keys))
    while len(rows):
        repeats, rows = _settle(keys, rows, repeats)
    return repeats


def _settle(keys: Ints, rows: Ints, repeats: int) -> tuple[int, Ints]:
    """Let rows claim slots of a table by their keys' hash; return the losers whose slot's owner has another key.

    Equal keys claim the same slot, so a repeat meets its like as soon as one of them owns the slot.
    """
    bits = max(4, (2 * len(rows) - 1).bit_length())
    factor = np.uint64(int.from_bytes(os.urandom(8), "little") | 1)  # random, so that no choice of keys is slow
    owner = np.empty(1 << bits, dtype=np.int64 if len(keys) > 2**31 else np.int32)

    def slots(part: Ints) -> Ints:
        hashed = (keys[part].view(np.uint64) * factor) >> np.uint64(64 - bits)
        return hashed.view(np.int64)

    def claim(part: Ints) -> None:
        owner[slots(part)] = part  # threads may race for a slot: any one of them may own it

    def losers(part: Ints) -> tuple[int, Ints]:
        winner = owner[slots(part)]
        beaten = winner != part
        winner, part = winner[beaten], part[beaten]
        other_key = keys[winner] != keys[part]
        return len(part) - int(np.count_nonzero(other_key)), part[other_key]

    parts = [rows[start : start + CLAIMS] for start in range(0, len(rows), CLAIMS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(claim, parts))
        found = list(pool.map(losers, parts))
    return repeats + sum(count for count, _ in found), np.concatenate([left for _, left in found])


def _sorted_integers(column: pa.ChunkedArray) -> Ints:
    return np.sort(np.concatenate([np.asarray(chunk) for chunk in column.chunks]))


def check_people(keys: Mapping[str, pa.ChunkedArray], people: Iterable[int] | Iterable[str] | None) -> None:
    """Refuse services whose people differ: everybody in a round reports to every service."""
    names = list(keys)
    if people is None:
        reference, expected = f"the keys of {names[0]}", keys[names[0]]
        others = names[1:]
    else:
        reference, others = "people=", names
        try:
            expected = pa.chunked_array([pa.array(people)])
        except (pa.ArrowException, OverflowError, TypeError):
            problem = "people= must be a list of keys, all whole numbers or all text."
            raise RecordError(problem, code="wrong-type") from None
        expected = expected.cast(keys[names[0]].type, safe=True)
    for name in others:
        if keys[name].type != expected.type:
            problem = "its keys are of another type than the other services'. Use one type for the person's key."
            raise RecordError(problem, code="wrong-type", service=name)
        for problem, absent in (
            (
                f"keys that are not among {reference}. Encode the same people in every service.",
                _missing(keys[name], expected),
            ),
            (
                f"no row for some of {reference}. Encode the same people in every service.",
                _missing(expected, keys[name]),
            ),
        ):
            if absent:
                raise RecordError(problem, code="people-differ", service=name, rows=absent)


def _missing(keys: pa.ChunkedArray, among: pa.ChunkedArray) -> int:
    """Return how many keys are not among the others."""
    if pa.types.is_integer(keys.type):
        ordered, wanted = _sorted_integers(among), _sorted_integers(keys)
        if len(ordered) == len(wanted) and bool(np.array_equal(ordered, wanted)):
            return 0
        place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return int(np.count_nonzero(ordered[place] != wanted))
    found = pc.is_in(keys, value_set=pa.chunked_array(among).combine_chunks())
    return len(keys) - int(pc.sum(found).as_py() or 0)
