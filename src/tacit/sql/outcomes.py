"""The numbers that an expression can have, in order, and the total of its being at most each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tacit.contract.schema import Ordinal, Public
from tacit.errors import BindError
from tacit.estimate.functional import Vector
from tacit.sql.parse import span_of
from tacit.sql.scope import Scope
from tacit.sql.tabulated import Tabulated, tabulated
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

    table: Tabulated
    rank: Vector
    """Of each combination of values, the place of its number; NULL has none, -1."""
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
        return self.table.total((known & (self.rank <= place)) - share * known)


def outcomes_of(scope: Scope, node: exp.Expr) -> Outcomes:
    """Return the numbers of a column, or of an expression over sensitive columns."""
    if isinstance(node, exp.Paren):
        return outcomes_of(scope, node.this)
    if any(isinstance(scope.find(column).attribute, Public) for column in node.find_all(exp.Column)):
        message = (
            "Quantiles are of sensitive columns, and this one is public. Count the people on either side of a value "
            "instead, as COUNT(*) FILTER (WHERE …)."
        )
        raise scope.unsupported(message, node, "unsupported-expression")
    found = scope.find(node) if isinstance(node, exp.Column) else None
    if found is None:
        table = tabulated(scope, node, "unsupported-expression")
        numbers = table.numbers(node)
        known = np.asarray(np.frompyfunc(lambda value: value is not None, 1, 1)(table.values), dtype=bool)
    else:
        table = Tabulated(scope, (found,), np.empty(0, dtype=object))
        try:
            numbers, known = found.measure(), found.null() == 0
        except BindError as error:
            error.text, error.span = scope.text, span_of(node)
            raise
    values, rank = np.unique(numbers[known], return_inverse=True)
    ranks = np.full(numbers.shape, -1.0)
    ranks[known] = rank
    attribute = found.attribute if found is not None and found.lookup is None else None
    if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks:
        return _thinned(Outcomes(table, ranks, values, *cell_ends(attribute)))
    return _thinned(Outcomes(table, ranks, values, values, values, values, values))


def _thinned(known: Outcomes) -> Outcomes:
    """Return the same numbers, or as many of them as are told apart."""
    count = len(known)
    if count <= MOST_OUTCOMES:
        return known
    last = np.unique(np.linspace(0, count - 1, MOST_OUTCOMES + 1)[1:].astype(np.int64))
    first = np.concatenate([[0], last[:-1] + 1])
    rank = np.where(known.rank < 0, -1, np.searchsorted(last, known.rank)).astype(np.float64)
    return Outcomes(
        known.table,
        rank,
        known.values[last],
        known.lows[first],
        known.highs[last],
        known.least[first],
        known.most[last],
    )
