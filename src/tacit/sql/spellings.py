"""Rewrite alternative spellings of a question into the one that the rest of the planner reads."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

__all__ = ["expand", "is_histogram"]

WINDOW_PARTS = ("partition_by", "order", "spec")


def expand(statement: exp.Select) -> exp.Select:
    """Expand shorthands everywhere in a statement, subqueries included."""
    for select in list(statement.find_all(exp.Select)):
        _named_windows(select)
        _histogram(select)
        _group_by_all(select)
        _order_by_all(select)
    return statement.transform(_rewritten)  # type: ignore[return-value]


def _rewritten(node: exp.Expr) -> exp.Expr:
    rewrite = REWRITTEN.get(type(node))
    expanded = rewrite(node) if rewrite is not None else None
    return node if expanded is None else expanded


def is_histogram(node: exp.Expr) -> bool:
    """Return whether a node is HISTOGRAM(column) or HISTOGRAM(column, bins)."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "histogram"


def _histogram(select: exp.Select) -> None:
    """Expand HISTOGRAM(column) to bins and the count of each."""
    group = select.args.get("group")
    keys = [key.unalias() for key in (group.expressions if group is not None else [])]
    positions = [str(key.this) for key in keys if isinstance(key, exp.Literal)]
    names = [key.name.lower() for key in keys if isinstance(key, exp.Column)]
    outputs: list[exp.Expr] = []
    more: list[exp.Expr] = []
    for place, node in enumerate(select.expressions, 1):
        inner = node.unalias()
        known = inner in keys or str(place) in positions or node.alias_or_name.lower() in names
        if not is_histogram(inner) or known or (group is not None and group.args.get("all")):
            outputs.append(node)
            continue
        more.append(inner)
        outputs.append(exp.alias_(inner.copy(), "bin", quoted=True))
        outputs.append(exp.alias_(exp.Count(this=exp.Star()), node.alias or "count", quoted=True))
    if more:
        select.set("expressions", outputs)
        select.set("group", exp.Group(expressions=[*keys, *(key.copy() for key in more)]))


def _named_windows(select: exp.Select) -> None:
    """Replace OVER name by the window that the WINDOW clause gives this name."""
    windows = {window.name.lower(): window for window in select.args.get("windows") or []}
    used = [node for node in select.find_all(exp.Window) if node.alias.lower() in windows and node.this is not None]
    for node in used if windows else []:
        named = windows[node.alias.lower()]
        if node.parent_select is not select or any(node.args.get(word) for word in WINDOW_PARTS):
            return  # OVER (name ORDER BY …), which is refused
        for word in WINDOW_PARTS:
            value = named.args.get(word)
            node.set(word, [part.copy() for part in value] if isinstance(value, list) else value and value.copy())
        node.set("alias", None)
    select.set("windows", None)


def _group_by_all(select: exp.Select) -> None:
    """Expand GROUP BY ALL to every output column without an aggregate."""
    group = select.args.get("group")
    if group is not None and group.args.get("all") and not group.expressions:
        plain = [
            expression.unalias() for expression in select.expressions if not expression.find(exp.AggFunc, exp.Window)
        ]
        select.set("group", exp.Group(expressions=[key.copy() for key in plain]) if plain else None)


def _order_by_all(select: exp.Select) -> None:
    """Expand ORDER BY ALL to every output column, in order."""
    order = select.args.get("order")
    [first, *others] = order.expressions if order is not None else [None]
    if first is None or others or not isinstance(first.this, exp.Var) or first.this.name.lower() != "all":
        return
    keys = [exp.Literal.number(place) for place in range(1, 1 + len(select.expressions))]
    select.set("order", exp.Order(expressions=[exp.Ordered(**{**first.args, "this": key}) for key in keys]))


def _symmetric(node: exp.Between) -> exp.Expr | None:
    """Return BETWEEN SYMMETRIC as BETWEEN with its bounds in either order."""
    if not node.args.get("symmetric"):
        return None
    low, high = node.args["low"], node.args["high"]
    ways = [exp.Between(this=node.this.copy(), low=a.copy(), high=b.copy()) for a, b in ((low, high), (high, low))]
    return exp.Paren(this=exp.Or(this=ways[0], expression=ways[1]))


def _rows_in(node: exp.In) -> exp.Expr | None:
    """Expand (a, b) IN ((1, 2), …) to a disjunction of equalities."""
    rows = node.expressions
    if not isinstance(node.this, exp.Tuple) or not rows or not all(isinstance(row, exp.Tuple) for row in rows):
        return None
    columns = node.this.expressions
    if any(len(row.expressions) != len(columns) for row in rows):
        return None
    equal = []
    for row in rows:
        pairs = zip(columns, row.expressions, strict=True)
        equal.append(
            exp.Paren(this=exp.and_(*(exp.EQ(this=column.copy(), expression=v.copy()) for column, v in pairs)))
        )
    return exp.Paren(this=exp.or_(*equal))


def _any_of(node: exp.EQ) -> exp.Expr | None:
    """Return = ANY([…]) as IN (…)."""
    values = _array(node.expression.this if isinstance(node.expression, exp.Any) else None)
    return exp.In(this=node.this.copy(), expressions=values) if values else None


def _none_of(node: exp.NEQ) -> exp.Expr | None:
    """Return <> ALL([…]) as NOT IN (…)."""
    every = node.expression
    arguments = every.expressions if isinstance(every, exp.Anonymous) and str(every.this).lower() == "all" else []
    values = _array(arguments[0] if len(arguments) == 1 else None)
    return exp.Not(this=exp.In(this=node.this.copy(), expressions=values)) if values else None


def _array(node: exp.Expr | None) -> list[exp.Expr]:
    inner = node.this if isinstance(node, exp.Paren) else node
    return [value.copy() for value in inner.expressions] if isinstance(inner, exp.Array | exp.Tuple) else []


REWRITTEN: dict[type[exp.Expr], Callable[..., exp.Expr | None]] = {
    exp.Between: _symmetric,
    exp.In: _rows_in,
    exp.EQ: _any_of,
    exp.NEQ: _none_of,
}
"""Rewrites a node; None leaves it unchanged."""
