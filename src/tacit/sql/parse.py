"""One SELECT statement, within limits, as a syntax tree."""

from __future__ import annotations

import datetime
import logging
import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError, TokenError
from sqlglot.errors import ParseError as NotParsed

from tacit.errors import ParseError, UnsupportedSqlError
from tacit.sql.flatten import flatten
from tacit.sql.limits import check_size
from tacit.sql.moments import fold_moments
from tacit.sql.parameters import fill, number_parameters
from tacit.sql.parse_spans import span_of
from tacit.sql.pivots import spell_pivot, spell_pivots
from tacit.sql.refusals import refuse_table_functions
from tacit.sql.spellings import expand

__all__ = ["brief_sql", "parse", "refuse_deep", "span_of", "sql_of", "without_explain"]

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # its warnings would quote questions

MAX_LENGTH = 16 * 1024
"""Maximum characters of a question."""

MAX_DEPTH = 32
"""Maximum nested parentheses: the parser recurses, and fails at about 42."""

MAX_BRACKETS = 4
"""Maximum nested brackets of arrays, which no question needs: the parser's time doubles with each."""

MOST_QUOTED = 100
"""Maximum characters of an expression quoted in a message."""


def sql_of(node: exp.Expr) -> str:
    """Return an expression as SQL, or its kind where the library cannot print it, such as DATETIME(x)."""
    try:
        return node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        return node.key.upper()


def brief_sql(node: exp.Expr) -> str:
    """Return an expression as messages quote it: a long one by its first word only."""
    text = sql_of(node)
    return text if len(text) <= MOST_QUOTED and "\n" not in text else f"{node.key.upper()}(…)"


def _place_of(text: str, cause: Exception) -> tuple[int, int] | None:
    """Return where parsing failed: at the first word, an unclosed quote, or an unexpected token."""
    first = re.search(r"\S+", text)
    if first and not re.match(r"\(*(select|with|from)\b", first.group(), re.IGNORECASE):
        return first.span()
    if isinstance(cause, TokenError):
        closed = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", _blanks, text)
        opened = re.search(r"['\"]", closed)
        return (opened.start(), len(text)) if opened else None
    [error, *_] = cause.errors if isinstance(cause, NotParsed) and cause.errors else [{}]
    line, column, word = error.get("line"), error.get("col"), error.get("highlight")
    if line is None or column is None or not word:
        return None
    start = sum(len(earlier) for earlier in text.splitlines(keepends=True)[: line - 1])
    return max(start, start + column - len(word)), start + column


def _blanks(part: re.Match[str]) -> str:
    return " " * len(part.group())


def without_explain(text: str) -> tuple[str, bool]:
    """Return a question without a leading EXPLAIN, and whether it had one."""
    match = re.match(r"\s*EXPLAIN\s+", text, re.IGNORECASE) if isinstance(text, str) else None
    return (text[match.end() :], True) if match else (text, False)


def refuse_deep(text: str) -> None:
    """Refuse a text whose nesting would take the parser too much time or stack."""
    for opening, closing, most in (("(", ")", MAX_DEPTH), ("[{", "]}", MAX_BRACKETS)):
        depth = deepest = 0
        for letter in text:
            depth += (letter in opening) - (letter in closing)
            deepest = max(deepest, depth)
        if deepest > most:
            message = (
                f"Parentheses or brackets are nested {deepest} deep; at most {most} are allowed. Flatten the question."
            )
            raise ParseError(message, code="too-deep")


def parse(text: str, parameters: Sequence[Any] = (), *, now: datetime.datetime | None = None) -> exp.Select:
    """Return the statement with its parameters; refuse long or deep texts, several statements, and all but SELECT.

    ``now`` is the current time for questions that name it; without it, they are refused.
    """
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        message = f"A question must be one SELECT as text of at most {MAX_LENGTH} characters."
        raise ParseError(message, code="too-long")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        message = "The question is not valid Unicode: it has an unpaired surrogate. Type it again."
        raise ParseError(message)
    refuse_deep(text)
    if quote := re.search("[‘’“”„]", re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--.*|/\*(?s:.*?)\*/", _blanks, text)):
        message = "The question has typographic quotes, as word processors write them. Write 'value' with plain ones."
        raise ParseError(message, text=text, span=quote.span())
    statements: list[exp.Expr | None] = []
    failed, span = False, None
    try:
        dialect = Dialect.get_or_raise("duckdb")
        statements = list(dialect.parser().parse(number_parameters(dialect.tokenize(text)), text))
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError) as cause:
        failed, span = True, _place_of(text, cause)
    if failed or any(statement is None for statement in statements) or not statements:
        message = "The question is not valid SQL. Write one SELECT … FROM … statement."
        if top := re.match(r"\s*SELECT\s+TOP\s+(\d{1,9})\b", text, re.IGNORECASE):
            message = f"There is no TOP here. Put LIMIT {top[1]} at the end of the question."
        if re.match(r"[^']*\bPIVOT\b", text, re.IGNORECASE):
            message = (
                "This PIVOT cannot be read. Write FROM table PIVOT (COUNT(*) FOR column IN ('a', 'b') GROUP BY key)."
            )
        raise ParseError(message, text=text, span=span)
    if len(statements) > 1:
        message = f"There are {len(statements)} statements. Ask one question at a time."
        raise ParseError(message, code="several-statements")
    [statement] = statements
    if isinstance(statement, exp.Except | exp.Intersect):
        name = statement.key.upper()
        message = f"{name} compares sets of rows, which noise would change. Ask both questions and compare the answers."
        raise UnsupportedSqlError(message, code="not-a-select")
    if isinstance(statement, exp.Pivot):
        statement = spell_pivot(statement, text)
    if not isinstance(statement, exp.Select):
        message = "Only SELECT statements can be answered. Write SELECT … FROM …."
        raise UnsupportedSqlError(message, code="not-a-select")
    check_size(statement, text)
    refuse_table_functions(statement, text)
    statement = flatten(expand(fold_moments(fill(spell_pivots(statement, text), parameters), now)), text)
    check_size(statement, text)
    return _distinct(statement)


def _distinct(statement: exp.Select) -> exp.Select:
    """Return SELECT DISTINCT as GROUP BY; the rows of groups are distinct already."""
    distinct = statement.args.get("distinct")
    if distinct is None:
        return statement
    if distinct.args.get("on"):
        message = "DISTINCT ON selects single rows, which are private. Use GROUP BY and aggregates."
        raise UnsupportedSqlError(message, code="private-rows")
    statement.set("distinct", None)
    if not statement.args.get("group") and not any(
        expression.find(exp.AggFunc) for expression in statement.expressions
    ):
        statement.set(
            "group", exp.Group(expressions=[expression.unalias().copy() for expression in statement.expressions])
        )
    return statement
