"""The collector over HTTP: contracts, reports, questions, forgetting, health and metrics.

Bodies are JSON whatever their content type says, so that browsers need no preflight and beacons work; keys are in the
body for that reason, and cookies are ignored. Errors are problem+json with stable codes, and never echo what was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tacit.client.record import is_person
from tacit.errors import AccessError, OverloadedError, QueryError, TacitError, UsageError
from tacit.server.collector import Collector
from tacit.server.keys import Key, Keys, Scope

__all__ = ["make_app"]

VERSION = 1
MOST_BYTES = 1 << 20
MOST_REPORTS = 1_000
QUERY_SECONDS = 30.0

STATUS = {
    "unknown-key": 401,
    "wrong-scope": 403,
    "token-needed": 403,
    "wrong-origin": 403,
    "unknown-collection": 404,
    "too-large": 413,
    "overloaded": 503,
    "disk-full": 507,
}
"""Statuses of errors; others are 400."""

Handler = Callable[[Request], Awaitable[Response]]


class _BodyError(UsageError):
    default_code = "bad-body"


class _Server:
    """The routes, over a collector and its keys."""

    def __init__(self, collector: Collector, keys: Keys) -> None:
        self.collector, self.keys = collector, keys
        self.counts = {"stored": 0, "again": 0, "refused": 0, "questions": 0, "forgotten": 0}

    async def contract(self, request: Request) -> Response:
        """Return a contract: the bytes that its id is the hash of."""
        text = self.collector.collection(request.path_params["id"]).to_json()
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(text.encode(), media_type="application/json", headers=headers)

    async def collections(self, request: Request) -> Response:
        """List what is collected."""
        del request
        found = [
            {
                "id": name,
                "round": one.contract.round,
                "tier": one.contract.tier,
                "epsilon": float(one.contract.epsilon),
                "services": [service.name for service in one.schema.services],
            }
            for name, one in self.collector.collections.items()
        ]
        return JSONResponse({"collections": found})

    async def reports(self, request: Request) -> Response:
        """Judge and store reports."""
        body, key = await self._body(request, "ingest")
        reports = body.get("reports")
        if not isinstance(reports, list):
            message = "reports must be a list."
            raise _BodyError(message)
        if len(reports) > MOST_REPORTS:
            message = f"{len(reports)} reports in one request; at most {MOST_REPORTS}."
            raise _BodyError(message, code="too-large")
        accepted = self.collector.accept(request.path_params["id"], reports, key.services if key else ())
        statuses = await asyncio.wrap_future(accepted)
        for status in statuses:
            self.counts[status["status"]] += 1
        return JSONResponse({"statuses": statuses})

    async def forget(self, request: Request) -> Response:
        """Delete a person."""
        body, key = await self._body(request, "ingest")
        if key is not None and key.origin:
            message = "A browser's key is public: who deletes somebody must prove to be her, which needs a token."
            raise AccessError(message, code="token-needed")
        person = body.get("person")
        if not is_person(person):
            message = "person must be text or a whole number."
            raise _BodyError(message)
        deleted = await asyncio.to_thread(self.collector.forget, person)
        self.counts["forgotten"] += 1
        return JSONResponse({"deleted": deleted})

    async def query(self, request: Request) -> Response:
        """Answer a question."""
        body, _ = await self._body(request, "query")
        text, confidence = body.get("sql"), body.get("confidence", 0.95)
        if not isinstance(text, str):
            message = "sql must be text."
            raise _BodyError(message)
        self.counts["questions"] += 1
        work = asyncio.to_thread(self.collector.query, text, confidence=confidence)
        answer = await asyncio.wait_for(work, QUERY_SECONDS)
        return Response(answer.to_json(), media_type="application/json")

    async def health(self, request: Request) -> Response:
        """Say that reports can be taken."""
        del request
        await asyncio.to_thread(self.collector.inbox.counts)
        return JSONResponse({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Return counters for Prometheus."""
        del request
        kept = await asyncio.to_thread(self.collector.inbox.counts)
        numbers = {f"tacit_{name}_total": value for name, value in self.counts.items()}
        numbers |= {"tacit_reports_known": kept["known"], "tacit_reports_pending": kept["pending"]}
        return PlainTextResponse("".join(f"{name} {value}\n" for name, value in numbers.items()))

    async def _body(self, request: Request, scope: Scope) -> tuple[dict[str, Any], Key | None]:
        """Read a body and check its version and key."""
        received = bytearray()
        async for chunk in request.stream():
            received += chunk
            if len(received) > MOST_BYTES:
                message = f"The body is larger than {MOST_BYTES >> 20} MiB. Send smaller batches."
                raise _BodyError(message, code="too-large")
        try:
            body = json.loads(received)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            message = "The body must be a JSON object in UTF-8."
            raise _BodyError(message)
        if body.get("tacit") != VERSION:
            message = f"This collector speaks version {VERSION}: send it as the member tacit."
            raise _BodyError(message, code="protocol-version")
        if self.keys.required:
            return body, self.keys.check(body.get("key"), scope, request.headers.get("origin"))
        if not _is_local(request):
            message = "Without keys this collector serves this machine alone. Make some: tacit keys create."
            raise AccessError(message, code="wrong-origin")
        return body, None


def _is_local(request: Request) -> bool:
    """Tell whether a request is of this machine, also by the names it uses: pages of others may not borrow it."""
    named = [request.headers.get("host", ""), urlsplit(request.headers.get("origin", "")).netloc or "localhost"]
    return all(urlsplit(f"//{name}").hostname in ("localhost", "127.0.0.1", "::1") for name in named)


def _problem(error: TacitError) -> Response:
    """Return an error as problem+json."""
    fallback = 403 if isinstance(error, AccessError) else 503 if isinstance(error, OverloadedError) else 400
    status = STATUS.get(error.code, fallback)
    data: dict[str, Any] = {
        "type": f"urn:tacit:{error.code}",
        "title": type(error).__name__.lstrip("_"),
        "status": status,
        "detail": error.message,
        "code": error.code,
    }
    if isinstance(error, QueryError) and error.span is not None:
        data["span"] = list(error.span)
    headers = {"Retry-After": "1"} if status in (503, 507) else {}
    return JSONResponse(data, status, headers=headers, media_type="application/problem+json")


def make_app(collector: Collector, keys: Keys) -> Starlette:
    """Return the application."""
    server = _Server(collector, keys)

    def route(path: str, handler: Handler, method: str) -> Route:
        async def safe(request: Request) -> Response:
            try:
                response = await handler(request)
            except TacitError as error:
                response = _problem(error)
            except TimeoutError:
                late = OverloadedError(f"The question took more than {QUERY_SECONDS:g} seconds.", code="too-slow")
                response = _problem(late)
            origin = request.headers.get("origin")
            if origin in server.keys.origins():
                response.headers["Access-Control-Allow-Origin"] = str(origin)
                response.headers["Access-Control-Expose-Headers"] = "Retry-After"
                response.headers["Vary"] = "Origin"
            return response

        return Route(path, safe, methods=[method], name=handler.__name__)

    return Starlette(
        routes=[
            route("/v1/collections", server.collections, "GET"),
            route("/v1/collections/{id}", server.contract, "GET"),
            route("/v1/collections/{id}/reports", server.reports, "POST"),
            route("/v1/forget", server.forget, "POST"),
            route("/v1/query", server.query, "POST"),
            route("/healthz", server.health, "GET"),
            route("/metrics", server.metrics, "GET"),
        ]
    )
