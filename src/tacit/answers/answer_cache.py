"""A cache of answers, valid until reports or definitions change: dashboards repeat their questions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from tacit.answers.shared_cache import SharedCache
from tacit.engines.base import Engine
from tacit.estimate.answer import Answer, Options
from tacit.sql.moments import clock_for

__all__ = ["AnswerCache"]

MOST_CELLS = 20_000
"""Maximum cells of the cached answers; an estimate takes about a kilobyte."""

MOST_QUESTIONS = 64
"""Maximum cached bound questions, so that inspecting a question and then answering it binds it once."""

R = TypeVar("R")
Q = TypeVar("Q")
V = TypeVar("V")


class AnswerCache(Generic[R, Q]):
    """Answers of one database, with the rounds (R) they count, and bound questions (Q)."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._definitions = engine, 0
        self._answers: SharedCache[tuple[Answer, R]] = SharedCache(lambda: MOST_CELLS, _cells)
        self._questions: SharedCache[Q] = SharedCache(lambda: MOST_QUESTIONS, lambda _: 1)

    def redefine(self) -> None:
        """Clear the cache: there is a new collection, public table or rollup."""
        self._definitions += 1

    def answer(
        self,
        make: Callable[[str, Sequence[Any], Options], tuple[Answer, R]],
        text: str,
        parameters: Sequence[Any],
        options: Options,
    ) -> tuple[Answer, R]:
        """Return the cached answer to a question, or make it; the rows are a copy that the caller may change."""
        answer, rounds = self._get(self._answers, text, parameters, options, partial(make, text, parameters, options))
        copied = copy.copy(answer)
        copied.rows = list(answer.rows)
        return copied, rounds

    def question(
        self, make: Callable[[str, Sequence[Any], Options], Q], text: str, parameters: Sequence[Any], options: Options
    ) -> Q:
        """Return the cached bound question, or bind it."""
        return self._get(self._questions, text, parameters, options, partial(make, text, parameters, options))

    def _get(
        self,
        cache: SharedCache[V],
        text: str,
        parameters: Sequence[Any],
        options: Options,
        make: Callable[[], V],
    ) -> V:
        changes = self._engine.changes()
        key = (text, clock_for(text), options, *((type(value), value) for value in parameters))
        if changes is None or not _is_hashable(key):
            return make()
        return cache.get((changes, self._definitions), key, make)


def _cells(entry: tuple[Answer, Any]) -> int:
    return 1 + len(entry[0].rows) * len(entry[0].columns)


def _is_hashable(key: Hashable) -> bool:
    try:
        hash(key)
    except TypeError:  # unhashable; binding refuses this parameter later
        return False
    return True
