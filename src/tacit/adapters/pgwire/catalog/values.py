"""Values of the catalog's interpreter: relations, a budget of steps, three-valued logic, casts and patterns.

Everything here is bounded: the length of texts, the form of patterns, the number of steps. No client must be able to
keep a collector busy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from tacit.errors import OverloadedError, UnsupportedSqlError, UsageError

__all__ = [
    "Budget",
    "Number",
    "Relation",
    "Value",
    "array_text",
    "both",
    "check_length",
    "check_text",
    "either",
    "like",
    "matches",
    "negate",
    "plain_cast",
    "repeats_of",
    "text_of",
]

Value = Any

STEPS = 1_000_000
"""Maximum steps of one question: at most some seconds and 100 MB. Listing every column of 100 tables takes 50,000."""

LONGEST_TEXT = 1 << 16
"""Maximum characters of a computed text."""

LONGEST_PATTERN, LONGEST_SUBJECT, MOST_REPEATS = 200, 256, 2
"""Maximum characters of a regular expression and of its subject, and its repetitions: matching backtracks."""

BYTES_OF_A_STEP = 64
"""Bytes of a computed value that count as one step of the budget."""


@dataclass
class Budget:
    """The remaining steps of a question."""

    left: int = STEPS

    def spend(self, steps: int) -> None:
        """Count steps; raise when the budget is exceeded."""
        self.left -= steps
        if self.left < 0:
            message = "This question about the catalog takes too much work. Ask for fewer tables at a time."
            raise OverloadedError(message, code="too-slow")

    def count_memory(self, value: Value) -> Value:
        """Count the memory that a new value takes, and return the value."""
        if isinstance(value, str):
            self.spend(len(value) // BYTES_OF_A_STEP)
        elif isinstance(value, list):
            self.spend(len(value))
        return value


@dataclass(frozen=True)
class Relation:
    """Columns, each with a type, and rows."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Value, ...]] = field(default_factory=list)


def negate(value: Value) -> Value:
    """Return NOT."""
    return None if value is None else not value


def both(left: Value, right: Callable[[], Value]) -> Value:
    """Return AND; the other side is evaluated only if needed."""
    if left is False:
        return False
    second = right()
    if second is False:
        return False
    return None if left is None or second is None else True


def either(left: Value, right: Callable[[], Value]) -> Value:
    """Return OR."""
    if left is True:
        return True
    second = right()
    if second is True:
        return True
    return None if left is None or second is None else False


def like(text: str, pattern: str, *, fold: bool = False) -> bool:
    r"""Return whether a text is LIKE a pattern, in time at most proportional to the product of their lengths.

    Examples
    --------
    >>> like("pg_class", "pg%"), like("a_b", "a\\_b"), like("axb", "a\\_b"), like("ABC", "a_c", fold=True)
    (True, True, False, True)
    """
    if fold:
        text, pattern = text.lower(), pattern.lower()
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wanted = [None if part == "%" else part for part in parts]
    possible = {0}
    for letter in [*text, None]:
        reached = set(possible)
        for place in sorted(possible):  # a wildcard may match nothing
            at = place
            while at < len(wanted) and wanted[at] is None:
                at += 1
                reached.add(at)
        if letter is None:
            return len(wanted) in reached
        possible = set()
        for place in reached:
            if place < len(wanted):
                part = wanted[place]
                if part is None:
                    possible.add(place)
                elif part == "_" or part[-1] == letter:
                    possible.add(place + 1)
    return False


def matches(text: str, pattern: str, *, fold: bool = False) -> bool:
    """Return whether a text matches a regular expression of the kind that tools write.

    Repetitions of groups, references and long patterns are refused: some take exponential time. A group
    may be optional.

    Examples
    --------
    >>> matches("users", "^(users)$"), matches("pg_x", "^pg_"), matches("USERS", "^users$", fold=True)
    (True, True, True)
    """
    repeats = repeats_of(pattern)
    risky = re.search(r"\)[*+{]|\(\?|\\[0-9]|\\[bB<>mMyY]", pattern)
    if len(pattern) > LONGEST_PATTERN or repeats > MOST_REPEATS or risky or len(text) > LONGEST_SUBJECT:
        message = "Regular expressions here are short, with at most two repetitions and none of a group."
        raise UnsupportedSqlError(message)
    try:
        return re.search(pattern, text, re.IGNORECASE if fold else 0) is not None
    except (re.error, RecursionError, OverflowError):
        message = "This regular expression cannot be read."
        raise UsageError(message, code="bad-option") from None


def repeats_of(pattern: str) -> int:
    """Return the number of repetitions in a regular expression."""
    return len(re.findall(r"[*+?{]", pattern))


def check_text(text: str) -> str:
    """Return a text; refuse one that is longer than any catalog text."""
    check_length(len(text))
    return text


def check_length(length: int) -> None:
    """Refuse a text that would be longer than any catalog text."""
    if length > LONGEST_TEXT:
        message = "The result is too long."
        raise UsageError(message, code="too-large")


def array_text(values: Sequence[Value]) -> str:
    """Return an array as PostgreSQL writes it.

    Examples
    --------
    >>> array_text(["a", None, "b c", 1, True])
    '{a,NULL,"b c",1,t}'
    """
    return "{" + ",".join(_element(value) for value in values) + "}"


def _element(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return array_text(value)
    text = text_of(value)
    if text and text.upper() != "NULL" and not re.search(r'[{}",\\\s]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Number(int):
    """The oid of a relation or a type, which is shown by name."""

    shown: str


def text_of(value: Value) -> str:
    """Return a value as text."""
    if isinstance(value, Number):
        return value.shown
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, list):
        return array_text(value)
    return str(value)


def _array(text: str) -> list[Value]:
    if not (text.startswith("{") and text.endswith("}")):
        message = "An array is written {a,b}."
        raise UsageError(message, code="bad-option")
    inner = text[1:-1]
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)', inner)
    return [re.sub(r"\\(.)", r"\1", quoted) if not bare else None if bare == "NULL" else bare for quoted, bare in parts]


TRUE, FALSE = {"t", "true", "yes", "on", "1", "y"}, {"f", "false", "no", "off", "0", "n"}
WHOLE = ("int2", "int4", "int8", "oid", "xid", "cid")


def plain_cast(value: Value, kind: str) -> Value:
    """Convert a value to a type; unchanged for types that the catalog does not compute with."""
    if value is None:
        return None
    if kind.startswith("_") or kind in ("int2vector", "oidvector"):
        members = value if isinstance(value, list) else _array(str(value))
        return [plain_cast(member, kind[1:]) for member in members] if kind.startswith("_") else members
    try:
        if kind in WHOLE:
            return int(value) if not isinstance(value, str) else int(value.strip())
        if kind in ("float4", "float8"):
            return float(value)
        if kind == "numeric":
            return Decimal(str(value))
    except (ValueError, InvalidOperation, OverflowError):
        message = f"This text is not a valid {kind}."
        raise UsageError(message, code="bad-parameter") from None
    if kind == "bool" and not isinstance(value, bool):
        word = str(value).strip().lower()
        if word not in TRUE | FALSE:
            message = "This text is neither true nor false."
            raise UsageError(message, code="bad-parameter")
        return word in TRUE
    if kind in ("text", "varchar", "name", "bpchar", "char"):
        text = text_of(value) if not isinstance(value, bool) else str(value).lower()
        return text[:63] if kind == "name" else text
    return value
