"""Compile catalog queries: FROM, WHERE, GROUP BY, SELECT, ORDER BY and set operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import CompiledAggregate, CompiledExpression, Compiler, unsupported_error
from tacit.adapters.pgwire.catalog.expressions import METHODS
from tacit.adapters.pgwire.catalog.groups import order_key, sort_key
from tacit.adapters.pgwire.catalog.naming import column_name, fold_name
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.adapters.pgwire.catalog.sources import Sources
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.catalog.values import Relation
from tacit.errors import UnsupportedSqlError

__all__ = ["Queries"]

Run = Callable[[Env | None], Relation]
CLAUSES = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "distinct",
        "with_",
        "laterals",
        "kind",
    }
)
RECURSION = 100
"""Maximum iterations of a recursive query."""


class Queries:
    """Compiles nested queries."""

    def __init__(self, catalog: PgCatalog, parameters: Sequence[Any] | None, kinds: list[str]) -> None:
        self.catalog = catalog
        self._ctes: dict[str, tuple[Relation, Run]] = {}
        self.compiler = Compiler(catalog, parameters, kinds, self._subquery, METHODS)
        self.sources = Sources(catalog, self.compiler, self.query)

    def _subquery(self, node: exp.Expr, scope: CatalogScope) -> tuple[Relation, Callable[[Env], Relation]]:
        before, self.compiler.aggregates = self.compiler.aggregates, None
        shape, run = self.query(node, scope, self._ctes)
        self.compiler.aggregates = before
        return shape, run

    def query(
        self, node: exp.Expr, parent: CatalogScope | None, ctes: dict[str, tuple[Relation, Run]]
    ) -> tuple[Relation, Run]:
        """Return the shape of a query, and how to run it for a row of the outer query."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, parent, ctes)
        outer = self._ctes
        self._ctes = dict(ctes)
        try:
            if node.args.get("with_") is not None:
                self._with(node.args["with_"], parent)
            if isinstance(node, exp.Select):
                return self._select(node, parent)
            if isinstance(node, exp.SetOperation):
                return self._set(node, parent)
            if isinstance(node, exp.Values):
                return self.sources.values(node, parent)
        finally:
            self._ctes = outer
        raise unsupported_error(node)

    def _with(self, node: exp.Expr, parent: CatalogScope | None) -> None:
        for cte in node.expressions:
            names = [fold_name(column) for column in cte.args["alias"].args.get("columns") or ()]
            if node.args.get("recursive") and isinstance(cte.this, exp.Union):
                self._ctes[fold_name(cte.args["alias"].this)] = self._recursive(cte, names, parent)
                continue
            shape, run = self.query(cte.this, parent, self._ctes)
            self._ctes[fold_name(cte.args["alias"].this)] = _rename_columns(shape, names), run

    def _recursive(self, cte: exp.Expr, names: Sequence[str], parent: CatalogScope | None) -> tuple[Relation, Run]:
        """Return a recursive query: its second part runs over the rows of the last iteration until there are none."""
        first_shape, first = self.query(cte.this.this, parent, self._ctes)
        shape, last = _rename_columns(first_shape, names), [Relation((), ())]
        self._ctes[fold_name(cte.args["alias"].this)] = shape, lambda _: last[0]
        _, again = self.query(cte.this.expression, parent, self._ctes)
        keeps_all, spend = not cte.this.args.get("distinct"), self.compiler.budget.spend

        def run(env: Env | None) -> Relation:
            rows = list(first(env).rows)
            last[0] = Relation(shape.names, shape.types, rows)
            for _ in range(RECURSION):
                more = again(env).rows
                spend(1 + len(rows) + len(more))
                more = more if keeps_all else _without(_distinct(more), rows)
                if not more:
                    return Relation(shape.names, shape.types, rows)
                rows = rows + more
                last[0] = Relation(shape.names, shape.types, more)
            message = f"A recursive query does not end after {RECURSION} iterations."
            raise UnsupportedSqlError(message)

        return shape, run

    def _set(self, node: exp.SetOperation, parent: CatalogScope | None) -> tuple[Relation, Run]:
        """Return a union, an intersection or a difference."""
        shape, left = self.query(node.this, parent, self._ctes)
        other, right = self.query(node.expression, parent, self._ctes)
        if len(shape.names) != len(other.names):
            message = "Both sides of a UNION must have the same number of columns."
            raise UnsupportedSqlError(message)
        types = tuple(b if a == "unknown" else a for a, b in zip(shape.types, other.types, strict=True))
        shape, is_distinct = Relation(shape.names, types), bool(node.args.get("distinct"))
        pick = self._pick(node, shape, parent)

        def run(env: Env | None) -> Relation:
            first, second = left(env).rows, right(env).rows
            if isinstance(node, exp.Union):
                rows = [*first, *second]
            elif isinstance(node, exp.Except):
                rows = _without(first, second)
            else:
                rows = _without(first, _without(first, second))
            return Relation(shape.names, shape.types, pick(_distinct(rows) if is_distinct else rows))

        return shape, run

    def _pick(self, node: exp.Expr, shape: Relation, parent: CatalogScope | None) -> Callable[[list[Any]], list[Any]]:
        """Return the function that applies ORDER BY and LIMIT to a union."""
        scope = CatalogScope(parent)
        scope.add("", shape.names, shape.types)
        order = node.args.get("order")
        keys = (
            [(_position(expression.this, len(shape.names)), expression) for expression in order.expressions]
            if order
            else []
        )
        runs = [
            (place, None if place is not None else self.compiler.compile(ordered.this, scope).run, ordered)
            for place, ordered in keys
        ]
        cut = self._cut(node)

        def pick(rows: list[Any]) -> list[Any]:
            for place, run, ordered in reversed(runs):
                rows = sorted(rows, key=lambda row: sort_key(row[place] if run is None else run(Env(row)), ordered))
            return cut(rows)

        return pick

    def _cut(self, node: exp.Expr) -> Callable[[list[Any]], list[Any]]:
        """Return the function that applies LIMIT and OFFSET."""
        limit, offset, scope = node.args.get("limit"), node.args.get("offset"), CatalogScope()
        most = self.compiler.compile(limit.args.get("expression") or limit.args["count"], scope).run if limit else None
        first = self.compiler.compile(offset.expression, scope).run if offset else None

        def cut(rows: list[Any]) -> list[Any]:
            start = int(first(Env(())) or 0) if first else 0
            count = most(Env(())) if most else None
            return rows[start:] if count is None else rows[start : start + int(count)]

        return cut

    def _select(self, node: exp.Select, parent: CatalogScope | None) -> tuple[Relation, Run]:
        """Return one SELECT."""
        if not node.expressions:
            raise unsupported_error(node)
        for clause, value in node.args.items():
            if value and clause not in CLAUSES:
                raise unsupported_error(node if not isinstance(value, exp.Expr) else value)
        scope, read = self.sources.read(node, parent, self._ctes)
        compiler, is_grouped = self.compiler, _is_grouped(node)
        groups = [compiler.compile(_meant(key, node), scope).run for key in _group_keys(node)]
        outer, compiler.aggregates = compiler.aggregates, [] if is_grouped or _has_windows(node) else None
        outputs = [output for item in node.expressions for output in self._outputs(item, scope)]
        having = node.args.get("having")
        test = compiler.compile(having.this, scope).run if having is not None else None
        keys = self._order(node, scope, [name for name, _ in outputs])
        aggregates, compiler.aggregates = compiler.aggregates or [], outer
        shape = Relation(tuple(name for name, _ in outputs), tuple(compiled.type for _, compiled in outputs))
        compiled_outputs, cut, is_distinct = (
            [compiled for _, compiled in outputs],
            self._cut(node),
            node.args.get("distinct") is not None,
        )
        blank = (None,) * len(scope.columns)

        def run(env: Env | None) -> Relation:
            envs = [Env(row, env) for row in read(env)]
            envs = (
                _group_rows(envs, groups, aggregates, Env(blank, env)) if is_grouped else _number_rows(envs, aggregates)
            )
            envs = [group for group in envs if test is None or test(group) is True]
            pairs = [(group, row) for group in envs for row in _rows(group, compiled_outputs)]
            for key in reversed(keys):
                pairs = sorted(pairs, key=key)
            rows = [row for _, row in pairs]
            compiler.budget.spend(len(rows))
            return Relation(shape.names, shape.types, cut(_distinct(rows) if is_distinct else rows))

        return shape, run

    def _outputs(self, item: exp.Expr, scope: CatalogScope) -> list[tuple[str, CompiledExpression]]:
        """Return the columns of one item of SELECT: an asterisk is several."""
        inner = item.this if isinstance(item, exp.Column) else item
        if isinstance(inner, exp.Star):
            table = fold_name(item.args.get("table")) if isinstance(item, exp.Column) else ""
            return [
                (name, CompiledExpression(_pick(index), kind))
                for index, (owner, name, kind) in enumerate(scope.columns)
                if table in ("", owner) and (table or index not in scope.hidden)
            ]
        return [(column_name(item), self.compiler.compile(item, scope))]

    def _order(self, node: exp.Select, scope: CatalogScope, names: Sequence[str]) -> list[Callable[[Any], Any]]:
        """Return the sort keys of pairs of an environment and an output row."""
        order = node.args.get("order")
        keys: list[Callable[[Any], Any]] = []
        for ordered in order.expressions if order is not None else ():
            place = _position(ordered.this, len(names))
            if (
                place is None
                and isinstance(ordered.this, exp.Column)
                and not ordered.this.table
                and fold_name(ordered.this.this) in names
            ):
                place = list(names).index(fold_name(ordered.this.this))
            if place is not None:
                keys.append(partial(_output_key, place, ordered))
                continue
            key = order_key(self.compiler, exp.Order(expressions=[ordered]), scope)
            if key is not None:
                keys.append(partial(_row_key, key))
        return keys


