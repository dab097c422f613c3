"""Contracts that lie about partitions and about the weights of views."""

from __future__ import annotations

import json
from collections.abc import Iterator

from vectors.forge import BASES, CHANNEL, LEVEL, SERVICE, SPAN, Lie, add, at, both, drop, plus, put


def runs() -> Iterator[Lie]:
    """Yield partitions and weights of views that cannot be."""
    widths, offsets, weights = (*LEVEL, "widths"), (*LEVEL, "offsets"), (*CHANNEL, "weights")
    for base in ("runs", "null runs"):
        for path in (offsets, weights):
            yield "empty", base, put(path, [])
            for value in (None, 1, "1", {}, [True], ["1"], [None]):
                yield "wrong-type", base, put(path, value)
        yield "unknown-member", base, put(("tacit",), 1)
        for place, value in ((0, 0), (0, -4), (0, 7), (0, 3), (-1, 2), (1, 3), (0, SPAN)):
            yield "bad-levels", base, put((*widths, place), value)
        for place, value in ((0, -1), (0, 4), (-1, 1), (1, 0), (1, 3), (0, SPAN)):
            yield "bad-levels", base, put((*offsets, place), value)
        for path in (widths, offsets):
            yield "bad-levels", base, lambda tree, path=path: at(tree, path).pop()
            yield "bad-levels", base, lambda tree, path=path: at(tree, path).append(0)
            yield "bad-levels", base, lambda tree, path=path: at(tree, path).reverse()
        yield "bad-levels", base, both(put(widths, [1]), put(offsets, [1]))
        nested = at(json.loads(BASES["hio" if base == "runs" else "null"]), widths)
        yield "bad-levels", base, both(put(widths, nested), put(offsets, [0] * len(nested)))
        yield "bad-levels", base, put((*LEVEL, "count"), 5)
        yield "bad-levels", base, both(put(widths, [2] * 299 + [1]), put(offsets, [0] * 300))
        for value in (0, -1, SPAN, 2**20 + 1):
            yield "bad-weights", base, put((*weights, 0), value)
        yield "bad-weights", base, plus((*weights, 0), 1)
        yield "bad-weights", base, lambda tree: at(tree, weights).pop()
        yield "bad-weights", base, lambda tree: at(tree, weights).append(1)
        yield "bad-weights", base, lambda tree: put(weights, [2**20 * weight for weight in at(tree, weights)])(tree)
    yield "bad-levels", "runs", add((*SERVICE, "levels", 1), "offsets", [0], after="widths")
    yield "missing-member", "runs", drop(widths)
    yield "bad-levels", "runs", drop(offsets)
    yield "not-canonical", "runs", lambda tree: at(tree, LEVEL).update(widths=at(tree, LEVEL).pop("widths"))
    yield "unknown-member", "hio", add(LEVEL, "offsets", [0, 0], after="widths")
    yield "unknown-member", "hio", add(CHANNEL, "weights", [1, 1], after="views")
    yield "bad-weights", "typed", add(CHANNEL, "weights", [3], after="views")
    yield "bad-levels", "typed", add(LEVEL, "offsets", [0], after="widths")
