"""A question, bound to the reports that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tacit.answers.people import People
from tacit.sql.bind import Bound

__all__ = ["Question"]

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Question(Generic[R]):
    """A bound question with the newest round (R) that answers it, its people, and all rounds it covers."""

    question: str
    newest: R
    bound: Bound
    people: People
    rounds: list[R]