def _pick(index: int) -> Callable[[Env], Any]:
    return lambda env: env.row[index]


def _output_key(place: int, ordered: exp.Expr, pair: tuple[Env, tuple[Any, ...]]) -> Any:
    return sort_key(pair[1][place], ordered)


def _row_key(key: Callable[[Env], Any], pair: tuple[Env, tuple[Any, ...]]) -> Any:
    return key(pair[0])


def _group_keys(node: exp.Select) -> list[exp.Expr]:
    group = node.args.get("group")
    return list(group.expressions) if group is not None else []


def _meant(key: exp.Expr, node: exp.Select) -> Any:
    """Return the expression that a key of GROUP BY stands for: a position, the name of an output, or itself."""
    place = _position(key, len(node.expressions))
    if place is not None:
        return node.expressions[place].unalias()
    named = {
        column_name(expression): expression.this for expression in node.expressions if isinstance(expression, exp.Alias)
    }
    if isinstance(key, exp.Column) and not key.table and fold_name(key.this) in named:
        return named[fold_name(key.this)]
    return key


def _position(node: exp.Expr, count: int) -> int | None:
    """Return the index of an output column that ORDER BY or GROUP BY names by position."""
    if (
        isinstance(node, exp.Literal)
        and not node.is_string
        and str(node.name).isdigit()
        and 1 <= int(node.name) <= count
    ):
        return int(node.name) - 1
    return None


