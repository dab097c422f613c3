"""Routes for machines that watch: is it well, and what has it done."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import JSONResponse, Response

from tacit.server.connections import Connection
from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.journal import lost_lines
from tacit.server.metrics import Family, exposition, file_limit, open_files, single
from tacit.server.room import free_bytes, is_scarce

__all__ = ["HEALTH"]


async def health(server: Server, call: Call) -> Response:
    """Say that reports can be taken, or that soon they cannot."""
    del call
    return JSONResponse({"status": "little-room" if is_scarce(server.collector.folder) else "ok"})


COUNTS = {
    "stored": "Reports that were stored.",
    "again": "Reports that were stored before, and came again unchanged.",
    "refused": "Reports that were refused.",
    "questions": "Questions that were asked.",
    "forgotten": "Deletions of people.",
}
"""What `Server.counts` counts."""


async def metrics(server: Server, call: Call) -> Response:
    """Return metrics for Prometheus."""
    del call
    return Response(exposition(_families(server)), media_type="text/plain; version=0.0.4; charset=utf-8")


def _families(server: Server) -> Iterator[Family]:
    kept = server.collector.inbox.counts()
    for name, value in server.counts.items():
        yield single(f"tacit_{name}_total", "counter", COUNTS.get(name, f"Counted as {name}."), value)
    yield single("tacit_reports_known", "gauge", "Reports that are stored.", kept["known"])
    pending = "Reports that are stored but not yet in the analytical database."
    yield single("tacit_reports_pending", "gauge", pending, kept["pending"])
    free = free_bytes(server.collector.folder)
    yield single("tacit_disk_free_bytes", "gauge", "Bytes free on the store's disk.", free)
    lost = "Lines that could not be written to the log file."
    yield single("tacit_log_lines_lost_total", "counter", lost, lost_lines())
    if (count := open_files()) is not None:
        yield single("tacit_open_files", "gauge", "Files and connections that are open.", count)
    if (limit := file_limit()) is not None:
        yield single("tacit_open_files_limit", "gauge", "Files and connections that may be open.", limit)
    yield from server.metrics.families(Connection.refused)


HEALTH = (
    Endpoint(
        "GET",
        "/healthz",
        health,
        "Whether reports can be taken.",
        returns={"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
    ),
    Endpoint("GET", "/metrics", metrics, "Metrics for Prometheus.", returns="text/plain"),
)
