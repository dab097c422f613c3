"""Contracts that lie about ordered categories, dictionaries and levels by a calendar."""

from __future__ import annotations

from collections.abc import Iterator

from vectors.forge import FIRST, LEVEL, SPAN, Lie, add, at, both, drop, put


def lists() -> Iterator[Lie]:
    """Yield orders, dictionaries and calendars that cannot be."""
    for value in (0, 1, 65, -2, SPAN):
        yield "bad-option", "ordered", put((*FIRST, "fanout"), value)
    for value in ("2", None, True, [2]):
        yield "wrong-type", "ordered", put((*FIRST, "fanout"), value)
    yield "bad-levels", "ordered", put((*FIRST, "fanout"), 64)
    yield "bad-option", "ordered", add(FIRST, "other", "f", after="values")
    yield "version", "ordered", drop((*FIRST, "fanout"))
    yield "unknown-member", "grr", add(FIRST, "fanout", 5, after="values")
    yield "unknown-member", "ordered", put(("tacit",), 1)
    yield from _dictionaries()
    yield from _calendars()


def _dictionaries() -> Iterator[Lie]:
    sha256, size = (*FIRST, "dictionary"), (*FIRST, "size")
    for value in ("", "0" * 63, "0" * 65, "A" * 64, "g" * 64, " " + "0" * 63, "0" * 64 + "\n"):
        yield "bad-option", "dictionary", put(sha256, value)
    for value in (0, -1):
        yield "bad-option", "dictionary", put(size, value)
    for value in (1_000_001, 2**31, SPAN):
        yield "domain-too-large", "dictionary", put(size, value)
    for value in (1, 39, 41):
        yield "bad-levels", "dictionary", put(size, value)
    for value in ("40", None, True, [40]):
        yield "wrong-type", "dictionary", put(size, value)
    for value in (0, None, ["a"], {}):
        yield "wrong-type", "dictionary", put(sha256, value)
    yield "missing-member", "dictionary", drop(size)
    yield "missing-member", "dictionary", drop(sha256)
    yield "version", "dictionary", both(drop(size), drop(sha256))
    yield "bad-option", "dictionary", add(FIRST, "values", ["a", "b"], after="kind")
    yield "bad-option", "dictionary", add(FIRST, "other", 5, after="size")
    yield (
        "bad-option",
        "dictionary",
        both(add(FIRST, "other", "x", after="size"), add(FIRST, "fanout", 5, after="other")),
    )
    yield "bad-levels", "dictionary", add(FIRST, "fanout", 5, after="size")
    yield (
        "not-canonical",
        "dictionary",
        lambda tree: at(tree, FIRST).update(dictionary=at(tree, FIRST).pop("dictionary")),
    )
    yield "unknown-member", "dictionary", put(("tacit",), 1)
    yield "reserved", "typed", add((*FIRST[:-1], 1), "dictionary", "0" * 64, after="kind")
    yield "reserved", "ordered", add(LEVEL[:-2], "starts", [[0, 1]], after="key")


def _calendars() -> Iterator[Lie]:
    starts = (*LEVEL, "starts")
    yield "empty", "calendar", put(starts, [])
    yield "empty", "calendar", put((*starts, 0), [])
    for value in (None, 1, "1", {}, [1], [None], [["0"]], [[True]]):
        yield "wrong-type", "calendar", put(starts, value)
    for place, value in ((0, 1), (0, -1), (1, 0), (-1, 76), (-1, SPAN), (1, -1)):
        yield "bad-levels", "calendar", put((*starts, 0, place), value)
    yield "bad-levels", "calendar", put(starts, [[0]])
    yield "bad-levels", "calendar", put(starts, [[0, 5], [0, 7]])
    yield "bad-levels", "calendar", put(starts, [[0, 5, 9], [0, 7]])
    yield "bad-levels", "calendar", put(starts, [list(range(76))])
    yield "bad-levels", "calendar", put(starts, [[0, *range(1, k)] for k in range(2, 75)] * 4)
    yield "bad-levels", "calendar", lambda tree: at(tree, starts)[-1].reverse()
    yield "bad-levels", "calendar", drop((*LEVEL, "offsets"))
    yield "bad-views", "calendar", drop(starts)
    yield "not-canonical", "calendar", lambda tree: at(tree, LEVEL).update(offsets=at(tree, LEVEL).pop("offsets"))
    yield "bad-levels", "typed", add(LEVEL, "starts", [[0, 1]], after="widths")
    yield "unknown-member", "hio", add(LEVEL, "starts", [[0, 1]], after="widths")
