"""`tacit doctor` of a PostgreSQL database that collectors share; nothing in it is changed."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from tacit.cli.finding import Finding, log_finding
from tacit.errors import TacitError
from tacit.server.store.shared.schema import VERSION
from tacit.server.store.shared.session import Connection
from tacit.server.store.shared.verification import read_only, verify_analytical, verify_inbox
from tacit.server.store.verification import Verified

__all__ = ["shared_findings"]

REMEDY = "restore the last backup of the database, and repeat the deletions since then"


def shared_findings(address: str, *, verify: bool) -> Iterator[Finding]:
    """Yield what is well with a store and what is not."""
    try:
        with read_only(address) as connection:
            if connection.execute("SELECT to_regclass('tacit_store')").fetchone() == (None,):
                yield Finding("database", ok=None, detail="it has no tables of a collector yet")
                return
            version, least = _row(connection, "SELECT version, least FROM tacit_store")
            supported = version <= VERSION if least is None else least <= VERSION
            yield Finding("database", supported, f"version {version} of {VERSION}", "pip install --upgrade .")
            if version != VERSION:
                return
            yield from _standing(connection)
            lines = [line for (line,) in connection.execute("SELECT line FROM tacit_log ORDER BY number")]
            yield log_finding(lines, "tacit audit --verify EVIDENCE --store postgresql://…")
            if verify:
                yield _verification("reports", verify_inbox(connection), "match their digests")
                yield from _analytical(connection)
    except psycopg.Error as cause:
        yield Finding("database", ok=False, detail=f"cannot be read ({type(cause).__name__})", fix="pg_isready")
    except TacitError as refusal:
        yield Finding("database", ok=False, detail=refusal.message, fix="pg_isready")


def _row(connection: Connection, query: str) -> tuple[int, ...]:
    [row] = connection.execute(query).fetchall()
    return row


def _standing(connection: Connection) -> Iterator[Finding]:
    """Say who uses the store, what waits, and what was damaged."""
    query = "SELECT program FROM tacit_collectors WHERE seen > clock_timestamp() - interval '10 seconds'"
    programs = [program for (program,) in connection.execute(query)]
    versions = ", ".join(sorted(set(programs)))
    detail = f"{len(programs)} running{f', of version {versions}' if programs else ''}"
    yield Finding("collectors", len(set(programs)) < 2 if programs else None, detail, "upgrade the others")
    waiting, deletions = _row(
        connection, "SELECT (SELECT count(*) FROM tacit_waiting), (SELECT count(*) FROM tacit_deletions)"
    )
    detail = (
        f"{waiting:,} reports wait to be moved or for others of their person, {deletions:,} deletions to be applied"
    )
    yield Finding("inbox", ok=None if waiting or deletions else True, detail=detail)
    damaged, lost = _row(
        connection, "SELECT coalesce(sum(damaged), 0)::bigint, coalesce(sum(lost), 0)::bigint FROM tacit_sizes"
    )
    if damaged or lost:
        detail = f"{damaged:,} are damaged, {lost:,} were lost with an earlier database; answers say so"
        yield Finding("acknowledged reports", ok=False, detail=detail, fix=REMEDY)


def _analytical(connection: Connection) -> Iterator[Finding]:
    if connection.execute("SELECT 1 FROM tacit_state WHERE name = 'lake' AND value = 'required'").fetchall():
        yield Finding("analytical", ok=None, detail="is a lake: tacit lake verify LAKE")
    else:
        yield _verification("analytical", verify_analytical(connection), "are there, as the inbox has moved")


def _verification(subject: str, checked: Verified, fine: str) -> Finding:
    detail = "; ".join(checked.problems) or f"{checked.reports:,} reports {fine}"
    return Finding(subject, not checked.problems, detail, REMEDY)
