"""UNION ALL, ROLLUP, CUBE and GROUPING SETS: the answers of several questions, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects import Dialect
from sqlglot.errors import SqlglotError

from tacit.answers.about import about
from tacit.contract.readers import Privacy
from tacit.errors import UnsupportedSqlError
from tacit.estimate.answer import Answer
from tacit.sql.columns import Shape
from tacit.sql.grouping_sets import has_sets, questions_of
from tacit.sql.parameters import fill, number_parameters
from tacit.sql.parse import MAX_LENGTH, refuse_deep
from tacit.sql.parse_spans import span_of
from tacit.sql.ranks import SortKey, key_of, sort_rows
from tacit.sql.selection import plain_cell, rows_of_limit

__all__ = ["questions_in", "union_of"]

Tables = Callable[[], list[Shape]]

MOST_PARTS = 16
"""Maximum questions of one union."""

SEVERAL = re.compile(r"\b(union|rollup|cube|grouping)\b", re.IGNORECASE)
"""Keywords that such a question contains."""


def union_of(
    text: str,
    parameters: Sequence[Any],
    ask: Callable[[str], Answer],
    privacy: Callable[[list[str]], Callable[[], Privacy]],
    tables: Tables,
) -> Answer | None:
    """Return the answer to a union of questions or to a question about tables; None for a single question.

    ``privacy`` returns a function that computes the joint guarantees of several questions.
    """
    known = None if parameters else about(text, tables)
    if known is not None:
        return known
    union = _several(text, parameters)
    if union is None:
        return None
    statement, parts = union
    answers = [ask(part.sql(dialect="duckdb")) for part in parts]
    first = answers[0]
    places = [[name in answer.estimates for name in answer.columns] for answer in answers]
    if any(place != places[0] for place in places):
        message = "All parts of UNION ALL need the same columns: estimates under estimates, groups under groups."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    rows = _order_and_limit(statement, [list(row) for answer in answers for row in answer.rows], first, text)
    plan = "\n\n".join
    answer = Answer(
        first.columns,
        rows,
        notes=[*notes],
        plan=lambda: plan(answer.explain() for answer in answers),
        estimates=first.estimates,
    )
    counted = [part.sql(dialect="duckdb") for part, answer in zip(parts, answers, strict=True) if answer.has_privacy]
    return answer.with_privacy(privacy(counted)) if counted else answer


def questions_in(text: str, parameters: Sequence[Any], tables: Tables) -> list[tuple[str, Sequence[Any]]]:
    """Return the questions of a text, each with its parameters; none if it reads no reports."""
    if not parameters and about(text, tables) is not None:
        return []
    union = _several(text, parameters)
    if union is None:
        return [(text, parameters)]
    return [question for part in union[1] for question in questions_in(part.sql(dialect="duckdb"), (), tables)]


def _several(text: str, parameters: Sequence[Any]) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """Return a statement that is several questions, and these; None if it is one."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH or not SEVERAL.search(text):
        return None
    refuse_deep(text)
    try:
        dialect = Dialect.get_or_raise("duckdb")
        [statement] = dialect.parser().parse(number_parameters(dialect.tokenize(text)), text)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(statement, exp.Union) and (statement is None or not has_sets(statement)):
        return None
    statement = fill(statement, parameters)  # type: ignore[arg-type]
    parts: list[exp.Expr] = (
        _parts(statement, text) if isinstance(statement, exp.Union) else [*questions_of(statement, text)]
    )
    if len(parts) > MOST_PARTS:
        message = f"The question is a union of {len(parts)} questions; at most {MOST_PARTS} are allowed."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    return statement, parts


def _order_and_limit(statement: exp.Expr, rows: list[list[Any]], answer: Answer, text: str) -> list[list[Any]]:
    """Apply the ORDER BY and LIMIT of the whole union to the rows."""
    columns, order = [name.lower() for name in answer.columns], statement.args.get("order")
    outputs = [node.unalias() for node in statement.expressions] if isinstance(statement, exp.Select) else []

    def position(node: exp.Expr) -> int:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(columns):
            return int(node.this) - 1
        if isinstance(node, exp.Column) and node.name.lower() in columns:
            return columns.index(node.name.lower())
        if node in outputs:
            return outputs.index(node)
        message = "ORDER BY of several questions takes output columns, by name or position. Add it to SELECT."
        raise UnsupportedSqlError(message, code="unsupported-order", text=text, span=span_of(node))

    keys: list[SortKey] = [key_of(item, position) for item in order.expressions] if order else []
    limit, offset = (rows_of_limit(statement.args.get(word), text) for word in ("limit", "offset"))
    chosen = sort_rows(rows, keys, plain_cell)[offset or 0 :]
    return chosen if limit is None else chosen[:limit]


def _parts(node: exp.Expr, text: str, *, inner: bool = False) -> list[exp.Expr]:
    if isinstance(node, exp.Subquery | exp.Paren):
        return _parts(node.this, text, inner=inner)
    if not isinstance(node, exp.SetOperation):
        return [node]
    extra = [word for word in ("order", "limit", "offset") if inner and node.args.get(word)]
    if not isinstance(node, exp.Union) or node.args.get("distinct") or extra:
        message = "Of set operations, UNION ALL is supported, with ORDER BY and LIMIT at its end only."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    parts = _parts(node.this, text, inner=True) + _parts(node.expression, text, inner=True)
    with_ = node.args.get("with_")
    if with_ is None:
        return parts
    copies = [part.copy() for part in parts]
    for part in copies:
        before = part.args.get("with_")
        part.set(
            "with_",
            exp.With(expressions=[*with_.copy().expressions, *(before.expressions if before else [])]),
        )
    return list(copies)
