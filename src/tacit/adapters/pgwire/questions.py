"""Read questions in PostgreSQL's spelling: parameters as $1, tables in the schema public; and describe their results.

Replacements keep the length of the text, so that errors point to the right place in the client's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.dialects import Dialect
from sqlglot.errors import SqlglotError

from tacit.adapters.pgwire.catalog.facts import COLUMN_TYPES, oid_of_type, type_of_oid
from tacit.adapters.pgwire.statements import tokens_of
from tacit.adapters.pgwire.values import type_of_value
from tacit.answers.labels import names_of
from tacit.answers.unions import columns_of_join, questions_in
from tacit.contract.schema import Public
from tacit.database import Database
from tacit.errors import ParseError, UnsupportedSqlError
from tacit.estimate.answer import Answer, Options
from tacit.sql.columns import Shape, plain_type
from tacit.sql.keys import GroupKey
from tacit.sql.modes import Mode
from tacit.sql.parameters import number_parameters
from tacit.sql.parse import without_explain
from tacit.sql.quantiles import Quantile
from tacit.sql.ranks import is_rank
from tacit.sql.scope import LABELS
from tacit.sql.vectors import shown_value

__all__ = [
    "AnswerColumn",
    "ParameterizedQuestion",
    "columns_alone",
    "columns_of",
    "read_question",
    "sent_columns",
    "stand_ins",
]

PARTS = ("", "_error", "_low", "_high")
"""An estimate is four columns."""

MOST_PARAMETERS = 1000
"""Maximum parameters of a question."""


@dataclass(frozen=True)
class AnswerColumn:
    """A column of an answer: its name, its type, and whether the question lists it, or it is part of an estimate."""

    name: str
    type: str
    is_listed: bool = True


def sent_columns(columns: Sequence[AnswerColumn], *, with_intervals: bool) -> list[int]:
    """Return which columns a client gets, in their order: those that the question lists come first.

    Many tools read columns by position, as PostgreSQL allows: the second measure must not be the first one's error.
    """
    listed = [place for place, column in enumerate(columns) if column.is_listed]
    return listed + [place for place, column in enumerate(columns) if not column.is_listed and with_intervals]


@dataclass(frozen=True)
class ParameterizedQuestion:
    """A question with ``?`` for parameters.

    Attributes
    ----------
    text : str
        As long as the client's text, so that positions are the same.
    order : tuple of int
        Which parameter each ``?`` is, counted from 0.
    types : tuple of str
        Types of the parameters.
    """

    text: str
    order: tuple[int, ...]
    types: tuple[str, ...]

    def values(self, parameters: Sequence[Any]) -> list[Any]:
        """Return a value for each ``?``."""
        return [parameters[place] for place in self.order]


def read_question(text: str, shapes: Sequence[Shape], declared: Sequence[int], database: str) -> ParameterizedQuestion:
    """Read a question; types of parameters come from the client, a cast, or the column they are compared with."""
    try:
        tokens = tokens_of(text)
    except (SqlglotError, RecursionError, ValueError):
        return ParameterizedQuestion(text, (), ())
    letters, order, casts = list(text), [], {}
    place = 0
    schemas = {"public"} - {shape.name.lower() for shape in shapes}
    while place < len(tokens):
        used = _schema(tokens, place, schemas, database)
        if used:
            _blank(letters, tokens[place].start, tokens[place + used - 1].end)
            place += used
            continue
        number = _parameter(tokens, place)
        if number is not None:
            _blank(letters, tokens[place].start, tokens[place + 1].end)
            letters[tokens[place].start] = "?"
            order.append(number - 1)
            place += 2
            cast, length = _cast(tokens, place)
            if length:
                _blank(letters, tokens[place].start, tokens[place + length - 1].end)
                casts[number - 1] = cast
                place += length
            continue
        place += 1
    rewritten = "".join(letters)
    count = max([len(declared), *(place + 1 for place in order)])
    if count > MOST_PARAMETERS:
        message = f"A question has at most {MOST_PARAMETERS} parameters."
        raise ParseError(message, code="wrong-parameters")
    result = _types(rewritten, shapes) if order else []
    beside = {number: kind for number, kind in zip(order, result, strict=False) if kind}
    named = [
        type_of_oid(declared[place]) if place < len(declared) and declared[place] else None for place in range(count)
    ]
    types = [named[place] or casts.get(place) or beside.get(place) or "text" for place in range(count)]
    return ParameterizedQuestion(
        rewritten, tuple(order), tuple("text" if kind == "unknown" else kind for kind in types)
    )


def columns_alone(node: exp.Expr | None, shapes: Sequence[Shape]) -> tuple[tuple[str, str], ...] | None:
    """Return the columns of a table that a question asks for without rows, as tools do with LIMIT 0 or WHERE 1 = 0.

    None if it is another question: one about rows is refused, one about groups is answered.
    """
    start = node.args.get("from_") if isinstance(node, exp.Select) else None
    if node is None or start is None or not isinstance(start.this, exp.Table):
        return None
    used = {name for name, value in node.args.items() if value} - {"expressions", "from_", "where", "limit", "order"}
    shape = next((shape for shape in shapes if shape.name.lower() == start.this.name.lower()), None)
    if used or shape is None or start.this.db not in ("", "public") or not _has_no_rows(node):
        return None
    known = {column.name.lower(): (column.name, COLUMN_TYPES[column.type]) for column in shape.columns}
    result: list[tuple[str, str]] = []
    for shown in node.expressions:
        column = shown.unalias()
        if column.is_star:
            result += known.values()
        elif isinstance(column, exp.Column) and column.name.lower() in known:
            name, kind = known[column.name.lower()]
            result.append((shown.alias or name, kind))
        else:
            return None
    return tuple(result)


def _has_no_rows(node: exp.Expr) -> bool:
    """Return whether LIMIT or WHERE leave nothing, whatever the table holds."""
    limit, where = node.args.get("limit"), node.args.get("where")
    if limit is not None and limit.expression is not None and limit.expression.name == "0":
        return True
    condition = where.this.unnest() if where is not None else None
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if not isinstance(condition, exp.EQ | exp.NEQ):
        return False
    sides = (condition.this, condition.expression)
    if not all(isinstance(side, exp.Literal) and not side.is_string and side.name.isdigit() for side in sides):
        return False
    return (sides[0].name == sides[1].name) is isinstance(condition, exp.NEQ)


def _blank(letters: list[str], start: int, end: int) -> None:
    letters[start : end + 1] = " " * (end + 1 - start)


def _schema(tokens: Sequence[Token], place: int, schemas: Iterable[str], database: str) -> int:
    """Return how many tokens from here are the schema of a table, perhaps with its database: public."users"."""

    def is_part(at: int, names: Iterable[str]) -> bool:
        if at + 1 >= len(tokens) or tokens[at + 1].token_type != TokenType.DOT:
            return False
        text = tokens[at].text
        return (text if tokens[at].token_type == TokenType.IDENTIFIER else text.lower()) in names

    if place > 0 and tokens[place - 1].token_type == TokenType.DOT:
        return 0
    if is_part(place, schemas):
        return 2
    return 4 if is_part(place, (database,)) and is_part(place + 2, schemas) else 0


def _parameter(tokens: Sequence[Token], place: int) -> int | None:
    """Return the number of the parameter at a token."""
    if tokens[place].token_type != TokenType.PARAMETER or place + 1 >= len(tokens):
        return None
    text = tokens[place + 1].text
    return int(text) if text.isdigit() and 1 <= int(text[:9]) <= MOST_PARAMETERS else None


def _cast(tokens: Sequence[Token], place: int) -> tuple[str, int]:
    """Return the type to which a parameter is cast, and the number of tokens of the cast."""
    if place + 1 >= len(tokens) or tokens[place].token_type != TokenType.DCOLON:
        return "", 0
    words, length = [tokens[place + 1].text.lower()], 2
    while place + length < len(tokens) and tokens[place + length].text.lower() in (
        "precision",
        "varying",
        "without",
        "time",
        "zone",
    ):
        words.append(tokens[place + length].text.lower())
        length += 1
    if place + length + 2 < len(tokens) and tokens[place + length].token_type == TokenType.L_PAREN:
        length += 3
    kind = type_of_oid(oid_of_type(" ".join(words)) or 0)
    return (kind, length) if kind else ("", 0)


def _types(text: str, shapes: Sequence[Shape]) -> list[str]:
    """Return the type of each ``?`` from the column it is compared with; empty where it is unknown."""
    statement = _tree(text)
    if statement is None:
        return []
    columns = {column.name.lower(): COLUMN_TYPES[column.type] for shape in shapes for column in shape.columns}
    result = {
        int(placeholder.name): _beside(placeholder, columns) for placeholder in statement.find_all(exp.Placeholder)
    }
    return [result.get(number, "") for number in range(1, max(result, default=0) + 1)]


def _tree(text: str) -> exp.Expr | None:
    """Return the tree of a question with numbered parameters; None if the planner should report the problem."""
    try:
        dialect = Dialect.get_or_raise("duckdb")
        statements: list[exp.Expr | None] = list(
            dialect.parser().parse(number_parameters(dialect.tokenize(text)), text)
        )
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError, ParseError):
        return None
    return statements[0] if len(statements) == 1 else None


def _beside(node: exp.Expr, columns: Mapping[str, str]) -> str:
    """Return the type of the column that a parameter is compared with."""
    parent = node.parent
    if isinstance(parent, exp.Limit):
        return "int8"
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    if isinstance(parent, exp.Predicate | exp.Binary):
        beside = parent.find(exp.Column)
        return columns.get(beside.name.lower(), "") if beside is not None else ""
    return ""


def stand_ins(question: ParameterizedQuestion, database: Database) -> list[Any]:
    """Return a possible value for each parameter, so that a question can be bound before its values are known."""
    known = {
        attribute.name.lower(): shown_value(attribute, 0)
        for collection in database.collections
        for service in collection.schema.services
        for attribute in service.attributes
        if not isinstance(attribute, Public)
    }
    statement = _tree(question.text)
    values: dict[int, Any] = {}
    for node in statement.find_all(exp.Placeholder) if statement is not None else ():
        beside = node.find_ancestor(exp.Predicate, exp.Binary)
        column = beside.find(exp.Column) if beside is not None else None
        value = known.get(column.name.lower()) if column is not None else None
        values[int(node.name)] = value if value is not None else ("" if column is not None else 1)
    return [values.get(number, 1) for number in range(1, len(question.order) + 1)]


def columns_of(database: Database, text: str, parameters: Sequence[Any]) -> list[AnswerColumn]:
    """Return the columns of a question's answer without running it; for a union, with types that fit all parts."""
    plain, explains = without_explain(text)
    if explains:
        return [AnswerColumn("explain", "text")]
    several = questions_in(plain, parameters, database.tables)
    if not several:  # a question about tables, which is cheap to answer
        return _columns_of_answer(database.sql(plain, parameters=parameters))
    described = [_columns_of_one(database, question, values) for question, values in several]
    pairs = [[(column.name, column.type) for column in columns] for columns in described]
    joined = columns_of_join(plain, parameters, pairs, PARTS)
    if joined is not None:
        ends = {name + part for name, _ in joined for part in PARTS if part}
        return [AnswerColumn(name, kind, is_listed=name not in ends) for name, kind in joined]
    if len({len(columns) for columns in described}) > 1:
        message = "All parts of UNION ALL need the same columns: estimates under estimates, groups under groups."
        raise UnsupportedSqlError(message, code="unsupported-union", text=text)
    return [
        replace(column, type=_common_type([columns[place].type for columns in described]))
        for place, column in enumerate(described[0])
    ]


