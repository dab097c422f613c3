"""Routes for machines that watch: is it well, and what has it done."""

from __future__ import annotations

from starlette.responses import JSONResponse, PlainTextResponse, Response

from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.room import free_bytes, is_scarce

__all__ = ["HEALTH"]


async def health(server: Server, call: Call) -> Response:
    """Say that reports can be taken, or that soon they cannot."""
    del call
    return JSONResponse({"status": "little-room" if is_scarce(server.collector.folder) else "ok"})


async def metrics(server: Server, call: Call) -> Response:
    """Return counters for Prometheus."""
    del call
    kept = server.collector.inbox.counts()
    numbers = {f"tacit_{name}_total": value for name, value in server.counts.items()}
    numbers |= {"tacit_reports_known": kept["known"], "tacit_reports_pending": kept["pending"]}
    numbers |= {"tacit_disk_free_bytes": free_bytes(server.collector.folder)}
    return PlainTextResponse("".join(f"{name} {value}\n" for name, value in numbers.items()))


HEALTH = (
    Endpoint(
        "GET",
        "/healthz",
        health,
        "Whether reports can be taken.",
        returns={"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
    ),
    Endpoint("GET", "/metrics", metrics, "Counters for Prometheus.", "watch", returns="text/plain"),
)
