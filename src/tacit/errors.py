"""Every exception of the package.

::

    TacitError
    ├─ UsageError (ValueError)            an argument is wrong
    │   ├─ UnknownNameError (LookupError)  a name that does not exist; suggests the nearest
    │   ├─ SchemaError                     an attribute, service or schema is inconsistent
    │   ├─ LayoutError                     schema, epsilon and mechanism do not fit together
    │   ├─ BodyError                       a request to a collector cannot be read
    │   └─ RecordError                     a table or record cannot be encoded; never shows a value
    ├─ QueryError                         a question; carries the span of text with the problem
    │   ├─ ParseError                      it cannot be parsed as SQL
    │   ├─ BindError                       it names something that does not exist
    │   ├─ UnsupportedSqlError             it is SQL that has no estimator
    │   └─ UnanswerableError               it is valid, but the layout gives no unbiased answer
    ├─ PrivacyError                       would break or overspend a guarantee; nothing was released
    │   ├─ BudgetError                     a ledger has too little left; nothing was spent
    │   └─ RandomnessError                 the operating system's generator failed
    ├─ AccessError                        a key is missing, unknown, or lacks the scope
    ├─ EngineError                        the engine failed; its message is left out, as it may quote values
    │   └─ OverloadedError                 the disk or the queue is full; try again later
    ├─ ReportError                        reports do not belong to a collection, or do not fit it
    ├─ ContractError                      a contract file is damaged or of another version
    └─ InternalError                      our bug

Messages say what is wrong, what is allowed, and what to do. Each error carries a stable ``code``. No message ever
contains a value of a record, a word of randomness or a key: names, positions, sizes and budgets only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AccessError",
    "BindError",
    "BodyError",
    "BudgetError",
    "ContractError",
    "EngineError",
    "InternalError",
    "LayoutError",
    "OverloadedError",
    "ParseError",
    "PrivacyError",
    "QueryError",
    "RandomnessError",
    "RecordError",
    "ReportError",
    "SchemaError",
    "TacitError",
    "UnanswerableError",
    "UnknownNameError",
    "UnsupportedSqlError",
    "UsageError",
]


class TacitError(Exception):
    """Base of all errors; ``code`` is stable across versions, the wording is not."""

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class UsageError(TacitError, ValueError):
    """An argument is wrong."""

    default_code = "usage"


class UnknownNameError(UsageError, LookupError):
    """A name does not exist. ``known`` lists those that do, unless that is secret."""

    default_code = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str] | None, *, code: str | None = None) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known or ())
        near = difflib.get_close_matches(name, self.known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(self.known[:8]) + (", …" if len(self.known) > 8 else "")
        listing = "" if known is None else f" Known: {listed or 'none'}."
        super().__init__(f"There is no {kind} {name!r}.{hint}{listing}", code=code)


class SchemaError(UsageError):
    """The declaration of an attribute, a service or a schema is inconsistent."""

    default_code = "schema"


class LayoutError(UsageError):
    """Schema, epsilon and mechanism do not fit together; the message names a layout that would."""

    default_code = "layout"


class BodyError(UsageError):
    """A request to a collector cannot be read; nothing of it was stored."""

    default_code = "bad-body"


class RecordError(UsageError):
    """A table or record cannot be encoded. Names the column and the rows, never a value.

    Attributes
    ----------
    service, column : str or None
        Where the problem is.
    rows : int
        How many rows have it.
    first_row : int or None
        Position of the first of them, counted from 0.
    """

    default_code = "record"

    def __init__(
        self,
        problem: str,
        *,
        code: str,
        service: str | None = None,
        column: str | None = None,
        rows: int = 0,
        first_row: int | None = None,
    ) -> None:
        self.service, self.column, self.rows, self.first_row = service, column, rows, first_row
        place = ".".join(part for part in (service, column) if part)
        first = "" if first_row is None else f", the first at position {first_row}"
        where = f" ({rows} row{'s' if rows != 1 else ''}{first})" if rows else ""
        super().__init__(f"{place}: {problem}{where}" if place else problem + where, code=code)


class QueryError(TacitError):
    """A question cannot be answered. ``span`` is where in the text, ``text`` the text itself."""

    default_code = "query"

    def __init__(
        self, message: str, *, code: str | None = None, text: str = "", span: tuple[int, int] | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.text, self.span = text, span

    def __str__(self) -> str:
        if self.span is None or not self.text:
            return super().__str__()
        start = self.text.rfind("\n", 0, self.span[0]) + 1
        line = self.text[start:].partition("\n")[0]
        marks = " " * (self.span[0] - start) + "~" * max(1, self.span[1] - self.span[0])
        return f"{super().__str__()}\n  {line}\n  {marks}"


class ParseError(QueryError):
    """The text cannot be parsed as one SELECT statement."""

    default_code = "not-readable"


class BindError(QueryError):
    """The question names a table, column or value that does not exist."""

    default_code = "unknown-column"


class UnsupportedSqlError(QueryError):
    """The question is SQL that has no estimator; the message says what is supported."""

    default_code = "unsupported"


class UnanswerableError(QueryError):
    """The question is valid, but the collection gives no unbiased answer to it."""

    default_code = "not-collected-together"


class PrivacyError(TacitError):
    """Continuing would break or overspend a guarantee. Nothing was released.

    ``rule`` is the rule of `docs/wire.md` that a contract breaks, if it is about one.
    """

    default_code = "privacy"

    def __init__(self, message: str, *, code: str | None = None, rule: str = "") -> None:
        super().__init__(message, code=code)
        self.rule = rule


class BudgetError(PrivacyError):
    """The ledger's remaining budget is too small. Nothing was spent."""

    default_code = "budget"


class RandomnessError(PrivacyError):
    """The operating system's generator failed. There is no fallback."""

    default_code = "randomness"


class AccessError(TacitError):
    """A key is missing, unknown, or lacks the required scope."""

    default_code = "unknown-key"


class EngineError(TacitError):
    """The engine failed. Its own message may quote stored values, so it is left out."""

    default_code = "engine"


class OverloadedError(EngineError):
    """The disk or the queue is full. Nothing was stored; try again after some seconds."""

    default_code = "overloaded"

    def __init__(self, message: str, *, code: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class ReportError(TacitError):
    """Reports do not belong to a stored collection, or do not fit it: none of them was stored. Or a question has none.

    ``services`` are those that have none; without names it is any.
    """

    default_code = "report"

    def __init__(self, message: str, *, code: str | None = None, services: Iterable[str] = ()) -> None:
        super().__init__(message, code=code)
        self.services = tuple(services)


class ContractError(TacitError):
    """A contract file is damaged, inconsistent or of another version.

    ``rule`` is the first rule of `docs/wire.md` that it breaks; empty if it could not be read at all.
    """

    default_code = "contract"

    def __init__(self, message: str, *, code: str | None = None, rule: str = "") -> None:
        super().__init__(message, code=code)
        self.rule = rule


class InternalError(TacitError):
    """A bug of this package."""

    default_code = "internal"
