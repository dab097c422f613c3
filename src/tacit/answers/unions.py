"""UNION ALL, ROLLUP, CUBE, GROUPING SETS and joins of groups: the answers of several questions as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects import Dialect
from sqlglot.errors import SqlglotError

from tacit.answers.about import about
from tacit.answers.joined import describe_join, join_answers
from tacit.answers.notes import simultaneous_note
from tacit.answers.question import Question
from tacit.contract.readers import Privacy
from tacit.errors import UnsupportedSqlError
from tacit.estimate.answer import Answer, Options
from tacit.sql.columns import Shape
from tacit.sql.grouping_sets import has_sets, questions_of
from tacit.sql.joined_groups import GroupJoin, may_join_groups, read_group_join
from tacit.sql.parameters import fill, number_parameters
from tacit.sql.parse import MAX_LENGTH, refuse_deep
from tacit.sql.parse_spans import span_of
from tacit.sql.ranks import SortKey, key_of, sort_rows
from tacit.sql.selection import plain_cell, rows_of_limit

__all__ = ["columns_of_join", "questions_in", "union_of"]

Tables = Callable[[], list[Shape]]
Bind = Callable[[str, Sequence[Any]], Sequence[Question[Any]]]

MOST_PARTS = 16
"""Maximum questions of one union."""

SEVERAL = re.compile(r"\b(union|rollup|cube|grouping)\b", re.IGNORECASE)
"""Keywords that such a question contains."""


def union_of(
    text: str,
    parameters: Sequence[Any],
    ask: Callable[..., Answer],
    privacy: Callable[[list[str]], Callable[[], Privacy]],
    tables: Tables,
    bind: Bind,
    options: Options,
) -> Answer | None:
    """Return the answer to a union of questions, a join of groups, or a question about tables; None for any other.

    ``privacy`` returns a function that computes the joint guarantees of several questions.
    """
    known = None if parameters else about(text, tables)
    if known is not None:
        return known
    union = _several(text, parameters)
    if union is None:
        join = _join(text, parameters)
        return None if join is None else _answer_join(join, ask, privacy, bind, options)
    statement, parts = union
    answers = _ask([part.sql(dialect="duckdb") for part in parts], ask, options)
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
    union, join = _several(text, parameters), _join(text, parameters)
    if join is not None:
        return [(question, ()) for question in _texts(join)]
    if union is None:
        return [(text, parameters)]
    return [question for part in union[1] for question in questions_in(part.sql(dialect="duckdb"), (), tables)]


def columns_of_join(
    text: str, parameters: Sequence[Any], described: Sequence[Sequence[tuple[str, str]]], parts: Sequence[str]
) -> list[tuple[str, str]] | None:
    """Return names and types of a join's columns, given those of its questions; None for any other question."""
    join = _join(text, parameters)
    return None if join is None else describe_join(join, described, parts)


def _ask(texts: Sequence[str], ask: Callable[..., Answer], options: Options) -> list[Answer]:
    """Return the answers to several questions; all of their intervals hold simultaneously if they are to."""
    if not options.simultaneous:
        return [ask(text) for text in texts]
    answers = [ask(text, confidence=1 - (1 - options.confidence) / len(texts)) for text in texts]
    note = simultaneous_note(options.confidence)
    for answer in answers:
        answer.notes = tuple(note if known.startswith(note.split(" at ")[0]) else known for known in answer.notes)
    return answers


def _answer_join(
    join: GroupJoin,
    ask: Callable[..., Answer],
    privacy: Callable[[list[str]], Callable[[], Privacy]],
    bind: Bind,
    options: Options,
) -> Answer:
    texts = _texts(join)
    answers = _ask(texts, ask, options)
    bounds = [question.bound for text in texts for question in bind(text, ())]
    return join_answers(join, answers, bounds, simultaneous=options.simultaneous).with_privacy(privacy(texts))


def _texts(join: GroupJoin) -> list[str]:
    return [part.question.sql(dialect="duckdb") for part in join.parts]


def _join(text: str, parameters: Sequence[Any]) -> GroupJoin | None:
    """Return a question as a join of groups; None if it is another."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH or not may_join_groups(text):
        return None
    statement = _parse(text)
    return None if statement is None else read_group_join(fill(statement, parameters), text)  # type: ignore[arg-type]


def _parse(text: str) -> exp.Expr | None:
    """Return a statement with numbered parameters; None if it is not one statement of SQL."""
    refuse_deep(text)
    try:
        dialect = Dialect.get_or_raise("duckdb")
        statements = list(dialect.parser().parse(number_parameters(dialect.tokenize(text)), text))
    except (SqlglotError, RecursionError, ValueError):
        return None
    return statements[0] if len(statements) == 1 else None


def _several(text: str, parameters: Sequence[Any]) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """Return a statement that is several questions, and these; None if it is one."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH or not SEVERAL.search(text):
        return None
    statement = _parse(text)
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
