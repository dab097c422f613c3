"""Convert a question from data to text: every piece is built as a syntax tree, and pieces of text are parsed first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from tacit.errors import QueryError, UsageError
from tacit.sql.parse import parse, sql_of
from tacit.sql.public import COMPARISONS

__all__ = ["FUNCTIONS", "text_of"]

FUNCTIONS: dict[str, type[exp.Expr]] = {
    "COUNT": exp.Count,
    "SUM": exp.Sum,
    "AVG": exp.Avg,
    "STDDEV": exp.Stddev,
    "STDDEV_SAMP": exp.StddevSamp,
    "STDDEV_POP": exp.StddevPop,
    "VARIANCE": exp.Variance,
    "VAR_POP": exp.VariancePop,
}
"""Aggregates by the names that menus offer."""

DEEPEST = 30
SIGNS = {sign: kind for kind, sign in COMPARISONS.items()}
_NUMBER = re.compile(r"-?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def text_of(model: object) -> str:
    """Return the text of a model, one clause per line; refuse anything but a model.

    Examples
    --------
    >>> count = {"kind": "measure", "function": "COUNT", "of": "*", "name": "people"}
    >>> condition = {"column": "age", "op": ">=", "value": {"number": "30"}}
    >>> print(text_of({"outputs": [count], "tables": [{"name": "shop"}], "where": condition}))
    SELECT COUNT(*) AS people
    FROM shop
    WHERE age >= 30
    """
    given = _object(model, "A model")
    outputs = [_output(_object(item, "An output")) for item in _list(given, "outputs")]
    tables = [_object(item, "A table") for item in _list(given, "tables")]
    if not outputs or not tables:
        message = "A question needs at least one output and one table."
        raise _wrong(message)
    lines = [f"SELECT {', '.join(map(_sql, outputs))}", f"FROM {_table(tables[0])}"]
    lines += [f"JOIN {_join(table)}" for table in tables[1:]]
    if given.get("where") is not None:
        lines.append(f"WHERE {_sql(_condition(given['where']))}")
    group = [_sql(_expression(item)) for item in _list(given, "group")]
    if group:
        lines.append(f"GROUP BY {', '.join(group)}")
    if given.get("having") is not None:
        lines.append(f"HAVING {_sql(_condition(given['having']))}")
    order = [_object(item, "An order") for item in _list(given, "order")]
    if order:
        keys = [_sql(_expression(item.get("by"))) + (" DESC" if item.get("descending") else "") for item in order]
        lines.append(f"ORDER BY {', '.join(keys)}")
    limit = given.get("limit")
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 10**18:
            message = "limit must be a whole number."
            raise _wrong(message)
        lines.append(f"LIMIT {limit}")
    return "\n".join(lines)


def _wrong(message: str) -> UsageError:
    return UsageError(message, code="bad-model")


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        message = f"{what} must be an object."
        raise _wrong(message)
    return value


def _list(given: Mapping[str, Any], word: str) -> Sequence[Any]:
    items = given.get(word)
    if items is None:
        return []
    if not isinstance(items, list | tuple):
        message = f"{word} must be a list."
        raise _wrong(message)
    return items


def _sql(node: exp.Expr) -> str:
    return sql_of(node)


def _expression(text: object) -> exp.Expr:
    """Parse a piece of text; refuse one that is more, or less, than an expression."""
    try:
        statement = parse(f"SELECT {text}\nFROM t") if isinstance(text, str) and text.strip() else None
    except QueryError:
        statement = None
    clauses = [word for word, value in statement.args.items() if value] if statement else []
    if statement is None or clauses != ["expressions", "from_"] or len(statement.expressions) != 1:
        message = "A piece of text in the model is not one SQL expression."
        raise _wrong(message)
    node: exp.Expr = statement.expressions[0]
    whole = statement.args["from_"].this
    if isinstance(node, exp.Alias) or whole.sql() != "t" or any(part.comments for part in statement.walk()):
        message = "A piece of text in the model is not one SQL expression."
        raise _wrong(message)
    return node


def _column(text: object) -> exp.Expr:
    node = _expression(text)
    if not isinstance(node, exp.Column):
        message = "A column in the model is not a column name."
        raise _wrong(message)
    return node


def _identifier(text: object) -> exp.Identifier:
    if not isinstance(text, str) or not text or not text.isprintable():
        message = "A name in the model must be printable text."
        raise _wrong(message)
    return exp.to_identifier(text, quoted=not _NAME.match(text))


def _output(given: Mapping[str, Any]) -> exp.Expr:
    kind, name = given.get("kind"), given.get("name")
    if kind == "group":
        node = _column(given.get("column"))
    elif kind == "measure":
        node = _measure(given)
    elif kind in ("bands", "formula"):
        node = _expression(given.get("text"))
    else:
        message = "kind must be group, measure, formula or bands."
        raise _wrong(message)
    return exp.Alias(this=node, alias=_identifier(name)) if name else node


def _measure(given: Mapping[str, Any]) -> exp.Expr:
    function, of = given.get("function"), given.get("of")
    if not isinstance(function, str) or function not in FUNCTIONS:
        message = f"function must be one of {', '.join(FUNCTIONS)}."
        raise _wrong(message)
    inner: exp.Expr = exp.Star() if of == "*" else _expression(of)
    if given.get("distinct"):
        inner = exp.Distinct(expressions=[inner])
    aggregate = FUNCTIONS[function](this=inner)
    where = given.get("where")
    if where is None:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=_condition(where)))


def _table(given: Mapping[str, Any]) -> str:
    alias = given.get("alias")
    return _sql(_identifier(given.get("name"))) + (f" AS {_sql(_identifier(alias))}" if alias else "")


def _join(given: Mapping[str, Any]) -> str:
    if given.get("using") is not None:
        return f"{_table(given)} USING ({_sql(_identifier(given['using']))})"
    sides = _list(given, "on")
    if len(sides) != 2:
        message = "A joined table needs using (the name of a key) or on (two columns)."
        raise _wrong(message)
    return f"{_table(given)} ON {_sql(_column(sides[0]))} = {_sql(_column(sides[1]))}"


def _condition(model: object, depth: int = 0) -> exp.Expr:
    given = _object(model, "A condition")
    if depth > DEEPEST:
        message = f"Conditions are nested more than {DEEPEST} deep."
        raise _wrong(message)
    for word, join in (("all", exp.and_), ("any", exp.or_)):
        if word in given:
            parts = [_condition(part, depth + 1) for part in _list(given, word)]
            if not parts:
                message = f"{word} must be a list of at least one condition."
                raise _wrong(message)
            return join(*parts, copy=False)
    if "not" in given:
        inner = _condition(given["not"], depth + 1)
        return exp.Not(this=exp.Paren(this=inner))
    return _comparison(_column(given.get("column")), given)


def _comparison(column: exp.Expr, given: Mapping[str, Any]) -> exp.Expr:
    sign = str(given.get("op"))
    if sign in SIGNS:
        return SIGNS[sign](this=column, expression=_constant(given.get("value")))
    if sign in ("is null", "is not null"):
        test: exp.Expr = exp.Is(this=column, expression=exp.Null())
        return exp.Not(this=test) if sign == "is not null" else test
    values = [_constant(value) for value in _list(given, "values")]
    if sign == "between" and len(values) == 2:
        return exp.Between(this=column, low=values[0], high=values[1])
    if sign in ("in", "not in") and values:
        test = exp.In(this=column, expressions=values)
        return exp.Not(this=test) if sign == "not in" else test
    message = f"op must be {', '.join(SIGNS)}, between, in, not in, is null or is not null, with its values."
    raise _wrong(message)


def _constant(model: object) -> exp.Expr:
    given = _object(model, "A value")
    kind, value = next(iter(given.items()), ("", None))
    if kind == "column":
        return _column(value)
    if kind == "flag" and isinstance(value, bool):
        return exp.Boolean(this=value)
    if kind in ("text", "date") and isinstance(value, str):
        literal = exp.Literal.string(value)
        return literal if kind == "text" else exp.cast(literal, "DATE")
    if kind == "number" and isinstance(value, str) and _NUMBER.match(value):
        number = exp.Literal.number(value.lstrip("-"))
        return exp.Neg(this=number) if value.startswith("-") else number
    message = "A value must be a number or date as text, a text, a boolean, or a column."
    raise _wrong(message)
