"""The functions of expressions over values, by their syntax nodes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tacit.sql import scalars
from tacit.sql.date_functions import DATE_FUNCTIONS, Maker, Read, date_of, unit_of
from tacit.sql.dates import PARTS, midnight
from tacit.sql.scalars import Function, NotScalar, alike, compare_values, connect, strict, truth
from tacit.tables.compute import pc

__all__ = ["FUNCTIONS", "by_name", "is_like"]

LONGEST_TEXT = 1_000
"""Maximum characters of a text that a function lengthens."""

LONGEST_PATTERN = 200
"""Maximum characters of a regular expression."""


def _unary(function: Callable[[Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this))


def _binary(function: Callable[[Any, Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this), read(node.expression))


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


def is_like(text: str, pattern: str) -> bool:
    """Return whether a text matches a LIKE pattern, in time at most proportional to the product of their lengths.

    Examples
    --------
    >>> is_like("teacher", "t%_er"), is_like("teacher", "%each"), is_like("", "%")
    (True, False, True)
    """
    place = mark = start = 0
    after = -1
    while place < len(text):
        if mark < len(pattern) and pattern[mark] == "%":
            after, start, mark = mark, place, mark + 1
        elif mark < len(pattern) and pattern[mark] in ("_", text[place]):
            place, mark = place + 1, mark + 1
        elif after >= 0:  # the last % matches one more character
            start += 1
            place, mark = start, after + 1
        else:
            return False
    return not pattern[mark:].strip("%")


def _like(node: exp.Expr, read: Read) -> Function:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise NotScalar(pattern)
    wanted, lower = str(pattern.this), isinstance(node, exp.ILike)
    wanted = wanted.lower() if lower else wanted
    negated = bool(node.args.get("negate"))

    def matches(value: Any) -> bool:
        if not isinstance(value, str):
            raise TypeError
        return is_like(value.lower() if lower else value, wanted) is not negated

    return strict(matches, read(node.this))


def _matching(node: exp.Expr, read: Read) -> Function:
    """Return whether a regular expression matches a text; the library takes time proportional to the text."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or len(str(pattern.this)) > LONGEST_PATTERN:
        raise NotScalar(node)
    is_full_match = not isinstance(node, exp.RegexpLike)
    wanted = f"^(?:{pattern.this})$" if is_full_match else str(pattern.this)

    def matches(value: Any) -> bool:
        if not isinstance(value, str):
            raise TypeError
        return bool(pc.match_substring_regex(pa.scalar(value), wanted).as_py())

    try:
        matches("")
    except pa.ArrowInvalid:
        raise NotScalar(node) from None

    return strict(matches, read(node.this))


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


def _trim(node: exp.Trim, read: Read) -> Function:
    if node.args.get("expression"):
        raise NotScalar(node)
    return strict(lambda text: str(text).strip(" "), read(node.this))


def _substring(node: exp.Substring, read: Read) -> Function:
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        raise NotScalar(node)

    def cut(text: Any, start: Any, count: Any) -> str:
        first = int(start) - 1 if start >= 0 else len(str(text)) + int(start)  # negative: from the end
        ends = sorted((first, first + int(count)))
        return str(text)[max(0, ends[0]) : max(0, ends[1])]

    return strict(cut, read(node.this), read(start), read(length) if length else lambda _: 2**31)


def _side(node: exp.Left | exp.Right, read: Read) -> Function:
    left = isinstance(node, exp.Left)

    def cut(text: str, count: int) -> str:
        length = count if count >= 0 else max(0, len(text) + count)
        return text[:length] if left else text[len(text) - min(length, len(text)) :]

    return strict(cut, read(node.this), read(node.expression))


def _replace(node: exp.Replace, read: Read) -> Function:
    after = node.args.get("replacement") or exp.Literal.string("")
    arguments = (read(node.this), read(node.expression), read(after))
    return strict(lambda text, old, new: str(text).replace(old, new) if old else str(text), *arguments)


def _split(node: exp.SplitPart, read: Read) -> Function:
    def part(text: Any, mark: Any, place: Any) -> str:
        parts = str(text).split(mark) if mark else [str(text)]
        index = int(place) - 1 if place > 0 else len(parts) + int(place)
        return parts[index] if 0 <= index < len(parts) else ""

    mark, place = node.args.get("delimiter"), node.args.get("part_index")
    if mark is None or place is None:
        raise NotScalar(node)
    return strict(part, read(node.this), read(mark), read(place))


def _pad(node: exp.Pad, read: Read) -> Function:
    left, filling = bool(node.args.get("is_left")), node.args.get("fill_pattern")
    if filling is None:
        raise NotScalar(node)

    def pad(text: Any, count: Any, mark: Any) -> str:
        missing = max(0, min(int(count), LONGEST_TEXT) - len(str(text)))
        more = (str(mark) * (missing + 1))[:missing]
        return (more + str(text) if left else str(text) + more)[: int(count)]

    return strict(pad, read(node.this), read(node.expression), read(filling))


def _bits(function: Callable[[int, int], int]) -> Maker:
    return _binary(lambda left, right: function(operator.index(left), operator.index(right)))


def _concat(node: exp.Concat, read: Read) -> Function:
    parts = [read(item) for item in node.expressions]
    return lambda row: "".join(as_text(value) for part in parts if (value := part(row)) is not None)


def as_text(value: Any) -> str:
    """Return a value as text."""
    text = str(float(value) if isinstance(value, Fraction) else value)
    return text.lower() if isinstance(value, bool) else text


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
    exp.Add: _binary(scalars.total),
    exp.Sub: _binary(scalars.difference),
    exp.Mul: _binary(scalars.product),
    exp.Div: _binary(scalars.divide),
    exp.IntDiv: _binary(scalars.whole_part),
    exp.Mod: _binary(scalars.remainder),
    exp.Pow: _binary(lambda left, right: math.pow(left, right)),
    exp.Neg: _unary(operator.neg),
    exp.Not: _not,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _matching,
    exp.RegexpFullMatch: _matching,
    exp.SimilarTo: _matching,
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
    exp.Sqrt: _unary(math.sqrt),
    exp.Ln: _unary(math.log),
    exp.Exp: _unary(math.exp),
    exp.Upper: _unary(lambda text: str(text).upper()),
    exp.Lower: _unary(lambda text: str(text).lower()),
    exp.Length: _unary(len),
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.Left: _side,
    exp.Right: _side,
    exp.Replace: _replace,
    exp.SplitPart: _split,
    exp.Pad: _pad,
    exp.Initcap: _unary(lambda text: re.sub(r"[^\W_]+", lambda word: word[0].capitalize(), str(text))),
    exp.Reverse: _unary(lambda text: str(text)[::-1]),
    exp.BitwiseAnd: _bits(operator.and_),
    exp.BitwiseOr: _bits(operator.or_),
    exp.BitwiseXor: _bits(operator.xor),
    exp.Concat: _concat,
    exp.DPipe: _binary(lambda left, right: as_text(left) + as_text(right)),
    exp.EndsWith: _binary(lambda text, end: str(text).endswith(end)),
    exp.StartsWith: _binary(lambda text, start: str(text).startswith(start)),
    exp.Contains: _binary(lambda text, part: part in str(text)),
    exp.Cast: _cast,
    exp.TryCast: _cast,
}
