"""Keys of services: who may send, query, administer or audit. Only their hashes are stored.

A key with the scope `sign` gives no access: it is the secret with which a service's server signs tokens of its people
(`tacit.client.tokens`), so it is stored in plain text.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from tacit.adapters.pgwire.scram import make_verifier
from tacit.errors import AccessError, UsageError
from tacit.tables.atomic import lock_file, write_atomically

__all__ = ["AccessKey", "KeyFile", "KeySource", "Keys", "Scope", "key_of"]

Scope = Literal["ingest", "query", "admin", "audit", "watch", "sign"]

SHORTEST_DIGEST = 8
"""Characters of a digest that identify a key to revoke."""

LIVE_KEYS = 2
"""Keys of one name and scope at a time: the old and the new one during rotation."""


@dataclass(frozen=True)
class AccessKey:
    """A key: its name, scopes, the page it is bound to (for browsers) and its services."""

    name: str
    scopes: tuple[Scope, ...]
    origin: str
    digest: str
    services: tuple[str, ...] = ()
    """Services it may report to; empty for all."""

    secret: str = field(default="", repr=False)
    """The key itself, if it signs tokens."""

    scram: str = field(default="", repr=False)
    """Verifier of logins with the key by SCRAM; keys of earlier versions have none."""


class KeySource(Protocol):
    """Where keys are: a file, or the database that several collectors share."""

    def current(self) -> tuple[AccessKey, ...]:
        """Return the current keys; raise if they cannot be read, so that nobody is let in."""

    def had_keys(self) -> bool:
        """Return whether there ever was a key here."""

    def changing(self) -> AbstractContextManager[tuple[AccessKey, ...]]:
        """Give one writer at a time, over all threads and processes, the keys as they are stored."""

    def save(self, keys: Sequence[AccessKey]) -> None:
        """Store the keys, inside of `changing`."""

    def close(self) -> None:
        """Read no more."""


class KeyFile:
    """Keys in one small file that is replaced atomically; readers see changes by other processes."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._cached: tuple[tuple[int, ...], tuple[AccessKey, ...]] = (), ()
        self._ever = False

    def current(self) -> tuple[AccessKey, ...]:
        """Return the current keys; the file is read again if it has changed, which costs one stat call."""
        try:
            status = self._path.stat()
            mark = (status.st_mtime_ns, status.st_size, status.st_ino)
            seen, keys = self._cached
            return keys if mark == seen else self._read(mark)
        except FileNotFoundError:
            if not self._ever:
                return ()
            raise _unreadable("it is gone") from None
        except OSError as cause:
            raise _unreadable(type(cause).__name__) from None

    def _read(self, mark: tuple[int, ...] = ()) -> tuple[AccessKey, ...]:
        """Read the file, ignoring the cache."""
        try:
            keys = tuple(map(key_of, json.loads(self._path.read_text(encoding="utf-8"))))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as cause:
            raise _unreadable(type(cause).__name__) from None
        self._cached, self._ever = (mark, keys), True
        return keys

    def had_keys(self) -> bool:
        """Return whether there is a file, or was one."""
        try:
            self._ever = self._ever or self._path.exists()
        except OSError as cause:
            raise _unreadable(type(cause).__name__) from None
        return self._ever

    @contextmanager
    def changing(self) -> Iterator[tuple[AccessKey, ...]]:
        """Lock the file, and give its keys."""
        try:
            with self._lock, lock_file(self._path):
                yield self._read() if self._path.exists() else ()
        except OSError as cause:
            raise _unreadable(type(cause).__name__) from None

    def save(self, keys: Sequence[AccessKey]) -> None:
        """Replace the file."""
        text = json.dumps([asdict(key) for key in keys], indent=1)
        write_atomically(self._path, text.encode(), mode=0o600)

    def close(self) -> None:
        """Do nothing: no file stays open."""


