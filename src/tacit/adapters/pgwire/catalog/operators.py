"""Compile comparisons, patterns, logic and arithmetic in catalog questions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import TEXTS, CompiledExpression, Compiler, Method, unsupported_error
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.adapters.pgwire.catalog.values import both, check_text, either, like, matches, negate, repeats_of, text_of
from tacit.errors import BindError

__all__ = ["OPERATORS", "is_query"]

COMPARE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}


def _divide(first: Any, second: Any) -> Any:
    """Divide as PostgreSQL does: integer division truncates towards 0."""
    if second == 0:
        message = "A number is divided by 0."
        raise BindError(message, code="wrong-constant")
    if isinstance(first, int) and isinstance(second, int):
        return abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
    return first / second


ARITHMETIC: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: _divide,
    exp.Mod: lambda first, second: int(math.fmod(first, second)),
    exp.BitwiseAnd: operator.and_,
    exp.BitwiseOr: operator.or_,
}
PATTERNS = {"~": (False, False), "~*": (True, False), "!~": (False, True), "!~*": (True, True)}
LARGEST = 1 << 128
"""Upper limit of numbers in catalog questions."""


def compare_values(compare: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """Return a comparison; NULL if either side is NULL."""
    if first is None or second is None:
        return None
    if isinstance(first, bool) is not isinstance(second, bool) or isinstance(first, str) is not isinstance(second, str):
        first, second = text_of(first), text_of(second)
    try:
        return compare(first, second)
    except TypeError:
        return compare(str(first), str(second))


def comparison(compiler: Compiler, node: exp.Binary, scope: CatalogScope) -> CompiledExpression:
    """Compare two values, or one with any or all of several."""
    compare = COMPARE[type(node)]
    several = _several(node.expression)
    if several is not None:
        return _with_several(compiler, node.this, several, compare, scope)
    left, right = compiler.alike(node.this, node.expression, scope)
    first, second = left.run, right.run
    return CompiledExpression(lambda env: compare_values(compare, first(env), second(env)), "bool")


def _with_several(
    compiler: Compiler, node: exp.Expr, several: exp.Expr, compare: Callable[[Any, Any], Any], scope: CatalogScope
) -> CompiledExpression:
    left, every = compiler.compile(node, scope), isinstance(several, exp.All)
    inner = several.this.this if isinstance(several.this, exp.Paren) else several.this
    values = compiler.rows_of(inner, scope) if is_query(inner) else compiler.compile(inner, scope)
    values = compiler.coerce(values, f"_{left.type}" if left.type in TEXTS else "_int8", inner)
    left = compiler.coerce(left, values.type.removeprefix("_"), node)
    first, others, spend = left.run, values.run, compiler.budget.spend

    def compute(env: Env) -> Any:
        value, matched = first(env), others(env)
        if matched is None:
            return None
        if not isinstance(matched, list):
            raise unsupported_error(several)
        spend(len(matched))
        truths = [compare_values(compare, value, second) for second in matched]
        if every:
            return False if False in truths else None if None in truths else True
        return True if True in truths else None if None in truths else False

    return CompiledExpression(compute, "bool")


def within(compiler: Compiler, node: exp.In, scope: CatalogScope) -> CompiledExpression:
    """Return IN, with a list or a query."""
    query = node.args.get("query")
    if isinstance(node.this, exp.Tuple):
        raise unsupported_error(node)
    if query is not None:
        inner = query.this if isinstance(query, exp.Subquery) else query
        return _with_several(compiler, node.this, exp.Any(this=inner), operator.eq, scope)
    left = compiler.compile(node.this, scope)
    members = [
        compiler.coerce(compiler.compile(expression, scope), left.type, expression) for expression in node.expressions
    ]
    left = compiler.coerce(left, members[0].type if members else "unknown", node.this)
    first, others = left.run, [member.run for member in members]

    def compute(env: Env) -> Any:
        value = first(env)
        truths = [compare_values(operator.eq, value, second(env)) for second in others]
        return True if True in truths else None if None in truths else False

    return CompiledExpression(compute, "bool")


def between(compiler: Compiler, node: exp.Between, scope: CatalogScope) -> CompiledExpression:
    """Return BETWEEN."""
    low, high = (
        exp.GTE(this=node.this, expression=node.args["low"]),
        exp.LTE(this=node.this, expression=node.args["high"]),
    )
    first, second = comparison(compiler, low, scope).run, comparison(compiler, high, scope).run
    return CompiledExpression(lambda env: both(first(env), lambda: second(env)), "bool")


def pattern(compiler: Compiler, node: exp.Expr, scope: CatalogScope) -> CompiledExpression:
    """Return LIKE and matches with regular expressions."""
    sign, escape = "~~", "\\"
    if isinstance(node, exp.Escape):
        escape, node = str(node.expression.name), node.this
    if isinstance(node, exp.Operator):
        sign = str(node.args["operator"]).split(".")[-1].strip()
    elif isinstance(node, exp.RegexpLike | exp.RegexpILike):
        sign = "~*" if isinstance(node, exp.RegexpILike) else "~"
    first, second = compiler.compile(node.this, scope).run, compiler.compile(node.expression, scope).run
    spend = compiler.budget.spend
    if sign in PATTERNS:
        fold, is_negated = PATTERNS[sign]
    elif sign == "~~":
        fold, is_negated = isinstance(node, exp.ILike), False
    elif sign in ("=", "<>", "!="):
        return comparison(
            compiler, (exp.EQ if sign == "=" else exp.NEQ)(this=node.this, expression=node.expression), scope
        )
    else:
        raise unsupported_error(node)
    test, is_negated = like if sign == "~~" else matches, is_negated is not bool(node.args.get("negate"))

    def compute(env: Env) -> Any:
        text, wanted = first(env), second(env)
        if text is None or wanted is None:
            return None
        size = 1 + len(str(text))
        spend(size * (1 + len(str(wanted))) // 8 if sign == "~~" else size ** (1 + repeats_of(str(wanted))) // 4)
        form = text_of(wanted) if escape == "\\" else _with_backslashes(text_of(wanted), escape)
        return test(text_of(text), form, fold=fold) is not is_negated

    return CompiledExpression(compute, "bool")


def _with_backslashes(wanted: str, escape: str) -> str:
    """Return a LIKE pattern with a backslash as the escape character."""
    plain = wanted.replace("\\", "\\\\")
    return plain.replace(escape, "\\") if escape else plain


def arithmetic(compiler: Compiler, node: exp.Binary, scope: CatalogScope) -> CompiledExpression:
    """Return sums, differences, products and bit operations."""
    work = ARITHMETIC[type(node)]
    left, right = compiler.alike(node.this, node.expression, scope)
    if left.is_set and right.is_set:
        raise unsupported_error(node)
    read_left, read_right, spend = left.run, right.run, compiler.budget.spend

    def combine(first: Any, second: Any) -> Any:
        if first is None or second is None:
            return None
        try:
            result = work(first, second)
        except (TypeError, ValueError):
            raise unsupported_error(node) from None
        if isinstance(result, int | float) and abs(result) > LARGEST:
            raise unsupported_error(node)
        return result

    def compute(env: Env) -> Any:
        first, second = read_left(env), read_right(env)
        if not left.is_set and not right.is_set:
            return combine(first, second)
        values = (first if left.is_set else second) or ()  # of a function that returns several rows
        spend(len(values))
        return [combine(value, second) if left.is_set else combine(first, value) for value in values]

    return CompiledExpression(compute, left.type, left.is_set or right.is_set)


def concatenate(compiler: Compiler, node: exp.DPipe, scope: CatalogScope) -> CompiledExpression:
    """Concatenate two texts or arrays."""
    left, right = compiler.compile(node.this, scope), compiler.compile(node.expression, scope)
    read_left, read_right = left.run, right.run
    kind, counted = left.type if left.type.startswith("_") else "text", compiler.budget.count_memory

    def put(env: Env) -> Any:
        first, second = read_left(env), read_right(env)
        if kind.startswith("_") and (first is None or second is None):
            return second if first is None else first
        if first is None or second is None:
            return None
        if isinstance(first, list):
            return counted([*first, *(second if isinstance(second, list) else [second])])
        return counted(check_text(text_of(first) + text_of(second)))

    return CompiledExpression(put, kind)


def _several(node: exp.Expr) -> exp.Expr | None:
    """Return ANY or ALL of several values, in any of the parser's forms."""
    if isinstance(node, exp.Any | exp.All):
        return node
    if isinstance(node, exp.Anonymous) and node.name.lower() == "all" and len(node.expressions) == 1:
        return exp.All(this=node.expressions[0])
    return None


def is_query(node: exp.Expr) -> bool:
    """Return whether a node is a query, perhaps in parentheses."""
    return isinstance(node, exp.Query) or (isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query))


def _not(compiler: Compiler, node: exp.Not, scope: CatalogScope) -> CompiledExpression:
    run = compiler.compile(node.this, scope).run
    return CompiledExpression(lambda env: negate(run(env)), "bool")


def _and(compiler: Compiler, node: exp.And, scope: CatalogScope) -> CompiledExpression:
    first, second = compiler.compile(node.this, scope).run, compiler.compile(node.expression, scope).run
    return CompiledExpression(lambda env: both(first(env), lambda: second(env)), "bool")


def _or(compiler: Compiler, node: exp.Or, scope: CatalogScope) -> CompiledExpression:
    first, second = compiler.compile(node.this, scope).run, compiler.compile(node.expression, scope).run
    return CompiledExpression(lambda env: either(first(env), lambda: second(env)), "bool")


def _is(compiler: Compiler, node: exp.Is, scope: CatalogScope) -> CompiledExpression:
    left, wanted = compiler.compile(node.this, scope), compiler.compile(node.expression, scope)
    first, second, wants = left.run, wanted.run, not node.args.get("negate")
    return CompiledExpression(lambda env: (first(env) is second(env)) is wants, "bool")


def _distinct(compiler: Compiler, node: exp.Binary, scope: CatalogScope) -> CompiledExpression:
    """Return IS [NOT] DISTINCT FROM: NULL equals NULL."""
    left, right = compiler.alike(node.this, node.expression, scope)
    read_left, read_right, wants = left.run, right.run, isinstance(node, exp.NullSafeEQ)

    def compute(env: Env) -> bool:
        first, second = read_left(env), read_right(env)
        same = first is second if first is None or second is None else compare_values(operator.eq, first, second)
        return same is wants

    return CompiledExpression(compute, "bool")


def _negative(compiler: Compiler, node: exp.Neg, scope: CatalogScope) -> CompiledExpression:
    inner = compiler.compile(node.this, scope)
    run = inner.run

    def compute(env: Env) -> Any:
        value = run(env)
        if value is not None and not isinstance(value, int | float):
            raise unsupported_error(node)
        return None if value is None else -value

    return CompiledExpression(compute, inner.type)


def _null_if(compiler: Compiler, node: exp.Nullif, scope: CatalogScope) -> CompiledExpression:
    left, right = compiler.alike(node.this, node.expression, scope)
    first, second = left.run, right.run
    return CompiledExpression(
        lambda env: None if compare_values(operator.eq, first(env), second(env)) is True else first(env), left.type
    )


OPERATORS: dict[type[exp.Expr], Method] = {
    **dict.fromkeys(COMPARE, comparison),
    **dict.fromkeys(ARITHMETIC, arithmetic),
    exp.In: within,
    exp.Between: between,
    exp.Escape: pattern,
    exp.Like: pattern,
    exp.ILike: pattern,
    exp.RegexpLike: pattern,
    exp.RegexpILike: pattern,
    exp.Operator: pattern,
    exp.DPipe: concatenate,
    exp.Not: _not,
    exp.And: _and,
    exp.Or: _or,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Neg: _negative,
    exp.Nullif: _null_if,
}
