"""Tokens with which a service's server authenticates people, so that nobody can report for others.

A token is ``expires.signature``: Unix time in seconds, and the HMAC-SHA256 in hexadecimal, with the service's secret,
of the JSON list ``["tacit-token-1", collection, person, expires]`` without spaces, in UTF-8. It does not contain the
person's id.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time

__all__ = ["expiry", "is_about", "sign"]

FORM = re.compile(r"([0-9]{1,12})\.[0-9a-f]{64}")


def sign(secret: str, *, collection: str, person: int | str, seconds: int = 3600, now: float | None = None) -> str:
    """Return a token for a person in one collection, valid for some seconds.

    Parameters
    ----------
    secret : str
        The secret that `tacit keys FOLDER create NAME --scope sign` printed.
    collection : str
        The contract's SHA-256.
    person : int or str
        The person who is logged in to the service.
    seconds : int
        How long the token is valid.
    now : float, optional
        The time, if not that of this machine.
    """
    expires = int(time.time() if now is None else now) + seconds
    return f"{expires}.{_signature(secret, collection, person, expires)}"


def expiry(token: object) -> int | None:
    """Return when a token expires, or None if it is malformed."""
    match = FORM.fullmatch(token) if isinstance(token, str) else None
    return int(match[1]) if match else None


def is_about(token: str, secret: str, *, collection: str, person: int | str) -> bool:
    """Return whether a token is for a person; takes constant time with respect to secrets."""
    expires, _, signature = token.partition(".")
    return hmac.compare_digest(signature, _signature(secret, collection, person, int(expires)))


def _signature(secret: str, collection: str, person: int | str, expires: int) -> str:
    signed = json.dumps(["tacit-token-1", collection, person, expires], separators=(",", ":"), ensure_ascii=False)
    return hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest()
