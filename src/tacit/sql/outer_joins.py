"""LEFT JOIN with conditions in ON: which of them name the key, and what may be asked where people have several rows.

With at most one row per person, a row that does not meet the conditions is as good as none: its columns are NULL. With
several, reports do not reveal whether none of them meets the conditions, so only aggregates that ignore the rows of
people without a match have an answer.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.scalars import COMPARISONS
from tacit.sql.scope import Scope, Source

__all__ = ["check_ignored", "split_on"]

ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)

WHY_SEVERAL = (
    "ON has conditions, and people may have several rows in {0}: reports do not reveal who has none that meets them. "
    "Ask for COUNT({1}.{2}), or for SUM or AVG of columns of {0}, in groups of other columns; or move the conditions "
    "to WHERE."
)


def split_on(join: exp.Join) -> tuple[exp.Expr | None, list[exp.Expr]]:
    """Return the first equality of columns in ON, and the other conditions; after USING, all are conditions."""
    on = join.args.get("on")
    parts = _conjuncts(on) if on is not None else []
    keys = [part for part in parts if _is_equality(part) and not join.args.get("using")]
    return (keys[0] if keys else None), [part for part in parts if not keys or part is not keys[0]]


def _is_equality(node: exp.Expr) -> bool:
    return isinstance(node, exp.EQ) and isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest()
    return _conjuncts(inner.left) + _conjuncts(inner.right) if isinstance(inner, exp.And) else [inner]


def check_ignored(scope: Scope, statement: exp.Select) -> None:
    """Refuse a question that depends on people without a match, if they cannot be told."""
    for source in scope.sources:
        if source.matched is not None and source.service.rows_at_most > 1:
            _check_source(scope, statement, source)


def _check_source(scope: Scope, statement: exp.Select, source: Source) -> None:
    where, group = statement.args.get("where"), statement.args.get("group")
    if where is not None and any(_rejects_null(scope, part, source) for part in _conjuncts(where.this)):
        return
    names = {node.alias.lower(): node.this for node in statement.expressions if isinstance(node, exp.Alias)}
    listed = [node.unalias() for node in statement.expressions]
    keys = [names.get(node.name.lower(), node) for node in (group.expressions if group is not None else [])]
    keys += [node for node in listed if not node.find(exp.AggFunc)]
    clauses = [statement.args[word] for word in ("having", "qualify", "order") if statement.args.get(word)]
    aggregates = [node for part in (*listed, *clauses) for node in part.find_all(exp.AggFunc)]
    grouped = [key for key in keys if any(_is_of(scope, column, source) for column in key.find_all(exp.Column))]
    counted = [node for node in aggregates if not _ignores_null(scope, node, source)]
    if grouped or counted:
        message = WHY_SEVERAL.format(source.service.name, source.names[0], source.service.key)
        raise scope.refusal(message, (grouped or counted)[0], "unsupported-join")


def _is_of(scope: Scope, column: exp.Expr, source: Source) -> bool:
    """Return whether a node is a column of a source, or its key."""
    if not isinstance(column, exp.Column):
        return False
    keyed = scope.source_of_key(column)
    return (keyed if keyed is not None else scope.find(column).source).number == source.number


def _ignores_null(scope: Scope, node: exp.AggFunc, source: Source) -> bool:
    """Return whether an aggregate is the same without rows in which all columns of a source are NULL."""
    beside = node.parent
    if isinstance(beside, exp.Filter) and _rejects_null(scope, beside.expression.this, source):
        return True
    if isinstance(beside, exp.Window) and isinstance(node.this, exp.AggFunc):
        return True  # of groups; the aggregate inside is tested by itself
    if isinstance(node, exp.CountIf):
        return _rejects_null(scope, node.this, source)
    if isinstance(node.this, exp.Distinct | exp.Star) or node.this is None:
        return False
    arguments = [node.this, node.args.get("expression")]
    if isinstance(node, exp.Sum) and isinstance(node.this.unnest(), exp.Case):
        case = node.this.unnest()
        default = case.args.get("default")
        is_zero = default is None or (isinstance(default, exp.Literal) and str(default.this) in ("0", "0.0"))
        return not case.this and is_zero and all(_rejects_null(scope, b.this, source) for b in case.args["ifs"])
    return any(_is_strict(scope, part, source) for part in arguments if isinstance(part, exp.Expr))


def _is_strict(scope: Scope, node: exp.Expr, source: Source) -> bool:
    """Return whether an expression is NULL where all columns of a source are."""
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return _is_strict(scope, node.this, source)
    if isinstance(node, ARITHMETIC):
        return any(_is_strict(scope, side, source) for side in (node.left, node.right))
    return _is_of(scope, node, source)


def _rejects_null(scope: Scope, node: exp.Expr, source: Source) -> bool:
    """Return whether a condition is not true where all columns of a source are NULL."""
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        sides = [_rejects_null(scope, side, source) for side in (node.left, node.right)]
        return any(sides) if isinstance(node, exp.And) else all(sides)
    if isinstance(node, exp.Not):
        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return _is_strict(scope, inner.this, source)
        return not isinstance(inner, exp.And | exp.Or | exp.Not | exp.Is) and _rejects_null(scope, inner, source)
    if type(node) in COMPARISONS:
        return any(_is_strict(scope, side, source) for side in (node.this, node.expression))
    if isinstance(node, exp.In | exp.Between | exp.Like | exp.ILike):
        return _is_strict(scope, node.this, source)
    return _is_of(scope, node, source)
