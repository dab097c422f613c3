"""Tokens: proof of which person a request is about, for sending, deleting and receipts.

A token is for one person in one collection, and signed with a secret of the same name as the key it comes with. A token
that matches nobody in the request is refused, so that a client keeps its reports until it has a better one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from tacit.client.tokens import expiry, is_about
from tacit.errors import AccessError
from tacit.server.http.endpoints import Call, Server
from tacit.server.http.settings import EVERYBODY
from tacit.server.keys import AccessKey
from tacit.server.store.validate import Person

__all__ = ["check_token", "is_signed", "proven_collections", "proven_people"]


def proven_people(server: Server, call: Call, collection: str, people: Iterable[Person]) -> set[Person] | None:
    """Return the people of a request whom its token covers, or None if the key needs no token and has none."""
    token, secrets = _token_of(server, call, needed=needs_token(server, call.key))
    if token is None:
        return None
    named = set(people)
    about = {person for person in named if is_signed(token, secrets, collection, person)}
    if named and not about:
        raise _about_others()
    return about


def proven_collections(server: Server, call: Call, collections: Iterable[str], person: Person) -> list[str] | None:
    """Return the collections in which a request's token is for a person, or None if it needs none and has none.

    A browser key is public: it deletes nobody without a token.
    """
    needed = needs_token(server, call.key) or bool(call.key and call.key.origin)
    token, secrets = _token_of(server, call, needed=needed)
    if token is None:
        return None
    about = [collection for collection in collections if is_signed(token, secrets, collection, person)]
    if not about:
        raise _about_others()
    return about


def needs_token(server: Server, key: AccessKey | None) -> bool:
    """Return whether a key needs tokens: browser keys do, unless the operator waives it by name."""
    if key is None:
        return False
    settings = server.settings
    demanded = {key.name, EVERYBODY} & settings.tokens
    return bool(demanded) or (bool(key.origin) and not {key.name, EVERYBODY} & settings.without_token)


def check_token(token: object) -> str:
    """Return a token that is well-formed and not expired; its person is not checked here."""
    if token is None:
        message = "This needs a token signed by the service's server that names the person."
        raise AccessError(message, code="token-needed")
    until = expiry(token)
    if not isinstance(token, str) or until is None or until <= time.time():
        message = "The token has expired." if until else "The token is malformed."
        raise AccessError(message, code="bad-token")
    return token


def is_signed(token: str, secrets: Sequence[str], collection: str, person: Person) -> bool:
    """Return whether one of these secrets signed a token for a person in a collection."""
    return any(is_about(token, secret, collection=collection, person=person) for secret in secrets)


def _token_of(server: Server, call: Call, *, needed: bool) -> tuple[str | None, list[str]]:
    """Return a request's token and the secrets that may have signed it; None if it needs none and has none."""
    if call.key is None:
        return None, []
    token, secrets = call.body.get("token"), server.keys.secrets(call.key.name)
    if not needed and (token is None or not secrets):
        return None, secrets
    return check_token(token), secrets


def _about_others() -> AccessError:
    message = "The token is for another person, collection or service."
    return AccessError(message, code="bad-token")
