"""The work of `tacit keys`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from tacit.errors import UnknownNameError, UsageError
from tacit.server.keys import Keys, Scope
from tacit.server.shared_keys import is_address, keeps_keys_elsewhere, open_log, read_keys

__all__ = ["run"]

SHOWN_DIGEST = 12
"""Digits of a key's digest that `list` shows."""

LONGEST_NAME = 64

ELSEWHERE = (
    "The collector of this folder has its keys in PostgreSQL. Keys of the folder are for this collector alone; for "
    "those of all its collectors, name the database instead of the folder: tacit keys postgresql://…"
)


def run(options: argparse.Namespace) -> int:
    """Run it; a running collector picks it up at its next request."""
    keys = _keys_of(options.folder)
    if not is_address(options.folder) and keeps_keys_elsewhere(Path(options.folder)):
        print(ELSEWHERE, file=sys.stderr)
    if options.action == "list":
        _list(keys.list_keys(), as_json=options.json)
        return 0
    _check(options, keys)
    if not is_address(options.folder):
        Path(options.folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    log = open_log(options.folder)
    if options.action == "create":
        key = keys.create(options.name, options.scope or ["ingest"], options.origin, options.service)
        log.add("key-created", **keys.list_keys(key)[0])
        print(json.dumps({"key": key}) if options.json else f"{key}\nThis key is shown only once. Store it now.")
        if options.origin and not options.json:
            print(
                "Reports with it need a token of the person, signed on your server with the secret of "
                f"`tacit keys {options.folder} create {options.name} --scope sign`.\nWithout tokens anybody who reads "
                f"the page can report under any id: `tacit serve --allow-without-token {options.name}` allows that."
            )
    else:
        for digest in keys.digests(options.name):
            log.add("key-revoked", digest=digest[:SHOWN_DIGEST])
        revoked = keys.revoke(options.name)
        print(json.dumps({"revoked": revoked}) if options.json else f"{revoked} revoked")
    log.close()
    keys.close()
    return 0


def _keys_of(place: str) -> Keys:
    """Return the keys of a folder, or of a store that several collectors share; its tables are created if needed."""
    if is_address(place):
        from tacit.server.store.shared.schema import prepare

        prepare(place)
    return read_keys(place)


def _check(options: argparse.Namespace, keys: Keys) -> None:
    """Refuse invalid names, origins and digests before anything is written."""
    name, origin = options.name, urlsplit(options.origin)
    if options.action == "revoke":
        if not keys.digests(name):
            message = "No key has this digest. `tacit keys FOLDER list` shows them."
            raise UsageError(message, code="unknown-key")
    elif not name or not name.isprintable() or len(name) > LONGEST_NAME:
        message = f"Name the key: one line of at most {LONGEST_NAME} characters, such as the service that uses it."
        raise UsageError(message, code="bad-option")
    elif unknown := set(options.scope) - set(get_args(Scope)):
        raise UnknownNameError("scope", min(unknown), get_args(Scope), code="bad-option")
    elif options.origin and (
        origin.scheme not in ("http", "https") or not origin.hostname or origin.path.strip("/") or origin.query
    ):
        message = "--origin takes a scheme, a host and optionally a port, such as https://shop.example, without a path."
        raise UsageError(message, code="bad-option")


def _list(keys: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(keys))
        return
    for key in keys:
        print(f"{key['digest']}  {key['name']}  {', '.join(key['scopes'])}  {key['origin']}")
