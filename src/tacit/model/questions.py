"""Marginals with labels and errors, and synthetic rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.contract import ServiceContract
from tacit.contract.oracles import Oracle
from tacit.contract.panel import Design
from tacit.contract.schema import Service
from tacit.engines.base import Engine
from tacit.engines.code_counts import code_counts
from tacit.errors import ReportError, UnanswerableError, UnknownNameError, UsageError
from tacit.estimate.answer import Options
from tacit.estimate.functional import Vector
from tacit.estimate.threads import one_thread
from tacit.model.em import likeliest
from tacit.model.labelled import Marginal, label_table
from tacit.model.marginals import METHODS, Table, marginal
from tacit.model.parities import ParityTables
from tacit.model.reports import check_tables
from tacit.model.sampled import of_panel
from tacit.model.stored import Models
from tacit.model.synthesis import draw_rows
from tacit.sql.report_tables import joint_codes
from tacit.sql.vectors import shown_value

__all__ = ["Tables", "check_rows"]

MOST_ROWS = 10**8
"""Maximum synthetic rows."""

ServiceReports = tuple[ServiceContract, str]
"""A service's contract, and the table of its reports."""


class ReportCatalog(Protocol):
    """The reports in a database."""

    def services(self) -> list[Service]:
        """Return the services with reports."""

    def newest_round(self, service: str) -> list[ServiceReports]:
        """Return the tiers of the newest round of a service."""

    def newest_design(self, service: str) -> Design | None:
        """Return how a panel chose the people of the newest round of a service."""


class Tables:
    """Marginals and synthetic rows of the services in a catalog."""

    def __init__(self, models: Models, catalog: ReportCatalog) -> None:
        self._models, self._engine, self._catalog = models, models.engine, catalog

    @one_thread
    def marginal(
        self,
        attributes: Sequence[str],
        *,
        service: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
    ) -> Marginal:
        """Return how many people have each combination of values, in the newest round."""
        Options(confidence)
        if not attributes:
            message = "Name at least one attribute."
            raise UsageError(message, code="bad-option")
        declared = self.service_of(attributes, service)
        names = [attribute.name for attribute in declared.sensitive]
        places = [names.index(name) for name in attributes]
        table, people = self._tables(declared, method).table(places)
        design, most = self._catalog.newest_design(declared.name), float(people)
        if design is not None:
            table, people, most = of_panel(table, people, declared, design)
        return label_table([declared.sensitive[i] for i in places], table, people, confidence, most)

    @one_thread
    def synthesize(
        self, rows: int, *, seed: int | None = None, service: str | None = None, method: str | None = None
    ) -> pa.Table:
        """Return synthetic rows of a service."""
        check_rows(rows, seed)
        declared = self.service_of((), service)
        tables = self._tables(declared, method)
        drawn = draw_rows(tables.sizes, tables.frequencies, rows, np.random.default_rng(seed))
        columns: dict[str, Any] = {declared.key: pa.array(np.arange(1, rows + 1))}
        for attribute in declared.attributes:
            columns[attribute.name] = pa.nulls(rows)  # public columns are not in the tables
        for sensitive, indices in zip(declared.sensitive, drawn, strict=True):
            values = pa.array([shown_value(sensitive, i) for i in range(sensitive.size)])
            columns[sensitive.name] = values.take(pa.array(indices))
        return pa.table(columns)

    def service_of(self, attributes: Sequence[str], service: str | None) -> Service:
        """Return the service of a question, by its name or by its attributes."""
        if isinstance(attributes, str) or not all(isinstance(name, str) for name in attributes):
            message = "attributes must be a list of names, such as ['age', 'state']."
            raise UsageError(message, code="bad-option")
        if len(set(attributes)) != len(attributes):
            message = "An attribute is listed twice. List each once."
            raise UsageError(message, code="duplicate-name")
        having = self._catalog.services()
        if service is not None:
            having = [candidate for candidate in having if candidate.name.lower() == str(service).lower()]
            if not having:
                raise UnknownNameError("service", str(service), (known.name for known in self._catalog.services()))
        if not having:
            message = "No reports are loaded. Load some first."
            raise ReportError(message, code="no-reports")
        fitting = [candidate for candidate in having if set(attributes) <= {a.name for a in candidate.sensitive}]
        known = [attribute.name for candidate in having for attribute in candidate.sensitive]
        for name in attributes:
            if name not in known:
                raise UnknownNameError("sensitive attribute", name, known, code="unknown-column")
        if not fitting:
            message = f"{' and '.join(attributes)} belong to different services. Join them with SQL."
            raise UnanswerableError(message, code="several-services")
        if len(fitting) > 1:
            names = ", ".join(candidate.name for candidate in fitting)
            message = f"Several services have these attributes: {names}. Pass service=."
            raise UsageError(message, code="which-service")
        return fitting[0]

    def _tables(self, service: Service, method: str | None) -> _Apart | _Together | ParityTables:
        stored = self._catalog.newest_round(service.name)
        if stored[0][0].channels[0].parities:
            return self._of_parities(stored, method)
        apart = stored[0][0].layout in ("em", "sc")
        if method is not None and method not in (*METHODS, "em"):
            raise UnknownNameError("method", str(method), (*METHODS, "em"))
        if (method or ("em" if apart else "fit")) != "em":
            return _Together(self._models, stored, method or "fit")
        if not apart or len(stored) > 1:
            message = "Method em needs reports of separate attributes (mechanisms em and sc) of one tier. Use 'fit'."
            raise UnanswerableError(message, code="not-reported-apart")
        return _Apart(self._engine, *stored[0])

    def _of_parities(self, stored: Sequence[ServiceReports], method: str | None) -> ParityTables:
        if method not in (None, "linear") or len(stored) > 1:
            message = "Reports of parities support only method 'linear', in one tier. Leave method out."
            raise UnanswerableError(message, code="no-tables")
        service, table = stored[0]
        return ParityTables(service, code_counts(self._engine, table))


