"""Merge WITH and subqueries in FROM into one SELECT: projections, filters, and queries over groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.parse_spans import span_of
from tacit.sql.per_person import merge_per_person
from tacit.sql.qualified import add_to_on, qualify
from tacit.sql.semijoins import spell_semi_joins

__all__ = ["flatten"]

Named = Mapping[str, exp.Select]

MOST_NODES = 20_000
"""Maximum syntax nodes after columns of subqueries are replaced: each level of WITH can double them."""

RESOLVED = "resolved"
"""Marks a table as a service, even where a subquery has the same name."""

CLAUSES = ("where", "group", "having", "qualify", "order")


def flatten(statement: exp.Select, text: str, known: Named | None = None) -> exp.Select:
    """Return a statement whose FROM names tables only; refuse queries that one SELECT cannot express."""
    named = dict(known or {})
    clause = statement.args.get("with_")
    for cte in clause.expressions if clause is not None else []:
        if cte.parent.args.get("recursive") or not isinstance(cte.this, exp.Select):
            raise _refusal("WITH takes SELECT statements, not recursive ones or unions.", cte, text)
        named[cte.alias.lower()] = flatten(cte.this, text, named)
    statement.set("with_", None)
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
    parts = _conjuncts(where.this if where else None)
    statement = spell_semi_joins(statement, parts, text, lambda inner: flatten(inner, text, named))
    for table in statement.find_all(exp.Table):
        table.meta[RESOLVED] = True
    return _with_joins_spelled(statement)


def _with_joins_spelled(statement: exp.Select) -> exp.Select:
    """Convert comma-separated tables to joins on the equalities of columns in WHERE."""
    for join in statement.args.get("joins") or []:
        statement = _with_plain_on(statement, join)
    source, where = statement.args.get("from_"), statement.args.get("where")
    before = {str(source.this.alias_or_name).lower()} if source is not None else set()
    for join in statement.args.get("joins") or []:
        alias = str(join.this.alias_or_name).lower()
        parts = _conjuncts(where.this if where else None)
        for part in () if any(join.args.get(word) for word in ("on", "using", "side", "method")) else parts:
            sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
            tables = [side.table.lower() for side in sides if isinstance(side, exp.Column)]
            if (
                len(tables) == 2
                and alias in tables
                and set(tables) - {alias} & before == set(tables) - {alias} != set()
            ):
                join.set("on", part.copy())
                join.set("kind", None)
                others = [other.copy() for other in parts if other is not part]
                statement.set("where", exp.Where(this=exp.and_(*others)) if others else None)
                where = statement.args.get("where")
                break
        before.add(alias)
    return statement


def _with_plain_on(statement: exp.Select, join: exp.Join) -> exp.Select:
    """Move the conditions of an inner join's ON, except one equality of columns, to WHERE, which is the same."""
    parts = _conjuncts(join.args.get("on"))
    keys = [
        part
        for part in parts
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column)
    ]
    if len(parts) < 2 or len(keys) != 1 or join.args.get("side"):
        return statement
    join.set("on", keys[0].copy())
    for part in parts:
        statement = statement if part is keys[0] else _with_condition(statement, "where", part)
    return statement


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
        if not isinstance(node.this, exp.Select):
            raise _refusal("A subquery in FROM must be a SELECT.", node, text)
        return flatten(node.this, text, named)
    is_named = isinstance(node, exp.Table) and not node.args.get("db") and not node.meta.get(RESOLVED)
    if is_named and node.name.lower() in named:
        return named[node.name.lower()].copy()
    return None


def _one_row(statement: exp.Select, join: exp.Join, named: Named, text: str) -> exp.Select:
    """Remove a cross join with one row of aggregates: its columns become scalar subqueries."""
    if any(join.args.get(word) for word in ("on", "using", "side", "method")):
        return statement
    inner = _inner(join.this, named, text)
    groups = inner is None or any(inner.args.get(word) for word in ("group", "distinct", "having", "limit", "offset"))
    if inner is None or groups or not _has_aggregate(inner):
        return statement
    outputs = {}
    for node in inner.expressions:
        alone = inner.copy()
        alone.set("expressions", [node.unalias().copy()])
        outputs[_name(node).lower()] = exp.Subquery(this=alone)
    alias = str(join.this.alias or join.this.name or "").lower()
    statement.set("joins", [other for other in statement.args["joins"] if other is not join])
    shown = [_replaced_node(node, alias, outputs, qualified=True) for node in statement.expressions]
    statement.set(
        "expressions",
        [
            exp.alias_(output, before.name, quoted=True)
            if isinstance(before, exp.Column) and output != before
            else output
            for output, before in zip(shown, statement.expressions, strict=True)
        ],
    )
    return statement


