"""The work of `tacit import`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from tacit.contract.hash_chain import read_chain
from tacit.errors import UsageError
from tacit.server.archive import restore
from tacit.server.deletions import delete_again, revoke_again
from tacit.server.keys import SHORTEST_DIGEST

__all__ = ["run"]

START = re.compile(f"[0-9a-f]{{{SHORTEST_DIGEST},64}}")


class Since(NamedTuple):
    """What a later log says of people who were deleted, by scope, and of keys that were revoked, by digest."""

    tombstones: dict[str, set[str]]
    revoked: set[str]


def run(options: argparse.Namespace) -> int:
    """Restore it, and repeat deletions of people and keys since."""
    since = _since(options.deletions) if options.deletions else Since({}, set())
    manifest = restore(options.file, options.store)
    deleted = revoked = 0
    if options.deletions and manifest["kind"] == "store":
        deleted, revoked = _repeat(options.store, since, options.lake)
    damaged = manifest.get("damaged", 0)
    if options.json:
        done = {"made": manifest["made"], "people_deleted_again": deleted, "keys_revoked_again": revoked}
        print(json.dumps(done | {"damaged_reports": damaged}))
        return 0
    again = f"; repeated the deletion of {deleted} people and {revoked} keys since then" if options.deletions else ""
    print(f"{options.store} restored to its state of {manifest['made']}{again}")
    if damaged:
        print(f"{damaged:,} of its reports were already damaged, and are never counted")
    if "keys.json" in manifest["files"] and not options.deletions:
        print(f"Its keys are valid again, also those revoked since then: tacit keys {options.store} list")
    return 0


def _repeat(store: Path, since: Since, lake: str) -> tuple[int, int]:
    """Repeat the deletions, or leave no store that lacks them; return how many people and keys had any."""
    try:
        people = delete_again(store, since.tombstones, lake) if since.tombstones else 0
        return people, revoke_again(store, since.revoked)
    except BaseException:
        shutil.rmtree(store)
        raise


def _since(path: Path) -> Since:
    """Return the tombstones of a log, by collection or by service of one, and the digests of revoked keys."""
    try:
        chain = read_chain(path.read_text(encoding="utf-8").splitlines())
        if not chain.ok:
            message = f"The log is broken at line {chain.position}: {chain.problem}. Use an intact log."
            raise UsageError(message, code="broken-log")
        since = Since({}, set())
        for entry in chain.entries:
            details = entry["details"]
            if entry["event"] == "person-deleted":
                for scope, trace in details["tombstones"].items():
                    since.tombstones.setdefault(scope, set()).add(_hex(trace))
            elif entry["event"] == "deletions-repeated":
                for scope, tombstones in details["tombstones"].items():
                    since.tombstones.setdefault(scope, set()).update(map(_hex, tombstones))
            elif entry["event"] == "key-revoked":
                since.revoked.add(_start(details["digest"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as cause:
        if isinstance(cause, UsageError):
            raise
        message = f"{path.name!r} cannot be read as a log."
        raise UsageError(message, code="no-log") from None
    return since


def _start(text: str) -> str:
    """Return the first digits of a key's digest, or raise; earlier versions logged as many as were typed."""
    if not START.fullmatch(text):
        raise ValueError
    return text


def _hex(text: str) -> str:
    """Return a text of hexadecimal digits, or raise."""
    return bytes.fromhex(text).hex()
