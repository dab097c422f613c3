"""Split and classify a client's statements: session commands, catalog questions, and questions."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects import Dialect
from sqlglot.errors import SqlglotError

from tacit.adapters.pgwire.catalog.facts import relations
from tacit.errors import ParseError, UnsupportedSqlError
from tacit.sql.parse import refuse_deep

__all__ = ["ClientStatement", "classify", "split", "tokens_of"]

LONGEST = 1 << 15
"""Characters of what is sent at once, nested parentheses, because the parser recurses, and nested brackets, for which
its time doubles with each."""

NAMED_ARRAY = re.compile(r"\b(?:reg[a-z]+|oid)\[\]", re.IGNORECASE)
"""Arrays of types that the parser takes for functions of a column, with their brackets."""

NAMED_SELECT = re.compile(r"\bAS\s+select\s*(?:,|\bFROM\b)", re.IGNORECASE)
"""A column called select, as Metabase calls one of its privileges, with what follows."""

COMMANDS = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "SET", "RESET", "SHOW", "DISCARD"}
    | {"DEALLOCATE", "LISTEN", "UNLISTEN"}
)
CURSORS = frozenset({"DECLARE", "FETCH", "MOVE", "CLOSE"})
QUESTIONS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "FROM", "("})
SYSTEM = ("pg_catalog", "information_schema")


@dataclass(frozen=True)
class ClientStatement:
    """One statement: its text, its position in the client's text, its first word, and its tree if it is parsed here."""

    text: str
    offset: int
    kind: Literal["empty", "command", "cursor", "copy", "catalog", "question"]
    word: str
    node: exp.Expr | None = None


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text."""
    return list(Dialect.get_or_raise("postgres").tokenize(text))


def split(text: str) -> list[tuple[str, int]]:
    """Return the statements of a text, each with its position; refuse text that is too long or too deep.

    Examples
    --------
    >>> split("SELECT ';'; SELECT 2;")
    [("SELECT ';'", 0), ('SELECT 2', 12)]
    """
    if len(text) > LONGEST:
        message = f"A statement has at most {LONGEST:,} characters. Shorten it."
        raise ParseError(message, code="too-long")
    refuse_deep(text)
    try:
        tokens = tokens_of(text)
    except (SqlglotError, RecursionError, ValueError):
        return [(text, 0)]  # the planner reports the problem
    result: list[tuple[str, int]] = []
    start: int | None = None
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if start is not None:
                result.append((text[start : token.start], start))
            start = None
        elif start is None:
            start = token.start
    if start is not None:
        result.append((text[start:].rstrip(), start))
    return result


def classify(text: str, offset: int, tables: Collection[str]) -> ClientStatement:
    """Classify a statement; ``tables`` are the names of the collector's tables."""
    words = text.split(None, 1)
    word = (words[0] if words else "").upper().rstrip(";(*") or ("(" if text.lstrip().startswith("(") else "")
    if not word:
        return ClientStatement(text, offset, "empty", "")
    if word in COMMANDS:
        return ClientStatement(text, offset, "command", word)
    if word in CURSORS:
        return ClientStatement(text, offset, "cursor", word)
    if word == "COPY":
        return ClientStatement(text, offset, "copy", word)
    if word not in QUESTIONS:
        shown = word if word.isalpha() and len(word) < 20 else "This"
        message = f"{shown} is not supported: this database is read-only. Use SELECT."
        raise UnsupportedSqlError(message, code="read-only", text=text, span=(0, len(word)))
    if word == "EXPLAIN":
        return ClientStatement(text, offset, "question", word)
    node = _parse(text)
    if node is not None and _is_about_catalog(node, tables):
        return ClientStatement(text, offset, "catalog", word, node)
    return ClientStatement(text, offset, "question", word, node)


def _parse(text: str) -> exp.Expr | None:
    """Return the tree of a statement; None if the parser of questions should report the problem."""
    try:
        readable = _readable(text) if NAMED_ARRAY.search(text) or NAMED_SELECT.search(text) else text
        result = [statement for statement in sqlglot.parse(readable, dialect="postgres") if statement is not None]
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        if any(schema in text.lower() for schema in SYSTEM):
            message = "This question about the catalog cannot be read."
            raise ParseError(message, text=text) from None
        return None
    return result[0] if len(result) == 1 and isinstance(result[0], exp.Query) else None


def _readable(text: str) -> str:
    """Return a text in which the parser reads what PostgreSQL does: types such as regtype[], and columns AS select."""
    result = text
    tokens = tokens_of(text)
    for first, second, third in reversed(list(zip(tokens, tokens[1:], tokens[2:], strict=False))):
        written = text[first.start : third.end + 1]
        if (second.text, third.text) == ("[", "]") and NAMED_ARRAY.fullmatch(written):
            result = f"{result[: first.start]}_{written[:-2]} {result[third.end + 1 :]}"
        elif NAMED_SELECT.fullmatch(written):
            result = f'{result[: second.start]}"select"{result[second.end + 1 :]}'
    return result


def _is_about_catalog(node: exp.Expr, tables: Collection[str]) -> bool:
    """Return whether a query reads the catalog; it must then read nothing else."""
    local = {cte.alias.lower() for cte in node.find_all(exp.CTE)}
    named = [table for table in node.find_all(exp.Table) if not isinstance(table.this, exp.Func)]
    others = [table for table in named if table.args.get("db") is not None or table.name.lower() not in local]
    reports = [table for table in others if not _is_system(table, tables)]
    if reports and len(reports) < len(others):
        message = "A question can read the catalog or reports, not both."
        raise UnsupportedSqlError(message)
    return not reports


def _is_system(table: exp.Table, tables: Collection[str]) -> bool:
    schema, name = table.db.lower(), table.name.lower()
    if schema:
        return schema in SYSTEM
    return name not in tables and ("pg_catalog", name) in relations()
