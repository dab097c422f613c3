"""Who may do what: keys in the body or the header, and tokens that say which person a request is about.

Keys are in the body so that beacons carry them; cookies are ignored, so no page can borrow somebody's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.requests import Request

from tacit.client.tokens import expiry, is_about
from tacit.errors import AccessError, BodyError
from tacit.server.bodies import read_body
from tacit.server.connections import HEAD_BYTES
from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.judge import Person
from tacit.server.settings import EVERYBODY

__all__ = ["admit", "proven"]


async def admit(server: Server, endpoint: Endpoint, request: Request) -> Call:
    """Return a request with its body and key, or raise what is wrong with it."""
    if sum(len(name) + len(value) for name, value in request.headers.raw) > HEAD_BYTES:
        message = f"The head of a request has at most {HEAD_BYTES >> 10} KiB."
        raise BodyError(message, code="head-too-large")
    body = await read_body(request, server.settings.body_seconds) if endpoint.method == "POST" else {}
    if endpoint.scope is None:
        return Call(request, body, None)
    if server.keys.required:
        given = body.get("key", _bearer(request))
        return Call(request, body, server.keys.check(given, endpoint.scope, request.headers.get("origin")))
    if not _is_local(request):
        message = "Without keys this collector serves this machine alone. Make some: tacit keys create."
        raise AccessError(message, code="wrong-origin")
    return Call(request, body, None)


def proven(
    server: Server, call: Call, collections: Iterable[str], people: Iterable[Person], *, needed: bool = False
) -> set[Person] | None:
    """Return the people that a request's token is about, or None if this key needs no tokens and sends none.

    A token is about one person in one collection. One that is about nobody of the request is refused, so that a client
    keeps its reports until it has a better one.
    """
    names = server.settings.tokens
    if call.key is None:
        return None
    needed = needed or call.key.name in names or EVERYBODY in names
    token, secrets = call.body.get("token"), server.keys.secrets(call.key.name)
    if not needed and (token is None or not secrets):
        return None
    if token is None:
        message = "This needs a token by the service's own server, which says who the person is."
        raise AccessError(message, code="token-needed")
    until = expiry(token)
    if until is None or until <= time.time():
        message = "The token is over." if until else "The token has not the form of one."
        raise AccessError(message, code="bad-token")
    known, found = list(collections), set(people)
    about = {
        person
        for person in found
        if any(is_about(token, secret, collection=one, person=person) for secret in secrets for one in known)
    }
    if found and not about:
        message = "The token is about somebody else, about another collection, or of another service."
        raise AccessError(message, code="bad-token")
    return about


def _bearer(request: Request) -> str:
    """Return the key of a request that has no body to carry it."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    return given if kind.lower() == "bearer" else ""


def _is_local(request: Request) -> bool:
    """Tell whether a request is of this machine, also by the names it uses: pages of others may not borrow it."""
    named = [request.headers.get("host", ""), urlsplit(request.headers.get("origin", "")).netloc or "localhost"]
    return all(urlsplit(f"//{name}").hostname in ("localhost", "127.0.0.1", "::1") for name in named)
