"""Public columns in conditions: read as text, as numbers or as booleans, whatever type a table stores.

A public column without a declared type takes any scalar. Collectors store it as text: numbers as they are written in
decimal, booleans as true and false. A question reads it as text beside text, as a number beside numbers and in SUM and
AVG, and as a boolean beside booleans. There a value that is not a number is NULL: no value that anybody sends makes a
question fail. Which columns are text differs from table to table, so conditions say how a column is read (`AsNumber`,
`AsFlag`), and `StoredTypes` resolves that for each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.sql.names import source

__all__ = ["AsFlag", "AsNumber", "Constant", "StoredTypes", "column_of", "columns_in", "constant", "is_number"]

DECIMAL = "^-?[0-9]{1,30}([.][0-9]{1,30})?([eE][-+]?[0-2]?[0-9])?$"
"""Pattern of texts that are numbers below 1e60: sums of their fourth powers are finite on every engine."""


class AsNumber(exp.Expression):
    """A column that is read as a number."""


class AsFlag(exp.Expression):
    """A column that is read as a boolean."""


class Constant(exp.Expression):
    """A parameter of the statement: ``this`` holds the value in a tuple, ``kind`` its type, so that 1 is not TRUE."""

    arg_types = {"this": True, "kind": True}  # noqa: RUF012  as sqlglot declares it
    _hash_raw_args = True

    @property
    def value(self) -> Any:
        """The value."""
        return self.args["this"][0]


def constant(value: Any) -> Constant:
    """Return a parameter with its value."""
    return Constant(this=(value,), kind=type(value).__name__)


def column_of(number: int, name: str) -> exp.Column:
    """Return a column of a source."""
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(source(number)))


def columns_in(expressions: Iterable[exp.Expr], number: int) -> set[str]:
    """Return the names of a source's columns that expressions read."""
    alias = source(number)
    return {
        str(column.name)
        for expression in expressions
        for column in expression.find_all(exp.Column)
        if column.table == alias
    }


def is_number(column: exp.Expr) -> exp.Expr:
    """Return the condition that a text is a number."""
    return exp.RegexpLike(this=column, expression=exp.Literal.string(DECIMAL))


def _text_as_number(column: exp.Column) -> exp.Expr:
    number = exp.TryCast(this=column.copy(), to=exp.DataType.build("DOUBLE"))
    return exp.paren(exp.case().when(is_number(column.copy()), number), copy=False)


def _text_as_flag(column: exp.Column) -> exp.Expr:
    flag = exp.case()
    for text in ("true", "false"):
        is_text = exp.EQ(this=column.copy(), expression=exp.Literal.string(text))
        flag = flag.when(is_text, exp.Boolean(this=text == "true"), copy=False)
    return exp.paren(flag, copy=False)


@dataclass(frozen=True)
class StoredTypes:
    """Which public columns one round's tables hold as text, in the order of the question's sources."""

    texts: Sequence[frozenset[str]]
    """Columns that are stored as text."""

    elsewhere: Sequence[frozenset[str]]
    """Columns that are stored as text in any round: they are read as text in all rounds."""

    def resolve(self, expression: exp.Expr) -> exp.Expr:
        """Return an expression over the columns of this round's tables, as they are stored."""
        return expression.transform(self._resolve)

    def numbers(self, expressions: Iterable[exp.Expr]) -> set[tuple[int, str]]:
        """Return sources and names of columns that are stored as text and read as numbers."""
        columns = [node.this for expression in expressions for node in expression.find_all(AsNumber)]
        return {
            (number, str(column.name))
            for column in columns
            for number, texts in enumerate(self.texts)
            if column.table == source(number) and column.name in texts
        }

    def _number_of(self, column: exp.Column) -> int:
        return next(number for number in range(len(self.texts)) if source(number) == column.table)

    def _resolve(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, AsNumber | AsFlag):
            column: exp.Column = node.this.copy()
            if column.name not in self.texts[self._number_of(column)]:
                return column
            return _text_as_number(column) if isinstance(node, AsNumber) else _text_as_flag(column)
        if isinstance(node, exp.Column) and self._is_text_elsewhere(node):
            return exp.cast(node.copy(), exp.DataType.Type.VARCHAR)
        return node

    def _is_text_elsewhere(self, column: exp.Column) -> bool:
        number = self._number_of(column)
        return column.name not in self.texts[number] and column.name in self.elsewhere[number]
