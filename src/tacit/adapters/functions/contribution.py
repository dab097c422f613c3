"""``ldp_contribution(code, question)``: a report's contribution to an answer, and the aggregate that sums it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacit.collection import Collection
from tacit.contract.oracles.base import Codes
from tacit.errors import UsageError
from tacit.estimate.decoder import Decoder, DecoderName
from tacit.estimate.estimate import Estimate
from tacit.estimate.functional import Vector
from tacit.estimate.reading import WHOLE_ALPHABET, contributions
from tacit.sql.bind import bind
from tacit.sql.parse import parse
from tacit.sql.tables import scope_of, tables_of

__all__ = ["Aggregate", "Contribution"]


class Contribution:
    """The contribution of each code of a service to a question's only total.

    Parameters
    ----------
    collection : Collection
        What was collected.
    question : str
        ``SELECT COUNT(*)`` or ``SELECT SUM(…)`` of one service, without public columns and groups.
    """

    def __init__(self, collection: Collection, question: str, decoder: DecoderName = "blue") -> None:
        statement = parse(question)
        tables = tables_of(statement, question)
        services = [collection.contract[table.name] for table in tables]
        bound = bind(statement, scope_of(tables, collection.schema, question))
        is_one_report = len(services) == 1 and len(services[0].channels) == 1 and services[0].service.sends == 1
        formulas = bound.formulas(()) if is_one_report and not bound.keys and len(bound.names) == 1 else []
        totals = formulas[0].totals if formulas and formulas[0] else []
        if len(totals) != 1 or totals[0].functional is None or bound.conditions:
            message = "ldp_contribution takes COUNT(*) or SUM(…) of one service with one report each, nothing public."
            raise UsageError(message, code="not-a-total")
        self.service, self.question = services[0], question
        self._products = Decoder(self.service, decoder).decode(totals[0].functional).products
        self._table: Vector | None = None

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return self.service.channels[0].alphabet

    def __call__(self, codes: npt.ArrayLike) -> Vector:
        """Return the contribution of each code."""
        checked = np.asarray(codes, dtype=np.int64)
        if len(checked) and not 0 <= int(checked.min()) <= int(checked.max()) < self.alphabet:
            message = "A code does not belong to this collection."
            raise UsageError(message, code="unknown-code")
        if self.alphabet > WHOLE_ALPHABET:
            return self._values(checked)
        if self._table is None:
            self._table = self._values(None)
        return self._table[checked]

    def _values(self, codes: Codes | None) -> Vector:
        count = self.alphabet if codes is None else len(codes)
        total: Vector = np.zeros(count)
        for coefficient, factors in self._products:
            product = np.full(count, coefficient)
            for factor in factors:
                read = contributions(self.service.channels[0], [factor.readings.get(0)], codes)[:, 0]
                product = product * (factor.constant + read)
            total = total + product
        return total


class Aggregate:
    """A user-defined aggregate: buffers that are filled in parallel, merged in any order, and give an estimate.

    Examples
    --------
    >>> import tacit as tc
    >>> users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)])
    >>> collection = tc.Collection(tc.Schema([users]), epsilon=2.0)
    >>> contribution = Contribution(collection, "SELECT COUNT(*) FROM users WHERE age < 5")
    >>> left, right = Aggregate(contribution), Aggregate(contribution)
    >>> left.iterate([3, 5]).merge(right.iterate([4])).terminate().n
    3
    """

    def __init__(self, contribution: Contribution) -> None:
        self._contribution = contribution
        self.count, self.total, self.squares = 0, 0.0, 0.0

    def iterate(self, codes: npt.ArrayLike) -> Aggregate:
        """Add reports."""
        values = self._contribution(np.atleast_1d(np.asarray(codes, dtype=np.int64)))
        self.count += len(values)
        self.total += float(values.sum())
        self.squares += float(values @ values)
        return self

    def merge(self, other: Aggregate) -> Aggregate:
        """Add another buffer."""
        self.count, self.total = self.count + other.count, self.total + other.total
        self.squares += other.squares
        return self

    def terminate(self, confidence: float = 0.95) -> Estimate:
        """Return the estimate; its error treats people as a sample, which never makes it smaller."""
        if self.count < 2:
            return Estimate(self.total, math.nan, self.count, confidence)
        spread = (self.squares - self.total**2 / self.count) * self.count / (self.count - 1)
        return Estimate(self.total, math.sqrt(max(0.0, spread)), self.count, confidence)
