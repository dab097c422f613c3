"""Keys of services: who may send, ask, administer or audit. Only their hashes are kept.

A key with the scope `sign` opens nothing: it is the secret by which a service's own server signs tokens of its people
(`tacit.client.tokens`), so it is kept as it is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from tacit.errors import AccessError, UsageError

__all__ = ["Key", "Keys", "Scope"]

Scope = Literal["ingest", "query", "admin", "audit", "watch", "sign"]

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

    secret: str = field(default="", repr=False)
    """The key itself, if it signs."""


class Keys:
    """All keys, in one small file that is replaced whole; whoever has it open sees what others make of it."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._read: tuple[Key, ...] = ()

    @property
    def _keys(self) -> tuple[Key, ...]:
        """The keys as they are now: the file is read again when it has changed, which costs a look at its date."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return ()
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        if mark != self._seen:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            lists = ("scopes", "services")
            self._read = tuple(Key(**row | {name: tuple(row[name]) for name in lists}) for row in rows)
            self._seen = mark
        return self._read

    @property
    def required(self) -> bool:
        """Whether there ever was a key: before the first one, a collector on loopback is open to this machine."""
        return self._path.exists()

    def create(self, name: str, scopes: Sequence[str], origin: str = "", services: Sequence[str] = ()) -> str:
        """Make a key and return it, this once; keys with an origin are for browsers, and may only send."""
        if not scopes or any(scope not in get_args(Scope) for scope in scopes):
            message = f"Scopes are {', '.join(get_args(Scope))}."
            raise UsageError(message, code="bad-option")
        if origin and tuple(scopes) != ("ingest",):
            message = "A key that is bound to an origin is in every browser: it may only ingest."
            raise UsageError(message, code="bad-option")
        if "sign" in scopes and (len(scopes) > 1 or services):
            message = "A key that signs tokens of people is kept as it is: it may do nothing else."
            raise UsageError(message, code="bad-option")
        wanted = tuple(sorted(set(scopes)))
        with self._lock:
            same = [key for key in self._keys if key.name == name and key.scopes == wanted]
            if len(same) >= LIVE_KEYS:
                message = f"{name} has {LIVE_KEYS} such keys. Revoke the old one first."
                raise UsageError(message, code="too-many-keys")
            made = f"tacit_{'sign' if 'sign' in wanted else 'live'}_{secrets.token_urlsafe(32)}"
            kept = made if "sign" in wanted else ""
            key = Key(name, wanted, origin.rstrip("/"), _digest(made), tuple(services), kept)  # type: ignore[arg-type]
            self._save([*self._keys, key])
        return made

    def revoke(self, start: str) -> int:
        """Revoke keys by the first letters of their digests, as `listed` shows them; return how many."""
        if len(start) < SHORTEST_DIGEST:
            message = f"Give at least {SHORTEST_DIGEST} letters of the digest, as `tacit keys list` shows it."
            raise UsageError(message, code="bad-option")
        with self._lock:
            kept = [key for key in self._keys if not key.digest.startswith(start)]
            revoked = len(self._keys) - len(kept)
            self._save(kept)
        return revoked

    def listed(self) -> list[dict[str, object]]:
        """Return all keys without anything that would let somebody in."""
        shown = [asdict(key) | {"digest": key.digest[:12]} for key in self._keys]
        return [{name: value for name, value in row.items() if name != "secret"} for row in shown]

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

    def secrets(self, name: str) -> list[str]:
        """Return what a service signs tokens of its people with: two of them, while they are exchanged."""
        return [key.secret for key in self._keys if key.name == name and key.secret]

    def _save(self, keys: Sequence[Key]) -> None:
        text = json.dumps([asdict(key) for key in keys], indent=1)
        temporary = self._path.with_suffix(".new")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
