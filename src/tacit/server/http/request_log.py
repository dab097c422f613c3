"""The request log: JSON lines without raw values, people, keys or addresses.

A line about a request has its method, the registered route (never the requested path, which may contain anything), the
status, the error code and the milliseconds. Only our own error messages are logged; those of libraries are left out.

A log file may be renamed, truncated or deleted while it is written: lines go to the file that has the name now. A line
that cannot be written is counted and reported on standard error; the request it is about does not fail.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tacit.engines.failures import REMEDIES, failure_code
from tacit.errors import UsageError

__all__ = ["LogFile", "journal", "lost_lines", "say"]

LOG = logging.getLogger("tacit")
COMPLAINT_SECONDS = 60.0
"""Seconds between two lines on standard error about an unwritable log file."""


class JsonLines(logging.Formatter):
    """Formats each record as a JSON object; exceptions only by type."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        line |= record.args if isinstance(record.args, dict) else {"message": record.getMessage()}
        if record.exc_info and record.exc_info[0]:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line)


class LogFile(logging.Handler):
    """Appends lines to the file that currently has the given name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.failures = 0
        self._path, self._handle, self._complained = path, -1, 0.0
        self._is_stale = False
        try:
            self._open()
        except OSError as cause:
            code = failure_code(cause) or "io-error"
            remedy = (
                REMEDIES[code] if code in ("disk-full", "too-many-files") else "Choose a file in an existing folder."
            )
            message = f"The log file {str(path)!r} cannot be written ({os.strerror(cause.errno or 0)}). {remedy}"
            raise UsageError(message, code="unwritable-file") from None

    def reopen(self) -> None:
        """Reopen the file before the next line; safe to call from a signal handler."""
        self._is_stale = True

    def _open(self) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._shut()
        self._handle, self._is_stale = handle, False

    def _shut(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _is_current(self) -> bool:
        """Return whether the open file still has the name."""
        if self._handle < 0 or self._is_stale:
            return False
        try:
            named = self._path.stat()
        except OSError:
            return False
        mine = os.fstat(self._handle)
        return (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one complete line, or count it as lost."""
        try:
            line = f"{self.format(record)}\n".encode()
            if not self._is_current():
                self._open()
            written = os.write(self._handle, line)
            if written < len(line):  # the disk is full: drop the partial line
                os.ftruncate(self._handle, os.fstat(self._handle).st_size - written)
                self._complain("disk-full")
        except Exception as cause:
            self._complain(failure_code(cause) or "internal")

    def _complain(self, code: str) -> None:
        self.failures += 1
        if not self._complained or time.monotonic() - self._complained > COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            line = {"level": "error", "logger": "tacit.log", "code": code, "message": "The log file cannot be written."}
            say(json.dumps(line), to_errors=True)

    def close(self) -> None:
        """Close the file."""
        self._shut()
        super().close()


def lost_lines() -> int:
    """Return how many lines this process could not write to log files."""
    return sum(handler.failures for handler in LOG.handlers if isinstance(handler, LogFile))


class StandardError(logging.Handler):
    """Writes lines to standard error while it is open."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        with contextlib.suppress(Exception):
            say(self.format(record), to_errors=True)


def say(text: str, *, to_errors: bool = False) -> None:
    """Print a line; ignores a closed reader or a full disk behind a redirection."""
    stream = sys.stderr if to_errors else sys.stdout
    try:
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # the stream's buffer must not fail at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def journal(path: Path | None) -> Iterator[LogFile | None]:
    """Write JSON lines during the context: warnings to standard error, and everything to a file if one is named."""
    file = LogFile(path) if path is not None else None
    errors = StandardError(logging.WARNING)
    handlers: list[logging.Handler] = [errors, file] if file else [errors]
    before = LOG.level, LOG.propagate
    LOG.setLevel(logging.INFO if path else logging.WARNING)
    LOG.propagate = False
    for handler in handlers:
        handler.setFormatter(JsonLines())
        LOG.addHandler(handler)
    try:
        yield file
    finally:
        for handler in handlers:
            LOG.removeHandler(handler)
            handler.close()
        LOG.level, LOG.propagate = before
