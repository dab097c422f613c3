"""Look at what a collector needs: disk, clock, files, contracts, keys, address, Java; a fix for what is not well."""

from __future__ import annotations

import argparse
import contextlib
import json
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb

from tacit.cli.serve import is_loopback
from tacit.collection import Collection
from tacit.engines.duckdb import DuckDB
from tacit.engines.java import found_java
from tacit.errors import EngineError, TacitError
from tacit.server.keys import Keys
from tacit.server.log import Log
from tacit.server.room import free_bytes, is_scarce
from tacit.server.verification import verify_analytical, verify_inbox
from tacit.server.versions import VERSION, version_of

__all__ = ["configure", "run"]

EARLIEST = 1_767_225_600
"""2026-01-01: a clock before it is wrong."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; if it is not well, what to do."""

    what: str
    ok: bool
    detail: str
    fix: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folder", type=Path, help="the folder of `tacit serve`")
    parser.add_argument("files", nargs="*", help="collection files or contracts that are to be published")
    parser.add_argument("--host", default="127.0.0.1", help="the address that it is to listen on (default 127.0.0.1)")
    parser.add_argument("--certificate", help="PEM file with the certificate")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front of it does TLS")
    parser.add_argument("--verify", action="store_true", help="read all reports and compare them with their digests")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if anything is not well."""
    found = list(_findings(options))
    if options.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        for one in found:
            print(f"✓ {one.what}: {one.detail}" if one.ok else f"✗ {one.what}: {one.detail}\n  run: {one.fix}")
    return 0 if all(one.ok for one in found) else 1


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    folder: Path = options.folder
    if not folder.is_dir():
        yield Finding("folder", ok=False, detail=f"{folder} does not exist", fix=f"tacit serve {folder}")
        return
    yield _disk(folder)
    yield _clock()
    yield _modes(folder)
    yield _inbox(folder)
    yield _database(folder)
    yield _log(folder)
    yield from (_contract(path) for path in options.files)
    if options.verify:
        yield from _verified(folder)
    yield from _access(folder, options)
    yield _java()


def _disk(folder: Path) -> Finding:
    return Finding("disk", not is_scarce(folder), f"{free_bytes(folder) / 2**30:,.1f} GiB are free", f"df -h {folder}")


def _clock() -> Finding:
    now = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    return Finding("clock", now > EARLIEST, shown, "timedatectl set-ntp true")


def _modes(folder: Path) -> Finding:
    """Nobody else may read what people's keys are in."""
    closed = folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0
    detail = "nobody else may look into the folder" if closed else "others may look into the folder"
    return Finding("files", closed, detail, f"chmod 700 {folder}")


def _inbox(folder: Path) -> Finding:
    fix = f"tacit import ARCHIVE {folder}.restored"
    if not (folder / "inbox.db").is_file():
        return Finding("inbox", ok=True, detail="no report has arrived yet")
    try:
        file = sqlite3.connect(f"file:{folder / 'inbox.db'}?mode=ro", uri=True)
        [(health,)] = file.execute("PRAGMA quick_check(1)").fetchall()
        version = version_of(file)
        file.close()
    except sqlite3.Error as cause:
        return Finding("inbox", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=fix)
    if version > VERSION:
        detail = f"version {version} is newer than this program"
        return Finding("inbox", ok=False, detail=detail, fix="pip install --upgrade .")
    return Finding("inbox", health == "ok", f"version {version} of {VERSION}, {health}", fix)


def _database(folder: Path) -> Finding:
    path = folder / "reports.tacit"
    if not path.is_file():
        return Finding("database", ok=True, detail="not made yet, or kept in PostgreSQL")
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.IOException as cause:
        if "lock" in str(cause):
            return Finding("database", ok=True, detail="in use by a collector that runs")
        return Finding("database", ok=False, detail="cannot be read", fix=f"tacit import ARCHIVE {folder}.restored")
    except duckdb.Error:
        return Finding("database", ok=False, detail="cannot be read", fix=f"tacit import ARCHIVE {folder}.restored")
    return Finding("database", ok=True, detail=f"{path.stat().st_size / 2**20:,.1f} MiB")


