"""The work of `tacit import`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from tacit.contract.hash_chain import read_chain
from tacit.errors import UsageError
from tacit.server.archive import restore
from tacit.server.deletions import delete_again

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Restore it, and delete people who were deleted since."""
    tombstones = _tombstones(options.deletions) if options.deletions else {}
    manifest = restore(options.file, options.store)
    deleted = 0
    if tombstones and manifest["kind"] == "store":
        deleted = _delete_again(options.store, tombstones, options.lake)
    if options.json:
        damaged = manifest.get("damaged", 0)
        print(json.dumps({"made": manifest["made"], "people_deleted_again": deleted, "damaged_reports": damaged}))
    else:
        again = f"; repeated the deletion of {deleted} people since then" if options.deletions else ""
        print(f"{options.store} restored to its state of {manifest['made']}{again}")
        if manifest.get("damaged"):
            print(f"{manifest['damaged']:,} of its reports were already damaged, and are never counted")
    return 0


def _delete_again(store: Path, tombstones: dict[str, set[str]], lake: str) -> int:
    """Repeat the deletions, or leave no store that lacks them."""
    try:
        return delete_again(store, tombstones, lake)
    except BaseException:
        shutil.rmtree(store)
        raise


def _tombstones(path: Path) -> dict[str, set[str]]:
    """Return the tombstones of a log, by collection or by service of one."""
    try:
        chain = read_chain(path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        message = f"{path.name!r} cannot be read as a log."
        raise UsageError(message, code="no-log") from None
    if not chain.ok:
        message = f"The log is broken at line {chain.position}: {chain.problem}. Use an intact log."
        raise UsageError(message, code="broken-log")
    traces: dict[str, set[str]] = {}
    for entry in chain.entries:
        if entry["event"] == "person-deleted":
            for scope, trace in entry["details"]["tombstones"].items():
                traces.setdefault(scope, set()).add(trace)
        elif entry["event"] == "deletions-repeated":
            for scope, tombstones in entry["details"]["tombstones"].items():
                traces.setdefault(scope, set()).update(tombstones)
    return traces
