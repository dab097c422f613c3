"""Categories: one of a list of values, in no order or in that of the list; long lists are files named by their hash."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

from tacit.client.dictionary import dictionary_values, sha256_of
from tacit.client.scalars import plain_scalar
from tacit.contract.attributes import MAX_VALUES, check_flag, check_name, is_text
from tacit.errors import SchemaError

__all__ = ["Categorical", "Dictionary", "check_dictionary", "keep_values", "load_dictionary"]

MAX_DICTIONARY = 256 * 1024
"""Maximum bytes of a list of categories: contracts contain it, and have the same limit."""

FANOUT = 5
"""Default fanout of ordered categories."""

SHA256 = re.compile(r"[0-9a-f]{64}\Z")

_loaded: dict[str, tuple[str, ...]] = {}


class Dictionary(Sequence[str]):
    """The values of a file that a contract names by its SHA-256; the file is read when a value is needed."""

    def __init__(self, sha256: str, size: int) -> None:
        self.sha256, self.size = sha256, size

    @property
    def values(self) -> tuple[str, ...]:
        """All values; refused if no file with this hash was loaded."""
        if self.sha256 not in _loaded:
            message = (
                f"The dictionary with the SHA-256 {self.sha256[:16]}… and {self.size:,} values is not loaded. Load its "
                'file first: tc.load_dictionary("values.txt").'
            )
            raise SchemaError(message, code="dictionary-missing")
        values = _loaded[self.sha256]
        if len(values) != self.size:
            message = (
                f"The dictionary has {len(values):,} values, and the contract says {self.size:,}. Refuse the contract."
            )
            raise SchemaError(message, code="dictionary-differs")
        return values

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self.values[index]

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, value: object) -> bool:
        return value in _places(self.values)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a value."""
        del start, stop
        place = _places(self.values).get(value)
        if place is None:
            raise ValueError(value)
        return place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dictionary) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<{self.size:,} values, SHA-256 {self.sha256[:16]}…>"

    @property
    def text(self) -> str:
        """The file's text."""
        return "".join(f"{value}\n" for value in self.values)


@lru_cache(maxsize=8)
def _places(values: tuple[str, ...]) -> dict[str, int]:
    return {value: place for place, value in enumerate(values)}


