"""Read requests: the body within its limits, its version, and the key that comes with it.

Bodies are JSON whatever their content type says, so that browsers need no preflight and beacons work; keys are in the
body for that reason, and cookies are ignored.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from tacit.errors import AccessError
from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.problems import BodyError

__all__ = ["MOST_BYTES", "VERSION", "admit"]

VERSION = 1
MOST_BYTES = 1 << 20


async def admit(server: Server, endpoint: Endpoint, request: Request) -> Call:
    """Return a request with its body and key, or raise what is wrong with it."""
    body = await _body(request) if endpoint.method == "POST" else {}
    if endpoint.scope is None:
        return Call(request, body, None)
    if server.keys.required:
        given = body.get("key", _bearer(request))
        return Call(request, body, server.keys.check(given, endpoint.scope, request.headers.get("origin")))
    if not _is_local(request):
        message = "Without keys this collector serves this machine alone. Make some: tacit keys create."
        raise AccessError(message, code="wrong-origin")
    return Call(request, body, None)


async def _body(request: Request) -> dict[str, Any]:
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > MOST_BYTES:
            message = f"The body is larger than {MOST_BYTES >> 20} MiB. Send smaller batches."
            raise BodyError(message, code="too-large")
    try:
        body = json.loads(received)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        message = "The body must be a JSON object in UTF-8."
        raise BodyError(message)
    if body.get("tacit") != VERSION:
        message = f"This collector speaks version {VERSION}: send it as the member tacit."
        raise BodyError(message, code="protocol-version")
    return body


def _bearer(request: Request) -> str:
    """Return the key of a request that has no body to carry it."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    return given if kind.lower() == "bearer" else ""


def _is_local(request: Request) -> bool:
    """Tell whether a request is of this machine, also by the names it uses: pages of others may not borrow it."""
    named = [request.headers.get("host", ""), urlsplit(request.headers.get("origin", "")).netloc or "localhost"]
    return all(urlsplit(f"//{name}").hostname in ("localhost", "127.0.0.1", "::1") for name in named)
