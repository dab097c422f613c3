"""Tokens by which a service's own server says who a person is, so that nobody reports for others.

A token is ``expires.signature``: seconds of the Unix clock, and HMAC-SHA256 in hexadecimal, by the service's secret, of
the JSON list ``["tacit-token-1", collection, person, expires]`` without spaces, in UTF-8. It names nobody by itself.
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
    """Return a token of a person, good for one collection and for some seconds.

    Parameters
    ----------
    secret : str
        What `tacit keys FOLDER create NAME --scope sign` printed.
    collection : str
        The contract's SHA-256.
    person : int or str
        Who has logged in at the service.
    seconds : int
        How long it is good for.
    now : float, optional
        The time, if it is not that of this machine.
    """
    expires = int(time.time() if now is None else now) + seconds
    return f"{expires}.{_signature(secret, collection, person, expires)}"


def expiry(token: object) -> int | None:
    """Return until when a token is good, or None if it has not the form of one."""
    match = FORM.fullmatch(token) if isinstance(token, str) else None
    return int(match[1]) if match else None


def is_about(token: str, secret: str, *, collection: str, person: int | str) -> bool:
    """Tell whether a token is about a person; how long that takes depends on nothing secret."""
    expires, _, signature = token.partition(".")
    return hmac.compare_digest(signature, _signature(secret, collection, person, int(expires)))


def _signature(secret: str, collection: str, person: int | str, expires: int) -> str:
    signed = json.dumps(["tacit-token-1", collection, person, expires], separators=(",", ":"), ensure_ascii=False)
    return hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest()
