"""Routes for monitoring: liveness, readiness and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.responses import JSONResponse, Response

from tacit.server.http.connections import HttpConnection
from tacit.server.http.endpoints import Call, Endpoint, Server
from tacit.server.http.problems import as_problem
from tacit.server.http.request_log import lost_lines
from tacit.server.metrics import MetricFamily, exposition, file_limit, open_files, single
from tacit.server.store.base import Sizes
from tacit.server.store.disk import free_bytes

__all__ = ["HEALTH", "families_of"]


async def health(server: Server, call: Call) -> Response:
    """Answer that the process is alive; see `readiness` for whether it can work."""
    del server, call
    return JSONResponse({"status": "ok"})


async def ready(server: Server, call: Call) -> Response:
    """Answer whether reports can be stored and questions answered now, and if not, why."""
    fault = await server.readiness.fault()
    if fault is not None:
        return as_problem(call.request, fault, 503)
    warnings = await server.readiness.away(server.readiness.warnings)
    return JSONResponse({"status": "ready", "warnings": warnings})


COUNTS = {
    "stored": "Reports that were stored.",
    "again": "Reports that were received again unchanged.",
    "refused": "Reports that were refused.",
    "questions": "Questions that were asked.",
    "forgotten": "Deletions of people.",
}
"""What `Server.counts` counts."""


async def metrics(server: Server, call: Call) -> Response:
    """Return metrics for Prometheus."""
    del call
    sizes = await server.readiness.away(server.collector.inbox.sizes)
    families = families_of(server, list(sizes.values()))
    return Response(exposition(families), media_type="text/plain; version=0.0.4; charset=utf-8")


def families_of(server: Server, sizes: Sequence[Sizes]) -> Iterator[MetricFamily]:
    """Yield all metrics of a collector."""
    stored = server.collector.inbox.counts()
    for name, value in server.counts.items():
        yield single(f"tacit_{name}_total", "counter", COUNTS.get(name, f"Counted as {name}."), value)
    yield single("tacit_reports_known", "gauge", "Reports that are stored.", stored["known"])
    pending = "Reports that are stored but not yet in the analytical database."
    yield single("tacit_reports_pending", "gauge", pending, stored["pending"])
    behind = "Reports received since the last complete move to the analytical database."
    yield single("tacit_reports_behind", "gauge", behind, server.collector.inbox.behind)
    damaged = "Reports that do not match their digests."
    yield single("tacit_reports_damaged", "gauge", damaged, sum(size.damaged for size in sizes))
    gone = "Reports that were lost with an earlier analytical database."
    yield single("tacit_reports_lost", "gauge", gone, sum(size.lost for size in sizes))
    free = free_bytes(server.collector.folder)
    yield single("tacit_disk_free_bytes", "gauge", "Bytes free on the store's disk.", free)
    lost = "Lines that could not be written to the log file."
    yield single("tacit_log_lines_lost_total", "counter", lost, lost_lines())
    if (count := open_files()) is not None:
        yield single("tacit_open_files", "gauge", "Open files and connections.", count)
    if (limit := file_limit()) is not None:
        yield single("tacit_open_files_limit", "gauge", "Limit on open files and connections.", limit)
    yield from server.metrics.families(HttpConnection.refused)


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
        "Whether reports can be stored and questions answered now; writes to and reads from the stores and the log.",
        returns={
            "type": "object",
            "required": ["status", "warnings"],
            "properties": {
                "status": {"const": "ready"},
                "warnings": {"type": "array", "items": {"type": "string"}},
            },
        },
    ),
    Endpoint("GET", "/metrics", metrics, "Metrics for Prometheus.", "watch", returns="text/plain"),
)