def _refusal(message: str, node: exp.Expr, text: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(node))


def _merge(outer: exp.Select, holder: exp.Expr, inner: exp.Select, alias: str, text: str) -> exp.Select:
    aggregates = bool(inner.args.get("group") or inner.args.get("distinct") or _has_aggregate(inner))
    joined = bool(outer.args.get("joins") or isinstance(holder, exp.Join))
    _check_outer(outer, holder, inner, text)
    averaged = any(node.find(exp.Avg, exp.Count) for node in outer.expressions)
    if aggregates and (joined or averaged) and (merged := merge_per_person(outer, holder, inner)):
        return merged
    if aggregates and joined:
        message = "A subquery with aggregates can be joined only for SUM and AVG of what each person has. Ask it alone."
        raise _refusal(message, holder, text)
    picks = inner.args.get("limit") or inner.args.get("offset")
    if picks and (not aggregates or any(outer.args.get(word) for word in ("where", "qualify", "limit", "offset"))):
        raise _refusal("LIMIT in a subquery selects rows, which are private. Put it at the end.", inner, text)
    outputs = {_name(node).lower(): node.unalias() for node in inner.expressions if not isinstance(node, exp.Star)}
    starred = any(isinstance(node, exp.Star) for node in inner.expressions)
    largest = max((sum(1 for _ in node.walk()) for node in outputs.values()), default=1)
    if largest * sum(1 for _ in outer.find_all(exp.Column)) > MOST_NODES:
        message = "The question becomes too large when its subqueries are expanded. Use fewer of their columns."
        raise UnsupportedSqlError(message, code="too-many-terms", text=text)
    if aggregates:
        return _of_groups(outer, inner, alias, outputs, text)
    table = inner.args["from_"].this.copy() if inner.args.get("from_") else None
    if table is None:
        raise _refusal("A subquery needs FROM.", inner, text)
    qualified = any(column.table for column in inner.find_all(exp.Column))
    if (starred or not qualified) and isinstance(table, exp.Table) and not table.alias and alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    if joined and not qualified and not inner.args.get("joins"):
        outputs = {name: qualify(node, str(table.alias_or_name)) for name, node in outputs.items()}
    merged = _replace(outer, alias, outputs, text, keep=starred)
    target = merged.args["from_"] if isinstance(holder, exp.From) else _same_join(merged, outer, holder)
    target.set("this", table)
    merged.set("joins", [*(join.copy() for join in inner.args.get("joins") or []), *(merged.args.get("joins") or [])])
    where = inner.args.get("where")
    if where is not None and isinstance(holder, exp.Join) and _side(holder) == "LEFT":
        add_to_on(target, where.this, str(table.alias_or_name))
        return merged
    return _with_condition(merged, "where", where)


def _side(join: exp.Expr) -> str:
    return str(join.args.get("side") or "").upper()


def _check_outer(outer: exp.Select, holder: exp.Expr, inner: exp.Select, text: str) -> None:
    """Refuse a filtered subquery that an outer join fills with NULL: its filter would drop rows of the other side."""
    sides = [_side(join) for join in outer.args.get("joins") or []]
    side = _side(holder)
    grouped = inner.args.get("group") or inner.args.get("distinct") or _has_aggregate(inner)
    where = inner.args.get("where")
    is_plain = (
        side == "LEFT" and not grouped and not inner.args.get("joins") and not (where and where.find(exp.Subquery))
    )
    is_filled = side in ("LEFT", "FULL") or (side != "RIGHT" and {"RIGHT", "FULL"} & {*sides})
    if is_filled and not is_plain and (where or inner.args.get("joins")):
        message = (
            "A subquery behind LEFT JOIN, or before RIGHT or FULL JOIN, may not have WHERE or JOIN: its conditions "
            "would drop people of the other side. Join the service itself, with the condition in ON, FILTER or CASE."
        )
        raise _refusal(message, holder, text)


