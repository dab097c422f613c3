"""Questions about the database itself: SELECT 1, SHOW TABLES, DESCRIBE, and information_schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tacit.errors import BindError, UnknownNameError
from tacit.estimate.answer import Answer
from tacit.sql.columns import Shape
from tacit.sql.expressions import compile_expression
from tacit.sql.parse import refuse_deep, sql_of
from tacit.sql.scalars import NotScalar, truth

__all__ = ["about"]

Shapes = Callable[[], Sequence[Shape]]

COLUMNS = ("column_name", "column_type", "null", "role")

INFORMATION = "information_schema"

LONGEST = 2_000
"""Maximum characters of such a question."""


UNSUPPORTED = ("group", "having", "offset", "joins", "laterals", "qualify", "windows", "with_")
"""Clauses that would change the rows of a statement."""


def about(text: str, shapes: Shapes) -> Answer | None:
    """Answer a question that reads no reports; None for any other."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    words = text.strip().rstrip(";").split()
    first = [word.lower() for word in words[:2]]
    if first == ["show", "tables"] and len(words) == 2:
        return Answer(["name"], [[shape.name] for shape in shapes()])
    if first[:1] in (["describe"], ["desc"]) and len(words) == 2:
        return _describe(words[1], shapes())
    if first[:1] == ["select"] and (
        "information_schema" in text.lower() or not re.search(r"\bfrom\b", text, re.IGNORECASE)
    ):
        return _select(text, shapes)
    return None


def _describe(name: str, shapes: Sequence[Shape]) -> Answer:
    wanted = name.lower().strip('"').removeprefix("main.").removeprefix("public.")
    for shape in shapes:
        if shape.name.lower() == wanted:
            rows = [
                [column.name, column.type, "YES" if column.nullable else "NO", column.role] for column in shape.columns
            ]
            return Answer(COLUMNS, rows)
    raise UnknownNameError("table", name, [shape.name for shape in shapes], code="unknown-table")


def _select(text: str, shapes: Shapes) -> Answer | None:
    refuse_deep(text)
    try:
        statement = parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(statement, exp.Select) or statement.find(exp.AggFunc, exp.Subquery, exp.Placeholder):
        return None
    source = statement.args.get("from_")
    if source is None:
        columns: list[str] = []
        rows: list[list[Any]] = [[]]
    elif isinstance(source.this, exp.Table) and source.this.db.lower() == INFORMATION:
        columns, rows = _information(source.this.name.lower(), shapes())
    else:
        return None
    try:
        return _evaluate(statement, columns, rows)
    except NotScalar as refusal:
        if source is None:
            return None
        message = f"{sql_of(refusal.node)} is not supported in questions about information_schema."
        raise BindError(message, text=text) from None
    except (ArithmeticError, ValueError, TypeError):  # 1/0, sqrt(-1), 'a' + 1
        message = "A constant is out of range or has the wrong type, so the result is undefined. Change the constant."
        raise BindError(message, code="wrong-constant", text=text) from None


def _evaluate(statement: exp.Select, columns: list[str], rows: list[list[Any]]) -> Answer:
    def place(column: exp.Column) -> int:
        if column.name.lower() not in columns:
            raise NotScalar(column)
        return columns.index(column.name.lower())

    if any(statement.args.get(word) for word in UNSUPPORTED):
        raise NotScalar(statement)
    where, order = statement.args.get("where"), statement.args.get("order")
    if where is not None:
        test = compile_expression(where.this, place)
        rows = [row for row in rows if truth(test(row))]
    for item in reversed(order.expressions if order is not None else []):
        key = compile_expression(item.this, place)
        rows = sorted(rows, key=lambda row: str(key(row)), reverse=bool(item.args.get("desc")))
    shown: list[exp.Expr] = []
    for node in statement.expressions:
        shown += [exp.column(name) for name in columns] if isinstance(node, exp.Star) else [node]
    if not shown:  # SELECT and nothing else, or a star without a table
        raise NotScalar(statement)
    functions = [compile_expression(node.unalias(), place) for node in shown]
    names = [node.alias_or_name or sql_of(node) for node in shown]
    values = [tuple(_plain(function(row)) for function in functions) for row in rows]
    values = list(dict.fromkeys(values)) if statement.args.get("distinct") else values
    limit = statement.args.get("limit")
    return Answer(names, values if limit is None else values[: max(0, int(limit.expression.name))])


def _plain(value: Any) -> Any:
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise OverflowError
    return (
        value
        if isinstance(value, str | int | float | None)
        else float(value)
        if hasattr(value, "denominator")
        else value
    )


def _information(name: str, shapes: Sequence[Shape]) -> tuple[list[str], list[list[Any]]]:
    if name == "tables":
        return ["table_schema", "table_name", "table_type"], [["main", shape.name, "BASE TABLE"] for shape in shapes]
    if name == "columns":
        return ["table_schema", "table_name", "column_name", "ordinal_position", "is_nullable", "data_type"], [
            ["main", shape.name, column.name, number, "YES" if column.nullable else "NO", column.type]
            for shape in shapes
            for number, column in enumerate(shape.columns, start=1)
        ]
    raise UnknownNameError("table of information_schema", name, ("tables", "columns"), code="unknown-table")
