"""Read request bodies within limits on size, time and compression.

Bodies are JSON whatever their content type says, so that browsers need no preflight and beacons work.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from tacit.client.record import is_person
from tacit.client.transport import PROTOCOL
from tacit.errors import BodyError
from tacit.server.store.validate import Person

__all__ = ["MOST_BYTES", "person_in", "read_body", "text_in"]

MOST_BYTES = 1 << 20
"""Bytes of a body, compressed and uncompressed."""

MOST_TIMES = 20
"""Factor by which a compressed body may expand, beyond the first bytes; reports expand up to about ten times."""

UNCOUNTED_BYTES = 1 << 16
"""Uncompressed bytes that any body may have."""

LONGEST_NUMBER = 20
"""Digits of a 64-bit integer, with its sign."""


async def read_body(request: Request, seconds: float, *, versioned: bool) -> dict[str, Any]:
    """Return a body, or raise if it is malformed; unversioned requests may leave the version out."""
    try:
        async with asyncio.timeout(seconds):
            received = await _read_bytes(request)
    except TimeoutError:
        message = f"The body did not arrive within {seconds:g} seconds."
        raise BodyError(message, code="slow-body") from None
    except ClientDisconnect:
        message = "The body did not arrive."
        raise BodyError(message) from None
    body = _parse_json(received)
    if not isinstance(body, dict):
        message = "The body must be a JSON object in UTF-8."
        raise BodyError(message)
    version = body.get("tacit", None if versioned else PROTOCOL)
    if type(version) is not int or version != PROTOCOL:
        message = f"This collector supports protocol version {PROTOCOL}. Send it as the member tacit."
        raise BodyError(message, code="protocol-version")
    return body


def text_in(body: Mapping[str, Any], name: str) -> str:
    """Return a member that must be text."""
    text = body.get(name)
    if not isinstance(text, str):
        message = f"{name} must be text."
        raise BodyError(message)
    return text


def person_in(body: Mapping[str, Any]) -> Person:
    """Return the member person."""
    person = body.get("person")
    if not is_person(person):
        message = "person must be text or a whole number."
        raise BodyError(message)
    return person


async def _read_bytes(request: Request) -> bytes:
    """Return the decompressed bytes of a body; stop as soon as there are too many."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        message = "Send the body uncompressed or with gzip."
        raise BodyError(message, code="unknown-encoding")
    gzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if encoding == "gzip" else None
    received, sent = bytearray(), 0
    async for chunk in request.stream():
        sent += len(chunk)
        try:
            received += gzip.decompress(chunk, MOST_BYTES + 1 - len(received)) if gzip else chunk
        except zlib.error:
            message = "The body is not gzip."
            raise BodyError(message) from None
        if max(sent, len(received)) > MOST_BYTES:
            message = f"The body is larger than {MOST_BYTES >> 20} MiB. Send smaller batches."
            raise BodyError(message, code="too-large")
        if len(received) > UNCOUNTED_BYTES + MOST_TIMES * sent:
            message = f"The body expands more than {MOST_TIMES} times. Compress it less."
            raise BodyError(message, code="too-large")
    if gzip and (not gzip.eof or gzip.unused_data):
        message = "The body is not one complete gzip stream."
        raise BodyError(message)
    return bytes(received)


def _parse_json(received: bytes) -> Any:
    """Return JSON, or None. A number too long for Python invalidates its own report, not the whole batch."""
    for numbers in (None, _number):
        try:
            return json.loads(received, parse_int=numbers)
        except UnicodeDecodeError:
            return None
        except (ValueError, RecursionError):
            continue
    return None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_NUMBER else float("inf")
