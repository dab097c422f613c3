"""Access control: keys in the body or the header.

Keys are in the body so that beacons carry them; cookies are ignored, so no page can use another site's.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from tacit.errors import AccessError, BodyError
from tacit.server.http.bodies import read_body
from tacit.server.http.connections import HEAD_BYTES
from tacit.server.http.endpoints import Call, Endpoint, Server

__all__ = ["admit"]


async def admit(server: Server, endpoint: Endpoint, request: Request) -> Call:
    """Read a request with its body and key; raise if it is not allowed or malformed."""
    if sum(len(name) + len(value) for name, value in request.headers.raw) > HEAD_BYTES:
        message = f"Request headers may have at most {HEAD_BYTES >> 10} KiB."
        raise BodyError(message, code="head-too-large")
    body = {}
    if endpoint.method == "POST":
        body = await read_body(request, server.settings.body_seconds, versioned=endpoint.versioned)
    if endpoint.scope is None:
        return Call(request, body, None)
    if server.keys.required:
        given, origin = body.get("key", _bearer(request)), request.headers.get("origin")
        return Call(request, body, server.keys.check(given, (endpoint.scope, *endpoint.also), origin))
    if not _is_local(request):
        message = "Without keys this collector serves only this machine. Create some: tacit keys create."
        raise AccessError(message, code="wrong-origin")
    return Call(request, body, None)


def _bearer(request: Request) -> str:
    """Return the key of a request without a body."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    return given if kind.lower() == "bearer" else ""


def _is_local(request: Request) -> bool:
    """Return whether a request comes from this machine and uses its name, so that other sites' pages cannot use it."""
    named = [request.headers.get("host", ""), urlsplit(request.headers.get("origin", "")).netloc or "localhost"]
    return all(urlsplit(f"//{name}").hostname in ("localhost", "127.0.0.1", "::1") for name in named)
