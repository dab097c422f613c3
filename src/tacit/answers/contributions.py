"""The contribution of each encoded tuple to an answer, page by page: the fact table behind a number.

A tuple is a person in the question's join, with all their reports. Contributions sum to the totals of a column, from
which the answer is computed: COUNT and SUM have one total, AVG has a numerator and a denominator. The engine sorts,
pages and sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, get_args

import numpy as np

from tacit.answers.columns import numbers_of
from tacit.answers.group_sums import SumsRequest
from tacit.answers.people import People
from tacit.answers.run import equal_to, value_of
from tacit.answers.sums import stored_types
from tacit.encode.reports import column_names
from tacit.errors import UnknownNameError, UnsupportedSqlError, UsageError
from tacit.estimate.functional import Vector
from tacit.sql.bind import Bound
from tacit.sql.explain import describe
from tacit.sql.formula import Formula
from tacit.sql.keys import GroupKey
from tacit.sql.meaning import Meaning, meaning_of
from tacit.sql.nodes import Order, Ranking, RankingSums
from tacit.sql.plan import Plan
from tacit.sql.printing import print_query
from tacit.sql.report_tables import reports_of
from tacit.sql.rounds import Round

__all__ = ["Contributions", "Page", "ShownReport", "contributions_to"]

ORDERS: tuple[Order, ...] = get_args(Order)

MOST_ROWS = 500
"""Maximum tuples of one page."""


@dataclass(frozen=True)
class Page:
    """Which tuples to show: the round, the measure to sort by, and how many."""

    order: Order = "size"
    measure: int = 0
    descending: bool = True
    offset: int = 0
    limit: int = 50
    part: int = -1

    def __post_init__(self) -> None:
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise UnknownNameError("order", str(self.order), ORDERS)
        numbers = (self.measure, self.offset, self.limit, self.part)
        if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
            message = "measure, offset, limit and part must be whole numbers."
            raise UsageError(message, code="bad-option")
        if not isinstance(self.descending, bool):
            message = "descending must be true or false."
            raise UsageError(message, code="bad-option")
        if not 0 <= self.offset < 2**53 or not 1 <= self.limit <= MOST_ROWS:
            message = f"offset must be 0 or more, and limit from 1 to {MOST_ROWS}."
            raise UsageError(message, code="bad-option")


@dataclass(frozen=True)
class ShownReport:
    """One code of a person, and its meaning."""

    service: str
    slot: int
    channel: int
    code: int
    meaning: Meaning
    public: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Contributions:
    """A page of tuples, and the sums over all of them.

    Attributes
    ----------
    measures : list of (str, str)
        Name and meaning of each total.
    columns : dict
        The measures of each output column.
    rows : list of (key, list of float, list of Report)
        The tuples of the page: the person, their contributions, their reports.
    people : int
        The number of tuples in this part.
    before, totals : list of float
        Sums of each measure: over the tuples before this page, and over all tuples of all parts.
    values : dict
        The answer computed from the totals, by column.
    parts : list of (str, int, list of float)
        Rounds and tiers, with the tuples and the sums of each; ``part`` is the index of the one shown.
    """

    measures: list[tuple[str, str]]
    columns: dict[str, list[int]]
    rows: list[tuple[int | str, list[float], list[ShownReport]]]
    people: int
    before: list[float]
    totals: list[float]
    values: dict[str, float]
    parts: list[tuple[str, int, list[float]]]
    part: int


def contributions_to(bound: Bound, people: People, group: Mapping[str, Any], page: Page) -> Contributions:
    """Return the contributions of tuples to one row of an answer."""
    classes, values = _locate_group(bound, group)
    formulas: dict[str, Formula] = {}
    for (name, output), formula in zip(bound.outputs, bound.formulas(classes), strict=False):
        if isinstance(formula, Formula) and not isinstance(output, GroupKey):
            formulas[name] = formula
        elif formula is not None:
            message = f"{name} is a quantile, which is not a sum of contributions. Ask for COUNT, SUM or AVG."
            raise UnsupportedSqlError(message, code="not-a-total", text=bound.scope.text)
    request = SumsRequest(squares=False)
    columns = {name: [request.place(total) for total in formula.totals] for name, formula in formulas.items()}
    if not 0 <= page.measure < len(request.totals):
        message = f"measure is {page.measure}; the question has {len(request.totals)} totals, counted from 0."
        raise UsageError(message, code="bad-option")
    rounds = [replace(round_, stored=tuple(replace(s, rollup=None) for s in round_.stored)) for round_ in people.rounds]
    if not -len(rounds) <= page.part < len(rounds):
        message = f"part is {page.part}; there are {len(rounds)} rounds and tiers, counted from 0."
        raise UsageError(message, code="bad-option")
    conditions = [*bound.conditions, *equal_to(bound, values)]
    readers = [
        _Reader(people, round_, Plan(bound.scope, round_, request.totals, [], [], conditions, types))
        for round_, types in zip(rounds, stored_types(people.engine, rounds), strict=True)
    ]
    shown = readers[page.part]
    sums = [reader.sums(page) for reader in readers]
    totals: Vector = np.sum([total for _, total in sums], axis=0)
    return Contributions(
        measures=_names(bound, request, formulas, columns),
        columns=columns,
        rows=shown.rows(page),
        people=sums[page.part][0],
        before=(shown.sums(page, first=page.offset)[1] if page.offset else np.zeros(len(totals))).tolist(),
        totals=totals.tolist(),
        values={
            name: value_of(people, formula, [float(totals[i]) for i in columns[name]], conditions)
            for name, formula in formulas.items()
        },
        parts=[(round_.name, count, total.tolist()) for round_, (count, total) in zip(rounds, sums, strict=True)],
        part=page.part % len(rounds),
    )


def _locate_group(bound: Bound, group: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Return the group that output columns name: places of classes, and values of public columns."""
    classes, values = [], []
    for key in bound.keys:
        name = next((name for name, output in bound.outputs if output is key), None)
        if name is None or name not in group:
            wanted = "List every column of GROUP BY in SELECT" if name is None else f"Pass group={{{name!r}: …}}"
            message = f"Contributions are shown for one row of the answer. {wanted}."
            raise UsageError(message, code="group-needed")
        if key.public is not None:
            values.append(_public_value(name, group[name]))
            continue
        labels = [label for label, _ in key.classes]
        places = [i for i, label in enumerate(labels) if label == group[name] or _as_text(label) == group[name]]
        if not places:
            raise UnknownNameError(f"group of {name}", _as_text(group[name]), map(_as_text, labels))
        classes.append(places[0])
    return tuple(classes), tuple(values)


