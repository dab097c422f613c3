"""Endpoints: one table from which routing, access control and the OpenAPI description are derived.

To add routes, write handlers in a module of their own, list them in a tuple of `Endpoint`, and name it in `app.TABLE`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from tacit.client.record import LONGEST_PERSON
from tacit.collection import Collection
from tacit.server.collector import Collector
from tacit.server.demo_data import Demo
from tacit.server.http.rates import Rate
from tacit.server.http.settings import Settings
from tacit.server.http.workers import Lane, Workers
from tacit.server.keys import AccessKey, Keys, Scope
from tacit.server.metrics import Metrics
from tacit.server.readiness import Readiness

__all__ = ["PERSON", "Call", "Endpoint", "Handler", "Server"]

Schema = Mapping[str, Any]
"""A JSON schema."""

PERSON: Schema = {
    "oneOf": [
        {"type": "string", "minLength": 1, "maxLength": LONGEST_PERSON},
        {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    ]
}
"""Schema of a person's key."""


RECEIPTS_PER_MINUTE = 60
"""Receipts that a person with a token may fetch."""


@dataclass
class Server:
    """The state that handlers use."""

    collector: Collector
    keys: Keys
    demo: Demo | None = None
    settings: Settings = field(default_factory=Settings)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("stored", "again", "refused", "questions", "forgotten"), 0)
    )

    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        chosen = self.settings
        self.ingest = Rate("reports", chosen.reports_per_second, 10 * chosen.reports_per_second)
        self.workers = Workers(chosen.question_seconds)
        self.deletions, self.receipts, self.lookups = Lane("deletions"), Lane("receipts"), Lane("lookups")
        self.audits = Lane("audits")
        self.dictionaries: dict[str, bytes] = {}
        self.view_codes: dict[str, dict[str, Any]] = {}
        self.readiness = Readiness(self.collector)
        self.asking = Rate("questions", chosen.questions_per_minute / 60, chosen.questions_per_minute)
        self.deleting = Rate("deletions", chosen.deletions_per_minute / 60, chosen.deletions_per_minute)
        self.telling = Rate("receipts", RECEIPTS_PER_MINUTE / 60, RECEIPTS_PER_MINUTE)

    async def collection(self, name: str) -> Collection:
        """Return a published collection; asks a shared store, which may not respond, in another thread."""
        known = self.collector.collection_here(name)
        return known if known is not None else await self.lookups.do(self.collector.collection, name)

    def drain(self) -> None:
        """Keep answering, but let load balancers and connections switch to another collector."""
        self.readiness.is_draining = self.metrics.is_draining = True


@dataclass(frozen=True)
class Call:
    """An authorised request: its body, if the endpoint has one, and its key, if keys are required."""

    request: Request
    body: Mapping[str, Any]
    key: AccessKey | None


Handler = Callable[[Server, Call], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """One route."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    summary: str
    scope: Scope | None = None
    """The required scope of a key; None for routes open to everybody."""

    also: tuple[Scope, ...] = ()
    """Alternative scopes."""

    takes: Schema | None = None
    """Members of the body besides version and key; POST has a body, GET has none."""

    required: tuple[str, ...] = ()
    """Required members."""

    versioned: bool = True
    """Whether a body must contain the protocol version."""

    returns: Schema | str = "application/json"
    """Schema of the response, or its media type if it is not JSON."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Path parameters."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))
