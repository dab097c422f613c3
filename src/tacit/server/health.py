"""Routes for machines that watch: is it well, and what has it done."""

from __future__ import annotations

from shutil import disk_usage

from starlette.responses import JSONResponse, PlainTextResponse, Response

from tacit.server.endpoints import Call, Endpoint, Server

__all__ = ["HEALTH"]

LITTLE_ROOM = 0.1
"""Share of the disk below which somebody should look."""


async def health(server: Server, call: Call) -> Response:
    """Say that reports can be taken, or that soon they cannot."""
    del call
    free = disk_usage(server.collector.folder)
    return JSONResponse({"status": "ok" if free.free > LITTLE_ROOM * free.total else "little-room"})


async def metrics(server: Server, call: Call) -> Response:
    """Return counters for Prometheus."""
    del call
    kept = server.collector.inbox.counts()
    numbers = {f"tacit_{name}_total": value for name, value in server.counts.items()}
    numbers |= {"tacit_reports_known": kept["known"], "tacit_reports_pending": kept["pending"]}
    numbers |= {"tacit_disk_free_bytes": disk_usage(server.collector.folder).free}
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