def _same_join(merged: exp.Select, outer: exp.Select, holder: exp.Expr) -> exp.Expr:
    places = [join is holder for join in outer.args["joins"]]
    joins: list[exp.Expr] = list(merged.args["joins"])
    return joins[places.index(True)]


def _of_groups(
    outer: exp.Select, inner: exp.Select, alias: str, outputs: Mapping[str, exp.Expr], text: str
) -> exp.Select:
    """Merge a SELECT over the groups of another SELECT into one."""
    if any(isinstance(node, exp.Star) for node in outer.expressions):
        shown = [node.copy() for node in inner.expressions]
        outer = outer.copy()
        outer.set("expressions", [exp.alias_(exp.column(_name(node)), _name(node), quoted=True) for node in shown])
    if outer.args.get("group") or outer.args.get("distinct") or _has_aggregate(outer):
        return _sum_of_groups(outer, inner, alias, outputs, text)
    replaced = _replace(outer, alias, outputs, text, keep=False)
    where = replaced.args.get("where")
    windows = any(node.find(exp.Window) for node in inner.expressions)
    after = windows or bool(inner.args.get("qualify"))  # shares and ranks refer to all groups
    result = inner.copy()
    result.set("expressions", replaced.expressions)
    result.set("group", _spelled_group(inner, outputs))
    if result.args.get("distinct"):
        result.set("distinct", None)
        result.set("group", exp.Group(expressions=[node.copy() for node in outputs.values()]))
    for part in _conjuncts(where.this if where else None):
        of_groups = part.find(exp.AggFunc) or not part.find(exp.Column)  # WHERE 1 = 0 leaves no group, not empty ones
        word = "qualify" if after else "having" if of_groups else "where"
        result = _with_condition(result, word, part)
    for word in ("order", "limit", "offset"):
        if replaced.args.get(word):
            result.set(word, replaced.args[word])
    order = result.args.get("order")
    if order is not None and not replaced.args.get("order"):
        result.set("order", _replaced_node(order, "", outputs))
    return result


def _sum_of_groups(
    outer: exp.Select, inner: exp.Select, alias: str, outputs: Mapping[str, exp.Expr], text: str
) -> exp.Select:
    """Merge SUM over the counts or sums of groups into the same aggregate over their rows."""

    def is_key(node: exp.Expr) -> bool:
        output = outputs.get(node.name.lower()) if isinstance(node, exp.Column) else None
        return output is not None and not output.find(exp.AggFunc, exp.Window)

    def is_sum(node: exp.Expr) -> bool:
        summed = node.this if isinstance(node, exp.Sum) else None
        output = outputs.get(summed.name.lower()) if isinstance(summed, exp.Column) else None
        return isinstance(output, exp.Count | exp.Sum) and not output.find(exp.Distinct)

    shown, where = [node.unalias() for node in outer.expressions], outer.args.get("where")
    names = {_name(node).lower(): node.unalias() for node in outer.expressions}
    group = _spelled_group(outer, names)
    keys = group.expressions if group is not None else []
    plain = not any(outer.args.get(word) for word in ("having", "distinct", "qualify")) and all(
        is_sum(node) or node in keys for node in shown
    )
    filtered = all(map(is_key, where.find_all(exp.Column))) if where else True
    is_complete = not any(inner.args.get(word) for word in ("having", "limit", "offset", "distinct", "qualify"))
    if not (plain and filtered and is_complete and all(map(is_key, keys))):
        message = (
            "The only supported aggregate of an aggregate is SUM of a COUNT or SUM, grouped by columns of the groups, "
            "because the number of groups depends on noise. Ask for the groups, and summarise the answer: the largest "
            "is the first with ORDER BY … DESC LIMIT 1. How many rows single people have is not in reports."
        )
        raise _refusal(message, outer.expressions[0], text)
    result = inner.copy()
    taken = [outputs[(node if node in keys else node.this).name.lower()].copy() for node in shown]
    pairs = zip(taken, outer.expressions, strict=True)
    result.set("expressions", [exp.alias_(output, _name(node), quoted=True) for output, node in pairs])
    replaced = [_replaced_node(node, alias, outputs) for node in keys]
    result.set("group", exp.Group(expressions=replaced) if keys else None)
    for word in ("order", "limit", "offset"):
        result.set(word, outer.args[word].copy() if outer.args.get(word) else None)
    if where:
        result = _with_condition(result, "where", _replaced_node(where.this, alias, outputs))
    return result


