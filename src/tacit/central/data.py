"""Questions to a table behind a ledger, in the manner of PINQ: where, partition, noisy_count, noisy_sum.

A question is charged before it is answered. `where` and `partition` cost nothing by themselves; the parts of a
partition hold different people, so querying all of them costs as much as the most expensive one.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.central.charges import Charge, Place
from tacit.central.noise import Laplace, NoiseSource
from tacit.central.origin import single_estimate
from tacit.central.records import Records
from tacit.contract.budget import BudgetLike, parse_epsilon
from tacit.contract.schema import Categorical, Ordinal
from tacit.errors import InternalError, UnknownNameError, UnsupportedSqlError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.estimate import Estimate
from tacit.sql.parse import parse
from tacit.sql.predicates import holds
from tacit.sql.scope import Scope
from tacit.sql.vectors import shown_value
from tacit.tables.statements import Sql, compose

__all__ = ["Data", "Partition"]

MAX_PARTS = 1_000_000
"""Maximum parts of a partition that are counted one by one."""

Spend = Callable[[Sequence[Charge]], None]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows that can be queried only through noisy answers; `Ledger.open` creates one."""

    records: Records
    spend: Spend
    source: NoiseSource
    place: Place = ()

    def __repr__(self) -> str:
        return f"Data({self.records.service.name}, withheld)"

    def where(self, condition: str) -> Data:
        """Return the rows that satisfy a condition, written as in SQL; costs nothing by itself.

        Parameters
        ----------
        condition : str
            What may follow WHERE, such as ``"age BETWEEN 20 AND 40 AND state = 'CA'"``.
        """
        service = self.records.service
        text = compose("SELECT COUNT(*) FROM {table} WHERE {condition}", table=service.name, condition=Sql(condition))
        statement = parse(text)  # never run
        where = statement.args.get("where")
        if where is None or any(v for k, v in statement.args.items() if k not in ("expressions", "from_", "where")):
            message = "where takes one condition, as after WHERE in SQL."
            raise UnsupportedSqlError(message, code="unsupported-condition")
        if statement.find(exp.Subquery):
            message = "where takes comparisons of columns with constants."
            raise UnsupportedSqlError(message, code="unsupported-condition")
        total = holds(Scope.over([(service, (service.name,), "inner")], text), where.this)
        if not total.is_plain:
            message = "where takes conditions on the declared columns."
            raise UnsupportedSqlError(message, code="unsupported-condition")
        marks = np.zeros(len(self.records), dtype=np.bool_)
        for piece in total.pieces:
            marks |= self.records.evaluate(piece.functional) > 0.5  # a condition is 0 or 1
        return Data(self.records.take(marks), self.spend, self.source, self.place)

    def partition(self, *columns: str) -> Partition:
        """Return the rows by the declared values of some columns; costs nothing by itself."""
        names = [attribute.name for attribute in self.records.service.sensitive]
        for name in columns:
            if name not in names:
                raise UnknownNameError("column", str(name), names, code="unknown-column")
        if not columns or len(set(columns)) != len(columns):
            message = "partition takes one or more different columns."
            raise UsageError(message, code="bad-option")
        return Partition(self, tuple(names.index(name) for name in columns), f"p-{uuid.uuid4().hex[:16]}")

    def noisy_count(self, epsilon: BudgetLike, *, confidence: float = 0.95) -> Estimate:
        """Return the number of rows, with noise.

        Parameters
        ----------
        epsilon : number
            What it may cost.
        confidence : float
            Level of the interval.
        """
        law, level = Laplace(parse_epsilon(epsilon)), Options(confidence).confidence
        self.spend([Charge(law.epsilon, "noisy_count", self.place)])
        [count] = self.source.noisy(np.array([len(self.records)], dtype=np.int64), law)
        return single_estimate(float(count), law.variance, level)

    def noisy_sum(self, column: str, epsilon: BudgetLike, *, confidence: float = 0.95) -> Estimate:
        """Return the sum of a column of numbers, with noise for the largest value that a record may have.

        Missing values count as 0. Coarser cells are not used: the declared steps are exact.
        """
        law_of, level = parse_epsilon(epsilon), Options(confidence).confidence
        total, largest, unit = self._sum(column)
        law = Laplace(law_of, max(1, largest))
        self.spend([Charge(law.epsilon, f"noisy_sum of {column}", self.place)])
        [units] = self.source.noisy(np.array([total], dtype=np.int64), law)
        return single_estimate(int(units) * float(unit), law.variance * float(unit) ** 2, level)

    def _sum(self, column: str) -> tuple[int, int, Fraction]:
        """Return a column's sum and largest value, both in whole units, and the unit."""
        attributes = {attribute.name: place for place, attribute in enumerate(self.records.service.sensitive)}
        if column not in attributes:
            raise UnknownNameError("column", str(column), attributes, code="unknown-column")
        attribute = self.records.service.sensitive[attributes[column]]
        position, missing = self.records.ticks[attributes[column]]
        present = position if missing is None else position[~missing]
        if isinstance(attribute, Categorical) and isinstance(attribute.values[0], int):
            values = [int(value) for value in attribute.values]
            counts = np.bincount(present, minlength=len(values)).tolist()
            return sum(v * n for v, n in zip(values, counts, strict=True)), max(map(abs, values)), Fraction(1)
        if not isinstance(attribute, Ordinal) or attribute.is_date:
            message = f"{column} does not hold numbers, so it has no sum. Count it, or partition by it."
            raise UsageError(message, code="not-a-number")
        unit = Fraction(1, math.lcm(attribute.start.denominator, attribute.unit.denominator))
        start, step = attribute.start / unit, attribute.unit / unit
        last = start + step * (attribute.ticks - 1)
        total = start * len(present) + step * int(present.sum())
        largest = max(abs(start), abs(last))
        if any(number.denominator != 1 for number in (total, largest)) or abs(total) + largest >= 2**62:
            message = f"The sum of {column}, in its units, does not fit in 64 bits."
            raise InternalError(message)
        return int(total), int(largest), unit


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows partitioned by the values of some columns: parts hold different people."""

    whole: Data
    places: tuple[int, ...]
    name: str

    def __repr__(self) -> str:
        return f"Partition({len(self)} parts of {self.whole!r})"

    @property
    def _attributes(self) -> list[Ordinal | Categorical]:
        return [self.whole.records.service.sensitive[place] for place in self.places]

    @cached_property
    def _numbers(self) -> Any:
        """Part of each row."""
        number = np.zeros(len(self.whole.records), dtype=np.int64)
        for place, attribute in zip(self.places, self._attributes, strict=True):
            number = number * attribute.size + self.whole.records.values[place]
        return number

    def __len__(self) -> int:
        return math.prod(attribute.size for attribute in self._attributes)

    def labels(self, part: int) -> tuple[Any, ...]:
        """Return the values that a part's rows have in common."""
        values = []
        for attribute in reversed(self._attributes):
            part, index = divmod(part, attribute.size)
            values.append(shown_value(attribute, index))
        return tuple(reversed(values))

    def __getitem__(self, part: int) -> Data:
        """Return a part by its number, which is that of its values in declared order."""
        if not 0 <= part < len(self):
            message = f"There is no part {part}; there are {len(self)}."
            raise IndexError(message)
        whole = self.whole
        rows = np.flatnonzero(self._numbers == part)
        return Data(whole.records.take(rows), whole.spend, whole.source, (*whole.place, (self.name, part)))

    def __iter__(self) -> Iterator[Data]:
        return (self[part] for part in range(len(self)))

    def noisy_counts(self, epsilon: BudgetLike, *, confidence: float = 0.95) -> Answer:
        """Return the number of rows of every part, with noise: one charge, as parts hold different people."""
        law, level = Laplace(parse_epsilon(epsilon)), Options(confidence).confidence
        if len(self) > MAX_PARTS:
            message = f"{len(self)} parts; at most {MAX_PARTS} are counted one by one. Make a release instead."
            raise UsageError(message, code="too-many-groups")
        names = [attribute.name for attribute in self._attributes]
        self.whole.spend([Charge(law.epsilon, f"noisy_counts by {', '.join(names)}", self.whole.place)])
        counts = np.bincount(self._numbers, minlength=len(self)).astype(np.int64)
        noisy = self.whole.source.noisy(counts, law)
        rows = [
            [*self.labels(part), single_estimate(float(count), law.variance, level)] for part, count in enumerate(noisy)
        ]
        return Answer([*names, "count"], rows)
