"""Metrics in Prometheus text format: requests, their durations and errors.

Labels are registered routes and our own codes, never anything that was sent, so there are few.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CODE", "ROUTE", "MetricFamily", "Metrics", "Requests", "exposition", "file_limit", "open_files", "single"]

LOG = logging.getLogger("tacit.requests")
ROUTE, CODE = "tacit.route", "tacit.code"
"""Where a request's scope keeps its registered route and the code of its error."""

Note = Callable[[str, str, int, str, float], None]
"""Takes method, route, status, code and seconds of a request."""

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram, in seconds."""


@dataclass(frozen=True)
class MetricFamily:
    """All samples of one metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Iterable[tuple[str, Mapping[str, str], float]]
    """Each with its suffix and labels."""


def single(name: str, kind: Literal["counter", "gauge"], text: str, value: float) -> MetricFamily:
    """Return a metric without labels."""
    return MetricFamily(name, kind, text, [("", {}, value)])


def exposition(families: Iterable[MetricFamily]) -> str:
    """Return metrics as text, version 0.0.4 of the format."""
    return "".join(line for family in families for line in _lines(family))


def _lines(family: MetricFamily) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for suffix, labels, value in family.samples:
        inner = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
        yield f"{family.name}{suffix}{f'{{{inner}}}' if inner else ''} {value:.15g}\n"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Metrics:
    """Counters of requests."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], list[int]] = {}
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._responses: Counter[tuple[str, str, int]] = Counter()
        self._errors: Counter[str] = Counter()
        self.is_draining = False
        """Whether responses ask clients and proxies to use another connection for the next request."""
        self.note: Note | None = None
        """Further observers of every request."""

    def observe(self, method: str, route: str, status: int, code: str, seconds: float) -> None:
        """Count one request."""
        place = (method, route)
        counts = self._buckets.setdefault(place, [0] * (len(BUCKETS) + 1))
        counts[sum(seconds > bound for bound in BUCKETS)] += 1
        self._seconds[place] += seconds
        self._responses[method, route, status] += 1
        if code:
            self._errors[code] += 1
        if self.note is not None:
            self.note(method, route, status, code, seconds)

    def families(self, more_errors: Mapping[str, int]) -> Iterator[MetricFamily]:
        """Yield the metrics, including errors counted elsewhere."""
        took = "Seconds from a request's head to the end of its answer."
        yield MetricFamily("tacit_request_seconds", "histogram", took, self._histogram())
        responses = [
            ("", {"method": method, "route": route, "status": str(status)}, count)
            for (method, route, status), count in list(self._responses.items())
        ]
        yield MetricFamily("tacit_responses_total", "counter", "Answers by route and status.", responses)
        errors = [("", {"code": code}, count) for code, count in (self._errors + Counter(more_errors)).items()]
        yield MetricFamily("tacit_errors_total", "counter", "Errors by their code.", errors)

    def _histogram(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        for (method, route), counts in list(self._buckets.items()):
            labels, below = {"method": method, "route": route}, 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), list(counts), strict=True):
                below += count
                yield "_bucket", labels | {"le": bound}, below
            yield "_sum", labels, self._seconds[method, route]
            yield "_count", labels, below


class Requests:
    """Measures every request and logs it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), 0

        async def send_counting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._metrics.is_draining:
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        try:
            await self._app(scope, receive, send_counting)
        finally:
            seconds, code = time.monotonic() - start, scope.get(CODE, "")
            route = scope.get(ROUTE) or ("other" if "endpoint" in scope else "unknown")
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other"
            self._metrics.observe(method, route, status, code, seconds)
            if LOG.isEnabledFor(logging.INFO):
                line = {"method": method, "route": route, "status": status} | ({"code": code} if code else {})
                LOG.info("request", line | {"milliseconds": round(1000 * seconds, 1)})


def open_files() -> int | None:
    """Return how many files and connections this process has open, if the system reports it."""
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  names are enough, and many
    except OSError:
        return None


def file_limit() -> int | None:
    """Return how many files and connections this process may open, if there is a limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit
