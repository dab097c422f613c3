"""The functions of expressions over values, by their syntax nodes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from tacit.sql import scalars
from tacit.sql.date_functions import DATE_FUNCTIONS, Maker, Read, date_of, unit_of
from tacit.sql.dates import PARTS, midnight
from tacit.sql.scalars import Function, NotScalar, alike, compare_values, connect, strict, truth
from tacit.sql.text_functions import TEXT_FUNCTIONS, as_text

__all__ = ["FUNCTIONS", "by_name"]


def _unary(function: Callable[[Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this))


def _binary(function: Callable[[Any, Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this), read(node.expression))


def _where_defined(function: Callable[..., float]) -> Callable[..., float]:
    """Return a function of numbers that says where it is not defined, as a root of a negative number."""

    def evaluate(*numbers: Any) -> float:
        try:
            return function(*numbers)
        except ValueError:
            raise FloatingPointError from None

    return evaluate


def _not(node: exp.Not, read: Read) -> Function:
    return strict(lambda value: not truth(value), read(node.this))


def _between(node: exp.Between, read: Read) -> Function:
    value, low, high = read(node.this), read(node.args["low"]), read(node.args["high"])
    return connect(compare_values(operator.ge, value, low), compare_values(operator.le, value, high), decisive=False)


def _in(node: exp.In, read: Read) -> Function:
    if not node.expressions or node.args.get("query") or node.args.get("unnest"):
        raise NotScalar(node)
    value = read(node.this)
    tests = [compare_values(operator.eq, value, read(item)) for item in node.expressions]
    any_of = tests[0]
    for test in tests[1:]:
        any_of = connect(any_of, test, decisive=True)
    return any_of


def _is(node: exp.Is, read: Read) -> Function:
    value = read(node.this)
    if isinstance(node.expression, exp.Null):
        return lambda row: value(row) is None
    if isinstance(node.expression, exp.Boolean):
        wanted = bool(node.expression.this)
        return lambda row: truth(value(row)) is wanted
    raise NotScalar(node)


def _distinct(node: exp.Expr, read: Read) -> Function:
    left, right, wanted = read(node.this), read(node.expression), isinstance(node, exp.NullSafeNEQ)

    def evaluate(row: Sequence[Any]) -> bool:
        first, second = left(row), right(row)
        if first is None or second is None:
            return (first is not second) is wanted
        return operator.ne(*alike(first, second)) is wanted

    return evaluate


def _coalesce(node: exp.Coalesce, read: Read) -> Function:
    parts = [read(node.this), *map(read, node.expressions)]
    return lambda row: next((value for part in parts if (value := part(row)) is not None), None)


def _nullif(node: exp.Nullif, read: Read) -> Function:
    value, other = read(node.this), read(node.expression)
    equal = compare_values(operator.eq, value, other)
    return lambda row: None if equal(row) else value(row)


def _extreme(choose: Callable[..., Any]) -> Maker:
    def make(node: exp.Expr, read: Read) -> Function:
        parts = [read(node.this), *map(read, node.expressions)]

        def evaluate(row: Sequence[Any]) -> Any:
            known = [value for part in parts if (value := part(row)) is not None]
            return choose(known) if known else None

        return evaluate

    return make


def _round(node: exp.Round, read: Read) -> Function:
    digits = node.args.get("decimals")
    return strict(scalars.round_half_away, read(node.this), read(digits) if digits is not None else lambda _: 0)


def _logarithm(node: exp.Log, read: Read) -> Function:
    """Return LOG(x), to base 10, or LOG(base, x)."""
    if not node.expression:
        return strict(_where_defined(math.log10), read(node.this))
    to_base = {"10": math.log10, "2": math.log2}.get(node.this.name)
    if to_base is not None:
        return strict(_where_defined(to_base), read(node.expression))
    quotient = _where_defined(lambda base, value: math.log(value) / math.log(base))
    return strict(quotient, read(node.this), read(node.expression))


def _bits(function: Callable[[int, int], int]) -> Maker:
    return _binary(lambda left, right: function(operator.index(left), operator.index(right)))


def _to_integer(value: Any) -> int:
    """Round to a whole number: halves of exact numbers away from zero, of floats to the even neighbour."""
    if isinstance(value, float | str):
        return round(float(value))
    return int(scalars.round_half_away(int(value) if isinstance(value, bool) else value))


CASTS: dict[str, Callable[[Any], Any]] = {
    "INT": _to_integer,
    "DOUBLE": float,
    "VARCHAR": as_text,
    "DATE": lambda value: date_of(scalars.as_day(value)),
    "TIMESTAMP": lambda value: midnight(scalars.as_day(value)),
}
CASTS |= dict.fromkeys(("BIGINT", "SMALLINT", "TINYINT", "INTEGER"), CASTS["INT"])
CASTS |= dict.fromkeys(("TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME"), CASTS["TIMESTAMP"])
CASTS |= {"FLOAT": CASTS["DOUBLE"], "TEXT": CASTS["VARCHAR"], "DECIMAL": lambda value: value, "BOOLEAN": truth}


def _cast(node: exp.Cast, read: Read) -> Function:
    name = node.to.this.value if hasattr(node.to.this, "value") else str(node.to.this)
    cast = CASTS.get(name)
    sizes = [str(size.this) for size in node.to.expressions if isinstance(size, exp.DataTypeParam)]
    if name == "DECIMAL" and len(sizes) == 2 and sizes[1].isdigit():  # digits after the decimal point
        return strict(lambda value: scalars.round_half_away(value, int(sizes[1])), read(node.this))
    if cast is None or sizes:
        raise NotScalar(node)
    return strict(cast, read(node.this))


def by_name(node: exp.Anonymous, read: Read) -> Function:
    """Return a function for which the parser has no node."""
    name, arguments = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(arguments) == 2 and isinstance(arguments[0], exp.Literal):
        unit = unit_of(node, str(arguments[0].this))
        return strict(lambda day: scalars.part(unit, day), read(arguments[1]))
    if name in ("prefix", "suffix") and len(arguments) == 2:
        ends = str.startswith if name == "prefix" else str.endswith
        return strict(lambda text, part: ends(str(text), part), read(arguments[0]), read(arguments[1]))
    if name in PARTS and len(arguments) == 1:
        return strict(lambda day: scalars.part(name, day), read(arguments[0]))
    raise NotScalar(node)


FUNCTIONS: dict[type[exp.Expr], Maker] = {
    **DATE_FUNCTIONS,
    **TEXT_FUNCTIONS,
    exp.Add: _binary(scalars.total),
    exp.Sub: _binary(scalars.difference),
    exp.Mul: _binary(scalars.product),
    exp.Div: _binary(scalars.divide),
    exp.IntDiv: _binary(scalars.whole_part),
    exp.Mod: _binary(scalars.remainder),
    exp.Pow: _binary(_where_defined(math.pow)),
    exp.Neg: _unary(operator.neg),
    exp.Not: _not,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Greatest: _extreme(max),
    exp.Least: _extreme(min),
    exp.Abs: _unary(abs),
    exp.Round: _round,
    exp.Floor: _unary(lambda value: float(math.floor(value))),
    exp.Ceil: _unary(lambda value: float(math.ceil(value))),
    exp.Trunc: _unary(lambda value: value if isinstance(value, int) else float(math.trunc(value))),
    exp.Sign: _unary(lambda value: (value > 0) - (value < 0)),
    exp.Sqrt: _unary(_where_defined(math.sqrt)),
    exp.Ln: _unary(_where_defined(math.log)),
    exp.Log: _logarithm,
    exp.Exp: _unary(math.exp),
    exp.BitwiseAnd: _bits(operator.and_),
    exp.BitwiseOr: _bits(operator.or_),
    exp.BitwiseXor: _bits(operator.xor),
    exp.Cast: _cast,
    exp.TryCast: _cast,
}
