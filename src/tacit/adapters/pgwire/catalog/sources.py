"""Compile FROM and WHERE of catalog questions: tables, queries and functions, joined row by row.

A condition of WHERE is applied as soon as all its columns are available, so that comma-separated tables do not form a
full cross product first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import Compiler, unsupported_error
from tacit.adapters.pgwire.catalog.naming import column_name, fold_name
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.catalog.values import Relation
from tacit.errors import BindError, UnknownNameError, UnsupportedSqlError

__all__ = ["Sources"]

CELLS_OF_A_STEP = 8
"""Number of cells of a new row that count as one step."""

Row = tuple[Any, ...]
Run = Callable[[Env | None], Relation]
Query = Callable[[exp.Expr, CatalogScope | None, dict[str, tuple[Relation, Run]]], tuple[Relation, Run]]
Filter = tuple[int, Callable[[Env], Any]]
"""How many columns a condition needs, and the condition."""


@dataclass(frozen=True)
class _Source:
    """A source in FROM: its columns, and its rows for a row of the outer query."""

    columns: list[tuple[str, str, str]]
    origins: dict[str, str]
    rows: Callable[[Env | None], list[Row]]
    is_lateral: bool = False
    hidden: frozenset[int] = frozenset()


class Sources:
    """Compiles FROM and WHERE."""

    def __init__(self, catalog: PgCatalog, compiler: Compiler, query: Query) -> None:
        self._catalog, self._compiler, self._query = catalog, compiler, query

    def read(
        self, node: exp.Select, parent: CatalogScope | None, ctes: dict[str, tuple[Relation, Run]]
    ) -> tuple[CatalogScope, Callable[[Env | None], list[Row]]]:
        """Return the scope of a SELECT, and the rows that satisfy WHERE."""
        start = node.args.get("from_")
        if start is None:
            scope = CatalogScope(parent)
            conditions = self._conditions(node, scope)
            return scope, lambda env: [()] if all(test(Env((), env)) is True for _, test in conditions) else []
        joins = [*(node.args.get("joins") or ()), *(node.args.get("laterals") or ())]
        scope, steps = self._chain(start.this, joins, parent, ctes)
        pushed = self._conditions(node, scope)
        can_push = all(step[1] in ("INNER", "LEFT") for step in steps)

        def rows(env: Env | None) -> list[Row]:
            return self._join_all(
                steps, env, pushed if can_push else [(len(scope.columns), test) for _, test in pushed]
            )

        return scope, rows

    def _conditions(self, node: exp.Select, scope: CatalogScope) -> list[Filter]:
        where = node.args.get("where")
        parts = list(where.this.flatten()) if where is not None and isinstance(where.this, exp.And) else []
        parts = parts or ([where.this] if where is not None else [])
        return [(self._columns_needed(part, scope), self._compiler.compile(part, scope).run) for part in parts]

    def _columns_needed(self, part: exp.Expr, scope: CatalogScope) -> int:
        """Return how many columns of the row a condition needs; all of them if it contains a query."""
        if any(True for _ in part.find_all(exp.Query)):
            return len(scope.columns)
        needed = 0
        for column in part.find_all(exp.Column):
            table, name = fold_name(column.args.get("table")), fold_name(column.this)
            if scope.holds(table, name):
                needed = max(needed, scope.find(table, name).index + 1)
        return needed

    def _chain(
        self,
        first: exp.Expr,
        joins: Sequence[exp.Expr],
        parent: CatalogScope | None,
        ctes: dict[str, tuple[Relation, Run]],
    ) -> tuple[CatalogScope, list[tuple[_Source, str, list[Filter], tuple[int, int] | None]]]:
        """Return the scope of joined tables, and each table with its join."""
        scope = CatalogScope(parent)
        in_parentheses = isinstance(first, exp.Subquery) and isinstance(first.this, exp.Table | exp.Subquery)
        nested = [] if in_parentheses else list(first.args.get("joins") or ())
        steps: list[tuple[_Source, str, list[Filter], tuple[int, int] | None]] = []
        for item in [first, *nested, *joins]:
            join = item if isinstance(item, exp.Join) else None
            source = self._source(join.this if join is not None else item, scope, parent, ctes)
            before = len(scope.columns)
            scope.columns += source.columns
            scope.origins |= source.origins
            scope.hidden |= {before + place for place in source.hidden}
            kind = "INNER" if join is None else _kind(join)
            tests, equal = self._on(join, scope, before)
            steps.append((source, kind, tests, equal))
        return scope, steps

    def _on(
        self, join: exp.Join | None, scope: CatalogScope, before: int
    ) -> tuple[list[Filter], tuple[int, int] | None]:
        """Return the conditions of a join, and the indices of two columns that must be equal, if any."""
        if join is None:
            return [], None
        using: Any = join.args.get("using") or ()
        tests: list[Filter] = []
        equal: tuple[int, int] | None = None
        for name in using:
            places = [i for i, (_, known, _) in enumerate(scope.columns) if known == fold_name(name)]
            left = next((i for i in places if i < before), None)
            right = next((i for i in places if i >= before), None)
            if left is None or right is None:
                message = f"USING ({fold_name(name)}): one side of the join has no such column."
                raise BindError(message, code="unknown-column")
            scope.hidden.add(right)
            equal = (left, right - before)
            tests.append((len(scope.columns), partial(_are_equal, left, right)))
        condition = join.args.get("on")
        if condition is not None:
            parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
            for part in parts:
                tests.append((len(scope.columns), self._compiler.compile(part, scope).run))
                equal = equal or _equal_places(part, scope, before)
        return tests, equal

    def _join_all(
        self,
        steps: Sequence[tuple[_Source, str, list[Filter], tuple[int, int] | None]],
        env: Env | None,
        filters: Sequence[Filter],
    ) -> list[Row]:
        rows: list[Row] = [()]
        width = 0
        for source, kind, tests, equal in steps:
            rows = self._join(rows, width, source, kind, tests, equal, env)
            before, width = width, width + len(source.columns)
            now = [test for needed, test in filters if before < needed <= width or (needed == 0 and before == 0)]
            for test in now:
                self._compiler.budget.spend(len(rows))
                rows = [row for row in rows if test(Env(row, env)) is True]
        return rows

    def _join(
        self,
        rows: list[Row],
        width: int,
        source: _Source,
        kind: str,
        tests: list[Filter],
        equal: tuple[int, int] | None,
        env: Env | None,
    ) -> list[Row]:
        """Return rows joined with those of a source."""
        is_lateral = source.is_lateral and kind in ("INNER", "LEFT")
        around = Env((None,) * width, env) if source.is_lateral else env
        others = [] if is_lateral else source.rows(around)
        index = _index_rows(others, equal) if equal is not None and not is_lateral else None
        spend, blank = self._compiler.budget.spend, (None,) * len(source.columns)
        cost = 1 + (width + len(source.columns)) // CELLS_OF_A_STEP
        joined: list[Row] = []
        met: set[int] = set()
        for row in rows:
            near = source.rows(Env(row, env)) if is_lateral else others
            if index is not None and equal is not None:
                near = index.get(repr(row[equal[0]]), [])
            spend(1 + len(near))
            result = [other for other in near if all(test(Env(row + other, env)) is True for _, test in tests)]
            spend(cost * len(result))
            joined += [row + other for other in result]
            met |= {id(other) for other in result} if kind in ("RIGHT", "FULL") else set()
            if not result and kind in ("LEFT", "FULL"):
                joined.append(row + blank)
        if kind in ("RIGHT", "FULL"):
            joined += [(None,) * width + other for other in others if id(other) not in met]
        return joined

    def _source(
        self, node: exp.Expr, scope: CatalogScope, parent: CatalogScope | None, ctes: dict[str, tuple[Relation, Run]]
    ) -> _Source:
        """Return the source of a node in FROM."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery):
            return self._nested_source(node.this, list(node.args.get("joins") or ()), parent, ctes)
        if isinstance(node, exp.Lateral):
            inner = node.this
            if isinstance(inner, exp.Subquery):
                return self._derived_source(inner, node.args.get("alias"), scope, ctes, is_lateral=True)
            return self._function(inner, node, scope, is_lateral=True)
        if isinstance(node, exp.Subquery):
            return self._derived_source(node, node.args.get("alias"), parent, ctes)
        if isinstance(node, exp.Values):
            shape, run = self.values(node, parent)
            return _named_source(shape, run, node.args.get("alias"))
        if isinstance(node, exp.Unnest) and len(node.expressions) > 1:
            return self._unnest_together(node, scope)
        if isinstance(node, exp.Unnest):
            return self._function(
                exp.Anonymous(this="unnest", expressions=node.expressions), node, scope, is_lateral=True
            )
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
            return self._function(node.this, node, scope, is_lateral=True)
        if isinstance(node, exp.Table):
            return self._table(node, ctes)
        raise unsupported_error(node)

    def _nested_source(
        self,
        first: exp.Expr,
        joins: Sequence[exp.Expr],
        parent: CatalogScope | None,
        ctes: dict[str, tuple[Relation, Run]],
    ) -> _Source:
        """Return tables that are joined in parentheses."""
        scope, steps = self._chain(first, joins, parent, ctes)
        hidden = frozenset(scope.hidden)
        return _Source(scope.columns, scope.origins, lambda env: self._join_all(steps, env, ()), hidden=hidden)

    def _derived_source(
        self,
        node: exp.Subquery,
        alias: exp.Expr | None,
        parent: CatalogScope | None,
        ctes: dict[str, tuple[Relation, Run]],
        *,
        is_lateral: bool = False,
    ) -> _Source:
        before, self._compiler.aggregates = self._compiler.aggregates, None
        fixed = (
            CatalogScope(parent.parent, list(parent.columns), dict(parent.origins)) if is_lateral and parent else parent
        )
        shape, run = self._query(node.this, fixed, ctes)
        self._compiler.aggregates = before
        return _named_source(shape, run, alias or node.args.get("alias"), is_lateral=is_lateral)

    def _table(self, node: exp.Table, ctes: dict[str, tuple[Relation, Run]]) -> _Source:
        name, schema = fold_name(node.this), fold_name(node.args.get("db"))
        alias = node.args.get("alias")
        if not schema and name in ctes:
            shape, run = ctes[name]
            return _named_source(shape, run, alias, name)
        place = self._catalog.find(schema, name)
        if place is None:
            raise UnknownNameError("relation", name[:63], None, code="unknown-table")
        relation = self._catalog.relation(place)
        source = _named_source(relation, lambda _: relation, alias, name)
        return _Source(source.columns, {source.columns[0][0]: name}, source.rows)

    def _function(self, node: exp.Expr, place: exp.Expr, scope: CatalogScope, *, is_lateral: bool) -> _Source:
        """Return the rows of a function in FROM, perhaps numbered."""
        fixed = CatalogScope(scope.parent, list(scope.columns), dict(scope.origins))
        compiled = self._compiler.compile(node, fixed)
        alias, number = place.args.get("alias"), place.args.get("ordinality") or place.args.get("offset")
        ordinal, numbered = bool(number), fold_name(number) if isinstance(number, exp.Identifier) else "ordinality"
        called = column_name(node)
        name = fold_name(alias.this) if alias is not None and alias.this is not None else called
        aliases = [fold_name(column) for column in (alias.args.get("columns") or () if alias is not None else ())]
        record = {"_pg_expandarray": ("x", "n"), "pg_get_keywords": ("word", "catcode", "catdesc")}
        fields = record.get(called)
        names = list(fields or (aliases[0] if aliases else name,)) + ([numbered] if ordinal else [])
        names = [*aliases, *names[len(aliases) :]]
        types = [compiled.type if fields is None else "text"] * len(fields or (1,)) + (["int8"] if ordinal else [])
        run, is_set = compiled.run, compiled.is_set

        def rows(env: Env | None) -> list[Row]:
            value = run(env if env is not None else Env(()))
            values = value if is_set else [value]
            cells = [tuple(cell_.values()) if isinstance(cell_, dict) else (cell_,) for cell_ in values or ()]
            return [(*cell, place) if ordinal else cell for place, cell in enumerate(cells, 1)]

        return _Source([(name, column, kind) for column, kind in zip(names, types, strict=True)], {}, rows, is_lateral)

    def _unnest_together(self, node: exp.Unnest, scope: CatalogScope) -> _Source:
        """Return the elements of several arrays side by side, perhaps numbered; the shorter ones end in NULL."""
        fixed = CatalogScope(scope.parent, list(scope.columns), dict(scope.origins))
        compiled = [
            self._compiler.compile(exp.Anonymous(this="unnest", expressions=[array]), fixed)
            for array in node.expressions
        ]
        alias, number = node.args.get("alias"), node.args.get("offset")
        aliases = [fold_name(column) for column in (alias.args.get("columns") or () if alias is not None else ())]
        names = [*aliases, *["unnest"] * len(compiled)][: len(compiled)]
        name = fold_name(alias.this) if alias is not None and alias.this is not None else "unnest"
        columns = [(name, column, array.type) for column, array in zip(names, compiled, strict=True)]
        if number:
            columns.append((name, fold_name(number) if isinstance(number, exp.Identifier) else "ordinality", "int8"))

        def rows(env: Env | None) -> list[Row]:
            around = env if env is not None else Env(())
            cells = zip_longest(*(array.run(around) or () for array in compiled))
            return [(*cell, place) if number else cell for place, cell in enumerate(cells, 1)]

        return _Source(columns, {}, rows, is_lateral=True)

    def values(self, node: exp.Values, parent: CatalogScope | None) -> tuple[Relation, Run]:
        """Return the rows of VALUES."""
        scope = CatalogScope(parent)
        compiled = [[self._compiler.compile(column, scope) for column in row.expressions] for row in node.expressions]
        if len({len(row) for row in compiled}) != 1 or not compiled[0]:
            raise unsupported_error(node)
        names = tuple(f"column{place}" for place in range(1, len(compiled[0]) + 1))
        shape = Relation(names, tuple(column.type for column in compiled[0]))

        def run(env: Env | None) -> Relation:
            return Relation(
                shape.names, shape.types, [tuple(column.run(Env((), env)) for column in row) for row in compiled]
            )

        return shape, run


