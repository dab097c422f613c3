"""The exceptions of PEP 249, derived from the package's own.

::

    Error
    ├─ InterfaceError          a closed connection or cursor
    └─ DatabaseError           of the database: damaged contracts, anything without a better name
        ├─ DataError             never raised here
        ├─ OperationalError      the engine failed, there is no database, no reports are loaded
        ├─ IntegrityError        never raised here
        ├─ InternalError         our bug
        ├─ ProgrammingError      the question cannot be parsed, or names something unknown; a wrong argument
        └─ NotSupportedError     it has no estimate, or would write

Each has the stable ``code`` of the original error, which is its ``__cause__``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tacit.errors as core

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "translate_errors",
]


class Warning(Exception):  # noqa: A001, N818  PEP 249 names it so
    """Required by PEP 249; never raised here: caveats are in `Cursor.notes`."""


class Error(Exception):
    """Base of all errors; ``code`` is stable across versions, the wording is not."""

    def __init__(self, message: str, *, code: str = "error") -> None:
        super().__init__(f"[{code}] {message}")
        self.code = code


class InterfaceError(Error):
    """The module is used wrongly: a connection or cursor is closed."""


class DatabaseError(Error):
    """Something is wrong with the database."""


class DataError(DatabaseError):
    """A value cannot be processed."""


class OperationalError(DatabaseError):
    """The database cannot be opened or queried."""


class IntegrityError(DatabaseError):
    """Relations of the database would break."""


class InternalError(DatabaseError):
    """A bug of this package."""


class ProgrammingError(DatabaseError):
    """The question or an argument is wrong."""


class NotSupportedError(DatabaseError):
    """The question has no estimate, or is not a SELECT."""


MEANINGS: tuple[tuple[type[core.TacitError], type[Error]], ...] = (
    (core.UnsupportedSqlError, NotSupportedError),
    (core.UnanswerableError, NotSupportedError),
    (core.QueryError, ProgrammingError),
    (core.UsageError, ProgrammingError),
    (core.EngineError, OperationalError),
    (core.ReportError, OperationalError),
    (core.InternalError, InternalError),
)
"""The first match applies; everything else is a DatabaseError."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the package's errors as those of PEP 249."""
    try:
        yield
    except core.TacitError as cause:
        kind = next((kind_raised for known, kind_raised in MEANINGS if isinstance(cause, known)), DatabaseError)
        raise kind(str(cause).removeprefix(f"[{cause.code}] "), code=cause.code) from cause
