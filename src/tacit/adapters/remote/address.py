"""Addresses of collectors, and keys from an argument, the environment or a file: never from a command line or a URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tacit.errors import AccessError, UsageError

__all__ = ["KEY", "KEY_FILE", "find_key", "is_address", "url_of"]

KEY, KEY_FILE = "TACIT_KEY", "TACIT_KEY_FILE"
"""Environment variables: a key, or the name of a file that holds one."""

SCHEMES = ("http", "https", "tacit")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LONGEST_KEY = 512
"""Maximum characters of a key file: keys have 54."""


def is_address(value: Any) -> bool:
    """Return whether a value is the address of a collector, not a file.

    Examples
    --------
    >>> is_address("https://reports.example"), is_address("shop.tacit")
    (True, False)
    """
    return isinstance(value, str) and value.lower().startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def url_of(address: str) -> str:
    """Return a collector's URL: https, or plain http for a collector on this machine without a certificate.

    Examples
    --------
    >>> url_of("tacit://reports.example"), url_of("tacit://localhost:8765/")
    ('https://reports.example', 'http://localhost:8765')
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        message = "A collector's address is https://host, or http://127.0.0.1:8765 on this machine."
        raise UsageError(message, code="bad-option")
    if "@" in parts.netloc or parts.query or parts.fragment:
        message = f"A collector's address holds no key and no options. Give the key in {KEY}, in a file, or as key=."
        raise UsageError(message, code="bad-option")
    scheme = parts.scheme.lower()
    if scheme == "tacit":
        scheme = "http" if host in LOOPBACK else "https"
    if scheme == "http" and host not in LOOPBACK:
        message = "Questions and keys leave this machine over https only."
        raise UsageError(message, code="no-tls")
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def find_key(key: str | None, key_file: Any) -> str:
    """Return the key from the argument, the file or the environment; empty if there is none."""
    if key is not None and key_file is not None:
        message = "Give a key or a file that holds one, not both."
        raise UsageError(message, code="bad-option")
    if key is None and key_file is None:
        key, key_file = os.environ.get(KEY), os.environ.get(KEY_FILE)
    result = key or (_read(key_file) if key_file else "")
    if not result.isascii() or not result.isprintable():
        message = "A key is one line of letters, digits and signs, as `tacit keys create` printed it."
        raise AccessError(message)
    return result


def _read(path: Any) -> str:
    """Return the first line of a key file."""
    try:
        with Path(path).open(encoding="ascii") as file:
            return file.readline(LONGEST_KEY).strip()
    except (OSError, UnicodeDecodeError) as cause:
        message = (
            f"The key file {Path(path).name!r} cannot be read ({type(cause).__name__}). It holds a key on one line."
        )
        raise UsageError(message, code="unusable-file") from None