def _own_nodes(node: exp.Select, kind: type[exp.Expr]) -> bool:
    """Return whether a SELECT has nodes of a kind outside nested queries."""
    items = [*node.expressions, node.args.get("having"), node.args.get("order")]
    for item in items:
        if item is None:
            continue
        for result in item.find_all(kind):
            around = result.parent_select
            if around is node:
                return True
    return False


def _has_windows(node: exp.Select) -> bool:
    return _own_nodes(node, exp.Window)


def _is_grouped(node: exp.Select) -> bool:
    return node.args.get("group") is not None or (_own_nodes(node, exp.AggFunc) and not _has_windows(node))


def _group_rows(envs: list[Env], keys: Sequence[Any], aggregates: Sequence[CompiledAggregate], blank: Env) -> list[Env]:
    """Return one environment for each group."""
    groups: dict[str, list[Env]] = {} if keys else {"": []}
    for env in envs:
        groups.setdefault(repr([key(env) for key in keys]) if keys else "", []).append(env)
    grouped = []
    for members in groups.values():
        first = members[0] if members else blank
        grouped.append(Env(first.row, first.parent, [aggregate.run(members) for aggregate in aggregates]))
    return grouped


def _number_rows(envs: list[Env], windows: Sequence[CompiledAggregate]) -> list[Env]:
    """Return rows with their window numbers."""
    if not windows:
        return envs
    values = [window.run(envs) for window in windows]
    return [Env(env.row, env.parent, [value[place] for value in values]) for place, env in enumerate(envs)]


def _rows(env: Env, outputs: Sequence[CompiledExpression]) -> list[tuple[Any, ...]]:
    """Return the output rows of an input row: several where a function returns several."""
    cells = [output.run(env) for output in outputs]
    if not any(output.is_set for output in outputs):
        return [tuple(cells)]
    longest = max(len(cell or ()) for cell, output in zip(cells, outputs, strict=True) if output.is_set)
    both = zip(cells, outputs, strict=True)
    columns = [_pad(cell, longest) if output.is_set else [cell] * longest for cell, output in both]
    return list(zip(*columns, strict=True))


def _pad(values: Sequence[Any] | None, length: int) -> list[Any]:
    """Return values, and NULLs up to a length."""
    padded = list(values or ())
    return padded + [None] * (length - len(padded))


def _distinct(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({repr(row): row for row in rows}.values())


def _without(rows: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    known = {repr(row) for row in others}
    return [row for row in rows if repr(row) not in known]


def _rename_columns(shape: Relation, names: Sequence[str]) -> Relation:
    if len(names) > len(shape.names):
        message = "There are more names than columns."
        raise UnsupportedSqlError(message)
    return Relation((*names, *shape.names[len(names) :]), shape.types)
