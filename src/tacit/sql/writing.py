"""Convert a question from data to text: every piece is built as a syntax tree, and pieces of text are parsed first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from tacit.errors import QueryError, UsageError
from tacit.sql.parse import parse, sql_of
from tacit.sql.scalars import COMPARISONS

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
"""Maximum nesting of conditions."""

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
    fields = _object(model, "A model")
    outputs = [_output(_object(item, "An output")) for item in _list(fields, "outputs")]
    tables = [_object(item, "A table") for item in _list(fields, "tables")]
    if not outputs or not tables:
        message = "A question needs at least one output and one table."
        raise _wrong(message)
    lines = [f"SELECT {', '.join(map(sql_of, outputs))}", f"FROM {_table(tables[0])}"]
    lines += [f"JOIN {_join(table)}" for table in tables[1:]]
    if fields.get("where") is not None:
        lines.append(f"WHERE {sql_of(_condition(fields['where']))}")
    group = [sql_of(_expression(item)) for item in _list(fields, "group")]
    if group:
        lines.append(f"GROUP BY {', '.join(group)}")
    if fields.get("having") is not None:
        lines.append(f"HAVING {sql_of(_condition(fields['having']))}")
    order = [_object(item, "An order") for item in _list(fields, "order")]
    if order:
        keys = [sql_of(_expression(item.get("by"))) + (" DESC" if item.get("descending") else "") for item in order]
        lines.append(f"ORDER BY {', '.join(keys)}")
    limit = fields.get("limit")
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 10**18:
            message = "limit must be a whole number."
            raise _wrong(message)
        lines.append(f"LIMIT {limit}")
    return "\n".join(lines)


def _wrong(message: str) -> UsageError:
    return UsageError(message, code="bad-model")


def _object(value: object, subject: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        message = f"{subject} must be an object."
        raise _wrong(message)
    return value


def _list(fields: Mapping[str, Any], word: str) -> Sequence[Any]:
    items = fields.get(word)
    if items is None:
        return []
    if not isinstance(items, list | tuple):
        message = f"{word} must be a list."
        raise _wrong(message)
    return items


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
    source = statement.args["from_"].this
    if isinstance(node, exp.Alias) or source.sql() != "t" or any(part.comments for part in statement.walk()):
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


def _output(output: Mapping[str, Any]) -> exp.Expr:
    kind, name = output.get("kind"), output.get("name")
    if kind == "group":
        node = _column(output.get("column"))
    elif kind == "measure":
        node = _measure(output)
    elif kind in ("bands", "formula"):
        node = _expression(output.get("text"))
    else:
        message = "kind must be group, measure, formula or bands."
        raise _wrong(message)
    return exp.Alias(this=node, alias=_identifier(name)) if name else node


def _measure(measure: Mapping[str, Any]) -> exp.Expr:
    function, of = measure.get("function"), measure.get("of")
    if not isinstance(function, str) or function not in FUNCTIONS:
        message = f"function must be one of {', '.join(FUNCTIONS)}."
        raise _wrong(message)
    inner: exp.Expr = exp.Star() if of == "*" else _expression(of)
    if measure.get("distinct"):
        inner = exp.Distinct(expressions=[inner])
    aggregate = FUNCTIONS[function](this=inner)
    where = measure.get("where")
    if where is None:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=_condition(where)))


def _table(table: Mapping[str, Any]) -> str:
    alias = table.get("alias")
    return sql_of(_identifier(table.get("name"))) + (f" AS {sql_of(_identifier(alias))}" if alias else "")


def _join(table: Mapping[str, Any]) -> str:
    if table.get("using") is not None:
        return f"{_table(table)} USING ({sql_of(_identifier(table['using']))})"
    sides = _list(table, "on")
    if len(sides) != 2:
        message = "A joined table needs using (the name of a key) or on (two columns)."
        raise _wrong(message)
    return f"{_table(table)} ON {sql_of(_column(sides[0]))} = {sql_of(_column(sides[1]))}"


def _condition(model: object, depth: int = 0) -> exp.Expr:
    condition = _object(model, "A condition")
    if depth > DEEPEST:
        message = f"Conditions are nested more than {DEEPEST} deep."
        raise _wrong(message)
    for word, join in (("all", exp.and_), ("any", exp.or_)):
        if word in condition:
            parts = [_condition(part, depth + 1) for part in _list(condition, word)]
            if not parts:
                message = f"{word} must be a list of at least one condition."
                raise _wrong(message)
            return join(*parts, copy=False)
    if "not" in condition:
        inner = _condition(condition["not"], depth + 1)
        return exp.Not(this=exp.Paren(this=inner))
    return _comparison(_column(condition.get("column")), condition)


def _comparison(column: exp.Expr, condition: Mapping[str, Any]) -> exp.Expr:
    sign = str(condition.get("op"))
    if sign in SIGNS:
        return SIGNS[sign](this=column, expression=_constant(condition.get("value")))
    if sign in ("is null", "is not null"):
        test: exp.Expr = exp.Is(this=column, expression=exp.Null())
        return exp.Not(this=test) if sign == "is not null" else test
    values = [_constant(value) for value in _list(condition, "values")]
    if sign == "between" and len(values) == 2:
        return exp.Between(this=column, low=values[0], high=values[1])
    if sign in ("in", "not in") and values:
        test = exp.In(this=column, expressions=values)
        return exp.Not(this=test) if sign == "not in" else test
    message = f"op must be {', '.join(SIGNS)}, between, in, not in, is null or is not null, with its values."
    raise _wrong(message)


def _constant(model: object) -> exp.Expr:
    constant = _object(model, "A value")
    kind, value = next(iter(constant.items()), ("", None))
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
