"""Keys of services: who may send, ask, administer or audit. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from tacit.errors import AccessError, UsageError

__all__ = ["Key", "Keys", "Scope"]

Scope = Literal["ingest", "query", "admin", "audit"]

SHORTEST_DIGEST = 8
LIVE_KEYS = 2
"""Keys of one name and scopes at a time: the old one and the new one, while they are exchanged."""


@dataclass(frozen=True)
class Key:
    """What a key may do: its name, its scopes, the page it is bound to, if it is for browsers, and its services."""

    name: str
    scopes: tuple[Scope, ...]
    origin: str
    digest: str
    services: tuple[str, ...] = ()
    """Services it may send reports of; all of them if there is none."""


class Keys:
    """All keys, in one small file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        self._keys = [
            Key(row["name"], tuple(row["scopes"]), row["origin"], row["digest"], tuple(row["services"])) for row in rows
        ]

    @property
    def required(self) -> bool:
        """Whether there is any key: without one, a collector on loopback is open to this machine."""
        return bool(self._keys)

    def create(self, name: str, scopes: Sequence[str], origin: str = "", services: Sequence[str] = ()) -> str:
        """Make a key and return it, this once; keys with an origin are for browsers, and may only send."""
        if not scopes or any(scope not in get_args(Scope) for scope in scopes):
            message = f"Scopes are {', '.join(get_args(Scope))}."
            raise UsageError(message, code="bad-option")
        if origin and tuple(scopes) != ("ingest",):
            message = "A key that is bound to an origin is in every browser: it may only ingest."
            raise UsageError(message, code="bad-option")
        wanted = tuple(sorted(set(scopes)))
        with self._lock:
            same = [key for key in self._keys if key.name == name and key.scopes == wanted]
            if len(same) >= LIVE_KEYS:
                message = f"{name} has {LIVE_KEYS} such keys. Revoke the old one first."
                raise UsageError(message, code="too-many-keys")
            made = f"tacit_live_{secrets.token_urlsafe(32)}"
            self._keys.append(Key(name, wanted, origin.rstrip("/"), _digest(made), tuple(services)))  # type: ignore[arg-type]
            self._save()
        return made

    def revoke(self, start: str) -> int:
        """Revoke keys by the first letters of their digests, as `listed` shows them; return how many."""
        if len(start) < SHORTEST_DIGEST:
            message = f"Give at least {SHORTEST_DIGEST} letters of the digest, as `tacit keys list` shows it."
            raise UsageError(message, code="bad-option")
        with self._lock:
            kept = [key for key in self._keys if not key.digest.startswith(start)]
            revoked = len(self._keys) - len(kept)
            self._keys = kept
            self._save()
        return revoked

    def listed(self) -> list[dict[str, object]]:
        """Return all keys without anything that would let somebody in."""
        return [asdict(key) | {"digest": key.digest[:12]} for key in self._keys]

    def check(self, given: object, scope: Scope, origin: str | None = None) -> Key:
        """Return the key if it is good for this; comparisons take the same time whatever is given."""
        if not isinstance(given, str) or not given:
            message = "This needs a key."
            raise AccessError(message, code="unknown-key")
        digest = _digest(given)
        found = [key for key in self._keys if hmac.compare_digest(key.digest, digest)]
        if not found:
            message = "This key is not known here."
            raise AccessError(message, code="unknown-key")
        if scope not in found[0].scopes:
            message = f"This key may not {scope}."
            raise AccessError(message, code="wrong-scope")
        if found[0].origin and origin != found[0].origin:
            message = "This key is bound to another origin."
            raise AccessError(message, code="wrong-origin")
        return found[0]

    def origins(self) -> set[str]:
        """Return the pages that may send."""
        return {key.origin for key in self._keys if key.origin}

    def _save(self) -> None:
        text = json.dumps([asdict(key) for key in self._keys], indent=1)
        temporary = self._path.with_suffix(".new")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
