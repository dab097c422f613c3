"""The work of `tacit doctor`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import duckdb

from tacit.answers.watch import problem_of
from tacit.cli.finding import Finding, log_finding
from tacit.cli.serve import is_loopback
from tacit.cli.tls import handshake
from tacit.collection import Collection
from tacit.encode.reports import report_table
from tacit.engines import open_engine
from tacit.engines.base import Engine
from tacit.engines.duckdb import DuckDB
from tacit.engines.failures import failure_code
from tacit.engines.java import find_java
from tacit.errors import EngineError, TacitError
from tacit.server.shared_keys import is_address, keeps_keys_elsewhere, read_keys
from tacit.server.store.disk import free_bytes, is_scarce
from tacit.server.store.verification import verify_analytical, verify_inbox
from tacit.server.store.versions import VERSION, version_of
from tacit.tables.places import place_text
from tacit.tables.sqlite_files import open_read_only

__all__ = ["run"]

EARLIEST = 1_767_225_600
"""2026-01-01: a clock before it is wrong."""

MARKS = {True: "✓", False: "✗", None: "–"}


def run(options: argparse.Namespace) -> int:
    """Print all findings; exit with 1 if anything is wrong."""
    findings = list(_findings(options))
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            fix = f"\n  run: {finding.fix}" if finding.ok is False else ""
            print(f"{MARKS[finding.ok]} {finding.what}: {finding.detail}{fix}")
    return 1 if any(finding.ok is False for finding in findings) else 0


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    if is_address(options.folder):
        yield from _database_findings(options)
        return
    folder = Path(options.folder)
    if not folder.is_dir():
        shown = place_text(folder)
        detail = f"{shown} is not a folder" if folder.exists() else f"{shown} does not exist"
        yield Finding("folder", ok=False, detail=detail, fix=f"tacit serve {shown}")
        return
    if not os.access(folder, os.R_OK | os.X_OK):
        yield Finding("folder", ok=False, detail="this user cannot read it", fix=f"sudo tacit doctor {folder}")
        return
    yield _disk(folder)
    yield _clock()
    yield _modes(folder)
    database = _database(folder)
    yield _inbox(folder, live=database.detail == IN_USE)
    yield database
    yield _log(folder, live=database.detail == IN_USE)
    yield from (_contract(path) for path in options.files)
    if options.reports:
        yield from _reports(folder)
    if options.verify:
        yield from _verify(folder, live=database.detail == IN_USE)
    yield _keys(options)
    yield _address(options)
    yield _java()


def _database_findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield the findings about a database that collectors share, and about what each of them needs."""
    from tacit.cli.doctor_shared import shared_findings

    yield _clock()
    findings = list(shared_findings(options.folder, verify=options.verify))
    yield from findings
    yield from (_contract(path) for path in options.files)
    if findings[0].ok:
        if options.reports:
            yield from _views(open_engine(options.folder, None))
        yield _keys(options)
    yield _address(options)


def _disk(folder: Path) -> Finding:
    return Finding("disk", not is_scarce(folder), f"{free_bytes(folder) / 2**30:,.1f} GiB free", f"df -h {folder}")


def _clock() -> Finding:
    now = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    return Finding("clock", now > EARLIEST, shown, "timedatectl set-ntp true")


def _modes(folder: Path) -> Finding:
    """Check that only the owner can read the folder with people's ids, and can write to it."""
    if folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("files", ok=False, detail="other users can read the folder", fix=f"chmod 700 {folder}")
    if not os.access(folder, os.W_OK):
        return Finding("files", ok=False, detail="this user cannot write to it", fix=f"chmod 700 {folder}")
    return Finding("files", ok=True, detail="only this user can read the folder")


def _inbox(folder: Path, *, live: bool) -> Finding:
    fix = f"tacit import ARCHIVE {folder}.restored"
    if not (folder / "inbox.db").is_file():
        return Finding("inbox", ok=None, detail="there is none yet, or reports are in PostgreSQL")
    try:
        with open_read_only(folder / "inbox.db", live=live) as file:
            [(health,)] = file.execute("PRAGMA quick_check(1)").fetchall()
            version = version_of(file)
    except (sqlite3.Error, OSError) as cause:
        return Finding("inbox", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=fix)
    if version > VERSION:
        detail = f"version {version} is newer than this program supports"
        return Finding("inbox", ok=False, detail=detail, fix="pip install --upgrade .")
    return Finding("inbox", health == "ok", f"version {version} of {VERSION}, {health}", fix)


IN_USE = "in use by a running collector"


def _database(folder: Path) -> Finding:
    path = folder / "reports.tacit"
    rebuild, archive = f"tacit serve {folder}  # rebuilds it from the inbox", f"tacit import ARCHIVE {folder}.restored"
    fix = rebuild if (folder / "inbox.db").is_file() else archive
    if not path.is_file():
        return Finding("database", ok=None, detail="there is none yet, or reports are in PostgreSQL or a lake")
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.IOException as cause:
        if failure_code(cause) == "store-in-use":
            return Finding("database", ok=None, detail=IN_USE)
        return Finding("database", ok=False, detail="cannot be read", fix=fix)
    except duckdb.Error:
        return Finding("database", ok=False, detail="cannot be read", fix=fix)
    return Finding("database", ok=True, detail=f"opens, {path.stat().st_size / 2**20:,.1f} MiB")


