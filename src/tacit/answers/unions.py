"""UNION ALL: the answers of several questions, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tacit.answers.about import about
from tacit.contract.readers import Privacy
from tacit.errors import UnsupportedSqlError
from tacit.estimate.answer import Answer
from tacit.sql.columns import Shape
from tacit.sql.parse import MAX_LENGTH, refuse_deep

__all__ = ["question_texts", "union_of"]

MOST_PARTS = 16
"""Questions of one union."""


def union_of(
    text: str, ask: Callable[[str], Answer], privacy: Callable[[list[str]], Callable[[], Privacy]]
) -> Answer | None:
    """Return the answers to the questions of a UNION ALL together; None if there is none.

    ``privacy`` says what tells the guarantees of several questions together.
    """
    parts = _union_parts(text)
    if parts is None:
        return None
    answers = [ask(part.sql(dialect="duckdb")) for part in parts]
    first = answers[0]
    places = [[name in one.estimates for name in one.columns] for one in answers]
    if any(own != places[0] for own in places):
        message = "All parts of UNION ALL need the same columns: estimates under estimates, groups under groups."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    notes = dict.fromkeys(note for one in answers for note in one.notes)
    rows = [row for one in answers for row in one.rows]
    plan = "\n\n".join
    made = Answer(
        first.columns,
        rows,
        notes=[*notes],
        plan=lambda: plan(one.explain() for one in answers),
        estimates=first.estimates,
    )
    counted = [part.sql(dialect="duckdb") for part, one in zip(parts, answers, strict=True) if one.has_privacy]
    return made.with_privacy(privacy(counted)) if counted else made


def question_texts(text: str, tables: Callable[[], list[Shape]]) -> list[str]:
    """Return the questions of a UNION ALL, or the text itself; none if it asks about no reports."""
    if about(text, tables) is not None:
        return []
    parts = _union_parts(text)
    if parts is None:
        return [text]
    return [one for part in parts for one in question_texts(part.sql(dialect="duckdb"), tables)]


def _union_parts(text: str) -> list[exp.Expr] | None:
    """Return the questions of a UNION ALL; None if the text is none."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH or not re.search(r"\bunion\b", text, re.IGNORECASE):
        return None
    refuse_deep(text)
    try:
        statement = parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(statement, exp.Union):
        return None
    parts = _parts(statement, text)
    if len(parts) > MOST_PARTS:
        message = f"The question is a union of {len(parts)} questions; at most {MOST_PARTS} are allowed."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    return parts


def _parts(node: exp.Expr, text: str) -> list[exp.Expr]:
    if isinstance(node, exp.Subquery | exp.Paren):
        return _parts(node.this, text)
    if not isinstance(node, exp.SetOperation):
        return [node]
    extra = [word for word in ("order", "limit", "offset", "with_") if node.args.get(word)]
    if not isinstance(node, exp.Union) or node.args.get("distinct") or extra:
        message = "Of set operations, UNION ALL is supported, without ORDER BY, LIMIT or WITH around it."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    return _parts(node.this, text) + _parts(node.expression, text)
