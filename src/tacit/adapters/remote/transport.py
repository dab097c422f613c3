"""Requests to a collector: JSON out, JSON or Arrow back; problems become the errors that the collector raised."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import tacit.errors as core
from tacit.client.transport import PROTOCOL, connect
from tacit.errors import EngineError, InternalError, OverloadedError, QueryError, TacitError, UnknownNameError

__all__ = ["RemoteTransport"]

MOST_BYTES = 256 << 20
"""Maximum size of an answer: many times what a collector returns."""

ERRORS: dict[str, type[TacitError]] = {name: getattr(core, name) for name in core.__all__}


class RemoteTransport:
    """Sends requests to one collector with one key; each has its own connection, so threads may share it."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self.url = url
        self._key, self._timeout = key, timeout
        self._parts = urlsplit(url)

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def get(self, path: str) -> bytes:
        """Send a GET request."""
        return self._ask("GET", path, None, "application/json", "")

    def post(self, path: str, body: Mapping[str, Any], accept: str = "application/json", text: str = "") -> bytes:
        """Send a POST request; ``text`` is the question that errors point into."""
        content = json.dumps({"tacit": PROTOCOL, **body}).encode()
        return self._ask("POST", path, content, accept, text)

    def _ask(self, method: str, path: str, body: bytes | None, accept: str, text: str) -> bytes:
        headers = {"Accept": accept, "Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection = connect(self._parts, self._timeout)
        try:
            connection.request(method, self._parts.path + path, body, headers)
            response = connection.getresponse()
            content = response.read(MOST_BYTES + 1)
            if response.length and len(content) <= MOST_BYTES:  # cut off: half of an Arrow stream is one of fewer rows
                raise http.client.IncompleteRead(b"", response.length)
        except (OSError, http.client.HTTPException) as cause:
            raise _unreachable(str(self._parts.hostname), cause) from None
        finally:
            connection.close()
        if len(content) > MOST_BYTES:
            message = f"The answer has more than {MOST_BYTES >> 20} MiB. Ask for less."
            raise EngineError(message, code="too-large")
        if response.status != 200:
            raise _error_of(content, response.status, text)
        return content


def _unreachable(host: str, cause: Exception) -> EngineError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        message = f"The certificate of {host} is refused: {cause.verify_message}. Name its issuer in SSL_CERT_FILE."
        return EngineError(message, code="bad-certificate")
    why = "no answer in time" if isinstance(cause, TimeoutError) else type(cause).__name__
    message = f"The collector at {host} cannot be reached ({why}). Check the address, and that it runs."
    return OverloadedError(message, code="no-collector")


def _error_of(content: bytes, status: int, text: str) -> TacitError:
    """Return the error that the collector raised, given its problem document."""
    try:
        problem = json.loads(content)
        title, code, detail = (str(problem[name]) for name in ("title", "code", "detail"))
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"The answer comes from no collector, or from a proxy (status {status}). Check the address."
        return EngineError(message, code="not-a-collector")
    kind = ERRORS.get(title, EngineError if status >= 500 else TacitError)
    if issubclass(kind, QueryError):
        return kind(detail, code=code, text=text, span=_span(problem.get("span"), text))
    if issubclass(kind, UnknownNameError):
        error: TacitError = kind("name", "", None, code=code)  # the collector's own words follow
        error.message, error.args = detail, (detail,)
        return error
    if issubclass(kind, InternalError | OverloadedError) or kind.__init__ is TacitError.__init__:
        return kind(detail, code=code)
    return TacitError(detail, code=code)


def _span(span: Any, text: str) -> tuple[int, int] | None:
    if isinstance(span, list) and len(span) == 2 and all(type(end) is int and 0 <= end <= len(text) for end in span):
        return span[0], span[1]
    return None
