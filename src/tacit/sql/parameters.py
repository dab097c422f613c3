"""Parameters of a question: ``?`` in the text, filled with constants in the tree, never in the text.

A value becomes a literal of the syntax tree, where a literal may stand and nowhere else: it is no name, no keyword and
no piece of SQL, whatever is in it. Everything after parsing sees the same tree as if the constant had been written.
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
"""Characters of a text: as many as a question may have."""

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
"""Nodes that a constant may be a part of; names of tables and columns are made of others."""


def number_parameters(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens in which the first ``?`` is ``$1``, and so on: the tree keeps numbers, but not the text's order."""
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
    """Put constants into a statement whose tokens were numbered."""
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
    """Return a value as a literal; its kind is named in refusals, never the value."""
    value = plain_scalar(value)
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=bool(value))
    if isinstance(value, int | float | Decimal):
        return _number(value, number)
    if isinstance(value, datetime.datetime):  # before dates: it is one
        return exp.Literal.string(value.isoformat(sep=" "))
    if isinstance(value, datetime.date):
        return exp.Literal.string(value.isoformat())
    if isinstance(value, str):
        return exp.Literal.string(_text(value, number))
    message = f"Parameter {number} is a {type(value).__name__}. Pass a number, text, date, boolean or None."
    raise UsageError(message, code="bad-parameter")


def _number(value: float | Decimal, number: int) -> exp.Expr:
    undefined = isinstance(value, Decimal) and value.is_nan()  # which cannot be compared; other NaNs are below nothing
    if undefined or not -MAX_NUMBER < value < MAX_NUMBER:
        message = f"Parameter {number} is not a number below {MAX_NUMBER:g}."
        raise UsageError(message, code="bad-parameter")
    text = f"{abs(value):f}" if isinstance(value, Decimal) else repr(abs(value))
    return exp.Neg(this=exp.Literal.number(text)) if value < 0 else exp.Literal.number(text)


def _text(value: str, number: int) -> str:
    """Return a plain text; engines store no NUL and no half of a character."""
    plain = str.__str__(value)  # of an enumeration's member, what it equals
    if len(plain) > MAX_TEXT or "\0" in plain or any("\ud800" <= letter <= "\udfff" for letter in plain):
        message = f"Parameter {number} is text of more than {MAX_TEXT} characters, or is not valid Unicode."
        raise UsageError(message, code="bad-parameter")
    return plain
