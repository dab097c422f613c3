"""What a collector says about itself while it runs: JSON lines that hold no raw value, no person, no key, no address.

A line about a request has its method, the route as it is registered (never the path that was asked for, which may hold
anything), the status and the milliseconds. Messages of errors are our own words; those of others are left out.
"""

from __future__ import annotations

import datetime
import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Requests", "journal"]

LOG = logging.getLogger("tacit")
DONE = logging.getLogger("tacit.requests")


class JsonLines(logging.Formatter):
    """One JSON object for each record; exceptions only by their type."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        line |= record.args if isinstance(record.args, dict) else {"message": record.getMessage()}
        if record.exc_info and record.exc_info[0]:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line)


@contextmanager
def journal(path: Path | None) -> Iterator[None]:
    """Write JSON lines while something runs: warnings to standard error, and everything to a file if one is named."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setLevel(logging.WARNING)
    if path is not None:
        handlers.append(logging.FileHandler(path, encoding="utf-8"))
        path.chmod(0o600)
    before = LOG.level, LOG.propagate
    LOG.setLevel(logging.INFO if path else logging.WARNING)
    LOG.propagate = False
    for handler in handlers:
        handler.setFormatter(JsonLines())
        LOG.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            LOG.removeHandler(handler)
            handler.close()
        LOG.level, LOG.propagate = before


class Requests:
    """Tells the journal of every request that was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or not DONE.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), 0

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            told = {"method": scope["method"], "route": _route(scope), "status": status}
            DONE.info("request", told | {"milliseconds": round(1000 * (time.monotonic() - start), 1)})


def _route(scope: Scope) -> str:
    """Return the registered form of a path: what was put into it is left out."""
    if "endpoint" not in scope:
        return "unknown"
    path: str = scope["path"]
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(str(value), f"{{{name}}}")
    return path
