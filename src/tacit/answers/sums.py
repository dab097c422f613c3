"""Sums over people, fetched from the engine: totals, products of totals, and the errors computed from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sqlglot import exp

from tacit.answers.code_sums import plan_by_code
from tacit.answers.code_values import plan_code_values
from tacit.answers.columns import Values, numbers_of, rows_of
from tacit.answers.rounds import across_rounds, effective_over_rounds, without_rounding
from tacit.contract.panel import Design
from tacit.engines.base import Engine
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Vector
from tacit.sql.plan import Plan
from tacit.sql.printing import print_query
from tacit.sql.rounded import product_of_means
from tacit.sql.rounds import Round
from tacit.sql.scope import LABELS, BoundColumn, Scope
from tacit.sql.stored_types import StoredTypes
from tacit.sql.totals import Piece, Total

__all__ = ["Fetch", "GroupSums", "SumsRequest", "Values", "fetch_by_code", "fetch_sums", "over_rounds", "stored_types"]

Fetch = Callable[
    ["JoinedReports", "SumsRequest", Sequence[BoundColumn], Sequence[exp.Expr]],
    "tuple[dict[Values, GroupSums], list[Plan]] | None",
]
"""From people, request, keys and conditions to sums and plans."""

RESIDUE = 1e-12
"""Relative difference below which two sums are equal up to rounding: engines add in different orders."""

MANY_REPORTS = 30
"""Number of reports above which noise never makes all contributions equal."""


@dataclass
class SumsRequest:
    """Distinct totals to be summed, and the pairs of them whose products are needed.

    Without ``squares`` the product of two totals has no estimate of its own: it is not planned, and its place is -1.
    """

    squares: bool = True
    totals: list[Total] = field(default_factory=list)
    rounded: Mapping[int, int] = field(default_factory=dict)
    """Attributes whose values clients round randomly, with the number of their representatives."""
    pairs: dict[tuple[int, int], int] = field(default_factory=dict)
    _places: dict[Any, int] = field(default_factory=dict)
    _same: dict[int, int] = field(default_factory=dict)
    """The indices of totals by identity."""

    def place(self, total: Total) -> int:
        """Return the index of a total."""
        same = self._same.get(id(total))
        if same is not None:
            return same
        key = total.key
        if key not in self._places:
            self._places[key] = len(self.totals)
            self.totals.append(total)
            self._same[id(total)] = self._places[key]
        return self._places[key]

    def places(self, totals: Sequence[Total]) -> list[int]:
        """Return the indices of a formula's totals, and plan the products that its error needs."""
        positions = [self.place(total) for total in totals]
        for (i, left), (j, right) in itertools.product(enumerate(positions), repeat=2):
            if left <= right and (left, right) not in self.pairs:
                self.pairs[left, right] = self._product(totals[i], totals[j])
        self._weigh(totals)
        return positions

    def alone(self, total: Total) -> int:
        """Return the index of a total whose error is needed, without products with other totals."""
        return self.places([total])[0]

    def _product(self, left: Total, right: Total) -> int:
        return self.place(product_of_means(left, right, self.rounded)) if self.squares else -1

    def _weigh(self, totals: Sequence[Total]) -> None:
        """Plan the total that scales a planned error."""
        for piece in (piece for total in totals for piece in total.pieces if piece.guards or piece.powers):
            self.place(piece.weights)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """One group's sums: people, totals, products of totals, fourth powers."""

    count: int
    totals: Vector
    products: dict[tuple[int, int], float]
    fourths: dict[int, float]
    noisy: tuple[bool, ...]
    request: SumsRequest
    label: str = ""
    parts: tuple[GroupSums, ...] = ()
    design: Design | None = None
    """How a panel chose these people."""
    _moments: dict[tuple[int, ...], tuple[Vector, Vector]] = field(default_factory=dict, init=False)

    def of_panel(self, design: Design) -> GroupSums:
        """Return the sums over all members of a panel, of whom these people are a random sample.

        Each stands for ``weight`` people. The variance then includes who was asked, and nothing is known without error.
        """
        by = design.weight
        return replace(
            self,
            totals=self.totals * by,
            products={pair: value * by**2 for pair, value in self.products.items()},
            fourths={index: value * by**4 for index, value in self.fourths.items()},
            noisy=(True,) * len(self.noisy),
            design=design,
        )

    @property
    def stands_for(self) -> float:
        """The number of people, or of panel members that they stand for, summed over rounds."""
        return sum((part.design.weight if part.design else 1.0) * part.count for part in self.parts or (self,))

    @property
    def labels(self) -> list[str]:
        """Tiers of the parts."""
        return [part.label for part in self.parts]

    def plus(self, other: GroupSums) -> GroupSums:
        """Return the sums over two rounds or tiers, whose reports are drawn independently."""
        return GroupSums(
            self.count + other.count,
            self.totals + other.totals,
            {pair: value + other.products[pair] for pair, value in self.products.items()},
            {index: value + other.fourths[index] for index, value in self.fourths.items()},
            tuple(a or b for a, b in zip(self.noisy, other.noisy, strict=True)),
            self.request,
            parts=(*(self.parts or (self,)), other),
            design=self.design or other.design,
        )

    def covariance(self, gradients: Vector, place: list[int], *, superpopulation: bool = False) -> Vector:
        """Return the covariance of combinations of totals, one per row of ``gradients``; NaN where it is unknown.

        It is the sum of products of contributions, less the contributions of the product. Where this yields no positive
        variance despite noise, the sample covariance replaces it, which is larger on average; it is also used for a
        superpopulation, of which the people are a sample.
        """
        if len(gradients) <= 2 and not self.parts and self.design is None:
            return np.array(self._small_covariance(gradients.tolist(), place, superpopulation=superpopulation))
        exact, safe = self.moments(place)
        across = np.diag(across_rounds(self, gradients, place))
        matrix = _combine(gradients, exact) + across
        noisy = (gradients != 0) @ np.array([self.noisy[index] for index in place])
        if (
            not superpopulation
            and self.request.squares
            and ((np.diag(matrix) > 0) | ~noisy | np.isnan(np.diag(matrix))).all()
        ):
            return np.where(noisy[:, None] & noisy, matrix, 0.0)  # what reads no code is known
        if self.count < 2:
            return np.full(matrix.shape, math.nan if self.count else 0.0)
        spread = _combine(gradients, safe) * self.count / (self.count - 1) + across
        if self.count >= MANY_REPORTS:  # so many equal contributions are no coincidence: the total is known
            return np.where(np.diag(noisy) & (spread <= 0), 0.0, spread)
        return np.where(np.diag(noisy) & (spread <= 0), math.nan, spread)

    def _small_covariance(
        self, rows: list[list[float]], place: list[int], *, superpopulation: bool
    ) -> list[list[float]]:
        """Return the covariance of few combinations, as `covariance` does, without arrays: that is faster."""
        exact, safe = self.moments(place)
        noisy = [any(itertools.compress(row, map(self.noisy.__getitem__, place))) for row in rows]
        matrix = _small_combine(rows, exact.tolist())
        variances = [row[i] for i, row in enumerate(matrix)]
        if (
            not superpopulation
            and self.request.squares
            and all(v > 0 or not read or math.isnan(v) for v, read in zip(variances, noisy, strict=True))
        ):
            return [
                [value if a and b else 0.0 for value, b in zip(row, noisy, strict=True)]
                for row, a in zip(matrix, noisy, strict=True)
            ]
        if self.count < 2:
            return [[math.nan if self.count else 0.0] * len(rows) for _ in rows]
        scale = self.count / (self.count - 1)
        spread = [[scale * value for value in row] for row in _small_combine(rows, safe.tolist())]
        for i, read in enumerate(noisy):
            if read and spread[i][i] <= 0:  # so many equal contributions are no chance: the total is known
                spread[i][i] = 0.0 if self.count >= MANY_REPORTS else math.nan
        return spread

    def variance(self, place: int, *, superpopulation: bool = False) -> float:
        """Return the variance of one total, as `covariance` does."""
        variance = math.nan
        if self.request.squares and not superpopulation and self.design is None:
            variance = self.products[place, place] - float(self.totals[self.request.pairs[place, place]])
        if variance > 0 or not self.noisy[place]:
            return variance if self.noisy[place] else 0.0
        return self.covariance(np.ones((1, 1)), [place], superpopulation=superpopulation).item()

    def moments(self, place: list[int]) -> tuple[Vector, Vector]:
        """Return the covariance of totals from products (0 if they are not estimated), and the sample covariance."""
        key = tuple(place)
        if key not in self._moments:
            self._moments[key] = self._compute_moments(place)
        return self._moments[key]

    def _compute_moments(self, place: list[int]) -> tuple[Vector, Vector]:
        if self.parts and self.design:  # each round is a sample by itself
            moments = [part.moments(place) for part in self.parts]
            return sum(moment for moment, _ in moments), sum(moment for _, moment in moments)  # type: ignore[return-value]
        design, totals = self.design, [float(self.totals[index]) for index in place]
        exact, safe = np.zeros((len(place), len(place))), np.zeros((len(place), len(place)))
        known = design.known_share if design else 0.0
        people = self.count if design is None else design.weight * self.count
        if design and design.enrolled:
            people = design.enrolled.asked
        for a, b in itertools.product(range(len(place)), repeat=2):
            pair = (min(place[a], place[b]), max(place[a], place[b]))
            both = totals[a] * totals[b]
            if self.request.squares:
                exact[a, b] = self.products[pair] - self.totals[self.request.pairs[pair]] - known * both
            safe[a, b] = self.products[pair] - both / max(1, people)
            if design and abs(exact[a, b]) <= RESIDUE * abs(self.products[pair]):
                exact[a, b] = 0.0
            if design and abs(safe[a, b]) <= RESIDUE * abs(self.products[pair]):
                safe[a, b] = 0.0
        return exact / (1 - known), safe

    def noise(self, place: list[int]) -> tuple[Vector, float]:
        """Return the covariance of the noise of totals, and the share of the variance between people that it includes.

        Where products have estimates it is unbiased. Where they have none it is the sample covariance, which for a mean
        of independent rows also includes this multiple of the variance of rows over their number.
        """
        many, squares = max(1, self.count), self.request.squares
        exact, safe = self.moments(place)
        matrix = exact if squares else safe
        noisy = np.array([self.noisy[index] for index in place], dtype=bool)
        matrix = np.where(noisy[:, None] & noisy, matrix, 0.0)  # what reads no code is known
        shared = 0.0 if squares or not noisy.any() else many / max(1, many - 1)
        return matrix * (shared or 1.0), shared

    def weight(self, piece: Piece) -> float:
        """Return the total factor of the noise variance of one person's functional: the people, if it is plain."""
        plain = not piece.guards and not piece.powers
        weight = self.design.weight if self.design else 1.0
        if plain:
            return sum((part.design.weight if part.design else 1.0) ** 2 * part.count for part in self.parts or (self,))
        return weight * float(self.totals[self.request.place(piece.weights)])

    def effective(self, place: list[int], gradient: Vector | None = None) -> float:
        """Return the effective number of reports behind the totals or, over several rounds, their combination."""
        try:
            fewest = min(
                (self.products[i, i] ** 2 / self.fourths[i] for i in place if self.fourths[i]), default=math.inf
            )
            return fewest if gradient is None else max(fewest, effective_over_rounds(self.parts, gradient, place))
        except OverflowError:
            message = "Squared contributions are too large. Divide the columns, or use fewer factors."
            raise UnanswerableError(message, code="number-too-large") from None


