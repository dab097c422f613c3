"""Traces and metrics by OpenTelemetry: to a real receiver of OTLP, without anything of people or clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.collectors import body_of, collector_here, reports_of, served_here
from tacit.server.app import make_app
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys

pytest.importorskip("opentelemetry.sdk")


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Lend the address of a receiver, and what it gets."""
    received: list[tuple[str, bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_requests_become_spans_and_metrics_without_people(tmp_path: Path) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with receiver() as (address, received), collector_here(tmp_path) as made:
        app = make_app(made, Keys(tmp_path / "keys.json"), settings=Settings(otlp=address))
        with served_here(app, traceparent=trace) as client:
            [name] = made.collections
            assert client.post(f"/v1/collections/{name}/reports", json=body_of(reports_of(0, 5))).status_code == 200
            assert client.post("/v1/query", json={"tacit": 1, "sql": "SELECT secret FROM users"}).status_code == 400
    spans, metrics = ExportTraceServiceRequest(), {}
    for path, body in received:
        if path == "/v1/traces":
            spans.MergeFromString(body)
        else:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                metrics |= {one.name: one for scope in resource.scope_metrics for one in scope.metrics}
    ended = [span for resource in spans.resource_spans for scope in resource.scope_spans for span in scope.spans]
    names = [span.name for span in ended]
    assert names == ["POST /v1/collections/{id}/reports", "POST /v1/query"]
    errors = {one.key: one.value.string_value for one in ended[1].attributes}
    assert errors["error.type"] == "unknown-column"
    assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in ended)
    assert metrics["tacit_stored_total"].sum.data_points[0].as_int == len(reports_of(0, 5))
    assert metrics["tacit_request_seconds"].histogram.data_points
    everything = b"".join(body for _, body in received)
    for secret in (b"u-1", b"secret", b"127.0.0.1", bytes.fromhex(trace.split("-")[1])):
        assert secret not in everything
