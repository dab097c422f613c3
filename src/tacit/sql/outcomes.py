"""The numbers that an expression can have, in order, and the total of its being at most each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tacit.contract.schema import Ordinal, Public
from tacit.errors import BindError
from tacit.estimate.functional import Vector
from tacit.sql.parse import span_of
from tacit.sql.scope import Found, Scope
from tacit.sql.totals import Total
from tacit.sql.vectors import cell_ends

__all__ = ["MOST_OUTCOMES", "Outcomes", "outcomes_of"]

MOST_OUTCOMES = 1_000
"""Values that are told apart: of more, evenly spaced ones are looked at, and those between two belong to the larger."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Distinct numbers in order; ``lows`` to ``highs`` is what each stands for, ``least`` to ``most`` what it may be.

    The four are equal unless the attribute was collected in coarser cells, or has very many values.
    """

    scope: Scope
    found: Found
    rank: Vector
    """Of each value index, the place of its number; NULL has none, -1."""
    values: Vector
    lows: Vector
    highs: Vector
    least: Vector
    most: Vector

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_coarse(self) -> bool:
        """Whether a number stands for others, too."""
        return bool((self.least < self.most).any())

    def test(self, place: int, share: float) -> Total:
        """Return the total of being at most the number at a place, less a share of everybody who has one."""
        known = self.rank >= 0
        return self.scope.total(self.found, (known & (self.rank <= place)) - share * known)


def outcomes_of(scope: Scope, node: exp.Expr) -> Outcomes:
    """Return the numbers of a column."""
    if isinstance(node, exp.Paren):
        return outcomes_of(scope, node.this)
    if not isinstance(node, exp.Column):
        message = "A quantile is of one sensitive column. Name it, without arithmetic."
        raise scope.unsupported(message, node, "unsupported-expression")
    found = scope.find(node)
    if isinstance(found.attribute, Public):
        message = (
            f"{found.attribute.name} is public, and quantiles are of sensitive columns. Count the people on either "
            "side of a value instead, as COUNT(*) FILTER (WHERE …)."
        )
        raise scope.unsupported(message, node, "unsupported-expression")
    try:
        numbers = found.measure()
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise
    known = found.null() == 0
    values, rank = np.unique(numbers[known], return_inverse=True)
    ranks = np.full(len(numbers), -1.0)
    ranks[known] = rank
    attribute = found.attribute
    if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks and found.lookup is None:
        return _thinned(Outcomes(scope, found, ranks, values, *cell_ends(attribute)))
    return _thinned(Outcomes(scope, found, ranks, values, values, values, values, values))


def _thinned(known: Outcomes) -> Outcomes:
    """Return the same numbers, or as many of them as are told apart."""
    count = len(known)
    if count <= MOST_OUTCOMES:
        return known
    last = np.unique(np.linspace(0, count - 1, MOST_OUTCOMES + 1)[1:].astype(np.int64))
    first = np.concatenate([[0], last[:-1] + 1])
    rank = np.where(known.rank < 0, -1, np.searchsorted(last, known.rank)).astype(np.float64)
    return Outcomes(
        known.scope,
        known.found,
        rank,
        known.values[last],
        known.lows[first],
        known.highs[last],
        known.least[first],
        known.most[last],
    )
