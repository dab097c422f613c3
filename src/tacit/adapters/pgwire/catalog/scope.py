"""Name resolution of catalog questions: columns of this query or of an outer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.adapters.pgwire.catalog.facts import relation_oid
from tacit.errors import BindError

__all__ = ["CatalogScope", "ColumnPlace", "Env"]


@dataclass
class Env:
    """A row, the aggregates of its group, and the row of the outer query."""

    row: tuple[Any, ...]
    parent: Env | None = None
    aggregates: Sequence[Any] = ()


@dataclass(frozen=True)
class ColumnPlace:
    """A column: how many queries further out, its index in the row, and its type."""

    depth: int
    index: int
    type: str


@dataclass
class CatalogScope:
    """Columns of the tables in FROM, in the order of the row."""

    parent: CatalogScope | None = None
    columns: list[tuple[str, str, str]] = field(default_factory=list)
    """Table, name and type of each."""

    origins: dict[str, str] = field(default_factory=dict)
    """Relations of the catalog, by alias."""

    hidden: set[int] = field(default_factory=set)
    """Indices of columns that USING has merged with an earlier one: an asterisk shows them once."""

    def add(self, table: str, names: Sequence[str], types: Sequence[str]) -> None:
        """Add the columns of a table."""
        self.columns += [(table, name, kind) for name, kind in zip(names, types, strict=True)]

    def find(self, table: str, name: str) -> ColumnPlace:
        """Return the place of a column; raise if there is none."""
        scope: CatalogScope | None = self
        depth = 0
        while scope is not None:
            for index, (owner, known, kind) in enumerate(scope.columns):
                if known == name and table in ("", owner):
                    return ColumnPlace(depth, index, kind)
            scope, depth = scope.parent, depth + 1
        shown = f"{table}.{name}" if table else name
        message = f"There is no column {shown[:80]!r} in the catalog's relations."
        raise BindError(message, code="unknown-column")

    def holds(self, table: str, name: str) -> bool:
        """Return whether a column belongs to this query itself."""
        return any(known == name and table in ("", owner) for owner, known, _ in self.columns)

    def origin_oid(self, table: str) -> int | None:
        """Return the oid of the relation behind a table of FROM."""
        scope: CatalogScope | None = self
        while scope is not None:
            if table in scope.origins:
                return relation_oid(scope.origins[table])
            scope = scope.parent
        return None