def _verified(folder: Path) -> Iterator[Finding]:
    """Read everything in the folder: what was stored must be what is there."""
    rebuild = f"move {folder / 'reports.tacit'} away and start the collector, which rebuilds it"
    archive = f"tacit import ARCHIVE {folder}.restored"
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder / 'inbox.db'}?mode=ro", uri=True)) as inbox:
            if version_of(inbox) < VERSION:
                detail = (
                    f"a store of version {version_of(inbox)} has no digests of whole rows; start the collector once"
                )
                yield Finding("reports", ok=False, detail=detail, fix=f"tacit serve {folder}")
                return
            checked = verify_inbox(inbox)
            detail = "; ".join(checked.problems) or f"{checked.reports:,} reports match their digests"
            yield Finding("reports", not checked.problems, detail, archive)
            engine = DuckDB(folder / "reports.tacit", read_only=True)
            with contextlib.closing(engine):
                checked = verify_analytical(engine, inbox)
            detail = "; ".join(checked.problems) or f"{checked.reports:,} reports, as many as the inbox has moved"
            yield Finding("analytical", not checked.problems, detail, rebuild)
    except sqlite3.Error as cause:
        yield Finding("reports", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=archive)
    except EngineError as cause:
        if cause.code == "store-in-use":
            yield Finding("analytical", ok=True, detail="in use by a collector that runs: ask its /readyz")
        else:
            yield Finding("analytical", ok=False, detail=f"cannot be read ({cause.code})", fix=rebuild)
    for path in sorted(folder.glob("reports.tacit.aside-*")):
        detail = "was set aside, and holds reports of people, also of those who were deleted since"
        yield Finding(path.name, ok=False, detail=detail, fix=f"rm {path}")


def _log(folder: Path) -> Finding:
    if not (folder / "log.db").is_file():
        return Finding("log", ok=True, detail="nothing is logged yet")
    log = Log(folder / "log.db")
    chain = log.read()
    log.close()
    if chain.ok:
        return Finding("log", ok=True, detail=f"{chain.head.entries} entries in an unbroken chain")
    detail = f"line {chain.position}: {chain.problem}"
    return Finding("log", ok=False, detail=detail, fix=f"tacit audit --verify EVIDENCE --store {folder}")


def _contract(path: str) -> Finding:
    fix = f"tacit audit {path}"
    try:
        audit = Collection.from_file(path).audit()
    except TacitError as refusal:
        return Finding(f"contract {Path(path).name}", ok=False, detail=refusal.message, fix=fix)
    detail = f"a person's total is at most {audit.worst_loss:.6g}"
    return Finding(f"contract {Path(path).name}", audit.ok, detail, fix)


def _access(folder: Path, options: argparse.Namespace) -> Iterator[Finding]:
    keys = Keys(folder / "keys.json")
    beyond = options.behind_proxy or not is_loopback(options.host)
    make = f"tacit keys {folder} create NAME --scope ingest"
    count = len(keys.listed())
    detail = f"{count} keys" if count else "none: this machine alone is served"
    yield Finding("keys", bool(count) or not beyond, detail, make)
    safe = is_loopback(options.host) or options.behind_proxy or bool(options.certificate)
    detail = f"{options.host}{', TLS' if options.certificate else ', behind a proxy' if options.behind_proxy else ''}"
    fix = f"tacit serve {folder} --host {options.host} --certificate CERT.pem --private-key KEY.pem"
    yield Finding("address", safe, detail, fix)


def _java() -> Finding:
    if find_spec("pyspark") is None:
        return Finding("Java", ok=True, detail="Spark is not installed, and nothing else needs it")
    found = found_java()
    return Finding("Java", bool(found), f"by {found}" if found else "Spark needs Java 17", "pip install '.[spark]'")
