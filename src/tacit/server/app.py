"""The collector's HTTP application: a table of endpoints, with access checks and errors as problem+json."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.errors import TacitError
from tacit.server.collector import Collector
from tacit.server.http.access import admit
from tacit.server.http.browsers import Browsers
from tacit.server.http.endpoints import Call, Endpoint, Server
from tacit.server.http.openapi import describe_api
from tacit.server.http.overload import Overload
from tacit.server.http.problems import as_problem
from tacit.server.http.screens import screen_routes
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.metrics import ROUTE, MetricFamily, Requests
from tacit.server.postgres import Listening, open_port
from tacit.server.routes.analyst import ANALYST
from tacit.server.routes.coins import COINS
from tacit.server.routes.contracts import CONTRACTS
from tacit.server.routes.demo import DEMO, EXACT, Demo
from tacit.server.routes.health import HEALTH, families_of
from tacit.server.routes.operations import OPERATIONS
from tacit.server.routes.questions import QUESTIONS
from tacit.server.routes.receipts import RECEIPTS
from tacit.server.routes.reporting import REPORTING

if TYPE_CHECKING:
    from tacit.server.telemetry import Telemetry

__all__ = ["TABLE", "make_app"]


async def description(server: Server, call: Call) -> Response:
    """Return the OpenAPI description of this collector."""
    del server, call
    return JSONResponse(describe_api(TABLE))


TABLE: tuple[Endpoint, ...] = (
    *CONTRACTS,
    *REPORTING,
    *RECEIPTS,
    *COINS,
    *QUESTIONS,
    *ANALYST,
    *OPERATIONS,
    *HEALTH,
    *DEMO,
    Endpoint("GET", "/openapi.json", description, "This description.", returns={"type": "object"}),
)


def make_app(
    collector: Collector,
    keys: Keys,
    demo: Demo | None = None,
    settings: Settings | None = None,
    postgres: Listening | None = None,
) -> Starlette:
    """Return the application. Only a demo, which has raw rows, gives exact answers."""
    server = Server(collector, keys, demo, settings or Settings())
    table = (*TABLE, *EXACT) if demo else TABLE
    routes = [*(_route(server, endpoint) for endpoint in table), *screen_routes()]

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        telemetry = _telemetry(server)
        async with open_port(server, postgres):
            yield
        for part in (
            server.workers,
            server.deletions,
            server.receipts,
            server.lookups,
            server.audits,
            server.readiness,
        ):
            part.close()
        for exporter in telemetry:
            exporter.close()

    app = Starlette(routes=routes, lifespan=running)
    app.state.drain = server.drain
    app.router.redirect_slashes = False  # a redirect would send a key elsewhere
    app.add_exception_handler(HTTPException, as_problem)
    app.add_middleware(Overload, inbox=collector.inbox)
    app.add_middleware(Browsers, keys=keys)
    app.add_middleware(Requests, metrics=server.metrics)
    return app


def _telemetry(server: Server) -> list[Telemetry]:
    """Return the exporter of traces and metrics, if the settings name an address."""
    if not server.settings.otlp:
        return []
    from tacit.server.telemetry import Telemetry

    def families() -> Iterable[MetricFamily]:
        try:
            return list(families_of(server, list(server.collector.inbox.sizes().values())))
        except TacitError:  # an unreachable store
            return []

    exporter = Telemetry(server.settings.otlp, families, server.collector.inbox.collector)
    server.metrics.note = exporter.note
    return [exporter]


def _route(server: Server, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        request.scope[ROUTE] = endpoint.path
        try:
            return await endpoint.handler(server, await admit(server, endpoint, request))
        except Exception as failure:  # every failure becomes a problem with a code
            return as_problem(request, failure)

    return Route(endpoint.path, answer, methods=[endpoint.method], name=endpoint.handler.__name__)
