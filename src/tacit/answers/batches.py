"""Batches of groups or tests: as many as sums by code answer at once, else a few per statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tacit.answers.sums import Fetch, fetch_by_code, fetch_sums
from tacit.engines.deadline import check_deadline

__all__ = ["in_batches"]

T = TypeVar("T")
R = TypeVar("R")

FEWER = 4
"""By how much a batch shrinks that sums by code do not answer: its statement may have too many columns."""


def in_batches(
    items: Sequence[T], by_code: int, per_statement: int, answer: Callable[[Sequence[T], Fetch], R | None]
) -> Iterator[R]:
    """Yield the results of batches; ``answer`` returns None where sums by code do not suffice for one."""
    start, step = 0, min(by_code, len(items))
    fetch: Fetch = fetch_by_code
    sizes = iter((step // FEWER, 0))
    while start < len(items):
        check_deadline()
        result = answer(items[start : start + step], fetch)
        if result is None:
            step = next(sizes)
            if step <= per_statement:
                step, fetch = per_statement, fetch_sums
            continue
        yield result
        start += step