def _public_value(name: str, value: Any) -> Any:
    """Return a value of a public column; other Python objects cannot be compared with one."""
    if value is not None and not isinstance(value, str | Number | np.bool_):
        message = f"The group's {name} must be a text, a number, a boolean or null."
        raise UsageError(message, code="bad-option")
    return value


def _as_text(label: Any) -> str:
    return "NULL" if label is None else str(label)


def _names(
    bound: Bound, request: SumsRequest, formulas: Mapping[str, Formula], columns: Mapping[str, Sequence[int]]
) -> list[tuple[str, str]]:
    """Return the name of each total, after the first column that needs it, and its meaning."""
    names: dict[int, str] = {}
    for name, places in columns.items():
        ratio = formulas[name].numerator is not None and len(places) == 2 and formulas[name].affine == (1.0, 0.0)
        roles = [""] if len(places) == 1 else ["numerator", "denominator"] if ratio else None
        for number, place in enumerate(places):
            role = roles[number] if roles else f"total {number + 1}"
            names.setdefault(place, f"{name}: {role}" if role else name)
    return [(names[place], describe(bound.scope, total)) for place, total in enumerate(request.totals)]


class _Reader:
    """The tuples of one round."""

    def __init__(self, people: People, round_: Round, plan: Plan) -> None:
        self._engine, self._round, self._plan = people.engine, round_, plan
        self._uploads = plan.uploads(people.engine.codes, people.engine.whole_alphabet)

    def sums(self, page: Page, first: int | None = None) -> tuple[int, Vector]:
        """Return the number of tuples and their sums: all of them, or the first ones in the page's order."""
        query = RankingSums(self._ranking(page, limit=first))
        table = self._engine.fetch(*print_query(query), self._uploads)
        [count, *totals] = [float(numbers_of(column)[0]) for column in table.columns]
        return int(count), self._round.weight * np.array(totals)

    def rows(self, page: Page) -> list[tuple[int | str, list[float], list[ShownReport]]]:
        """Return the tuples of a page."""
        query = self._ranking(page, limit=page.limit, offset=page.offset)
        [people, *measures] = self._engine.fetch(*print_query(query), self._uploads).to_pydict().values()
        reports = self._reports(people)
        added = zip(*measures, strict=True)
        return [
            (person, [self._round.weight * float(value) for value in values], reports[person])
            for person, values in zip(people, added, strict=True)
        ]

    def _ranking(self, page: Page, limit: int | None, offset: int = 0) -> Ranking:
        measures = self._plan.decoding.measures
        return Ranking(self._plan.people, measures, page.measure, page.order, page.descending, limit, offset)

    def _reports(self, people: list[Any]) -> dict[Any, list[ShownReport]]:
        """Return all reports of some people."""
        reports: dict[Any, list[ShownReport]] = {person: [] for person in people}
        if not people:
            return reports
        for source, stored in zip(self._plan.scope.sources, self._round.stored, strict=True):
            if source.twin is not None:
                continue
            service = stored.service.service
            query = reports_of(stored.table, column_names(service), service.key, people)
            for row in self._engine.fetch(*query, {}).to_pylist():
                channel, code = int(row["channel"]), int(row["code"])
                public = {column.name: row[column.name] for column in service.public}
                meaning = meaning_of(stored.service, channel, code)
                reports[row[service.key]].append(
                    ShownReport(service.name, int(row["slot"]), channel, code, meaning, public)
                )
        return reports
