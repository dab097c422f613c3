"""The sums of one public group: totals, products of totals, and the covariances computed from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tacit.answers.rounds import across_rounds, effective_over_rounds
from tacit.contract.panel import Design
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Vector
from tacit.sql.rounded import product_of_means
from tacit.sql.totals import Piece, Total

__all__ = ["GroupSums", "SumsRequest"]

Rows = list[list[float]]
"""A small matrix."""

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
    _moments: dict[tuple[int, ...], tuple[Rows, Rows]] = field(default_factory=dict, init=False)

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
        exact, safe = self._rows_of_moments(place)
        reads = [self.noisy[index] for index in place]
        noisy = [any(itertools.compress(row, reads)) for row in rows]
        matrix = _small_combine(rows, exact)
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
        spread = [[scale * value for value in row] for row in _small_combine(rows, safe)]
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
        exact, safe = self._rows_of_moments(place)
        return np.array(exact), np.array(safe)

    def _rows_of_moments(self, place: list[int]) -> tuple[Rows, Rows]:
        """Return what `moments` does, as rows of numbers: groups have many small matrices."""
        key = tuple(place)
        if key not in self._moments:
            exact, safe = self._of_people(place) if self.design is None else self._of_design(place)
            self._moments[key] = exact, safe
        return self._moments[key]

    def _of_people(self, place: list[int]) -> tuple[Rows, Rows]:
        """Return the moments of people of whom nobody was left out."""
        totals, people = [float(self.totals[index]) for index in place], max(1, self.count)
        exact, safe = ([[0.0] * len(place) for _ in place] for _ in range(2))
        for a, i in enumerate(place):
            for b, j in enumerate(place[: a + 1]):
                pair = (i, j) if i <= j else (j, i)
                product = self.products[pair]
                if self.request.squares:
                    exact[a][b] = exact[b][a] = product - float(self.totals[self.request.pairs[pair]])
                safe[a][b] = safe[b][a] = product - totals[a] * totals[b] / people
        return exact, safe

    def _of_design(self, place: list[int]) -> tuple[Rows, Rows]:
        """Return the moments of members of a panel, as arrays in rows."""
        exact, safe = self._compute_moments(place)
        return exact.tolist(), safe.tolist()

    def _compute_moments(self, place: list[int]) -> tuple[Vector, Vector]:
        if self.parts:  # each round is a sample by itself
            moments = [part.moments(place) for part in self.parts]
            return sum(moment for moment, _ in moments), sum(moment for _, moment in moments)  # type: ignore[return-value]
        design, totals = self.design, [float(self.totals[index]) for index in place]
        assert design is not None  # noqa: S101  `_of_people` has the other case
        exact, safe = np.zeros((len(place), len(place))), np.zeros((len(place), len(place)))
        known, people = design.known_share, design.weight * self.count
        if design.enrolled:
            people = design.enrolled.asked
        for a, b in itertools.product(range(len(place)), repeat=2):
            pair = (min(place[a], place[b]), max(place[a], place[b]))
            both = totals[a] * totals[b]
            if self.request.squares:
                exact[a, b] = self.products[pair] - self.totals[self.request.pairs[pair]] - known * both
            safe[a, b] = self.products[pair] - both / max(1, people)
            if abs(exact[a, b]) <= RESIDUE * abs(self.products[pair]):
                exact[a, b] = 0.0
            if abs(safe[a, b]) <= RESIDUE * abs(self.products[pair]):
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
    if len(left) == 2:  # averages, of which groups have many
        (a, b), (c, d), ((e, f), (g, h)) = left, right, matrix
        parts = [a * c * e, a * d * f, b * c * g, b * d * h]
    else:
        parts = [a * b * c for a, row in zip(left, matrix, strict=True) for b, c in zip(right, row, strict=True)]
    covariance = sum(parts)
    return 0.0 if abs(covariance) <= RESIDUE * sum(map(abs, parts)) else covariance


def _combine(gradients: Vector, covariance: Vector) -> Vector:
    """Return the covariance of combinations; rounding residues of terms that cancel become zero."""
    combined: Vector = gradients @ covariance @ gradients.T
    size: Vector = np.abs(gradients) @ np.abs(covariance) @ np.abs(gradients).T
    return np.where(np.abs(combined) <= RESIDUE * size, 0.0, combined)