def _columns_of_answer(answer: Answer) -> list[AnswerColumn]:
    kinds = [
        {type_of_value(row[place]) for row in answer.rows if row[place] is not None}
        for place in range(len(answer.columns))
    ]
    return [AnswerColumn(name, _common_type(sorted(kind))) for name, kind in zip(answer.columns, kinds, strict=True)]


def _common_type(kinds: Sequence[str]) -> str:
    """Return the common type of columns; unknown for a column that is always NULL."""
    known = {kind for kind in kinds if kind}
    return "float8" if known == {"int8", "float8"} else known.pop() if len(known) == 1 else "text"


def _columns_of_one(database: Database, text: str, parameters: Sequence[Any]) -> list[AnswerColumn]:
    """Return the columns of one question; a column of NULLs has no type."""
    bound = database.question(text, parameters, Options()).bound
    result: list[AnswerColumn] = []
    for place, (name, output) in enumerate(bound.outputs):
        if place in bound.labels:
            first, *others = zip(names_of(bound)[place], _label_types(bound.labels[place]), strict=True)
            result += [AnswerColumn(*first), *(AnswerColumn(*other, is_listed=False) for other in others)]
        elif isinstance(output, GroupKey):
            result.append(AnswerColumn(name, _key_type(database, output)))
        elif is_rank(output):
            result.append(AnswerColumn(name, "int8"))
        else:
            result += [AnswerColumn(name + part, "float8", is_listed=not part) for part in PARTS]
    return result


def _label_types(column: Mode | Quantile) -> tuple[str, ...]:
    """Return the types of the columns of a non-numeric estimate."""
    if isinstance(column, Mode):
        return type_of_value(column.labels[0]), "text"
    label = column.outcomes.label
    return (type_of_value(label(float(column.outcomes.values[0]))) if label is not None else "float8",) * 3


def _key_type(database: Database, key: GroupKey) -> str:
    """Return the type of a column of GROUP BY."""
    if key.public is None:
        kinds = sorted({type_of_value(label) for label, _ in key.classes if label is not None})
        return _common_type(kinds) if kinds else ""
    name = key.public.attribute.name
    if name in LABELS:
        return "text"
    return COLUMN_TYPES[plain_type(database.stored_types(key.public.source.service.name)[name])]
