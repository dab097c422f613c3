"""What a route is: one row of a table from which routing, access and the OpenAPI description are all read.

To add routes, write handlers in a module of their own, list them in a tuple of `Endpoint`, and name it in `app.TABLE`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from tacit.client.record import LONGEST_PERSON
from tacit.server.collector import Collector
from tacit.server.demo_data import Demo
from tacit.server.http.rates import Rate
from tacit.server.http.settings import Settings
from tacit.server.http.workers import Workers
from tacit.server.keys import Key, Keys, Scope
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
"""Of one person."""


@dataclass
class Server:
    """What handlers work with."""

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
        self.readiness = Readiness(self.collector)
        self.asking = Rate("questions", chosen.questions_per_minute / 60, chosen.questions_per_minute)
        self.deleting = Rate("deletions", chosen.deletions_per_minute / 60, chosen.deletions_per_minute)
        self.telling = Rate("receipts", RECEIPTS_PER_MINUTE / 60, RECEIPTS_PER_MINUTE)


@dataclass(frozen=True)
class Call:
    """A request that was let in: its body, if the endpoint takes one, and the key it came with, if keys are needed."""

    request: Request
    body: Mapping[str, Any]
    key: Key | None


Handler = Callable[[Server, Call], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """One route."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    summary: str
    scope: Scope | None = None
    """What a key must be good for; None for routes that are open to all."""

    also: tuple[Scope, ...] = ()
    """Other scopes that a key may have instead."""

    takes: Schema | None = None
    """Members of the body beside version and key; POST has one, GET has none."""

    required: tuple[str, ...] = ()
    """Members that must be there."""

    versioned: bool = True
    """Whether a body must say which version of the protocol it speaks."""

    returns: Schema | str = "application/json"
    """Schema of the answer, or its media type if that is not JSON that clients read."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))