def _small_combine(rows: list[list[float]], matrix: list[list[float]]) -> list[list[float]]:
    """Return the covariance of one or two combinations, as `_combine` does, without arrays."""
    if len(rows) == 1:
        return [[_bilinear(rows[0], rows[0], matrix)]]
    [left, right] = rows
    mixed = _bilinear(left, right, matrix)
    return [[_bilinear(left, left, matrix), mixed], [mixed, _bilinear(right, right, matrix)]]


def _bilinear(left: list[float], right: list[float], matrix: list[list[float]]) -> float:
    parts = [a * b * c for a, row in zip(left, matrix, strict=True) for b, c in zip(right, row, strict=True)]
    covariance = sum(parts)
    return 0.0 if abs(covariance) <= RESIDUE * sum(map(abs, parts)) else covariance


def _combine(gradients: Vector, covariance: Vector) -> Vector:
    """Return the covariance of combinations; rounding residues of terms that cancel become zero."""
    combined: Vector = gradients @ covariance @ gradients.T
    size: Vector = np.abs(gradients) @ np.abs(covariance) @ np.abs(gradients).T
    return np.where(np.abs(combined) <= RESIDUE * size, 0.0, combined)


class JoinedReports(Protocol):
    """Joined services in one or more rounds, and the engine that has their reports."""

    engine: Engine
    scope: Scope
    rounds: Sequence[Round]


