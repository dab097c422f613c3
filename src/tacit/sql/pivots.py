"""PIVOT, spelled as a SELECT of aggregates with FILTER: one for each listed value.

Columns are named as DuckDB names them: by the value, or ``value_name`` if aggregates have names or are several.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of
from tacit.sql.replacing import refuse_subquery, with_name

__all__ = ["spell_pivot", "spell_pivots"]

WRITE = "Write SELECT key, COUNT(*) FILTER (WHERE column = 'value') AS value, … GROUP BY key."


def spell_pivots(statement: exp.Select, text: str) -> exp.Select:
    """Return a statement whose tables with PIVOT are subqueries."""
    for source in list(statement.find_all(exp.Table, exp.Subquery)):
        pivots = source.args.get("pivots")
        if not pivots:
            continue
        [pivot, *others] = pivots
        fields = pivot.args.get("fields") or []
        if others or pivot.args.get("unpivot") or len(fields) != 1:
            raise refuse_subquery(f"Several PIVOTs, and UNPIVOT, are not supported. {WRITE}", source, text)
        alias = pivot.args.get("alias") or source.args.get("alias")
        plain = source.copy()
        plain.set("pivots", None)
        keys = _keys(pivot, fields[0], source, text)
        spelled = _select(plain, keys, fields[0], pivot.expressions, text)
        source.replace(exp.Subquery(this=spelled, alias=alias.copy() if alias else None))
    return statement


def spell_pivot(statement: exp.Pivot, text: str) -> exp.Select:
    """Return the statement PIVOT table ON column IN (…) USING aggregates GROUP BY keys as a SELECT."""
    fields, group = statement.expressions, statement.args.get("group")
    if (
        len(fields) != 1
        or not isinstance(fields[0], exp.In)
        or not fields[0].expressions
        or statement.args.get("unpivot")
    ):
        message = (
            "PIVOT needs one column and its values, so that everybody sees which columns there are: "
            f"ON column IN ('a', 'b'). {WRITE}"
        )
        raise UnsupportedSqlError(message, code="unsupported-pivot", text=text)
    keys = [key.copy() for key in group.expressions] if group else []
    if not keys or not statement.args.get("using"):
        message = f"PIVOT needs USING with an aggregate, and GROUP BY with the columns of its rows. {WRITE}"
        raise UnsupportedSqlError(message, code="unsupported-pivot", text=text)
    result = _select(statement.this.copy(), keys, fields[0], statement.args["using"], text)
    if statement.args.get("with_"):
        result.set("with_", statement.args["with_"].copy())
    return result


def _keys(pivot: exp.Pivot, field: exp.In, source: exp.Expr, text: str) -> list[exp.Expr]:
    """Return what rows are grouped by: what GROUP BY names, or all columns of a subquery that are not used."""
    group = pivot.args.get("group")
    if group:
        return [key.copy() for key in group.expressions]
    inner = source.this if isinstance(source, exp.Subquery) else None
    used = {column.name.lower() for node in (field.this, *pivot.expressions) for column in node.find_all(exp.Column)}
    if isinstance(inner, exp.Select) and not inner.is_star:
        names = [node.alias_or_name for node in inner.expressions]
        if all(names):
            return [exp.column(name) for name in names if name.lower() not in used]
    message = f"PIVOT needs GROUP BY inside its parentheses, with the columns of its rows. {WRITE}"
    raise refuse_subquery(message, source, text)


def _select(source: exp.Expr, keys: list[exp.Expr], field: exp.In, aggregates: list[exp.Expr], text: str) -> exp.Select:
    """Return a SELECT with one column for each key, value and aggregate."""
    result = exp.Select(expressions=list(keys)).from_(source)
    for value in field.expressions:
        literal = value.this if isinstance(value, exp.PivotAlias) else value
        if not isinstance(literal, exp.Literal | exp.Boolean | exp.Neg):
            message = "PIVOT takes constants. Write IN ('a', 'b')."
            raise UnsupportedSqlError(message, code="unsupported-pivot", text=text, span=span_of(literal))
        label = value.alias if isinstance(value, exp.PivotAlias) else str(literal.this).lower()
        label = label if isinstance(value, exp.PivotAlias) or not literal.is_string else str(literal.this)
        for aggregate in aggregates:
            test = exp.EQ(this=field.this.copy(), expression=literal.copy())
            filtered = exp.Filter(this=aggregate.unalias().copy(), expression=exp.Where(this=test))
            name = _name(label, aggregate, alone=len(aggregates) == 1)
            result = result.select(with_name(filtered, name), copy=False)
    return result.group_by(*(key.copy() for key in keys)) if keys else result


def _name(label: str, aggregate: exp.Expr, *, alone: bool) -> str:
    """Return a column's name."""
    if isinstance(aggregate, exp.Alias):
        return f"{label}_{aggregate.alias}"
    if alone:
        return label
    called = "count_star()" if isinstance(aggregate, exp.Count) and isinstance(aggregate.this, exp.Star) else ""
    return f"{label}_{called or aggregate.sql(dialect='duckdb').lower()}"
