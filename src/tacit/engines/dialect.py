"""Translate statements from DuckDB's dialect to those of other engines, with sqlglot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp

from tacit.errors import InternalError
from tacit.sql.parameters import number_parameters

__all__ = ["Translated", "in_postgres", "in_spark", "question_in_postgres", "short_name"]

LONGEST_NAME = 63
"""Maximum bytes of a name in PostgreSQL, which silently truncates longer ones."""


def short_name(name: str) -> str:
    """Return a name that PostgreSQL does not truncate: a long one ends with its hash.

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


@dataclass(frozen=True)
class Translated:
    """A statement of another dialect; one with ``as_arrays`` returns one row, with an array for each column."""

    text: str
    as_arrays: bool = False


def in_postgres(statement: str) -> str:
    """Return a statement with numbered parameters and names that are not too long."""
    return _tree_in_postgres(statement).sql(dialect="postgres")


@lru_cache(maxsize=64)
def question_in_postgres(
    statement: str, uploads: tuple[tuple[str, tuple[str, ...]], ...], parameters: int
) -> Translated:
    """Translate a SELECT over uploaded tables, given with their columns.

    Uploaded tables are arrays: a parameter for each column, after the first ``parameters``. There can be as many groups
    as codes, so results are arrays too.
    """
    tree = _tree_in_postgres(statement)
    _read_arrays(tree, uploads, parameters)
    if not isinstance(tree, exp.Select) or not tree.args.get("group") or tree.args.get("order"):
        return Translated(tree.sql(dialect="postgres"))
    names = [exp.column(exp.to_identifier(name, quoted=True)) for name in tree.named_selects]
    arrays = [exp.alias_(exp.ArrayAgg(this=name), name.this) for name in names]
    return Translated(exp.select(*arrays).from_(tree.subquery("grouped")).sql(dialect="postgres"), as_arrays=True)


def _tree_in_postgres(statement: str) -> exp.Expr:
    dialect = sqlglot.Dialect.get_or_raise("duckdb")
    [tree] = dialect.parser().parse(number_parameters(dialect.tokenize(statement)), statement)
    if tree is None:
        message = "An empty statement."
        raise InternalError(message)
    for placeholder in list(tree.find_all(exp.Placeholder)):
        placeholder.replace(exp.Parameter(this=exp.Literal.number(placeholder.name)))
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", short_name(identifier.this))
    return tree


def _read_arrays(tree: exp.Expr, uploads: Sequence[tuple[str, Sequence[str]]], parameters: int) -> None:
    """Replace the names of uploaded tables by arrays that are parameters."""
    columns = {}
    for name, named in uploads:
        columns[name] = {column: parameters + place for place, column in enumerate(named, 1)}
        parameters += len(named)
    for table in list(tree.find_all(exp.Table)):
        if table.name in columns:
            numbers = [exp.Parameter(this=exp.Literal.number(place)) for place in columns[table.name].values()]
            names = [exp.to_identifier(column, quoted=True) for column in columns[table.name]]
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name), columns=names)
            arrays = exp.Table(this=exp.Anonymous(this="unnest", expressions=numbers), alias=alias)
            arrays.set("joins", table.args.get("joins"))
            table.replace(arrays)


@lru_cache(maxsize=64)
def in_spark(statement: str) -> str:
    """Return a statement of Spark SQL; parameters stay question marks."""
    return sqlglot.parse_one(statement, read="duckdb").sql(dialect="spark")
