"""Why reports cannot be moved, as an error with a code and a reason."""

from __future__ import annotations

from tacit.engines.failures import REMEDIES
from tacit.errors import EngineError, OverloadedError, TacitError

__all__ = ["fault_of"]


def fault_of(cause: Exception, *, failed: bool) -> TacitError:
    """Return the fault of a failed move; ``failed`` means that the database itself failed and must be reopened."""
    if isinstance(cause, EngineError) and _is_certain(cause, failed=failed):
        return cause
    if not failed:
        message = f"Reports cannot be moved to the analytical database ({type(cause).__name__}). They are safe."
        return OverloadedError(message, code="move-failed", retry_after=5)
    reason = cause.message if isinstance(cause, EngineError) else f"({type(cause).__name__})."
    message = f"The analytical database cannot be used. {reason} Reports are safe in the inbox."
    return OverloadedError(message, code="no-store", retry_after=5)


def _is_certain(cause: EngineError, *, failed: bool) -> bool:
    """Return whether an error states its cause, so that reopening the database would not help."""
    if cause.code == "disk-full":
        return not failed
    return cause.code in ("inbox-missing", "store-older") or (
        isinstance(cause, OverloadedError) and cause.code not in REMEDIES
    )
