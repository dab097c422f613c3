"""Public columns that are stored as text, read as what they are compared with.

A public column without a declared type takes any scalar. Collectors store it as text: numbers as they are written in
decimal, booleans as true and false. A question reads it as text beside text, as a number beside numbers and in SUM and
AVG, and as a boolean beside booleans. A value that does not read as a number is NULL there: no value that somebody
sends makes a question fail. Which columns are text differs from table to table, so conditions are written with marks
that are resolved for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Reading", "as_flag", "as_number", "is_number"]

DECIMAL = "^-?[0-9]{1,30}([.][0-9]{1,30})?([eE][-+]?[0-2]?[0-9])?$"
"""Texts that are numbers, below 1e60: sums of their fourth powers are finite on every engine."""

_MARK = re.compile(r'(?:(?P<kind>NUMBER|FLAG)_OF\()?s(?P<source>[0-9]+)\."(?P<name>[^"]+)"(?(kind)\))')


def as_number(column: str) -> str:
    """Return a mark: a column that is read as a number."""
    return f"NUMBER_OF({column})"


def as_flag(column: str) -> str:
    """Return a mark: a column that is read as a boolean."""
    return f"FLAG_OF({column})"


def is_number(column: str) -> str:
    """Return the condition that a text is a number, in DuckDB's dialect."""
    return f"regexp_matches({column}, '{DECIMAL}')"


@dataclass(frozen=True)
class Reading:
    """How one round's tables hold public columns, in the order of the question's sources."""

    texts: Sequence[frozenset[str]]
    """Columns that are stored as text."""

    elsewhere: Sequence[frozenset[str]]
    """Columns that are stored as text in any round: they are text in all of them."""

    def resolve(self, text: str) -> str:
        """Return SQL whose marks are resolved."""
        return _MARK.sub(self._resolved, text)

    def numbers(self, texts: Iterable[str]) -> set[tuple[int, str]]:
        """Return sources and names of columns that are stored as text and read as numbers."""
        marks = [one for text in texts for one in _MARK.finditer(text) if one["kind"] == "NUMBER"]
        found = {(int(one["source"]), one["name"]) for one in marks}
        return {(source, name) for source, name in found if name in self.texts[source]}

    def _resolved(self, found: re.Match[str]) -> str:
        kind, source, name = found["kind"], int(found["source"]), found["name"]
        column, is_text = f's{source}."{name}"', name in self.texts[source]
        if kind == "NUMBER" and is_text:
            return f"(CASE WHEN {is_number(column)} THEN TRY_CAST({column} AS DOUBLE) END)"
        if kind == "FLAG" and is_text:
            return f"(CASE WHEN {column} = 'true' THEN TRUE WHEN {column} = 'false' THEN FALSE END)"
        if kind is None and not is_text and name in self.elsewhere[source]:
            return f"CAST({column} AS VARCHAR)"
        return column
