"""Errors over HTTP: problem+json (RFC 9457) with stable codes, which never repeat what was sent."""

from __future__ import annotations

import logging
import time
import traceback
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tacit.engines.failures import REMEDIES, outage
from tacit.errors import AccessError, InternalError, OverloadedError, QueryError, TacitError
from tacit.server.metrics import CODE

__all__ = ["STATUS", "as_problem", "explain_failure"]

LOG = logging.getLogger("tacit.server")

STATUS = {
    "unknown-key": 401,
    "wrong-scope": 403,
    "token-needed": 403,
    "bad-token": 403,
    "wrong-origin": 403,
    "unknown-collection": 404,
    "unknown-dictionary": 404,
    "no-receipts": 404,
    "nothing-to-delete": 404,
    "not-found": 404,
    "wrong-method": 405,
    "slow-body": 408,
    "too-large": 413,
    "unknown-encoding": 415,
    "head-too-large": 431,
    "slow-down": 429,
    "over-quota": 429,
    "overloaded": 429,
    "engine": 400,
    "internal": 500,
    "too-slow": 503,
    "no-store": 503,
    "engine-failed": 503,
    "inbox-missing": 503,
    "store-altered": 503,
    "damaged-store": 503,
    "store-in-use": 503,
    "lease-lost": 503,
    "store-older": 503,
    "unreadable-database": 503,
    "unreadable-keys": 503,
    "disk-full": 507,
}
"""Statuses by code; other access errors are 403, overload 503, and the rest 400."""

AGAIN_LATER = (408, 429, 503, 507)
"""Statuses after which a client may send the same request again."""

SECONDS_BETWEEN = 1.0
"""Seconds between two log lines about the same outage."""

_SAID: dict[str, float] = {}
"""When an outage was last logged, by its code."""


def as_problem(request: Request, failure: Exception, status: int | None = None) -> Response:
    """Return any failure as a problem response, with the status of its code or a given one."""
    if isinstance(failure, HTTPException):
        return _of_routing(request, failure)
    failure = explain_failure(failure)
    fallback = 403 if isinstance(failure, AccessError) else 503 if isinstance(failure, OverloadedError) else 400
    status = status or STATUS.get(failure.code, fallback)
    more: dict[str, Any] = {}
    if isinstance(failure, QueryError) and failure.span is not None:
        more["span"] = list(failure.span)
    if failure.code in REMEDIES:
        _say_seldom(failure)
    headers = {"Retry-After": str(getattr(failure, "retry_after", 1))} if status in AGAIN_LATER else {}
    title = type(failure).__name__
    return _problem(request, status, title, failure.code, failure.message, headers, **more)


def explain_failure(failure: Exception) -> TacitError:
    """Return a failure as an error that may be shown; unexpected failures are logged."""
    if isinstance(failure, TacitError):
        return failure
    return outage("This cannot be answered now", failure) or _ours(failure)


def _say_seldom(failure: TacitError) -> None:
    """Log an outage by its code, at most once a second, because every request fails during it."""
    now = time.monotonic()
    if now - _SAID.get(failure.code, -SECONDS_BETWEEN) >= SECONDS_BETWEEN:
        _SAID[failure.code] = now
        LOG.error("outage", {"code": failure.code, "message": failure.message})


def _of_routing(request: Request, failure: HTTPException) -> Response:
    """Return a problem about the path or the method."""
    headers = dict(failure.headers or {})
    if failure.status_code == 405:
        detail = f"This path allows {headers.get('Allow', 'other methods')}."
        return _problem(request, 405, "WrongMethod", "wrong-method", detail, headers)
    detail = "There is nothing at this path. GET /openapi.json lists all paths."
    return _problem(request, 404, "NotFound", "not-found", detail, headers)


def _ours(failure: Exception) -> InternalError:
    """Return a bug as an error; the log records where it happened, and its message is not shown."""
    frames = traceback.extract_tb(failure.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    LOG.error("%s at %s", type(failure).__name__, place)
    return InternalError(f"Internal error in the collector ({type(failure).__name__}). This is a bug in tacit.")


def _problem(
    request: Request, status: int, title: str, code: str, detail: str, headers: dict[str, str], **more: Any
) -> Response:
    request.scope[CODE] = code
    data = {"type": f"urn:tacit:{code}", "title": title, "status": status, "detail": detail, "code": code} | more
    if "id" in request.path_params:
        data["collection"] = str(request.path_params["id"])[:64]
    return JSONResponse(data, status, headers=headers, media_type="application/problem+json")
