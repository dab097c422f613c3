"""Traces and metrics by OpenTelemetry, for `tacit serve --otlp`: the extra `telemetry`.

A span has a route, a method, a status and one of our codes, never an address, an id or a question. Trace ids from
clients are ignored, because they would let observers of an app's traces see whose report arrived when.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from tacit.errors import EngineError
from tacit.server.metrics import MetricFamily

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError:
    message = "--otlp needs OpenTelemetry. Install tacit with its extra: pip install '.[telemetry]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["Telemetry"]

EXPORT_SECONDS = 15.0
"""Seconds between exports."""

FAILED = 500
"""Lowest status of an error span."""

NAME = "tacit.collector"


class Telemetry:
    """Sends a span for every request, and the metrics of `/metrics`, to an OTLP/HTTP address."""

    def __init__(
        self,
        address: str,
        families: Callable[[], Iterable[MetricFamily]],
        instance: str = "",
        seconds: float = EXPORT_SECONDS,
    ) -> None:
        named = {"service.name": "tacit"} | ({"service.instance.id": instance} if instance else {})
        resource, address = Resource(named), address.rstrip("/")
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{address}/v1/traces")))
        exporter = OTLPMetricExporter(endpoint=f"{address}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=1000 * seconds)
        self._meters = MeterProvider(resource=resource, metric_readers=[reader], shutdown_on_exit=False)
        self._tracer, meter = self._traces.get_tracer(NAME), self._meters.get_meter(NAME)
        self._families = families
        self._seconds = meter.create_histogram("tacit_request_seconds", "s", "Seconds of a request.")
        for family in families():
            read = [partial(self._observe, family.name)]
            if family.kind == "counter":
                meter.create_observable_counter(family.name, read, description=family.help)
            elif family.kind == "gauge":
                meter.create_observable_gauge(family.name, read, description=family.help)

    def _observe(self, name: str, _: CallbackOptions) -> Iterable[Observation]:
        for family in self._families():
            if family.name == name:
                return [Observation(value, dict(labels)) for _, labels, value in family.samples]
        return []

    def note(self, method: str, route: str, status: int, code: str, seconds: float) -> None:
        """Record a finished request."""
        end = time.time_ns()
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        }
        if code:
            attributes["error.type"] = code
        begun = end - round(1e9 * seconds)
        span = self._tracer.start_span(
            f"{method} {route}", kind=SpanKind.SERVER, attributes=attributes, start_time=begun
        )
        if status >= FAILED:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)
        self._seconds.record(seconds, {"method": method, "route": route})

    def close(self) -> None:
        """Send the remaining data."""
        self._traces.shutdown()
        self._meters.shutdown()
