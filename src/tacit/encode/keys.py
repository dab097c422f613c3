"""Check keys: the same people in every service, with one row each if the service requires it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.schema import Service
from tacit.encode.tables import with_plain_text
from tacit.errors import RecordError
from tacit.tables.compute import pc

__all__ = ["Ints", "check_people", "key_column", "key_order", "owners", "people_column"]

CLAIMS = 1 << 18
"""Rows per step when looking for repeated keys; bounds its memory."""

Ints = npt.NDArray[np.int64]

DENSE = 4
"""Keys are dense if their range is at most this many times their number: then one byte per possible key is cheap."""


def key_column(service: Service, table: pa.Table) -> pa.ChunkedArray:
    """Return the key column as 64-bit integers or text, after refusing missing and wrongly repeated keys."""
    column = with_plain_text(table, service.key).column(service.key)
    if not len(column):
        return column
    return _check_keys(column, service=service.name, name=service.key, distinct=service.at_most is None)


def _check_keys(column: pa.ChunkedArray, *, service: str | None, name: str, distinct: bool) -> pa.ChunkedArray:
    """Return keys in one of their two types; refuse missing and repeated ones, and never show one."""

    def refuse(problem: str, code: str, rows: int = 0, first_row: int | None = None) -> RecordError:
        return RecordError(problem, code=code, service=service, column=name, rows=rows, first_row=first_row)

    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py()
        raise refuse("a key is missing. Every row needs a person's key.", "missing-key", column.null_count, first)
    if pa.types.is_integer(column.type):
        if pa.types.is_uint64(column.type) and pc.any(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64()))).as_py():
            raise refuse("a key is beyond 63 bits. Keys are 64-bit integers or text.", "wrong-type")
        column = column.cast(pa.int64())
        repeats = _count_repeats(_as_integers(column)) if distinct and len(column) else 0
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
        repeats = len(column) - pc.count_distinct(column).as_py() if distinct else 0
    else:
        raise refuse("keys are 64-bit integers or text. Convert the column.", "wrong-type")
    if repeats:
        raise refuse("a person occurs in more than one row. Keep one row per person.", "duplicate-key", repeats)
    return column


def _as_integers(column: pa.ChunkedArray) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(chunk) for chunk in column.chunks)])


def _count_repeats(keys: Ints) -> int:
    """Count repeated keys: mark a dense range, or claim slots of a hash table."""
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
    """Let rows claim slots by the hash of their keys; return the rows whose slot has another key.

    Equal keys claim the same slot, so a repeat is detected as soon as one of them owns the slot.
    """
    bits = max(4, (2 * len(rows) - 1).bit_length())
    factor = np.uint64(int.from_bytes(os.urandom(8), "little") | 1)  # random, so that no set of keys is slow
    owner = np.empty(1 << bits, dtype=np.int64 if len(keys) > 2**31 else np.int32)

    def slots(part: Ints) -> Ints:
        hashed = (keys[part].view(np.uint64) * factor) >> np.uint64(64 - bits)
        return hashed.view(np.int64)

    def claim(part: Ints) -> None:
        owner[slots(part)] = part  # threads may race for a slot: any of them may get it

    def losers(part: Ints) -> tuple[int, Ints]:
        winner = owner[slots(part)]
        beaten = winner != part
        winner, part = winner[beaten], part[beaten]
        other_key = keys[winner] != keys[part]
        return len(part) - int(np.count_nonzero(other_key)), part[other_key]

    parts = [rows[start : start + CLAIMS] for start in range(0, len(rows), CLAIMS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(claim, parts))
        results = list(pool.map(losers, parts))
    return repeats + sum(count for count, _ in results), np.concatenate([left for _, left in results])


def key_order(keys: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
    """Return the order of rows by key, or None if they are sorted: a table's order may reveal its values."""
    if pa.types.is_integer(keys.type):
        numbers = _as_integers(keys)
        return None if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers, kind="stable")
    order = np.asarray(pc.sort_indices(keys))
    return None if (order[1:] > order[:-1]).all() else order.astype(np.int64)


def owners(keys: pa.ChunkedArray, people: pa.ChunkedArray, service: Service) -> Ints:
    """Return the index of each key's person; refuse keys of people who do not take part."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    if keys.type != people.type:
        problem = "keys have another type than those in people=. Use one type for the person's key."
        raise RecordError(problem, code="wrong-type", service=service.name)
    if pa.types.is_integer(people.type):
        known, wanted = _as_integers(people), _as_integers(keys)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
        places = order[place]
        strange = known[places] != wanted
    else:
        index = pc.index_in(keys, value_set=people)
        strange = np.asarray(pc.is_null(index))
        places = np.asarray(pc.fill_null(index, 0), dtype=np.int64)
    if strange.any():
        problem = "rows belong to people who do not take part. List everybody in people=, or remove these rows."
        rows = np.flatnonzero(strange)
        raise RecordError(problem, code="people-differ", service=service.name, rows=len(rows), first_row=int(rows[0]))
    return places


def people_column(keys: Mapping[str, pa.ChunkedArray], people: Iterable[int] | Iterable[str] | None) -> pa.ChunkedArray:
    """Return who takes part: the given people, or those of the first service with one row per person."""
    if people is not None:
        return _people(people)
    if not keys:
        problem = "no service has one row for everybody, so it is unknown who takes part. List them in people=."
        raise RecordError(problem, code="people-unknown")
    return next(iter(keys.values()))


def check_people(keys: Mapping[str, pa.ChunkedArray], people: Iterable[int] | Iterable[str] | None) -> None:
    """Refuse services with different people: everybody in a round reports to every service."""
    if people is not None:
        keys = {"people=": _people(people), **keys}
    if not keys:
        return
    reference, *others = keys
    expected = keys[reference]
    wanted = None
    for name in others:
        if keys[name].type != expected.type:
            problem = f"keys have another type than those of {reference}. Use one type for the person's key."
            raise RecordError(problem, code="wrong-type", service=name)
        if pa.types.is_integer(expected.type):
            wanted = np.sort(_as_integers(expected)) if wanted is None else wanted
            same = np.array_equal(wanted, np.sort(_as_integers(keys[name])))
        else:
            same = len(expected) == len(keys[name]) and pc.all(pc.is_in(keys[name], value_set=expected)).as_py()
        if not same:
            problem = (
                f"the people differ from those of {reference} ({len(keys[name])} and {len(expected)} keys). "
                "Encode the same people in every service."
            )
            raise RecordError(problem, code="people-differ", service=name)


def _people(people: Iterable[int] | Iterable[str]) -> pa.ChunkedArray:
    try:
        column = pa.chunked_array([pa.array(people if hasattr(people, "__len__") else list(people))])
    except Exception:  # its message may quote a key
        column = None
    if column is None or len(column) == 0:
        problem = "people= must be a list of keys, all whole numbers or all text, and not empty."
        raise RecordError(problem, code="wrong-type")
    return _check_keys(column, service=None, name="people=", distinct=True)
