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

LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
        secret, origin = body.get("key", _bearer(request)), request.headers.get("origin")
        return Call(request, body, server.keys.check(secret, (endpoint.scope, *endpoint.also), origin))
    if not _is_local(request):
        message = "Without keys this collector serves only this machine. Create some: tacit keys create."
        raise AccessError(message, code="wrong-origin")
    return Call(request, body, None)


def _bearer(request: Request) -> str:
    """Return the key of a request without a body."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret if kind.lower() == "bearer" else ""


def _is_local(request: Request) -> bool:
    """Return whether a request uses this machine's name and, if a page sends it, the page is of this machine too.

    Pages without an origin of their own, such as sandboxed frames of any site, send the origin `null`.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    return _host_of(f"//{host}") in LOOPBACK and (origin is None or _host_of(origin) in LOOPBACK)


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
