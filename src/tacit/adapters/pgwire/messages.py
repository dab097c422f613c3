"""Messages of the PostgreSQL protocol, version 3: bytes to values with every length checked, and values to bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "CANCEL",
    "ENCRYPTION",
    "TLS",
    "Bind",
    "Describe",
    "Execute",
    "MessageReader",
    "Parse",
    "ProtocolError",
    "Startup",
    "authentication",
    "error",
    "message",
    "read_bind",
    "read_describe",
    "read_execute",
    "read_parse",
    "read_sasl_first",
    "read_startup",
    "read_text",
    "row",
    "row_description",
]

VERSION, TLS, ENCRYPTION, CANCEL = 3, 80_877_103, 80_877_104, 80_877_102
"""The protocol's major version, and the codes of the three other kinds of first message."""


class ProtocolError(Exception):
    """The received bytes are not a message of the protocol; the connection ends."""

    def __init__(self, message: str, sqlstate: str = "08P01") -> None:
        super().__init__(message)
        self.message, self.sqlstate = message, sqlstate


class MessageReader:
    """Reads values from a message, and never beyond its end."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def take(self, count: int) -> bytes:
        """Return some bytes."""
        if count < 0 or self._at + count > len(self._content):
            message = "A message is shorter than its length field."
            raise ProtocolError(message)
        self._at += count
        return self._content[self._at - count : self._at]

    def int16(self) -> int:
        """Return a signed number of two bytes."""
        return int(struct.unpack("!h", self.take(2))[0])

    def count(self) -> int:
        """Return how many fields follow."""
        return int(struct.unpack("!H", self.take(2))[0])

    def int32(self) -> int:
        """Return a signed number of four bytes."""
        return int(struct.unpack("!i", self.take(4))[0])

    def text(self) -> str:
        """Return a text that ends with a zero byte."""
        end = self._content.find(b"\0", self._at)
        if end < 0:
            message = "A text in a message has no end."
            raise ProtocolError(message)
        result = self.take(end - self._at)
        self._at += 1
        try:
            return result.decode()
        except UnicodeDecodeError:
            message = "A text is not UTF-8, the only encoding here."
            raise ProtocolError(message, "22021") from None

    def rest(self) -> bytes:
        """Return the rest of the message."""
        return self.take(len(self._content) - self._at)

    def end(self) -> None:
        """Refuse a message with trailing bytes."""
        if self._at != len(self._content):
            message = "A message is longer than it should be."
            raise ProtocolError(message)


@dataclass(frozen=True)
class Startup:
    """The first message: a code, and parameters of a session or the numbers of a request to cancel."""

    code: int
    parameters: Mapping[str, str]
    cancel: bytes = b""


@dataclass(frozen=True)
class Parse:
    """Create a prepared statement; types are 0 where the client does not declare them."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True)
class Bind:
    """Create a portal from a statement and values."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Describe:
    """Ask about a statement (S) or a portal (P), or close one."""

    kind: str
    name: str


@dataclass(frozen=True)
class Execute:
    """Run a portal, up to a number of rows; 0 for all."""

    portal: str
    most: int


def read_startup(content: bytes) -> Startup:
    """Read the first message, without its length."""
    reader = MessageReader(content)
    code = reader.int32()
    if code in (TLS, ENCRYPTION):
        reader.end()
        return Startup(code, {})
    if code == CANCEL:
        return Startup(code, {}, cancel=reader.take(8))
    if code >> 16 != VERSION:
        message = "Only version 3 of the PostgreSQL protocol is supported."
        raise ProtocolError(message, "0A000")
    parameters: dict[str, str] = {}
    while name := reader.text():
        parameters[name] = reader.text()
    reader.end()
    return Startup(code, parameters)


def read_text(content: bytes) -> str:
    """Read a message that is one text."""
    reader = MessageReader(content)
    text = reader.text()
    reader.end()
    return text


def read_parse(content: bytes) -> Parse:
    """Read Parse."""
    reader = MessageReader(content)
    name, text = reader.text(), reader.text()
    types = tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count()))
    reader.end()
    return Parse(name, text, types)


def read_bind(content: bytes) -> Bind:
    """Read Bind."""
    reader = MessageReader(content)
    portal, statement = reader.text(), reader.text()
    formats = tuple(reader.int16() for _ in range(reader.count()))
    values = []
    for _ in range(reader.count()):
        length = reader.int32()
        values.append(None if length == -1 else reader.take(length))
    results = tuple(reader.int16() for _ in range(reader.count()))
    reader.end()
    if not set(formats) | set(results) <= {0, 1} or len(formats) not in (0, 1, len(values)):
        message = "Formats are 0 for text and 1 for binary, one for all values or one for each."
        raise ProtocolError(message)
    return Bind(portal, statement, formats, tuple(values), results)


def read_describe(content: bytes) -> Describe:
    """Read Describe or Close."""
    reader = MessageReader(content)
    kind, name = reader.take(1).decode("latin-1"), reader.text()
    reader.end()
    if kind not in ("S", "P"):
        message = "Only statements (S) and portals (P) can be described and closed."
        raise ProtocolError(message)
    return Describe(kind, name)


def read_execute(content: bytes) -> Execute:
    """Read Execute."""
    reader = MessageReader(content)
    execute = Execute(reader.text(), max(0, reader.int32()))
    reader.end()
    return execute


def read_sasl_first(content: bytes) -> tuple[str, bytes]:
    """Read the first SASL message: the mechanism, and the client's first data."""
    reader = MessageReader(content)
    mechanism, length = reader.text(), reader.int32()
    first = reader.take(length)
    reader.end()
    return mechanism, first


def message(kind: str, content: bytes = b"") -> bytes:
    r"""Return a message to the client.

    Examples
    --------
    >>> message("Z", b"I")
    b'Z\x00\x00\x00\x05I'
    """
    return kind.encode() + struct.pack("!i", len(content) + 4) + content


def authentication(code: int, content: bytes = b"") -> bytes:
    """Return an authentication message: 0 for success, 10 to 12 for SASL."""
    return message("R", struct.pack("!i", code) + content)


def error(fields: Mapping[str, str], *, notice: bool = False) -> bytes:
    """Return an error or a notice: fields by their letters."""
    content = b"".join(letter.encode() + text.replace("\0", "").encode() + b"\0" for letter, text in fields.items())
    return message("N" if notice else "E", content + b"\0")


def row_description(columns: Sequence[tuple[str, int, int]], formats: Sequence[int]) -> bytes:
    """Return names, types and sizes of columns."""
    content = b"".join(
        name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, oid - (1 << 32 if oid >= 1 << 31 else 0), size, -1, form)
        for (name, oid, size), form in zip(columns, formats, strict=True)
    )
    return message("T", struct.pack("!H", len(columns)) + content)


def row(values: Sequence[bytes | None]) -> bytes:
    """Return one row."""
    cells = [struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in values]
    return message("D", struct.pack("!H", len(values)) + b"".join(cells))
