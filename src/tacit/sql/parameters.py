"""Parameters of a question: ``?`` in the text, filled with constants in the tree, never in the text.

A value becomes a literal of the syntax tree, and only where a literal is allowed: it never becomes a name, a keyword or
SQL, whatever it contains. After parsing, the tree is the same as if the constant had been written.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlglot import Token, TokenType, exp

from tacit.client.scalars import plain_scalar
from tacit.errors import ParseError, UsageError

__all__ = ["fill", "number_parameters"]

MAX_TEXT = 16 * 1024
"""Maximum characters of a text: as many as a question may have."""

MAX_NUMBER = 1e100
"""Numbers in questions are below this."""

PLACES = (
    exp.Alias,
    exp.Between,
    exp.Binary,
    exp.Case,
    exp.Cast,
    exp.Func,
    exp.Group,
    exp.Having,
    exp.If,
    exp.In,
    exp.Limit,
    exp.Offset,
    exp.Ordered,
    exp.Paren,
    exp.Select,
    exp.Unary,
    exp.Where,
)
"""Nodes that may contain a constant; names of tables and columns consist of other nodes."""


def number_parameters(tokens: Sequence[Token]) -> list[Token]:
    """Replace the first ``?`` with ``$1``, and so on: the tree keeps the numbers, but not the order of the text."""
    numbered: list[Token] = []
    count = 0
    for token in tokens:
        if token.token_type == TokenType.PARAMETER:
            message = "Write parameters as ?, without names or numbers."
            raise ParseError(message, code="wrong-parameters")
        if token.token_type != TokenType.PLACEHOLDER:
            numbered.append(token)
            continue
        count += 1
        place = token.line, token.col, token.start, token.end
        numbered += [Token(TokenType.PARAMETER, "$", *place), Token(TokenType.NUMBER, str(count), *place)]
    return numbered


def fill(statement: exp.Select, values: Sequence[Any]) -> exp.Select:
    """Insert constants into a statement with numbered parameters."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        message = "Pass parameters as a list or tuple with one value for each ? in the question."
        raise UsageError(message, code="wrong-parameters")
    places = list(statement.find_all(exp.Placeholder))
    if len(places) != len(values):
        message = f"The question has {len(places)} parameters (?), but {len(values)} values were given."
        raise ParseError(message, code="wrong-parameters")
    for place in places:
        if not isinstance(place.parent, PLACES) or place.arg_key == "alias":
            message = "A parameter (?) is used where a name is expected. Parameters can only replace constants."
            raise ParseError(message, code="wrong-parameters")
        number = int(place.name)
        place.replace(_constant(values[number - 1], number))
    return statement


def _constant(value: Any, number: int) -> exp.Expr:
    """Return a value as a literal; errors name its type, never the value."""
    value = plain_scalar(value)
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=bool(value))
    if isinstance(value, int | float | Decimal):
        return _number(value, number)
    if isinstance(value, datetime.datetime):  # before dates: a datetime is a date
        return exp.Literal.string(value.isoformat(sep=" "))
    if isinstance(value, datetime.date):
        return exp.Literal.string(value.isoformat())
    if isinstance(value, str):
        return exp.Literal.string(_text(value, number))
    message = f"Parameter {number} is a {type(value).__name__}. Pass a number, text, date, boolean or None."
    raise UsageError(message, code="bad-parameter")


def _number(value: float | Decimal, number: int) -> exp.Expr:
    undefined = isinstance(value, Decimal) and value.is_nan()  # comparing a signalling NaN raises
    if undefined or not -MAX_NUMBER < value < MAX_NUMBER:
        message = f"Parameter {number} is not a number below {MAX_NUMBER:g}."
        raise UsageError(message, code="bad-parameter")
    text = f"{abs(value):f}" if isinstance(value, Decimal) else repr(abs(value))
    return exp.Neg(this=exp.Literal.number(text)) if value < 0 else exp.Literal.number(text)


def _text(value: str, number: int) -> str:
    """Return a text; engines cannot store NUL or unpaired surrogates."""
    plain = str.__str__(value)  # for a member of an enumeration, its value
    if len(plain) > MAX_TEXT or "\0" in plain or any("\ud800" <= letter <= "\udfff" for letter in plain):
        message = f"Parameter {number} is text of more than {MAX_TEXT} characters, or is not valid Unicode."
        raise UsageError(message, code="bad-parameter")
    return plain
