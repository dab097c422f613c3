"""Sums over people from counts of codes, for totals decoded one by one: by the papers' decoders, and from parities.

Each code's contribution to each total is known, so counts of codes suffice: one row per code, not per person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from tacit.answers.code_cache import fetch_code_sums
from tacit.answers.code_sums import GroupMoments, Values
from tacit.answers.sampling import GroupedCodes
from tacit.engines.base import Engine
from tacit.engines.deadline import check_deadline
from tacit.estimate.functional import Vector
from tacit.estimate.reading import WHOLE_ALPHABET, contributions
from tacit.sql import names
from tacit.sql.nodes import Measure, Sums
from tacit.sql.plan import Plan

__all__ = ["CodeValues", "plan_code_values"]

SMALL_ALPHABET = 200_000
"""Maximum codes for which counting is faster than joining every report with its contribution; rollups have more."""

MOST_TOTALS = 256
"""Totals whose values at all codes are in memory at once."""

VALUES_AT_ONCE = 2**22
"""Codes times totals, and codes times groups, that are multiplied at once."""


class CodeValues:
    """The totals of one round whose reports are counted by code."""

    from_tables = False

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def query(self) -> Sums:
        """The engine's query: how often each code occurs in each public group."""
        return Sums(self.plan.reports.people, self.plan.reports.keys, code=0)

    def noisy(self) -> tuple[bool, ...]:
        """Return, for each total, whether it reads any codes."""
        return self.plan.decoding.reads_codes

    def run(self, engine: Engine) -> dict[Values, GroupMoments]:
        """Return the sums of each public group."""
        fetched = fetch_code_sums(engine, self.query, self.plan.round.stored[0].service.channels[0])
        left, right = ([pair[side] for pair in self.plan.pairs] for side in (0, 1))
        squared = sorted(set(left))
        groups = fetched.counts.groups
        people = np.zeros(groups)
        sums = [np.zeros((groups, count)) for count in (len(self.plan.totals), len(left), len(squared))]
        for codes, counts in self._chunks(fetched.counts):
            check_deadline()
            values = self._values(codes)
            people += counts.sum(axis=1)
            sums[0] += counts @ values
            sums[1] += counts @ (values[:, left] * values[:, right])
            sums[2] += counts @ np.square(np.square(values[:, squared]))
        return {
            values: GroupMoments(int(people[place]), *(of_groups[place] for of_groups in sums))
            for place, values in enumerate(fetched.values)
        }

    def _chunks(self, sums: GroupedCodes) -> Iterator[tuple[npt.NDArray[np.int64], Vector]]:
        """Yield chunks of codes, with how many people of each group sent them; rows are in the order of codes."""
        step = max(1, VALUES_AT_ONCE // max(sums.groups, len(self.plan.totals), 1))
        distinct, place = np.unique(sums.codes, return_inverse=True)
        for start in range(0, len(distinct), step):
            chunk = distinct[start : start + step]
            rows = slice(*np.searchsorted(place, [start, start + len(chunk)]).tolist())
            counts = np.zeros((sums.groups, len(chunk)))
            counts[sums.group[rows], place[rows] - start] = sums.columns[0][rows]
            yield chunk, counts

    def _values(self, codes: npt.NDArray[np.int64]) -> Vector:
        """Return a column for each total with every code's contribution."""
        decoding = self.plan.decoding
        places = decoding.read(0)
        factors = [decoding.factors[0][place] for place in places]
        channel = self.plan.round.stored[0].service.channels[0]
        read = contributions(channel, [factor.readings.get(0) for factor in factors], codes)
        read += np.array([factor.constant for factor in factors])
        columns = {names.factor(0, place): read[:, i] for i, place in enumerate(places)}
        values = np.zeros((len(codes), len(decoding.measures)))
        for place, measure in enumerate(decoding.measures):
            values[:, place] = _evaluate(measure, columns)
        return values


def _evaluate(measure: Measure, columns: Mapping[str, Vector]) -> Vector:
    """Return the value of a measure at each code: products of factors, without public columns."""
    total: Vector = np.zeros(1)
    for product in measure:
        value: Vector = np.full(1, product.coefficient)
        for part in product.parts:
            if isinstance(part, str):
                value = value * columns[part]
            elif isinstance(part, tuple):
                value = value * _evaluate(part, columns)
        total = total + value
    return total


def plan_code_values(wanted: Plan) -> CodeValues | None:
    """Plan the sums of totals from counts of codes; None where that is impossible or slower."""
    [stored, *others] = wanted.round.stored
    is_plain = all(total.is_plain for total in wanted.totals)
    if others or not stored.is_one_report or not is_plain or len(wanted.totals) > MOST_TOTALS:
        return None
    most = WHOLE_ALPHABET if wanted.reports.people.join.rollup else SMALL_ALPHABET
    return CodeValues(wanted) if stored.service.channels[0].alphabet <= most else None
