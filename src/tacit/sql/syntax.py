"""Short constructors of sqlglot expressions: names are always quoted, and every call creates new nodes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

__all__ = [
    "cast",
    "column",
    "count_people",
    "double",
    "equal",
    "group_by",
    "number",
    "one_where",
    "plus",
    "report_column",
    "select",
    "subquery",
    "table",
    "times",
    "with_alias",
]


def identifier(name: str) -> exp.Identifier:
    """Return a quoted name."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, alias: str | None = None) -> exp.Column:
    """Return a column."""
    return exp.Column(this=identifier(name), table=exp.to_identifier(alias) if alias else None)


def report_column(name: str, alias: str | None = None) -> exp.Column:
    """Return a column that every table of reports has: slot, channel or code."""
    return exp.Column(this=exp.to_identifier(name), table=exp.to_identifier(alias) if alias else None)


def with_alias(expression: exp.Expr, name: str) -> exp.Alias:
    """Return an expression with the name of its column."""
    return exp.Alias(this=expression, alias=identifier(name))


def table(name: str, alias: str | None = None) -> exp.Table:
    """Return a table."""
    return exp.Table(this=identifier(name), alias=_alias(alias) if alias else None)


def subquery(query: exp.Select, alias: str) -> exp.Subquery:
    """Return a query as a table."""
    return exp.Subquery(this=query, alias=_alias(alias))


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name))


def select(columns: Sequence[exp.Expr], source: exp.Expr) -> exp.Select:
    """Return the query of some columns."""
    return exp.select(*columns, copy=False).from_(source, copy=False)


def group_by(query: exp.Select, columns: Sequence[exp.Expr]) -> exp.Select:
    """Return a query grouped by columns, if there are any."""
    return query.group_by(*columns, copy=False) if columns else query


def number(value: float) -> exp.Expr:
    """Return a literal."""
    return exp.Literal.number(repr(value))


def cast(expression: exp.Expr, kind: str) -> exp.Cast:
    """Return an expression as another type."""
    return exp.Cast(this=expression, to=exp.DataType.build(kind))


def double(value: float) -> exp.Expr:
    """Return a number that engines do not read as a decimal."""
    return cast(number(value), "DOUBLE")


def equal(left: exp.Expr, right: exp.Expr) -> exp.EQ:
    """Return the condition that two expressions are equal."""
    return exp.EQ(this=left, expression=right)


def times(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return a product; sums among its parts need parentheses."""
    return _fold(exp.Mul, parts)


def plus(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return a sum."""
    return _fold(exp.Add, parts)


def _fold(operator: type[exp.Binary], parts: Sequence[exp.Expr]) -> exp.Expr:
    [result, *others] = parts
    for other in others:
        result = operator(this=result, expression=other)
    return result


def one_where(condition: exp.Expr, then: float = 1.0, otherwise: float = 0.0) -> exp.Case:
    """Return one number where a condition holds, and another elsewhere."""
    return exp.Case(ifs=[exp.If(this=condition, true=number(then))], default=number(otherwise))


def count_people(weight: exp.Expr | None = None) -> exp.Expr:
    """Return the number of people: the number of rows, or the sum of a rollup's counts."""
    return cast(exp.Sum(this=weight.copy()), "BIGINT") if weight else exp.Count(this=exp.Star())