def load_dictionary(path: str | Path) -> Dictionary:
    """Read a dictionary's file: UTF-8 text, a value on each line.

    Contracts name the file by its SHA-256. A process that reads such a contract needs the file before it is asked
    about the attribute's values.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        message = (
            f"The dictionary {str(path)!r} cannot be read: {problem.strerror}. Name a file with a value on each line."
        )
        raise SchemaError(message, code="bad-dictionary") from None
    return _keep(data)


def keep_values(values: Sequence[str]) -> Dictionary:
    """Register values under the hash of their file."""
    return _keep("".join(f"{value}\n" for value in values).encode())


def _keep(data: bytes) -> Dictionary:
    sha256 = sha256_of(data)
    if sha256 not in _loaded:
        _loaded[sha256] = dictionary_values(data)
    return Dictionary(sha256, len(_loaded[sha256]))


@dataclass(frozen=True)
class Categorical:
    """One of a declared list of values, all text or all whole numbers.

    Parameters
    ----------
    name : str
        Column name.
    values : sequence of str or int, optional
        The public list of values.
    other : str or int, optional
        Name of a catch-all: values outside the list count as this one. Without it they are refused.
    null : bool
        Whether NULL is a value of its own; otherwise a missing value is refused.
    ordered : bool
        Whether the list is in ascending order: then questions may compare values and ask for quantiles, and reports
        are sharper about ranges.
    fanout : int, optional
        Of ordered values: children per node of their hierarchy, from 2 to 64.
    dictionary : path or Dictionary, optional
        In place of ``values``, a file with a value on each line, of up to a million. The contract names its SHA-256.

    Examples
    --------
    >>> Categorical("size", ["S", "M", "L"], ordered=True).ordered
    True
    """

    name: str
    values: Sequence[Any]
    other: str | int | None = None
    null: bool = False
    fanout: int | None = None

    def __init__(
        self,
        name: str,
        values: Sequence[str] | Sequence[int] | None = None,
        other: str | int | None = None,
        *,
        null: bool = False,
        ordered: bool = False,
        fanout: int | None = None,
        dictionary: str | Path | Dictionary | None = None,
    ) -> None:
        check_name("attribute", name)
        check_flag(name, "null", null)
        check_flag(name, "ordered", ordered)
        if (values is None) == (dictionary is None):
            message = f"{name}: pass either values, a list, or dictionary, a file with a value on each line."
            raise SchemaError(message, code="bad-option")
        other = plain_scalar(other)
        listed = _check_listed(name, values, other) if dictionary is None else _from_file(name, dictionary, other)
        if fanout is not None and not ordered:
            message = f"{name}: fanout is for ordered values. Pass ordered=True, or remove fanout."
            raise SchemaError(message, code="bad-option")
        fanout = _fanout(name, fanout, other) if ordered else None
        fields = (("name", name), ("values", listed), ("other", other), ("null", null), ("fanout", fanout))
        for attribute, value in fields:
            object.__setattr__(self, attribute, value)

    @property
    def size(self) -> int:
        """Number of value indices, including NULL."""
        return len(self.values) + self.null

    @property
    def ordered(self) -> bool:
        """Whether the values are in ascending order."""
        return self.fanout is not None

    @property
    def dictionary(self) -> Dictionary | None:
        """The file of the values, if they are not in the contract."""
        return self.values if isinstance(self.values, Dictionary) else None

    @property
    def has_text(self) -> bool:
        """Whether the values are text."""
        return self.dictionary is not None or isinstance(self.values[0], str)


def _check_listed(name: str, values: object, other: object) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        message = f"{name}: values must be a list of texts or of whole numbers."
        raise SchemaError(message, code="bad-option")
    listed = tuple(map(plain_scalar, values))
    if other is not None and other not in listed:
        listed = (*listed, other)
    check_dictionary(name, listed)
    return listed


def _from_file(name: str, source: str | Path | Dictionary, other: object) -> Dictionary:
    """Return a dictionary from a file, or from a contract, whose file may not be loaded yet."""
    named_file = source if isinstance(source, Dictionary) else load_dictionary(source)
    if not SHA256.match(named_file.sha256) or named_file.size < 1 or not isinstance(other, str | None):
        message = (
            f"{name}: a dictionary has a SHA-256 of 64 hexadecimal digits and a size; other= is one of its values."
        )
        raise SchemaError(message, code="bad-option")
    if named_file.size > MAX_VALUES:
        message = (
            f"{name}: the dictionary has {named_file.size:,} values; at most {MAX_VALUES:,}. List the frequent ones."
        )
        raise SchemaError(message, code="domain-too-large")
    declared = not isinstance(source, Dictionary)  # whether a contract is valid must not depend on loaded files
    if declared and other is not None and other not in named_file:
        message = f"{name}: other={other!r} is not in the dictionary. Add a line with it to the file."
        raise SchemaError(message, code="bad-option")
    return named_file


def _fanout(name: str, fanout: int | None, other: object) -> int:
    number = FANOUT if fanout is None else fanout
    if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= 64:
        message = f"{name}: fanout is {fanout!r}; it must be a whole number from 2 to 64."
        raise SchemaError(message, code="bad-option")
    if other is not None:
        message = f"{name}: a catch-all has no place in an order. Remove other=, or ordered=."
        raise SchemaError(message, code="bad-option")
    return number


def check_dictionary(name: str, values: tuple[object, ...]) -> None:
    """Refuse a list of values that is empty, has duplicates, mixes types or cannot be stored."""
    if not values:
        message = f"{name}: the list of values is empty. List at least one."
        raise SchemaError(message, code="empty-domain")
    kinds = {type(value) for value in values}
    if kinds not in ({str}, {int}):
        named = ", ".join(sorted(kind.__name__ for kind in kinds))
        message = f"{name}: values must be all text or all whole numbers; these are of type {named}."
        raise SchemaError(message, code="bad-option")
    if len(set(values)) != len(values):
        message = f"{name}: a value is listed twice. List each once."
        raise SchemaError(message, code="duplicate-name")
    for value in values:
        storable = abs(value) < 2**53 if isinstance(value, int) else is_text(str(value))
        if not storable:
            message = f"{name}: a listed value is not storable (lone surrogate, or a number of 2**53 or more)."
            raise SchemaError(message, code="bad-option")
    size = len(json.dumps(values, ensure_ascii=False).encode())
    if size > MAX_DICTIONARY:
        message = (
            f"{name}: the {len(values):,} values take {size:,} bytes, and a contract has at most {MAX_DICTIONARY:,}. "
            "Write them to a file, a value on each line, and pass dictionary=; or name a catch-all with other=."
        )
        raise SchemaError(message, code="domain-too-large")
