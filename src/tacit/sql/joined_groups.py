"""Joins of subqueries with groups: which questions they are, and which rows belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.grouping_sets import has_sets
from tacit.sql.parse_spans import span_of
from tacit.sql.replacing import conjuncts, has_aggregate

__all__ = ["GroupJoin", "GroupPart", "may_join_groups", "read_group_join"]

GROUPED = re.compile(r"\b(group\s+by|distinct)\b", re.IGNORECASE)

AROUND = ("group", "distinct", "having", "qualify", "windows", "laterals", "pivots", "sample", "kind")
"""Clauses that a SELECT around joined groups may not have."""

SIDES = ("", "LEFT", "RIGHT", "FULL")

MOST_PARTS = 8
"""Maximum subqueries of one join."""

WHY = (
    "Subqueries with groups are joined by = on columns of their groups, as in ON a.month = b.month, and their columns "
    "are shown, filtered and sorted: no aggregates, windows or GROUP BY around them. Ask for the groups themselves."
)


@dataclass(frozen=True)
class GroupPart:
    """One of the joined subqueries: its name, its question, and how its rows are found."""

    name: str
    question: exp.Select
    side: str = ""
    using: tuple[str, ...] = ()
    on: tuple[tuple[exp.Expr, exp.Expr], ...] = ()
    """Pairs of expressions that must be equal: over earlier parts, and over this one."""


@dataclass(frozen=True)
class GroupJoin:
    """A SELECT over joined groups."""

    statement: exp.Select
    parts: tuple[GroupPart, ...]
    where: tuple[exp.Expr, ...]
    text: str

    def refusal(self, node: exp.Expr, message: str = WHY) -> UnsupportedSqlError:
        """Return the refusal of a part of the question."""
        return UnsupportedSqlError(message, code="unsupported-subquery", text=self.text, span=span_of(node))


def may_join_groups(text: str) -> bool:
    """Return whether a text has the words of such a question, before it is parsed."""
    lower = text.lower()
    return bool(GROUPED.search(text)) and ("with" in lower or lower.count("select") > 1)


def read_group_join(statement: exp.Expr | None, text: str) -> GroupJoin | None:
    """Return a question as a join of groups; None if it is another."""
    if not isinstance(statement, exp.Select) or statement.args.get("from_") is None:
        return None
    named = _name_queries(statement)
    holders = [statement.args["from_"], *(statement.args.get("joins") or [])]
    queries = [_question_of(holder.this, named, statement) for holder in holders]
    if not 1 < len(queries) <= MOST_PARTS or any(query is None or not _is_grouped(query) for query in queries):
        return None
    if any(statement.args.get(word) for word in AROUND) or _aggregates(statement):
        return None
    where = statement.args.get("where")
    conditions = conjuncts(where.this if where is not None else None)
    parts: list[GroupPart] = []
    for holder, query in zip(holders, queries, strict=True):
        assert query is not None  # noqa: S101  checked above
        parts.append(_part(holder, query, [part.name for part in parts], conditions, text))
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        message = "Two subqueries have the same name. Give each its own, as in FROM a AS x JOIN a AS y."
        raise BindError(message, code="ambiguous-column", text=text, span=span_of(statement))
    return GroupJoin(statement, tuple(parts), tuple(conditions), text)


def _name_queries(statement: exp.Select) -> dict[str, exp.CTE]:
    clause = statement.args.get("with_")
    return {cte.alias.lower(): cte for cte in clause.expressions} if clause is not None else {}


def _question_of(node: exp.Expr, named: dict[str, exp.CTE], statement: exp.Select) -> exp.Select | None:
    """Return the SELECT behind a table of FROM as a question of its own; None for anything else."""
    clause = statement.args.get("with_")
    before = list(clause.expressions) if clause is not None else []
    alias = node.args.get("alias")
    if (alias is not None and alias.args.get("columns")) or node.args.get("pivots") or node.args.get("sample"):
        return None
    if isinstance(node, exp.Table) and not node.args.get("db") and node.name.lower() in named:
        cte = named[node.name.lower()]
        before = before[: before.index(cte)]
        if cte.args["alias"].args.get("columns"):
            return None
        query = cte.this
    else:
        query = node.this if isinstance(node, exp.Subquery) else None
    if not isinstance(query, exp.Select):
        return None
    question = query.copy()
    with_ = question.args.get("with_")
    if before:
        more = with_.expressions if with_ is not None else []
        question.set("with_", exp.With(expressions=[*(cte.copy() for cte in before), *more]))
    return question


def _is_grouped(query: exp.Select) -> bool:
    """Return whether the rows of a SELECT are groups, its own or those of a subquery that it shows."""
    if query.args.get("group") or query.args.get("distinct"):
        return not has_sets(query)
    source = query.args.get("from_")
    if source is None or query.args.get("joins") or has_aggregate(query):
        return False
    question = _question_of(source.this, _name_queries(query), query)
    return question is not None and _is_grouped(question)


def _aggregates(statement: exp.Select) -> bool:
    """Return whether a SELECT has aggregates, windows or subqueries outside FROM."""
    clauses = (statement.args.get(word) for word in ("where", "order"))
    nodes = [*statement.expressions, *(clause for clause in clauses if clause is not None)]
    return any(node.find(exp.AggFunc, exp.Window, exp.Subquery, exp.Exists) for node in nodes)


def _part(
    holder: exp.Expr, query: exp.Select, before: Sequence[str], conditions: list[exp.Expr], text: str
) -> GroupPart:
    """Read one table of FROM; equalities of WHERE join it if it has no ON."""
    name = str(holder.this.alias or holder.this.name or "").lower()
    if isinstance(holder, exp.From):
        return GroupPart(name, query)
    side = str(holder.args.get("side") or "").upper()
    known = side in SIDES and str(holder.args.get("kind") or "").upper() in ("", "INNER", "OUTER", "CROSS")
    using = tuple(column.name.lower() for column in holder.args.get("using") or [])
    on = holder.args.get("on")
    tests = conjuncts(on) if on is not None else [test for test in conditions if _pair(test, before, name)]
    pairs = [_pair(test, before, name) for test in tests]
    if not known or holder.args.get("method") or None in pairs or not (using or pairs):
        raise UnsupportedSqlError(WHY, code="unsupported-subquery", text=text, span=span_of(holder))
    if on is None:
        conditions[:] = [test for test in conditions if test not in tests]
    return GroupPart(name, query, side, using, tuple(pair for pair in pairs if pair is not None))


def _pair(test: exp.Expr, before: Sequence[str], name: str) -> tuple[exp.Expr, exp.Expr] | None:
    """Return both sides of an equality of earlier parts with this one; None for any other condition."""
    if not isinstance(test, exp.EQ):
        return None
    for left, right in ((test.left, test.right), (test.right, test.left)):
        if set(_tables(left)) <= set(before) and set(_tables(right)) == {name} and any(_tables(left)):
            return left, right
    return None


def _tables(node: exp.Expr) -> Iterator[str]:
    return (column.table.lower() for column in node.find_all(exp.Column))