def fetch_sums(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> tuple[dict[Values, GroupSums], list[Plan]]:
    """Return the sums of each group of public values, over all rounds, and the plans that were run."""
    fetched = fetch_by_code(people, request, keys, conditions)
    if fetched is not None:
        return fetched
    plans = list(_plans_of(people, request, keys, conditions))
    return over_rounds([_sum_in_engine(people.engine, plan, request) for plan in plans], people.rounds), plans


def _plans_of(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> Iterator[Plan]:
    """Yield the plan of each round."""
    pairs = sorted(request.pairs)
    for round_, types in zip(people.rounds, stored_types(people.engine, people.rounds), strict=True):
        yield Plan(people.scope, round_, request.totals, pairs, keys, conditions, types)


def fetch_by_code(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> tuple[dict[Values, GroupSums], list[Plan]] | None:
    """Return sums and plans as `fetch_sums` does, for any number of totals; None where sums by code do not suffice."""
    pairs = sorted(request.pairs)
    plans, by_round = [], []
    for plan in _plans_of(people, request, keys, conditions):
        ways = (make(plan) for make in BY_CODE)
        tried = ((way, way.run(people.engine)) for way in ways if way is not None)
        way, moments = next(((way, moments) for way, moments in tried if moments is not None), (None, None))
        if way is None or moments is None:
            return None
        squared, noisy, tier = sorted({i for i, _ in pairs}), way.noisy(), plan.round.labels["tier"]
        by_round.append(
            {
                values: GroupSums(
                    moment.count,
                    moment.totals,
                    dict(zip(pairs, moment.products.tolist(), strict=True)),
                    dict(zip(squared, moment.fourths.tolist(), strict=True)),
                    noisy,
                    request,
                    tier,
                )
                for values, moment in moments.items()
            }
        )
        plans.append(replace(plan, by_code=way.query, from_tables=way.from_tables))
    return over_rounds(by_round, people.rounds), plans


BY_CODE = (plan_by_code, plan_code_values)
"""Ways to compute totals from sums by code: from tables of the views or, for other decoders, code by code."""


def over_rounds(by_round: Sequence[dict[Values, GroupSums]], rounds: Sequence[Round]) -> dict[Values, GroupSums]:
    """Add up the sums of rounds and tiers; those of a panel refer to all its members."""
    total: dict[Values, GroupSums] = {}
    for by_group, round_ in zip(by_round, rounds, strict=True):
        for values, sums in without_rounding(by_group).items():
            of_round = sums.of_panel(round_.design) if round_.design else sums
            total[values] = total[values].plus(of_round) if values in total else of_round
    return total


def stored_types(engine: Engine, rounds: Sequence[Round]) -> list[StoredTypes]:
    """Return which public columns the tables of each round hold as text."""
    texts = [
        [
            engine.text_columns(stored.table).union(LABELS) if stored.service.service.public else frozenset(LABELS)
            for stored in round_.stored
        ]
        for round_ in rounds
    ]
    anywhere = [frozenset[str]().union(*of_source) for of_source in zip(*texts, strict=True)]
    return [StoredTypes(text, anywhere) for text in texts]


def _sum_in_engine(engine: Engine, plan: Plan, request: SumsRequest) -> dict[Values, GroupSums]:
    """Let the engine join reports with contributions and add up."""
    query = plan.sums
    table = engine.fetch(*print_query(query), plan.uploads(engine.codes, engine.whole_alphabet))
    keys = rows_of(table, len(plan.keys))
    numbers = np.array([numbers_of(table.column(i)) for i in range(len(plan.keys), table.num_columns)])
    first = 1 + len(query.measures)
    second = first + len(query.pairs)
    return {
        values: GroupSums(
            int(row[0]),
            row[1:first],
            dict(zip(query.pairs, row[first:second].tolist(), strict=True)),
            dict(zip(query.fourths, row[second:].tolist(), strict=True)),
            plan.decoding.reads_codes,
            request,
            plan.round.labels["tier"],
        )
        for values, row in zip(keys, numbers.T, strict=True)
    }