def _spelled_group(inner: exp.Select, outputs: Mapping[str, exp.Expr]) -> exp.Group | None:
    """Return GROUP BY with positions and names of output columns replaced by their expressions."""
    group = inner.args.get("group")
    if group is None:
        return None
    listed = [node.unalias() for node in inner.expressions]
    expressions = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(listed):
            expressions.append(listed[int(node.this) - 1].copy())
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in outputs:
            expressions.append(outputs[node.name.lower()].copy())
        else:
            expressions.append(node.copy())
    return exp.Group(**{**group.args, "expressions": expressions})


def _replace(outer: exp.Select, alias: str, outputs: Mapping[str, exp.Expr], text: str, *, keep: bool) -> exp.Select:
    result = outer.copy()
    shown = {node.alias.lower(): node for node in result.expressions if isinstance(node, exp.Alias)}
    if not keep and not result.args.get("joins"):
        parts = [*result.expressions, *(result.args[word] for word in CLAUSES if result.args.get(word))]
        for column in (column for part in parts for column in _own_nodes(part, exp.Column)):
            if column.name.lower() not in {**outputs, **shown}:
                message = f"The subquery has no column {column.name!r}. Columns: {', '.join(outputs)}."
                raise BindError(message, text=text, span=span_of(column))
    result.set("expressions", [_rename(node, alias, outputs) for node in result.expressions])
    named = {_name(node).lower() for node in outer.expressions}
    for word in CLAUSES:
        if result.args.get(word):
            replacements = (
                {n: output for n, output in outputs.items() if n not in named} if word == "order" else outputs
            )
            result.set(word, _replaced_node(result.args[word], alias, replacements))
    return result


def _rename(node: exp.Expr, alias: str, outputs: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an output column under its previous name."""
    replaced = _replaced_node(node, alias, outputs)
    if isinstance(node, exp.Column) and replaced != node:
        return exp.alias_(replaced, node.name, quoted=True)
    return replaced


def _replaced_node(node: exp.Expr, alias: str, outputs: Mapping[str, exp.Expr], *, qualified: bool = False) -> exp.Expr:
    """Replace columns of a subquery by their expressions in a node; nested subqueries keep their own names."""

    def substitute(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Subquery):
            return part.copy()
        if not isinstance(part, exp.Column) or (part.table.lower() != alias and (part.table or qualified)):
            return part
        output = outputs.get(part.name.lower())
        if output is None:
            return part
        alone = isinstance(output, exp.Column | exp.Func | exp.Literal | exp.Subquery | exp.Window)
        return output.copy() if alone else exp.Paren(this=output.copy())

    return node.transform(substitute)


def _with_condition(statement: exp.Select, word: str, condition: exp.Expr | None) -> exp.Select:
    if condition is None:
        return statement
    added = condition.this if isinstance(condition, exp.Where | exp.Having | exp.Qualify) else condition
    before = statement.args.get(word)
    both = (
        exp.And(this=exp.Paren(this=before.this), expression=exp.Paren(this=added.copy())) if before else added.copy()
    )
    kinds: dict[str, type[exp.Expr]] = {"where": exp.Where, "having": exp.Having, "qualify": exp.Qualify}
    statement.set(word, kinds[word](this=both))
    return statement


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    return _conjuncts(node.left) + _conjuncts(node.right) if isinstance(node, exp.And) else [node]


def _has_aggregate(statement: exp.Select) -> bool:
    aggregates = [aggregate for node in statement.expressions for aggregate in _own_nodes(node, exp.AggFunc)]
    return any(not isinstance(aggregate.parent, exp.Window) for aggregate in aggregates)


def _own_nodes(node: exp.Expr, kind: type[exp.Expr]) -> list[Any]:
    """Return the nodes of a kind outside nested subqueries."""
    walked = node.walk(prune=lambda part: isinstance(part, exp.Subquery))
    return [part for part in walked if isinstance(part, kind)]


def _name(node: exp.Expr) -> str:
    return str(node.alias_or_name or node.sql(dialect="duckdb"))
