"""Windows: totals over other groups than a row's own, for shares, running totals, moving sums and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.cases import Classes
from tacit.sql.ordered import places_of
from tacit.sql.scope import Scope
from tacit.sql.totals import Total
from tacit.sql.vectors import kind_of

__all__ = ["UNBOUNDED", "AnyWindow", "GroupWindow", "Window", "edges_of"]

UNBOUNDED = 1e9
"""Places from a group to the first or the last one: more than there are groups."""

Group = tuple[int, ...]


class Window(Protocol):
    """The rows that an aggregate over groups covers."""

    def partition(self, node: exp.Window) -> Total:
        """Return the total of all groups of the partition; with an order, of those up to this one."""
        ...

    def frame(self, node: exp.Window, first: float, last: float) -> list[Total]:
        """Return the totals of the groups from the first to the last place, counted from this one in the order."""
        ...


@dataclass(frozen=True)
class AnyWindow:
    """Stands for any window, to check a formula before there are groups."""

    rows: Total

    def partition(self, node: exp.Window) -> Total:
        """Return all rows."""
        del node
        return self.rows

    def frame(self, node: exp.Window, first: float, last: float) -> list[Total]:
        """Return all rows."""
        del node, first, last
        return [self.rows]


class GroupColumn(Protocol):
    """A column of GROUP BY."""

    @property
    def classes(self) -> Classes:
        """Its labels, each with the total of its people."""
        ...

    def is_the(self, scope: Scope, node: exp.Expr) -> bool:
        """Return whether an expression is this key."""
        ...


class Groups(Protocol):
    """The groups of a question."""

    @property
    def scope(self) -> Scope:
        """Its services."""
        ...

    @property
    def where(self) -> Total:
        """The rows that satisfy WHERE."""
        ...

    @property
    def keys(self) -> Sequence[GroupColumn]:
        """The columns of GROUP BY."""
        ...

    def members(self, group: Group) -> Total:
        """Return the total that counts a group's people."""
        ...

    def known_groups(self) -> frozenset[Group]:
        """Return all groups; none if public columns or HAVING decide which there are."""
        ...


@dataclass(frozen=True)
class GroupWindow:
    """The windows of one group's row."""

    groups: Groups
    group: Group

    def partition(self, node: exp.Window) -> Total:
        """Return the total of all groups that agree with this one in the partition, up to it in the window's order."""
        total, order = self.groups.where, _order_of(node)
        for key, place, is_named in zip(self.groups.keys, self.group, self._partition_keys(node), strict=True):
            total = total * key.classes[place][1] if is_named else total
            if order is not None and key.is_the(self.groups.scope, order.this):
                before = _in_order(self.groups.scope, key.classes, order)
                total = total * Total.sum(key.classes[i][1] for i in before[: before.index(place) + 1])
                order = None
        if order is not None:
            raise self._refuse_order(order)
        return total

    def frame(self, node: exp.Window, first: float, last: float) -> list[Total]:
        """Return the totals of neighbouring groups, which differ from this one in the column of the order alone."""
        named, order = self._partition_keys(node), _order_of(node)
        ordered = [
            axis
            for axis, key in enumerate(self.groups.keys)
            if order is not None and key.is_the(self.groups.scope, order.this)
        ]
        if order is None or not ordered or sum(named) + 1 != len(named) or named[ordered[0]]:
            raise self._refuse_order(order or node)
        axis, known = ordered[0], self.groups.known_groups()
        classes = _in_order(self.groups.scope, self.groups.keys[axis].classes, order)
        places = [(*self.group[:axis], i, *self.group[axis + 1 :]) for i in classes]
        siblings = [group for group in places if group in known]
        here = siblings.index(self.group)
        chosen = siblings[int(max(0, here + first)) : int(max(0, min(len(siblings), here + last + 1)))]
        return [self.groups.members(group) for group in chosen]

    def _partition_keys(self, node: exp.Window) -> list[bool]:
        """Return which columns of GROUP BY the partition names."""
        partition: Sequence[exp.Expr] = node.args.get("partition_by") or []
        named = [any(key.is_the(self.groups.scope, part) for part in partition) for key in self.groups.keys]
        if not self.groups.known_groups() or sum(named) < len(partition):
            message = (
                "A total over groups, such as SUM(COUNT(*)) OVER (), needs groups of sensitive columns, or public "
                "ones with listed values, PARTITION BY some of them, and no HAVING. Divide two answers instead."
            )
            raise UnsupportedSqlError(message, code="unsupported-window", text=self.groups.scope.text)
        return named

    def _refuse_order(self, node: exp.Expr) -> UnsupportedSqlError:
        message = (
            "A window must be ordered by one sensitive column of GROUP BY; for LAG, LEAD, FIRST_VALUE and ROWS, "
            "PARTITION BY must name all others. Name them in OVER (PARTITION BY … ORDER BY …)."
        )
        return self.groups.scope.refusal(message, node, "unsupported-window")


def _order_of(node: exp.Window) -> exp.Ordered | None:
    order = node.args.get("order")
    return order.expressions[0] if order is not None else None


def _in_order(scope: Scope, classes: Classes, order: exp.Ordered) -> list[int]:
    """Return the places of classes in the order of their labels; ordered categories have their declared order."""
    declared = places_of(scope, order.this) or {}
    sorted_by = [declared.get(label, label) for label, _ in classes]
    known = [number for number, value in enumerate(sorted_by) if value is not None]
    known.sort(key=lambda i: (kind_of(sorted_by[i]), sorted_by[i]), reverse=bool(order.args.get("desc")))
    unknown = [number for number, value in enumerate(sorted_by) if value is None]
    return [*unknown, *known] if order.args.get("nulls_first") else [*known, *unknown]


def edges_of(spec: exp.WindowSpec) -> tuple[float, float] | None:
    """Return the first and last place of ROWS BETWEEN …, counted from the row itself; None if it is something else."""
    edges = [_edge(spec.args.get(word), str(spec.args.get(f"{word}_side") or "")) for word in ("start", "end")]
    if str(spec.args.get("kind")).upper() != "ROWS" or spec.args.get("exclude") or None in edges:
        return None
    return edges[0] or 0.0, edges[1] or 0.0


def _edge(edge: Any, side: str) -> float | None:
    sign = -1.0 if side.upper() == "PRECEDING" else 1.0
    if edge is None or str(edge).upper() == "CURRENT ROW":
        return 0.0
    if str(edge).upper() == "UNBOUNDED":
        return sign * UNBOUNDED
    text = str(edge.this) if isinstance(edge, exp.Literal) else ""
    return sign * int(text) if text.isdigit() and len(text) < 7 else None