def _verify(folder: Path, *, live: bool) -> Iterator[Finding]:
    """Read everything in the folder and check it against the digests."""
    rebuild = f"mv {folder / 'reports.tacit'} {folder}.damaged && tacit serve {folder}  # which rebuilds it"
    archive = f"tacit import ARCHIVE {folder}.restored"
    if not (folder / "inbox.db").is_file():
        yield Finding("reports", ok=None, detail="there is no inbox here, so there are no digests to check")
        return
    try:
        with open_read_only(folder / "inbox.db", live=live) as inbox:
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
    except (sqlite3.Error, OSError) as cause:
        yield Finding("reports", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=archive)
    except EngineError as cause:
        if cause.code == "store-in-use":
            yield Finding("analytical", ok=None, detail=f"{IN_USE}: ask its /readyz")
        else:
            yield Finding("analytical", ok=False, detail=f"cannot be read ({cause.code})", fix=rebuild)
    for path in sorted(folder.glob("reports.tacit.aside-*")):
        detail = "was set aside, and still has reports, including those of people deleted since"
        yield Finding(path.name, ok=False, detail=detail, fix=f"rm {path}")


def _reports(folder: Path) -> Iterator[Finding]:
    """Look for reports that honest devices would hardly send: views and seeds that are too frequent, or too even."""
    try:
        engine = DuckDB(folder / "reports.tacit", read_only=True)
    except EngineError as cause:
        yield Finding("views and seeds", ok=None, detail=IN_USE if cause.code == "store-in-use" else "no database here")
        return
    yield from _views(engine)


def _views(engine: Engine) -> Iterator[Finding]:
    with contextlib.closing(engine):
        for text in engine.contracts():
            for part in Collection.from_json(text).parts:
                for service in part.contract.services:
                    table = report_table(part.id, service.service.name)
                    if not engine.has_table(table):
                        continue
                    problem, reports = problem_of(engine, table, service)
                    where = f"views and seeds of {service.service.name}, {part.contract.round or part.id[:12]}"
                    detail = problem or f"{reports:,} reports, consistent with honest devices"
                    yield Finding(where, not problem, detail, "tacit audit --store")


def _log(folder: Path, *, live: bool) -> Finding:
    if not (folder / "log.db").is_file():
        return Finding("log", ok=None, detail="there is none yet")
    fix = f"tacit audit --verify EVIDENCE --store {folder}"
    try:
        with open_read_only(folder / "log.db", live=live) as file:
            lines = [line for (line,) in file.execute("SELECT line FROM log ORDER BY number")]
    except (sqlite3.Error, OSError) as cause:
        return Finding("log", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=fix)
    return log_finding(lines, fix)


def _contract(path: str) -> Finding:
    fix = f"tacit audit {path}"
    try:
        audit = Collection.from_file(path).audit()
    except TacitError as refusal:
        return Finding(f"contract {Path(path).name}", ok=False, detail=refusal.message, fix=fix)
    detail = f"a person's total is at most {audit.worst_loss:.6g}"
    return Finding(f"contract {Path(path).name}", audit.ok, detail, fix)


def _keys(options: argparse.Namespace) -> Finding:
    beyond = options.behind_proxy or not is_loopback(options.host)
    place, fix = options.folder, f"tacit keys {options.folder} create NAME --scope ingest"
    if is_address(place):
        fix = "tacit keys postgresql://… create NAME --scope ingest"
    elif keeps_keys_elsewhere(Path(place)):
        return Finding("keys", ok=None, detail="are in PostgreSQL: tacit doctor postgresql://…")
    try:
        with contextlib.closing(read_keys(place)) as keys:
            count = len(keys.list_keys())
    except (TacitError, OSError, ValueError, LookupError, TypeError) as cause:
        return Finding("keys", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix=fix)
    detail = f"{count} keys" if count else "none: only this machine is served"
    return Finding("keys", bool(count) or not beyond, detail, fix)


def _address(options: argparse.Namespace) -> Finding:
    """Check that this machine has the address, and that TLS works with the certificate."""
    place = "postgresql://…" if is_address(options.folder) else options.folder
    fix = f"tacit serve {place} --host {options.host} --certificate CERT.pem --private-key KEY.pem"
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        with socket.socket(family) as tried:
            tried.bind((options.host, 0))
    except OSError as cause:
        return Finding(
            "address", ok=False, detail=f"{options.host} is not an address of this machine ({cause.strerror})", fix=fix
        )
    if options.certificate:
        try:
            seen = handshake(options.certificate, options.private_key)
        except TacitError as refusal:
            return Finding("address", ok=False, detail=refusal.message, fix=fix)
        names = ", ".join(name for kind, name in seen.get("subjectAltName", ()) if kind == "DNS") or "no name"
        detail = f"{options.host}, TLS until {seen.get('notAfter', '?')} for {names}"
        return Finding("address", ok=True, detail=detail)
    if options.behind_proxy:
        detail = f"{options.host}, behind a proxy whose TLS is not checked here"
        return Finding("address", ok=None, detail=detail)
    safe = is_loopback(options.host)
    return Finding("address", safe, f"{options.host}{'' if safe else ' would be served without TLS'}", fix)


def _java() -> Finding:
    if find_spec("pyspark") is None:
        return Finding("Java", ok=None, detail="Spark is not installed, and only Spark needs Java")
    source = find_java()
    return Finding("Java", bool(source), f"by {source}" if source else "Spark needs Java 17", "pip install '.[spark]'")
