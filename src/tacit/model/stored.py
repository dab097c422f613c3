"""A cache of models of stored reports, valid until the reports change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.engines.base import Engine
from tacit.engines.code_counts import code_counts
from tacit.errors import ReportError
from tacit.model.model import Model
from tacit.model.reports import Reports, model_of

__all__ = ["FetchedReports", "Models", "StoredService"]

MOST_MODELS = 32
"""Maximum cached models."""

MOST_ROWS = 2**19
"""Maximum rows of reports kept to detect whether they changed; with more, any change requires a new model."""

MOST_MADE = 256
"""Maximum cached unbiased estimates of questions."""

T = TypeVar("T")

StoredService = tuple[ServiceContract, str, bool]
"""A service's contract, the table of its reports, and whether it has a rollup."""


@dataclass(frozen=True, eq=False)
class FetchedReports:
    """Reports of tiers, and the values of public columns in each class."""

    tiers: tuple[Reports, ...]
    classes: tuple[tuple[object, ...], ...] = ((),)
    in_order: bool = False
    """Whether classes are rounds, in order: neighbours are smoothed."""

    def model(self, wanted: frozenset[int] | None) -> Model:
        """Return the model of these reports."""
        return model_of(self.tiers, len(self.classes), wanted, in_order=self.in_order)

    def equals(self, other: FetchedReports) -> bool:
        """Return whether the reports are the same."""
        return (
            self.classes == other.classes
            and len(self.tiers) == len(other.tiers)
            and all(left.equals(right) for left, right in zip(self.tiers, other.tiers, strict=True))
        )


class Models:
    """The models of an engine's reports."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._models: dict[Hashable, tuple[Hashable, FetchedReports, Model]] = {}
        self._results: dict[Hashable, tuple[Hashable, object]] = {}
        self._lock = threading.Lock()

    def of_service(self, tiers: Sequence[StoredService]) -> Model:
        """Return the model of a service's reports, over all its tiers."""

        def fetch() -> FetchedReports:
            return FetchedReports(tuple(self._reports(*tier) for tier in tiers))

        return self.of(tuple(table for _, table, _ in tiers), fetch)[0]

    def of(
        self, key: Hashable, fetch: Callable[[], FetchedReports], wanted: frozenset[int] | None = None
    ) -> tuple[Model, tuple[tuple[object, ...], ...]]:
        """Return a model and its public classes: the cached one of a key, if the reports have not changed."""
        with self._lock:  # concurrent callers wait for one model
            changes = self.engine.changes()
            cached = self._models.get(key)
            if cached is None or changes is None or cached[0] != changes:
                fetched = fetch()
                if not any(tier.times.sum() for tier in fetched.tiers):
                    message = "There are no reports to build tables from. Load some first."
                    raise ReportError(message, code="no-reports")
                same = cached is not None and cached[1].equals(fetched)
                model = cached[2] if cached and same else fetched.model(wanted)
                self._models.pop(key, None)
                if changes is not None and sum(len(tier.times) for tier in fetched.tiers) > MOST_ROWS:
                    fetched = FetchedReports((), fetched.classes)
                self._models[key] = cached = changes, fetched, model
                while len(self._models) > MOST_MODELS:
                    del self._models[next(iter(self._models))]
            return cached[2], cached[1].classes

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, if the reports have not changed since; else compute it."""
        changes = self.engine.changes()
        cached = self._results.get(key)
        if cached is None or changes is None or cached[0] != changes:
            self._results.pop(key, None)
            self._results[key] = cached = changes, make()
            while len(self._results) > MOST_MADE:
                self._results.pop(next(iter(self._results)), None)
        return cast("T", cached[1])

    def _reports(self, service: ServiceContract, table: str, rollup: bool) -> Reports:  # noqa: FBT001
        counts = code_counts(self.engine, table, rollup=rollup)
        channels = np.concatenate([np.zeros(0, np.int64), *(np.full(len(count[0]), c) for c, count in counts.items())])
        codes = np.concatenate([np.zeros(0, np.int64), *(count[0] for count in counts.values())])
        times = np.concatenate([np.zeros(0, np.int64), *(count[1] for count in counts.values())])
        return Reports((service,), (channels,), (codes,), times, np.zeros(len(codes), dtype=np.int64))
