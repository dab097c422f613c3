"""MODE: the most frequent value of a column, and every value that could be it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.sql.cases import classes_of_group
from tacit.sql.composite import Composite
from tacit.sql.formula import of_total
from tacit.sql.scope import Scope
from tacit.sql.totals import Total

__all__ = ["Mode", "mode"]

MOST_VALUES = 1_000
"""Maximum values that MODE compares."""


@dataclass(frozen=True, eq=False)
class Mode(Composite):
    """The counts of all values, and what the values are."""

    labels: tuple[Any, ...] = ()

    def possible(self, ends: Sequence[tuple[float, float]]) -> list[int]:
        """Return the values whose counts may be the largest, if each count lies within its interval."""
        least = max(low for low, _ in ends)
        return [place for place, (_, high) in enumerate(ends) if high >= least]


def mode(scope: Scope, node: exp.Expr, where: Total) -> Mode:
    """Return the counts that MODE needs."""
    columns = list(node.this.find_all(exp.Column)) if isinstance(node.this, exp.Expr) else []
    if not columns or any(isinstance(scope.find(column).attribute, Public) for column in columns):
        message = (
            "MODE takes a sensitive column, or a function of sensitive columns. Ask for SELECT column, COUNT(*) … "
            "GROUP BY column "
            "ORDER BY 2 DESC LIMIT 1 instead."
        )
        raise scope.refusal(message, node, "unsupported-aggregate")
    classes = [(label, held) for label, held in classes_of_group(scope, node.this) if label is not None]
    if len(classes) > MOST_VALUES:
        message = f"MODE compares {len(classes):,} values; at most {MOST_VALUES:,} are allowed. Use a coarser column."
        raise scope.refusal(message, node, "too-many-groups")
    parts = tuple(of_total(where * held) for _, held in classes)
    return Mode(parts, lambda parts: parts[0], labels=tuple(label for label, _ in classes))
