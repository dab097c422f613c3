"""The work of `tacit lake`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import datetime
import json
from typing import Any

from tacit.engines.lake.copies import Copied, back_up, existing_versions, restore, verify
from tacit.engines.lake.manifest import Manifest
from tacit.engines.lake.storage import storage_at
from tacit.errors import UsageError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run one command on a lake; exit with 1 if it is damaged."""
    source = storage_at(options.lake)
    versions = existing_versions(source)
    if options.action == "versions":
        _print(options, [_about(version) for version in versions], map(_line, versions))
        return 0
    if options.action == "verify":
        problems = verify(source)
        sound = f"{len(versions)} versions are intact: every file matches its digest"
        _print(options, {"versions": len(versions), "problems": problems}, problems or [sound])
        return 1 if problems else 0
    target = storage_at(options.target)
    if options.action == "backup":
        copied = back_up(source, target)
    else:
        copied = restore(source, target, version=options.version, time=_moment(options.time))
    _print(options, copied._asdict(), [_summary(copied)])
    return 0


def _print(options: argparse.Namespace, value: Any, lines: Any) -> None:
    print(json.dumps(value, indent=1) if options.json else "\n".join(lines))


def _about(version: Manifest) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": version.time,
        "reports": sum(table.rows for table in version.tables.values()),
        "files": len(list(version.files())),
        "bytes": sum(file.bytes for file in version.files()),
    }


def _line(version: Manifest) -> str:
    about = _about(version)
    return "version {version}  {time}  {reports:,} reports in {files:,} files, {bytes:,} bytes".format(**about)


def _summary(copied: Copied) -> str:
    return f"version {copied.version}: {copied.files:,} files copied, {copied.bytes:,} bytes"


def _moment(text: str | None) -> str | None:
    """Return a time as manifests write it."""
    if text is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is not a time. Write it as 2026-11-30T12:00:00."
        raise UsageError(message, code="bad-option") from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return zoned.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
