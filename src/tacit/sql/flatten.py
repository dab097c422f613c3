"""Merge WITH and subqueries in FROM into one SELECT: projections, filters, and queries over groups."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.clauses import check_clauses
from tacit.sql.join_spelling import spell_joins
from tacit.sql.over_groups import merge_groups
from tacit.sql.parse_spans import span_of
from tacit.sql.per_person import merge_per_person
from tacit.sql.qualified import add_to_on, is_null_without_row, qualify
from tacit.sql.replacing import (
    conjuncts,
    has_aggregate,
    name_of,
    refuse_subquery,
    replace_columns,
    with_columns_of,
    with_condition,
    with_name,
)
from tacit.sql.semijoins import spell_semi_joins
from tacit.sql.stars import expand_stars, outputs_of, with_column_names

__all__ = ["flatten"]

Named = Mapping[str, exp.Select]

MOST_NODES = 20_000
"""Maximum syntax nodes after columns of subqueries are replaced: each level of WITH can double them."""

RESOLVED = "resolved"
"""Marks a table as a service, even where a subquery has the same name."""

NOT_ONE_ROW = ("group", "distinct", "having", "qualify", "limit", "offset")

WHY_ROWS = (
    "Windows, QUALIFY and HAVING over single rows compare people's values, which reports do not reveal. Group by "
    "columns first, and rank or compare the groups."
)


def flatten(statement: exp.Select, text: str, known: Named | None = None) -> exp.Select:
    """Return a statement whose FROM names tables only; refuse queries that one SELECT cannot express."""
    named = dict(known or {})
    clause = statement.args.get("with_")
    for cte in clause.expressions if clause is not None else []:
        if cte.parent.args.get("recursive") or not isinstance(cte.this, exp.Select):
            raise refuse_subquery("WITH takes SELECT statements, not recursive ones or unions.", cte, text)
        named[cte.alias.lower()] = with_column_names(flatten(cte.this, text, named), cte.args.get("alias"), text)
    statement.set("with_", None)
    check_clauses(statement, text)
    for subquery in [query for node in statement.expressions for query in node.find_all(exp.Subquery)]:
        if isinstance(subquery.this, exp.Select):
            subquery.set("this", flatten(subquery.this, text, named))
    for join in list(statement.args.get("joins") or []):
        statement = _one_row(statement, join, named, text)
    while (step := _next(statement, named, text)) is not None:
        holder, inner = step
        alias = str(holder.this.alias or getattr(holder.this, "name", "") or "").lower()
        statement = _merge(statement, holder, inner, alias, text)
    where = statement.args.get("where")
    parts = conjuncts(where.this if where else None)
    statement = spell_semi_joins(statement, parts, text, lambda inner: flatten(inner, text, named))
    for table in statement.find_all(exp.Table):
        table.meta[RESOLVED] = True
    return spell_joins(statement)


def _next(statement: exp.Select, named: Named, text: str) -> tuple[exp.Expr, exp.Select] | None:
    """Return the first part of FROM that is a subquery, with its SELECT; a merge creates a new statement."""
    source = statement.args.get("from_")
    for holder in [*([source] if source else []), *(statement.args.get("joins") or [])]:
        inner = _inner(holder.this, named, text)
        if inner is not None:
            return holder, inner
    return None


def _inner(node: exp.Expr, named: Named, text: str) -> exp.Select | None:
    """Return the SELECT behind a table of FROM."""
    if isinstance(node, exp.Subquery):
        select = node.unnest()
        if not isinstance(select, exp.Select):
            raise refuse_subquery("A subquery in FROM must be a SELECT.", node, text)
        inner = flatten(select, text, named)
    elif isinstance(node, exp.Table) and not node.args.get("db") and not node.meta.get(RESOLVED):
        query = named.get(node.name.lower())
        if query is None:
            return None
        inner = query.copy()
    else:
        return None
    if extra := [word for word, value in node.args.items() if value and word not in ("this", "alias")]:
        message = f"{extra[0].upper()} of a subquery is not supported. Use WHERE and FILTER in a SELECT around it."
        raise refuse_subquery(message, node, text)
    return with_column_names(inner, node.args.get("alias"), text)


def _one_row(statement: exp.Select, join: exp.Join, named: Named, text: str) -> exp.Select:
    """Remove a cross join with one row: of aggregates, which become scalar subqueries, or of constants."""
    if any(join.args.get(word) for word in ("on", "using", "side", "method")):
        return statement
    inner = _inner(join.this, named, text)
    if inner is None or any(inner.args.get(word) for word in NOT_ONE_ROW):
        return statement
    alias = str(join.this.alias or join.this.name or "").lower()
    others = [other for other in statement.args["joins"] if other is not join]
    if not inner.args.get("from_") and not inner.args.get("where"):
        outputs, _ = outputs_of(inner, text)
        if any(node.find(exp.Column, exp.AggFunc, exp.Subquery) for node in outputs.values()):
            return statement
        statement.set("joins", others)
        return replace_columns(statement, alias, outputs, text, keep=True)
    if not has_aggregate(inner):
        return statement
    scalars: dict[str, exp.Expr] = {}
    for node in inner.expressions:
        alone = inner.copy()
        alone.set("expressions", [node.unalias().copy()])
        scalars[name_of(node).lower()] = exp.Subquery(this=alone)
    statement.set("joins", others)
    shown = [with_columns_of(node, alias, scalars, qualified=True) for node in statement.expressions]
    pairs = zip(shown, statement.expressions, strict=True)
    statement.set(
        "expressions",
        [
            with_name(output, before.name) if isinstance(before, exp.Column) and output != before else output
            for output, before in pairs
        ],
    )
    return statement


def _merge(outer: exp.Select, holder: exp.Expr, inner: exp.Select, alias: str, text: str) -> exp.Select:
    aggregates = bool(inner.args.get("group") or inner.args.get("distinct") or has_aggregate(inner))
    joined = bool(outer.args.get("joins") or isinstance(holder, exp.Join))
    _check_outer(outer, holder, inner, text)
    averaged = any(node.find(exp.Avg, exp.Count) for node in outer.expressions)
    if aggregates and (joined or averaged) and (merged := merge_per_person(outer, holder, inner)):
        return merged
    if aggregates and joined:
        message = (
            "A subquery with aggregates can be joined for SUM and AVG of what each person has, or with other groups by "
            "= on their columns, without aggregates or windows around. Ask it alone."
        )
        raise refuse_subquery(message, holder, text)
    outputs, starred = outputs_of(inner, text)
    if not aggregates:
        _check_rows(inner, outputs, text)
    largest = max((sum(1 for _ in node.walk()) for node in outputs.values()), default=1)
    if largest * sum(1 for _ in outer.find_all(exp.Column)) > MOST_NODES:
        message = "The question becomes too large when its subqueries are expanded. Use fewer of their columns."
        raise UnsupportedSqlError(message, code="too-many-terms", text=text)
    if aggregates:
        names = list(outputs) if starred else list(map(name_of, inner.expressions))
        return merge_groups(expand_stars(outer, names, keep=starred), inner, alias, outputs, text)
    return _merge_rows(outer, holder, inner, alias, text)


def _merge_rows(outer: exp.Select, holder: exp.Expr, inner: exp.Select, alias: str, text: str) -> exp.Select:
    """Merge a subquery that projects and filters rows."""
    inner = _under_its_alias(inner, alias)
    outputs, starred = outputs_of(inner, text)
    joins: list[exp.Expr] = outer.args.get("joins") or []
    joined = bool(joins or isinstance(holder, exp.Join))
    table = inner.args["from_"].this.copy() if inner.args.get("from_") else None
    if table is None:
        raise refuse_subquery("A subquery needs FROM.", inner, text)
    qualified = any(column.table for column in inner.find_all(exp.Column))
    if (starred or not qualified) and isinstance(table, exp.Table) and not table.alias and alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    if joined and not qualified and not inner.args.get("joins"):
        outputs = {name: qualify(node, str(table.alias_or_name)) for name, node in outputs.items()}
    if _is_filled(outer, holder):
        _check_filled(outer, alias, outputs, text)
    places = [join is holder for join in joins]
    if starred and inner.args.get("joins") and not joined:
        outer = _without_alias(outer, alias, outputs)
    outer = expand_stars(outer, list(outputs), keep=starred or joined)
    merged = replace_columns(outer, alias, outputs, text, keep=starred)
    for join in merged.args.get("joins") or []:
        if join.args.get("on"):
            join.set("on", with_columns_of(join.args["on"], alias, outputs, qualified=True))
    target = merged.args["from_"] if isinstance(holder, exp.From) else merged.args["joins"][places.index(True)]
    target.set("this", table)
    merged.set("joins", [*(join.copy() for join in inner.args.get("joins") or []), *(merged.args.get("joins") or [])])
    where = inner.args.get("where")
    if where is not None and isinstance(holder, exp.Join) and _side(holder) == "LEFT":
        add_to_on(target, where.this, str(table.alias_or_name))
        return merged
    return with_condition(merged, "where", where)


def _under_its_alias(inner: exp.Select, alias: str) -> exp.Select:
    """Return ``SELECT * FROM shop AS a`` with the alias of the subquery, which the query around it uses."""
    source = inner.args.get("from_")
    table = source.this if source else None
    is_starred = any(node.is_star for node in inner.expressions)
    if not (alias and is_starred and isinstance(table, exp.Table) and table.alias) or inner.args.get("joins"):
        return inner
    result, before = inner.copy(), table.alias.lower()
    others = [other.alias_or_name.lower() for other in inner.find_all(exp.Table) if other is not table]
    if before in others or alias.lower() in others:  # of a subquery in it, which names would then mean
        return inner
    for column in result.find_all(exp.Column):
        if column.table.lower() == before:
            column.set("table", exp.to_identifier(alias))
    result.args["from_"].this.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return result


def _without_alias(outer: exp.Select, alias: str, outputs: Mapping[str, exp.Expr]) -> exp.Select:
    """Return a query over ``SELECT * FROM a JOIN b`` whose columns are found in both, as there is nothing else."""
    result = outer.copy()
    for column in result.find_all(exp.Column):
        if alias and column.table.lower() == alias.lower() and column.name.lower() not in outputs:
            column.set("table", None)
    return result


def _check_rows(inner: exp.Select, outputs: Mapping[str, exp.Expr], text: str) -> None:
    """Refuse a subquery without groups that chooses or compares rows."""
    if inner.args.get("limit") or inner.args.get("offset"):
        raise refuse_subquery("LIMIT in a subquery selects rows, which are private. Put it at the end.", inner, text)
    choosing = inner.args.get("qualify") or inner.args.get("having")
    if choosing or any(node.find(exp.Window) for node in outputs.values()):
        raise UnsupportedSqlError(WHY_ROWS, code="unsupported-window", text=text, span=span_of(inner))


def _side(join: exp.Expr) -> str:
    return str(join.args.get("side") or "").upper()


def _is_filled(outer: exp.Select, holder: exp.Expr) -> bool:
    """Return whether an outer join fills the columns of a table with NULL."""
    side = _side(holder)
    others = {_side(join) for join in outer.args.get("joins") or []}
    return side in ("LEFT", "FULL") or (side != "RIGHT" and bool({"RIGHT", "FULL"} & others))


def _check_filled(outer: exp.Select, alias: str, outputs: Mapping[str, exp.Expr], text: str) -> None:
    """Refuse columns that a subquery computes and an outer join would make NULL, unless they are NULL by themselves."""
    used = [column.name.lower() for column in outer.find_all(exp.Column) if column.table.lower() in ("", alias)]
    for name in used:
        if name in outputs and not is_null_without_row(outputs[name]):
            message = (
                f"{name} is computed in a subquery behind an outer join, which makes it NULL for people without a row. "
                "Compute it in the outer SELECT, with key IS NULL for people without a row."
            )
            raise refuse_subquery(message, outputs[name], text)


def _check_outer(outer: exp.Select, holder: exp.Expr, inner: exp.Select, text: str) -> None:
    """Refuse a filtered subquery that an outer join fills with NULL: its filter would drop rows of the other side."""
    side = _side(holder)
    grouped = inner.args.get("group") or inner.args.get("distinct") or has_aggregate(inner)
    where = inner.args.get("where")
    is_plain = (
        side == "LEFT" and not grouped and not inner.args.get("joins") and not (where and where.find(exp.Subquery))
    )
    if _is_filled(outer, holder) and not is_plain and (where or inner.args.get("joins")):
        message = (
            "A subquery behind LEFT JOIN, or before RIGHT or FULL JOIN, may not have WHERE or JOIN: its conditions "
            "would drop people of the other side. Join the service itself, with the condition in ON, FILTER or CASE."
        )
        raise refuse_subquery(message, holder, text)
