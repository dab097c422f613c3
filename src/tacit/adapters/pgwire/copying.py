"""COPY (question) TO STDOUT: rows as text, CSV or binary, which data frame libraries read faster than messages."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from tacit.adapters.pgwire.messages import message
from tacit.adapters.pgwire.statements import tokens_of
from tacit.adapters.pgwire.values import encode
from tacit.errors import UnsupportedSqlError

__all__ = ["Copying", "read_copy"]

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""How binary data begin: no flags, no extension."""

ESCAPES = str.maketrans(
    {"\\": r"\\", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"},
)
OPTION = re.compile(
    r"\b(CSV|BINARY)\b|\b(HEADER)\b(?:\s+(true|false|on|off|1|0|match)\b)?"
    r"|\b(FORMAT|DELIMITER|NULL|ENCODING)(?:\s+AS)?\s+('(?:[^']|'')*'|\w+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Copying:
    """How rows are written.

    Attributes
    ----------
    form : str
        ``text``, ``csv`` or ``binary``.
    delimiter, null : str
        Between values, and in place of NULL.
    has_header : bool
        Whether the names of columns come first.
    """

    form: str = "text"
    delimiter: str = "\t"
    null: str = r"\N"
    has_header: bool = False

    def messages(self, names: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        """Yield the messages of rows of columns with these names and types."""
        binary = self.form == "binary"
        count = len(names)
        yield message("H", struct.pack(f"!bh{count}h", binary, count, *[int(binary)] * count))
        before = SIGNATURE if binary else b""
        if self.has_header:
            yield message("d", self._line(list(names)))
        for row in rows:
            cells = [encode(cell, kind, int(binary)) for cell, kind in zip(row, kinds, strict=True)]
            line = _tuple(cells) if binary else self._line([None if cell is None else cell.decode() for cell in cells])
            yield message("d", before + line)
            before = b""
        if binary:
            yield message("d", before + struct.pack("!h", -1))
        yield message("c")

    def _line(self, cells: Sequence[str | None]) -> bytes:
        written = self._csv if self.form == "csv" else self._text
        return (self.delimiter.join(self.null if cell is None else written(cell) for cell in cells) + "\n").encode()

    def _text(self, cell: str) -> str:
        escaped = cell.translate(ESCAPES)
        return escaped if self.delimiter == "\t" else escaped.replace(self.delimiter, "\\" + self.delimiter)

    def _csv(self, cell: str) -> str:
        needs_quotes = cell in (self.null, r"\.") or any(sign in cell for sign in (self.delimiter, '"', "\n", "\r"))
        return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell


def _tuple(cells: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells]
    return struct.pack("!h", len(cells)) + b"".join(parts)


def read_copy(text: str) -> tuple[str, Copying]:
    """Return the question of a COPY, each letter in its place, and how its rows are written; refuse all other COPYs."""
    try:
        tokens = tokens_of(text)
    except (SqlglotError, RecursionError, ValueError):
        tokens = []
    depth = 0
    for place, token in enumerate(tokens[1:], 1):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            start, end = tokens[1].start + 1, token.start
            if place == 1 or not re.match(r"\s*TO\s+STDOUT\b", text[token.end + 1 :], re.I):
                break
            options = re.sub(r"^\s*TO\s+STDOUT\b", "", text[token.end + 1 :], flags=re.I)
            return " " * start + text[start:end], _read_options(options, text)
    text_ = "COPY is possible as COPY (SELECT …) TO STDOUT: this database is read only, and rows are private."
    raise UnsupportedSqlError(text_, code="read-only", text=text, span=(0, 4))


def _read_options(options: str, text: str) -> Copying:
    """Return how rows are written, from options in parentheses or in the older spelling."""
    inside = re.sub(r"^\s*(?:WITH\b)?\s*\(?", "", options, flags=re.I).rstrip("; \n\t").removesuffix(")")
    chosen: dict[str, str] = {}
    for match in OPTION.finditer(inside):
        short, header, switch, name, value = match.groups()
        chosen |= {"format": short} if short else {"header": switch or "on"} if header else {name.lower(): value}
    form = chosen.pop("format", "text").strip("'").lower()
    left = OPTION.sub("", inside).replace(",", "").strip()
    encoding = chosen.pop("encoding", "utf8").strip("'").lower().replace("-", "")
    delimiter = _strip_quotes(chosen.pop("delimiter", "','" if form == "csv" else "'\t'"))
    if left or form not in ("text", "csv", "binary") or encoding not in ("utf8", "unicode") or len(delimiter) != 1:
        text_ = "COPY takes FORMAT text, csv or binary, HEADER, DELIMITER, NULL, and ENCODING utf8."
        raise UnsupportedSqlError(text_, text=text, span=(text.rfind(options.strip() or text), len(text)))
    null = _strip_quotes(chosen.pop("null", "''" if form == "csv" else r"'\N'"))
    has_header = chosen.pop("header", "off").lower() in ("true", "on", "1", "match") and form != "binary"
    return Copying(form, delimiter, null, has_header)


def _strip_quotes(value: str) -> str:
    return value[1:-1].replace("''", "'") if value.startswith("'") else value
