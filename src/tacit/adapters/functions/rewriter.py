"""Rewrite a question to SQL that an engine with ``ldp_contribution`` runs on a table of reports.

Conditions and groups on public columns stay SQL; those on sensitive attributes move into the argument of
``ldp_contribution``. ``EXPLAIN`` shows the join that `tacit.Database` runs instead, for questions of any shape.
"""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from tacit.collection import Collection
from tacit.contract.schema import Public
from tacit.errors import UnsupportedSqlError
from tacit.sql.parse import parse
from tacit.sql.scope import Scope
from tacit.sql.tables import scope_of, tables_of

__all__ = ["EngineName", "rewrite"]

EngineName = Literal["duckdb", "spark", "postgres"]


def rewrite(collection: Collection, question: str, table: str, *, dialect: EngineName = "duckdb") -> str:
    """Return the SQL that estimates a question from a table of reports.

    Parameters
    ----------
    collection : Collection
        What was collected.
    question : str
        COUNT(*), SUM(…) or AVG(…) of one service; conditions joined by AND, groups by public columns.
    table : str
        The table of reports: key, slot, channel, code, then public columns.
    dialect : {"duckdb", "spark", "postgres"}
        Whose SQL.

    Examples
    --------
    >>> import tacit as tc
    >>> users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 99), tc.Public("os")])
    >>> collection = tc.Collection(tc.Schema([users]), epsilon=1.0)
    >>> print(rewrite(collection, "SELECT COUNT(*) AS n FROM users WHERE age < 30 AND os = 'ios'", "ldp_users"))
    SELECT SUM(ldp_contribution(code, 'SELECT COUNT(*) FROM users WHERE age < 30')) AS n FROM ldp_users WHERE os = 'ios'
    """
    statement = parse(question)
    tables = tables_of(statement, question)
    scope = scope_of(tables, collection.schema, question)
    if len(scope.sources) > 1 or any(statement.args.get(word) for word in ("having", "order", "limit", "distinct")):
        raise _refusal(scope, statement, "one service, without HAVING, ORDER BY and LIMIT")
    outside, inside = _split(scope, statement)
    inner = f" FROM {tables[0].name}" + (f" WHERE {inside.sql(dialect='duckdb')}" if inside else "")
    columns = [_column(scope, node, inner) for node in statement.expressions]
    outer = exp.select(*columns).from_(exp.to_identifier(table))
    if outside is not None:
        outer = outer.where(outside)
    group = statement.args.get("group")
    for node in group.expressions if group else []:
        if not _is_public(scope, node):
            raise _refusal(scope, node, "groups by public columns")
        outer = outer.group_by(_bare(node))
    return outer.sql(dialect=dialect, normalize_functions=False)


def _split(scope: Scope, statement: exp.Select) -> tuple[exp.Expr | None, exp.Expr | None]:
    """Return the conditions on public columns and those on sensitive attributes."""
    where = statement.args.get("where")
    parts = list(where.this.flatten()) if where and isinstance(where.this, exp.And) else [where.this] if where else []
    outside = [_bare(part) for part in parts if _is_public(scope, part)]
    inside = [
        _bare(part) for part in parts if not any(_is_public(scope, column) for column in part.find_all(exp.Column))
    ]
    if len(outside) + len(inside) < len(parts):
        raise _refusal(scope, where or statement, "conditions that are public or sensitive, joined by AND")
    return exp.and_(*outside) if outside else None, exp.and_(*inside) if inside else None


def _column(scope: Scope, node: exp.Expr, inner: str) -> exp.Expr:
    """Return an output column with the aggregate replaced."""
    name, aggregate = node.alias, node.unalias()
    if _is_public(scope, aggregate) and isinstance(aggregate, exp.Column):
        rewritten: exp.Expr = _bare(aggregate)
    elif isinstance(aggregate, exp.Count) and isinstance(aggregate.this, exp.Star):
        rewritten = _sum_of("COUNT(*)", inner)
    elif isinstance(aggregate, exp.Sum | exp.Avg):
        value = aggregate.this
        if _is_public(scope, value):
            rewritten = exp.Sum(this=exp.Mul(this=exp.paren(_bare(value)), expression=_contribution("COUNT(*)", inner)))
        else:
            rewritten = _sum_of(f"SUM({_bare(value).sql(dialect='duckdb')})", inner)
        if isinstance(aggregate, exp.Avg):
            rewritten = exp.Div(this=rewritten, expression=_present(scope, value, inner), typed=False, safe=False)
    else:
        raise _refusal(scope, node, "public columns, COUNT(*), SUM(…) and AVG(…)")
    return exp.alias_(rewritten, name) if name else rewritten


def _present(scope: Scope, value: exp.Expr, inner: str) -> exp.Expr:
    """Return the number of rows with a value: the denominator of an average."""
    if not _is_public(scope, value):
        return _sum_of(f"COUNT({_bare(value).sql(dialect='duckdb')})", inner)
    known = exp.Not(this=exp.Is(this=exp.paren(_bare(value)), expression=exp.Null()))
    return exp.Sum(this=exp.Case().when(known, _contribution("COUNT(*)", inner)))


def _contribution(aggregate: str, inner: str) -> exp.Expr:
    return exp.func("ldp_contribution", exp.column("code"), exp.Literal.string(f"SELECT {aggregate}{inner}"))


def _sum_of(aggregate: str, inner: str) -> exp.Expr:
    return exp.Sum(this=_contribution(aggregate, inner))


def _is_public(scope: Scope, node: exp.Expr) -> bool:
    """Return whether an expression contains only public columns."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and all(isinstance(scope.find(column).attribute, Public) for column in columns)


def _bare(node: exp.Expr) -> exp.Expr:
    """Return an expression whose columns are not qualified by a table."""
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
    return copy


def _refusal(scope: Scope, node: exp.Expr, takes: str) -> UnsupportedSqlError:
    return scope.refusal(f"This form supports {takes}. EXPLAIN shows the SQL of any question.", node, "not-rewritable")
