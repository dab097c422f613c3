"""SCRAM-SHA-256 (RFC 5802, RFC 7677) for keys: the collector neither sees a key nor stores anything usable as one.

Keys are 256 random bits, so dictionary attacks are hopeless, and the salt can be a public function of the name. All
keys of a name share it, so that two keys are valid during a rotation, and unknown names get a salt too: clients do not
learn which names exist.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Generic, TypeVar

from tacit.errors import AccessError

__all__ = ["MECHANISM", "Exchange", "make_verifier"]

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096
NONCE_BYTES = 18
"""Iterations are PostgreSQL's default: keys have 256 random bits, so more would protect nothing."""

LONGEST = 1024
"""Maximum bytes of a client's message: nonce and proof have about 100."""

T = TypeVar("T")


def make_verifier(name: str, key: str) -> str:
    """Return the verifier stored for a key."""
    salted = hashlib.pbkdf2_hmac("sha256", key.encode(), _salt(name), ITERATIONS)
    stored = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
    return f"{_text(stored)}:{_text(_hmac(salted, b'Server Key'))}"


def _salt(name: str) -> bytes:
    return hashlib.sha256(b"tacit scram salt\0" + name.encode(errors="surrogatepass")).digest()[:16]


class Exchange(Generic[T]):
    """One login: two messages from the client, two from the collector.

    Parameters
    ----------
    name : str
        The user name that the client sends.
    verifiers : sequence of (str, T)
        Verifiers of all keys of the name, each with its owner; none for an unknown name.
    """

    def __init__(self, name: str, verifiers: Sequence[tuple[str, T]]) -> None:
        self._name = name
        self._verifiers: list[tuple[bytes, bytes, T | None]] = []
        for text, owner in verifiers:
            stored, _, server = text.partition(":")
            self._verifiers.append((base64.b64decode(stored), base64.b64decode(server), owner))
        if not self._verifiers:  # takes as long as for a known name, and never succeeds
            self._verifiers.append((secrets.token_bytes(32), secrets.token_bytes(32), None))
        self._first = self._challenge = ""

    def challenge(self, first: bytes) -> bytes:
        """Return the answer to the client's first message."""
        text = _ascii_text(first)
        flag, _, header = text.partition(",")
        _, comma, bare = header.partition(",")
        parts = dict(part.split("=", 1) for part in bare.split(",") if "=" in part)
        if flag not in ("n", "y") or not comma or "m" in parts or not parts.get("r"):
            raise _refusal()
        self._header, self._first = text[: len(text) - len(bare)], bare
        self._nonce = parts["r"] + _text(secrets.token_bytes(NONCE_BYTES))
        self._challenge = f"r={self._nonce},s={_text(_salt(self._name))},i={ITERATIONS}"
        return self._challenge.encode()

    def verify(self, final: bytes) -> tuple[bytes, T]:
        """Return the answer to the client's last message and the key's owner, or refuse it."""
        text = _ascii_text(final)
        without_proof, _, proof_text = text.rpartition(",p=")
        parts = dict(part.split("=", 1) for part in without_proof.split(",") if "=" in part)
        header = _bytes(parts.get("c", ""))
        proof = _bytes(proof_text)
        if (
            header != self._header.encode()
            or parts.get("r") != self._nonce
            or len(proof) != hashlib.sha256().digest_size
        ):
            raise _refusal()
        said = f"{self._first},{self._challenge},{without_proof}".encode()
        result: list[tuple[bytes, T]] = []
        for stored, server, owner in self._verifiers:
            client = bytes(a ^ b for a, b in zip(proof, _hmac(stored, said), strict=True))
            is_right = hmac.compare_digest(hashlib.sha256(client).digest(), stored)
            if is_right and owner is not None:
                result.append((b"v=" + _text(_hmac(server, said)).encode(), owner))
        if not result:
            raise _refusal()
        return result[0]


def _ascii_text(content: bytes) -> str:
    if len(content) > LONGEST or not content.isascii():
        raise _refusal()
    return content.decode("ascii")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _refusal() from None


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _hmac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256")


def _refusal() -> AccessError:
    message = "The name or the key is unknown. The user is the key's name, the password is the key."
    return AccessError(message, code="unknown-key")
