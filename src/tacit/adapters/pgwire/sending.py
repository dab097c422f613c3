"""Results as messages: columns, rows within what the client reads, and copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacit.adapters.pgwire import messages as wire
from tacit.adapters.pgwire.catalog.facts import oid_of_type
from tacit.adapters.pgwire.prepared import Columns, Result
from tacit.adapters.pgwire.stream import Stream
from tacit.adapters.pgwire.values import SIZES, encode

__all__ = ["WRITE_SECONDS", "describe", "send_copy", "send_rows", "spread"]

WRITE_SECONDS = 30.0
"""Seconds in which a client must take what was written."""

BYTES_AT_ONCE = 1 << 16
"""Bytes of rows written before waiting until the client has read them."""


def describe(columns: Columns, formats: Sequence[int]) -> bytes:
    """Return the message that describes columns."""
    shown = [(name, oid_of_type(kind) or 25, SIZES.get(kind, -1)) for name, kind in columns]
    return wire.row_description(shown, formats)


def spread(formats: Sequence[int], count: int) -> Sequence[int]:
    """Return a format for each of several values: text if none is said."""
    return [0] * count if not formats else list(formats) * count if len(formats) == 1 and count != 1 else list(formats)


async def send_rows(stream: Stream, result: Result, formats: Sequence[int], start: int, end: int) -> None:
    """Send rows of a result."""
    kinds = [kind for _, kind in result.columns or ()]
    rows = (result.rows[place] for place in range(start, end))
    await _send(stream, (wire.row([encode(*cell) for cell in zip(row, kinds, formats, strict=True)]) for row in rows))


async def send_copy(stream: Stream, result: Result) -> None:
    """Send a result as the data of a COPY."""
    if result.copying is not None and result.columns is not None:
        names, kinds = zip(*result.columns, strict=True)
        await _send(stream, result.copying.messages(names, kinds, result.rows))


async def _send(stream: Stream, contents: Iterable[bytes]) -> None:
    written = 0
    for content in contents:
        stream.write(content)
        written += len(content)
        if written > BYTES_AT_ONCE:
            await stream.drain(WRITE_SECONDS)
            written = 0