def check_rows(rows: int, seed: int | None) -> None:
    """Refuse an invalid number of synthetic rows or seed."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        message = f"rows must be a whole number from 1 to {MOST_ROWS:,}."
        raise UsageError(message, code="bad-option")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        message = "seed must be a whole number, 0 or more."
        raise UsageError(message, code="bad-option")


class _Together:
    """Tables of the model of all tiers."""

    def __init__(self, models: Models, stored: Sequence[ServiceReports], method: str) -> None:
        service = stored[0][0]
        self._model = models.of_service([(*tier, False) for tier in stored])
        self._method, self._extras = method, service.extras
        self.sizes = [attribute.size for attribute in service.service.sensitive]
        rows = service.service.rows_at_most / service.service.sends
        self.people = round(self._model.people * rows)

    def table(self, attributes: Sequence[int]) -> tuple[Table, int]:
        """Return the table of some attributes, and the maximum number of rows."""
        table = marginal(self._model, attributes, self._method)
        if not self._extras:
            return table, self.people
        real = tuple(slice(0, self.sizes[i]) for i in attributes)
        unbiased = None if table.unbiased is None else table.unbiased[real]
        notes = (*table.notes, "rows are counted, not people: a person may have none or several")
        return Table(table.attributes, table.frequencies[real], table.errors[real], notes, unbiased), self.people

    def frequencies(self, attributes: Sequence[int]) -> Vector:
        """Return a table without its errors."""
        if self._method == "fit":
            table = self._model.table(attributes)
            real: Vector = table[tuple(slice(0, self.sizes[i]) for i in attributes)]
            return np.asarray(real / real.sum())
        return self.table(attributes)[0].frequencies


class _Apart:
    """Tables from separate reports of attributes, by expectation maximisation."""

    def __init__(self, engine: Engine, service: ServiceContract, table: str) -> None:
        check_tables(service)
        if service.extras:
            message = f"{service.service.name}: method em needs exactly one row per person. Use method 'fit'."
            raise UnanswerableError(message, code="no-tables")
        self.sizes = [attribute.size for attribute in service.service.sensitive]
        self._engine, self._service, self._stored = engine, service, table

    def table(self, attributes: Sequence[int]) -> tuple[Table, int]:
        channels = [self._channel(i) for i in attributes]
        oracles: list[Oracle] = [self._service.channels[number].views[0].oracle for number in channels]
        counts = self._joint(channels, [oracle.alphabet for oracle in oracles])
        fit = likeliest(oracles, counts)
        sizes = [self.sizes[i] for i in attributes]
        how = f"maximum-likelihood frequencies after {fit.rounds} iterations of expectation maximisation"
        note = "their errors are unknown; SQL gives the unbiased estimates with errors"
        return Table(tuple(attributes), fit.table, np.full(sizes, np.nan), (how, note)), int(counts.sum())

    def frequencies(self, attributes: Sequence[int]) -> Vector:
        return self.table(attributes)[0].frequencies

    def _channel(self, attribute: int) -> int:
        """Return the channel that reports an attribute's values."""
        finest = self._service.levels[attribute].finest
        for number, channel in enumerate(self._service.channels):
            if channel.views[0].levels[attribute] == finest and (finest or len(self._service.channels) == 1):
                return number
        message = "An attribute with a single value is not reported. Leave it out."
        raise UnanswerableError(message, code="no-reports")

    def _joint(self, channels: Sequence[int], alphabets: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return how many people sent each combination of codes."""
        rows = self._engine.fetch(*joint_codes(self._stored, self._service.service.key, channels), {})
        counts = np.zeros(alphabets, dtype=np.int64)
        counts[tuple(np.asarray(rows.column(f"c{k}")) for k in range(len(channels)))] = np.asarray(rows.column("n"))
        return counts