def _named_source(
    shape: Relation, run: Run, alias: exp.Expr | None, name: str = "", *, is_lateral: bool = False
) -> _Source:
    """Return a relation under its alias, with its columns perhaps renamed."""
    table = fold_name(alias.this) if alias is not None and alias.this is not None else name
    aliases = [fold_name(column) for column in (alias.args.get("columns") or () if alias is not None else ())]
    names = [*aliases, *shape.names[len(aliases) :]]
    if len(names) != len(shape.types):
        message = "There are more names than columns."
        raise UnsupportedSqlError(message)
    columns = [(table, column, kind) for column, kind in zip(names, shape.types, strict=True)]
    return _Source(columns, {}, lambda env: run(env).rows, is_lateral)


def _are_equal(left: int, right: int, env: Env) -> bool:
    return bool(env.row[left] == env.row[right])


def _kind(join: exp.Join) -> str:
    side = str(join.args.get("side") or "").upper()
    return side if side in ("LEFT", "RIGHT", "FULL") else "INNER"


def _equal_places(part: exp.Expr, scope: CatalogScope, before: int) -> tuple[int, int] | None:
    """Return the indices of two columns, one from each side, that a condition equates."""
    if not isinstance(part, exp.EQ) or not all(
        isinstance(column, exp.Column) for column in (part.this, part.expression)
    ):
        return None
    places = []
    for column in (part.this, part.expression):
        table, name = fold_name(column.args.get("table")), fold_name(column.this)
        if not scope.holds(table, name):
            return None
        places.append(scope.find(table, name).index)
    low, high = sorted(places)
    return (low, high - before) if low < before <= high else None


def _index_rows(rows: Sequence[Row], equal: tuple[int, int] | None) -> dict[str, list[Row]]:
    result: dict[str, list[Row]] = {}
    for row in rows:
        if equal is not None and row[equal[1]] is not None:
            result.setdefault(repr(row[equal[1]]), []).append(row)
    return result
