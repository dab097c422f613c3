"""Statements in the dialects of other engines: written once for DuckDB, translated by sqlglot."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import sqlglot
from sqlglot import exp

from tacit.errors import InternalError
from tacit.sql.parameters import numbered

__all__ = ["in_postgres", "in_spark", "short_name"]

LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL; it cuts longer ones off without a word."""


def short_name(name: str) -> str:
    """Return a name that PostgreSQL keeps: a long one ends in a hash of it.

    Examples
    --------
    >>> short_name("orders")
    'orders'
    >>> len(short_name("o" * 100))
    63
    """
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return name.encode()[: LONGEST_NAME - 17].decode(errors="ignore") + "~" + digest


@lru_cache(maxsize=64)
def in_postgres(statement: str) -> str:
    """Return a statement with numbered parameters and names that are not too long."""
    dialect = sqlglot.Dialect.get_or_raise("duckdb")
    [tree] = dialect.parser().parse(numbered(dialect.tokenize(statement)), statement)
    if tree is None:
        message = "An empty statement."
        raise InternalError(message)
    for placeholder in list(tree.find_all(exp.Placeholder)):
        placeholder.replace(exp.Parameter(this=exp.Literal.number(placeholder.name)))
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", short_name(identifier.this))
    return tree.sql(dialect="postgres")


@lru_cache(maxsize=64)
def in_spark(statement: str) -> str:
    """Return a statement of Spark SQL; parameters stay question marks."""
    return sqlglot.parse_one(statement, read="duckdb").sql(dialect="spark")
