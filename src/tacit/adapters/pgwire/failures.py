"""Errors for PostgreSQL clients: a SQLSTATE, a message, and a position in the question."""

from __future__ import annotations

from tacit.errors import (
    AccessError,
    BindError,
    EngineError,
    InternalError,
    OverloadedError,
    ParseError,
    QueryError,
    ReportError,
    TacitError,
    UnanswerableError,
    UnknownNameError,
    UnsupportedSqlError,
    UsageError,
)

__all__ = ["fields_of", "sqlstate_of"]

CODES = {
    "unknown-key": "28P01",
    "wrong-scope": "42501",
    "wrong-origin": "28000",
    "no-tls": "28000",
    "read-only": "25006",
    "failed-transaction": "25P02",
    "no-transaction": "25P01",
    "unknown-setting": "42704",
    "unknown-statement": "26000",
    "unknown-portal": "34000",
    "unknown-type": "42704",
    "unknown-function": "42883",
    "unknown-table": "42P01",
    "unknown-column": "42703",
    "ambiguous-column": "42702",
    "not-grouped": "42803",
    "wrong-constant": "42804",
    "wrong-parameters": "08P01",
    "bad-parameter": "22023",
    "out-of-range": "22003",
    "too-long": "54000",
    "too-large": "54000",
    "too-deep": "54001",
    "too-slow": "57014",
    "cancelled": "57014",
    "slow-down": "53400",
    "overloaded": "53300",
    "too-many-connections": "53300",
    "too-many-statements": "53400",
    "rebuilding": "57P03",
    "no-store": "57P03",
    "reports-behind": "57P03",
    "no-reports": "55000",
    "disk-full": "53100",
    "out-of-memory": "53200",
}
"""By the stable code of an error."""

KINDS: tuple[tuple[type[TacitError], str], ...] = (
    (ParseError, "42601"),
    (BindError, "42000"),
    (UnsupportedSqlError, "0A000"),
    (UnanswerableError, "0A000"),
    (QueryError, "42000"),
    (AccessError, "28000"),
    (OverloadedError, "57P03"),
    (EngineError, "58000"),
    (ReportError, "55000"),
    (UnknownNameError, "42704"),
    (UsageError, "22023"),
    (InternalError, "XX000"),
)
"""By class, for codes that are not listed; the first match applies."""


def sqlstate_of(failure: TacitError) -> str:
    """Return the SQLSTATE of an error.

    Examples
    --------
    >>> sqlstate_of(BindError("There is no column.", code="unknown-column")), sqlstate_of(ParseError("No SQL."))
    ('42703', '42601')
    """
    return CODES.get(failure.code) or next((state for kind, state in KINDS if isinstance(failure, kind)), "XX000")


def fields_of(failure: TacitError, place: int | None = None, *, fatal: bool = False) -> dict[str, str]:
    """Return the fields of an error message; ``place`` is the position in the client's text, counted from 1."""
    severity = "FATAL" if fatal else "ERROR"
    fields = {
        "S": severity,
        "V": severity,
        "C": sqlstate_of(failure),
        "M": failure.message,
        "D": f"code: {failure.code}",
    }
    return fields | ({} if place is None else {"P": str(place)})
