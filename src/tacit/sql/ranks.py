"""ROW_NUMBER, RANK and DENSE_RANK: ranks of rows, computed from their estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlglot import exp

from tacit.sql.scope import Scope
from tacit.sql.vectors import kind_of

__all__ = ["Rank", "SortKey", "is_rank", "key_of", "rank_of", "sort_rows"]

KINDS: dict[type[exp.Expr], str] = {exp.RowNumber: "row", exp.Rank: "rank", exp.DenseRank: "dense"}


class SortKey(NamedTuple):
    """A place in a row, whether the largest come first, and whether undefined values do."""

    place: int
    descending: bool
    nulls_first: bool
    order: Mapping[Any, int] | None = None
    """The place of each category, for a column of ordered categories."""
    compute: Callable[[Sequence[Any]], Any] | None = None
    """The value in a row, for an expression over columns of groups."""

    def value_of(self, row: Sequence[Any], plain: Callable[[Any], Any]) -> Any:
        """Return the sort value of a row."""
        value = self.compute(row) if self.compute else plain(row[self.place])
        return self.order.get(value, value) if self.order else value


def is_rank(node: exp.Expr) -> bool:
    """Return whether a node is a rank among the rows of the answer."""
    return isinstance(node, exp.Window) and type(node.this) in KINDS


@dataclass(frozen=True)
class Rank:
    """The rank of a row within its partition, in a given order."""

    kind: str
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]

    def of(self, rows: Sequence[list[Any]], plain: Callable[[Any], Any]) -> list[int]:
        """Return the rank of each row."""
        parts: dict[tuple[Any, ...], list[int]] = {}
        for number, row in enumerate(rows):
            parts.setdefault(tuple(plain(row[place]) for place in self.partition), []).append(number)
        ranks = [0] * len(rows)
        for members in parts.values():
            numbered = sort_rows([[*rows[number], number] for number in members], self.order, plain)
            before, rank, dense = None, 0, 0
            for place, row in enumerate(numbered, 1):
                values = [key.value_of(row, plain) for key in self.order]
                if values != before or self.kind == "row":
                    before, rank, dense = values, place, dense + 1
                ranks[row[-1]] = dense if self.kind == "dense" else rank
        return ranks


def rank_of(
    scope: Scope,
    node: exp.Window,
    position: Callable[[exp.Expr], int],
    places: Callable[[int], Mapping[Any, int] | None],
) -> Rank:
    """Return the rank of a window; ``position`` returns the place of an expression in a row."""
    order = node.args.get("order")
    if order is None or node.args.get("spec"):
        message = "A rank needs an order, as in ROW_NUMBER() OVER (PARTITION BY column ORDER BY COUNT(*) DESC)."
        raise scope.refusal(message, node, "unsupported-window")
    partition = tuple(position(key) for key in node.args.get("partition_by") or [])
    return Rank(KINDS[type(node.this)], partition, tuple(key_of(item, position, places) for item in order.expressions))


def key_of(
    item: exp.Ordered,
    position: Callable[[exp.Expr], int],
    order: Callable[[int], Mapping[Any, int] | None] = lambda _: None,
) -> SortKey:
    """Return an item of ORDER BY; ``order`` has the places of a column's categories, if they are ordered."""
    place = position(item.this)
    return SortKey(place, bool(item.args.get("desc")), bool(item.args.get("nulls_first")), order(place))


def sort_rows(rows: list[list[Any]], keys: Sequence[SortKey], plain: Callable[[Any], Any]) -> list[list[Any]]:
    """Return rows in the order of some keys; undefined values come last unless a key says otherwise."""
    for key in reversed(keys):
        keyed = [(key.value_of(row, plain), row) for row in rows]
        known = [pair for pair in keyed if pair[0] is not None]
        known.sort(key=lambda pair: (kind_of(pair[0]), pair[0]), reverse=key.descending)
        unknown = [row for key, row in keyed if key is None]
        sorted_rows = [row for _, row in known]
        rows = unknown + sorted_rows if key.nulls_first else sorted_rows + unknown
    return rows