class Keys:
    """All keys of a collector, of one or several sources; changes are made in the first.

    One process at a time changes a source. If one is damaged or unreadable, nobody gets access.
    """

    def __init__(self, first: Path | KeySource, *others: KeySource) -> None:
        self._first: KeySource = KeyFile(first) if isinstance(first, Path) else first
        self._others = others

    @property
    def _keys(self) -> tuple[AccessKey, ...]:
        """The current keys."""
        return tuple(key for source in (self._first, *self._others) for key in source.current())

    @property
    def required(self) -> bool:
        """Whether there ever was a key. Before the first one, a collector on loopback is open to this machine."""
        return any(source.had_keys() for source in (self._first, *self._others))

    def create(self, name: str, scopes: Sequence[str], origin: str = "", services: Sequence[str] = ()) -> str:
        """Create a key and return it, this once only; keys with an origin are for browsers and can only send."""
        if not scopes or any(scope not in get_args(Scope) for scope in scopes):
            message = f"Scopes must be among {', '.join(get_args(Scope))}."
            raise UsageError(message, code="bad-option")
        if origin and tuple(scopes) != ("ingest",):
            message = "A key bound to an origin is visible in every browser, so its only scope can be ingest."
            raise UsageError(message, code="bad-option")
        if "sign" in scopes and (len(scopes) > 1 or services):
            message = "A key that signs tokens is stored in plain text, so it can have no other scope."
            raise UsageError(message, code="bad-option")
        wanted = tuple(sorted(set(scopes)))
        with self._first.changing() as keys:
            same = [key for key in keys if key.name == name and key.scopes == wanted]
            if len(same) >= LIVE_KEYS:
                message = f"{name} already has {LIVE_KEYS} such keys. Revoke the old one first."
                raise UsageError(message, code="too-many-keys")
            secret = f"tacit_{'sign' if 'sign' in wanted else 'live'}_{secrets.token_urlsafe(32)}"
            stored = secret if "sign" in wanted else ""
            scram = "" if stored or origin else make_verifier(name, secret)
            key = AccessKey(name, wanted, _as_sent(origin), _digest(secret), tuple(services), stored, scram)  # type: ignore[arg-type]
            self._first.save([*keys, key])
        return secret

    def revoke(self, start: str) -> int:
        """Revoke keys by a prefix of their digest, as `list_keys` shows it; return how many."""
        _check_start(start)
        with self._first.changing() as keys:
            remaining = [key for key in keys if not key.digest.startswith(start)]
            if len(remaining) < len(keys):
                self._first.save(remaining)
        return len(keys) - len(remaining)

    def digests(self, start: str) -> list[str]:
        """Return the digests of the keys that `revoke` would revoke."""
        _check_start(start)
        return [key.digest for key in self._first.current() if key.digest.startswith(start)]

    def list_keys(self, created: str = "") -> list[dict[str, object]]:
        """Return all keys, or the one just created, without their secrets."""
        shown = [key for key in self._keys if not created or key.digest == _digest(created)]
        rows = [asdict(key) | {"digest": key.digest[:12]} for key in shown]
        return [{name: value for name, value in row.items() if name not in ("secret", "scram")} for row in rows]

    def check(self, secret: object, scopes: Sequence[Scope], origin: str | None = None) -> AccessKey:
        """Return the key if it has one of the scopes; comparison takes constant time."""
        if not isinstance(secret, str) or not secret:
            message = "This needs a key."
            raise AccessError(message, code="unknown-key")
        return self.check_digest(_digest(secret), scopes, origin)

    def check_digest(self, digest: str, scopes: Sequence[Scope], origin: str | None = None) -> AccessKey:
        """Return the key of a digest if it has one of the scopes."""
        matching = [key for key in self._keys if hmac.compare_digest(key.digest, digest)]
        if not matching:
            message = "This key is unknown."
            raise AccessError(message, code="unknown-key")
        if not set(scopes) & set(matching[0].scopes):
            message = f"This key may not {' or '.join(scopes)}."
            raise AccessError(message, code="wrong-scope")
        if matching[0].origin and origin != matching[0].origin:
            message = "This key is bound to another origin."
            raise AccessError(message, code="wrong-origin")
        return matching[0]

    def verifiers(self, name: str) -> list[tuple[str, AccessKey]]:
        """Return the SCRAM verifiers of a name's keys."""
        return [(key.scram, key) for key in self._keys if key.name == name and key.scram]

    def without_verifiers(self) -> set[str]:
        """Return the names of keys that may query but were created before SCRAM verifiers were stored."""
        return {key.name for key in self._keys if "query" in key.scopes and not key.scram}

    def origins(self) -> set[str]:
        """Return the origins that may send."""
        return {key.origin for key in self._keys if key.origin}

    def signers(self) -> list[AccessKey]:
        """Return the keys that sign tokens."""
        return [key for key in self._keys if key.secret]

    def services_of(self, name: str) -> tuple[str, ...] | None:
        """Return the services that keys of a name report to: empty for all, None if there is no key."""
        sending = [key.services for key in self._keys if key.name == name and "ingest" in key.scopes]
        if not sending:
            return None
        return tuple({service for services in sending for service in services}) if all(sending) else ()

    def secrets(self, name: str) -> list[str]:
        """Return the secrets with which a service signs tokens: two during rotation."""
        return [key.secret for key in self._keys if key.name == name and key.secret]

    def close(self) -> None:
        """Close all sources."""
        for source in (self._first, *self._others):
            source.close()


def key_of(row: dict[str, Any]) -> AccessKey:
    """Return a key as it was stored."""
    key = AccessKey(**row | {name: tuple(row[name]) for name in ("scopes", "services")})
    if not all(isinstance(text, str) for text in (key.name, key.origin, key.digest, key.secret, key.scram)):
        raise TypeError
    return key


def _as_sent(origin: str) -> str:
    """Return an origin as browsers send it: in lower case, without the default port of its scheme."""
    lower = origin.rstrip("/").lower()
    scheme, _, host = lower.partition("://")
    return lower.removesuffix({"http": ":80", "https": ":443"}.get(scheme, "")) if host else lower


def _check_start(start: str) -> None:
    if len(start) < SHORTEST_DIGEST:
        message = f"Pass at least {SHORTEST_DIGEST} characters of the digest, as `tacit keys list` shows it."
        raise UsageError(message, code="bad-option")


def _unreadable(why: str) -> UsageError:
    message = (
        f"keys.json cannot be used ({why}), so nobody has access. Make it readable and writable for the user that "
        f"runs `tacit serve`, or restore a copy of it."
    )
    return UsageError(message, code="unreadable-keys")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
