"""Routes for machines that watch: is it well, and what has it done."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, PlainTextResponse, Response

from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.problems import as_problem
from tacit.server.room import free_bytes

__all__ = ["HEALTH"]


async def health(server: Server, call: Call) -> Response:
    """Say that the process answers; see `readiness` for whether it can do its work."""
    del server, call
    return JSONResponse({"status": "ok"})


async def ready(server: Server, call: Call) -> Response:
    """Say whether reports can be stored and questions answered now, and why if not."""
    fault = await server.readiness.fault()
    if fault is not None:
        return as_problem(call.request, fault, 503)
    warnings = await asyncio.to_thread(server.readiness.warnings)
    return JSONResponse({"status": "ready", "warnings": warnings})


async def metrics(server: Server, call: Call) -> Response:
    """Return counters for Prometheus."""
    del call
    kept = server.collector.inbox.counts()
    numbers = {f"tacit_{name}_total": value for name, value in server.counts.items()}
    numbers |= {"tacit_reports_known": kept["known"], "tacit_reports_pending": kept["pending"]}
    sizes = server.collector.inbox.sizes().values()
    numbers |= {"tacit_reports_behind": server.collector.inbox.behind}
    numbers |= {f"tacit_reports_{name}": sum(getattr(size, name) for size in sizes) for name in ("damaged", "lost")}
    numbers |= {"tacit_disk_free_bytes": free_bytes(server.collector.folder)}
    return PlainTextResponse("".join(f"{name} {value}\n" for name, value in numbers.items()))


HEALTH = (
    Endpoint(
        "GET",
        "/healthz",
        health,
        "Whether the process answers.",
        returns={"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
    ),
    Endpoint(
        "GET",
        "/readyz",
        ready,
        "Whether reports can be stored and questions answered now: the stores and the log are written and read.",
        returns={
            "type": "object",
            "required": ["status", "warnings"],
            "properties": {
                "status": {"const": "ready"},
                "warnings": {"type": "array", "items": {"type": "string"}},
            },
        },
    ),
    Endpoint("GET", "/metrics", metrics, "Counters for Prometheus.", returns="text/plain"),
)
