"""Routes for machines that watch: is it well, and what has it done."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, PlainTextResponse, Response

from tacit.server.endpoints import Call, Endpoint, Server

__all__ = ["HEALTH"]


async def health(server: Server, call: Call) -> Response:
    """Say that reports can be taken."""
    del call
    await asyncio.to_thread(server.collector.inbox.counts)
    return JSONResponse({"status": "ok"})


async def metrics(server: Server, call: Call) -> Response:
    """Return counters for Prometheus."""
    del call
    kept = await asyncio.to_thread(server.collector.inbox.counts)
    numbers = {f"tacit_{name}_total": value for name, value in server.counts.items()}
    numbers |= {"tacit_reports_known": kept["known"], "tacit_reports_pending": kept["pending"]}
    return PlainTextResponse("".join(f"{name} {value}\n" for name, value in numbers.items()))


HEALTH = (
    Endpoint(
        "GET",
        "/healthz",
        health,
        "Whether reports can be taken.",
        returns={"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
    ),
    Endpoint("GET", "/metrics", metrics, "Counters for Prometheus.", returns="text/plain"),
)
