"""Dictionaries: lists of values that are too long for a contract, which names their file by its SHA-256 and size.

The file is UTF-8 text with a value on each line, each line ended by one line feed. It is public: every client loads it,
compares the hash, and refuses any other file.
"""

from __future__ import annotations

import hashlib

from tacit.errors import SchemaError

__all__ = ["MAX_FILE", "dictionary_values", "sha256_of"]

MAX_FILE = 64 * 1024 * 1024
"""Maximum bytes of a dictionary."""


def sha256_of(data: bytes) -> str:
    """Return the hash that names a file."""
    return hashlib.sha256(data).hexdigest()


def dictionary_values(data: bytes, sha256: str | None = None, size: int | None = None) -> tuple[str, ...]:
    r"""Return the values of a file; refuse one that is not the file a contract names, or has no clear lines.

    Examples
    --------
    >>> dictionary_values(b"tea\ncoffee\n")
    ('tea', 'coffee')
    """
    if sha256 is not None and sha256_of(data) != sha256:
        message = (
            f"The dictionary is not the file with the SHA-256 {sha256} that the contract names. Fetch that one: "
            "one changed line gives every value after it another meaning."
        )
        raise SchemaError(message, code="dictionary-differs")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    values = tuple(text.split("\n")[:-1])
    problem = _flaw(data, text, values)
    if problem or (size is not None and len(values) != size):
        problem = problem or f"it has {len(values):,} values, and the contract says {size:,}"
        message = (
            f"The dictionary cannot be read: {problem}. Write UTF-8 text with one value on each line, without repeats."
        )
        raise SchemaError(message, code="bad-dictionary")
    return values


def _flaw(data: bytes, text: str, values: tuple[str, ...]) -> str:
    if len(data) > MAX_FILE:
        return f"it has more than {MAX_FILE // 2**20} MiB"
    if not text or not values:
        return "it is empty, or not UTF-8"
    if not text.endswith("\n"):
        return "its last line does not end with a line feed"
    if "\r" in text or "\0" in text or text.startswith("\ufeff"):
        return "it has carriage returns, zero bytes or a byte order mark"
    if "" in values:
        return f"line {values.index('') + 1} is empty"
    if len(set(values)) != len(values):
        return "a value is on two lines"
    return ""
