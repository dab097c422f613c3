"""The interface of an oracle: a finite channel over the cells of a view, with integer weights.

An oracle is a frozen value that consists of the integers that the sampler compares draws with. The probability of a
code
given a cell is ``weight(cell, code) / denominator``, exactly. A code **supports** a set of cells; every cell is
supported with probability ``keep`` if it is the true one and ``lie`` otherwise, both exact fractions, so
``(support - lie) / (keep - lie)`` has the indicator of the true cell as its exact mean.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import LayoutError

__all__ = [
    "Build",
    "Cells",
    "Codes",
    "Extremes",
    "Oracle",
    "Reader",
    "Terms",
    "are_integers",
    "flat_index",
    "flat_values",
    "remainder",
]

Cells = npt.NDArray[np.int64]
Terms = Sequence[Sequence[npt.NDArray[np.float64]]]
Codes = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float64]
Reader = Callable[[Sequence[Vectors], Cells], Vectors]
"""From vectors of each attribute and picks of them to codes x picks: sums of products over the cells of a code."""

SUPPORTS_AT_ONCE = 2**22
"""Codes times cells whose supports are marked at once: 32 MiB as numbers."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """A column of the channel, or a class of equal columns: the cells under which the code is most and least likely."""

    code: int
    most: int
    most_cell: int
    least: int
    least_cell: int

    @classmethod
    def of(cls, code: int, first: tuple[int, int], second: tuple[int, int]) -> Extremes:
        """Return the column of a code for which two (weight, cell) pairs are the extremes."""
        return cls(code, *max(first, second), *min(first, second))

    @property
    def ratio(self) -> Fraction | None:
        """Largest over smallest weight; None where a code is possible for some cells only."""
        return Fraction(self.most, self.least) if self.least > 0 else None


@dataclass(frozen=True)
class Oracle(ABC):
    """A channel over the product of ``sizes`` cells, for draws of ``bits`` bits."""

    sizes: tuple[int, ...]
    bits: int

    name: ClassVar[str]
    """How reports are drawn, as wire version 1 names it."""

    tables: ClassVar[tuple[str, ...]] = ()
    """Parameters with an integer for each of several sizes; then one entry of a contract serves many views."""

    fixed_support: ClassVar[bool] = False
    """Whether every code supports the same number of cells (up to a code that supports all): then a function that is
    the same for all cells is read without noise."""

    fast_margins: ClassVar[bool] = False
    """Whether `margin_tally` visits the cells of the wanted attributes alone."""

    @classmethod
    @abstractmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the least noisy channel whose weights never differ by more than the factor ``bound``."""

    @property
    @abstractmethod
    def alphabet(self) -> int:
        """Number of codes: 0..alphabet-1."""

    @property
    @abstractmethod
    def denominator(self) -> int:
        """The sum of a cell's weights."""

    @property
    @abstractmethod
    def keep(self) -> Fraction:
        """Probability that the true cell is supported."""

    @property
    @abstractmethod
    def lie(self) -> Fraction:
        """Probability that any other cell is supported."""

    @property
    @abstractmethod
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Probability that exactly one of two cells is supported: if one of them is the true one, and if neither is."""

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of the integers that make a channel, in the contract's order."""
        return [field.name for field in fields(cls) if field.name not in ("sizes", "bits")]

    @property
    def parameters(self) -> dict[str, Any]:
        """The integers a client needs, as they stand in the contract."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    @classmethod
    def read(cls, sizes: Sequence[int], bits: int, parameters: Mapping[str, Any]) -> Self:
        """Return the channel of a contract's integers; ``flaw`` reports whether they are valid."""
        return cls(tuple(sizes), bits, **parameters)

    @abstractmethod
    def flaw(self) -> str:
        """Return the rule of `docs/wire.md` that these integers break; empty if they are a channel."""

    @abstractmethod
    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:
        """Return a code for each record, given its cell in each attribute and its draws."""

    def has_seed(self, code: Any, seed: Any) -> Any:  # noqa: ARG002
        """Return whether a code can come from a seed draw, for numbers or arrays; always true without seeds."""
        return code >= 0

    @abstractmethod
    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of a code for a cell."""

    @abstractmethod
    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Return a row for each code that marks the cells it supports."""

    @abstractmethod
    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return for each code (default: the whole alphabet) the sum of a function over the cells it supports.

        The function is a sum of products: each term has a vector over the cells of each attribute.
        """

    def reader(self, codes: Codes, dtype: type[np.floating[Any]] = np.float64) -> Reader:
        """Return a reader of some codes: for each code and row of picks, the sum of a product over supported cells.

        The reader takes vectors for each attribute, as rows; a row of picks selects one vector of each. Sums have at
        most the given type.
        """

        def read(axes: Sequence[Vectors], picks: Cells) -> npt.NDArray[np.float64]:
            chosen = np.ravel_multi_index(tuple(picks.T), [len(axis) for axis in axes])
            sums = np.empty((len(codes), len(picks)), dtype=dtype)
            step = max(1, SUPPORTS_AT_ONCE // self.domain)
            for start in range(0, len(codes), step):
                batch = codes[start : start + step]
                table = self.support(batch).astype(np.float64).reshape(len(batch), *self.sizes)
                for vectors in axes:  # contract the first attribute; its vectors become the last axis
                    table = np.tensordot(table, vectors, axes=(1, 1))
                sums[start : start + step] = table.reshape(len(batch), -1)[:, chosen]
            return sums

        return read

    def margins(self, axis: int | None, vectors: Sequence[Vectors], codes: Codes) -> npt.NDArray[np.float64]:
        """Return for each code, and each cell of one attribute, a sum over the cells it supports that belong to it.

        What is summed is a product of one vector for each other attribute. Without ``axis`` it is summed over all.
        """
        sums = np.empty((len(codes), 1 if axis is None else self.sizes[axis]))
        step = max(1, SUPPORTS_AT_ONCE // self.domain)
        for start in range(0, len(codes), step):
            batch = codes[start : start + step]
            table = self.support(batch).astype(np.float64).reshape(len(batch), *self.sizes)
            for place in reversed(range(len(self.sizes))):  # last axis first, so that others keep their places
                if place != axis:
                    table = np.tensordot(table, vectors[place], axes=(1 + place, 0))
            sums[start : start + step] = table.reshape(len(batch), -1)
        return sums

    def marks(self, cells: Cells, codes: Codes) -> npt.NDArray[np.float64]:
        """Return 1 for each code and each of some cells that it supports, else 0."""
        places = np.unravel_index(cells, self.sizes)
        axes = [np.eye(size)[place] for size, place in zip(self.sizes, places, strict=True)]
        picks = np.repeat(np.arange(len(cells))[:, None], len(self.sizes), axis=1)
        return np.round(self.reader(codes)(axes, picks))

    def cluster(self, codes: Codes) -> Codes:
        """Return, for each code, the number of its cluster: codes that should be sampled together."""
        return codes

    def tally_work(self, codes: int) -> int:
        """Return approximately how many cells a tally of a number of codes visits."""
        return codes * self.domain

    def tally(self, codes: Codes, people: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how many people support each cell, given how many reported each code."""
        total = np.zeros(self.domain)
        step = max(1, SUPPORTS_AT_ONCE // self.domain)
        for start in range(0, len(codes), step):
            total += people[start : start + step] @ self.support(codes[start : start + step])
        return total

    def margin_tally(self, axes: Sequence[int], codes: Codes, people: Vectors, beside: Sequence[Vectors]) -> Vectors:
        """Return the tally of the cells of some attributes, in order: summed over the cells of the others.

        These are weighted by the vectors ``beside``, of which there is one for each attribute.
        """
        table = self.tally(codes, people).reshape(self.sizes)
        for axis in reversed(range(len(self.sizes))):  # last axis first, so that others keep their places
            if axis not in axes:
                table = np.tensordot(table, beside[axis], axes=(axis, 0))
        return np.asarray(table.ravel())

    @abstractmethod
    def columns(self) -> Iterator[Extremes]:
        """Yield one column of the channel for each class of equal columns, by structure."""

    @property
    def domain(self) -> int:
        """Number of cells."""
        return math.prod(self.sizes)

    @cached_property
    def support_rates(self) -> tuple[float, float]:
        """``keep`` and ``lie`` as numbers for decoding; a single cell has no false one."""
        return float(self.keep), float(self.lie) if self.domain > 1 else 0.0

    @property
    def answers(self) -> int:
        """Answer draws that a record uses."""
        return 1

    @property
    def span(self) -> int:
        """Number of values of a draw."""
        return 1 << self.bits

    @cached_property
    def false_variance(self) -> Fraction:
        """Variance per report of the estimate of a cell that is not the true one."""
        return self.lie * (1 - self.lie) / (self.keep - self.lie) ** 2

    @cached_property
    def true_variance(self) -> Fraction:
        """Variance per report of the estimate of the true cell."""
        return self.keep * (1 - self.keep) / (self.keep - self.lie) ** 2

    @cached_property
    def noise(self) -> Fraction:
        """Variance per report of a contrast of unit length, averaged over pairs of cells and true cells.

        Exact for grr, ss and oue; for hashes the average also runs over placements of the cells (within 3 %).
        """
        if self.domain == 1:
            return Fraction(0)
        either, neither = self.pair_split
        split = (2 * either + (self.domain - 2) * neither) / self.domain
        return split / (2 * (self.keep - self.lie) ** 2) - Fraction(1, self.domain)

    def too_coarse(self, name: str = "") -> LayoutError:
        """Return the error for draws too short to hold the probabilities of an oracle (default: the drawing's name)."""
        message = (
            f"{name or self.name}: {self.domain} cells at this epsilon need finer probabilities than {self.bits}-bit "
            "draws hold. Use a larger epsilon or fewer cells."
        )
        return LayoutError(message, code="draws-too-coarse")


class Build(Protocol):
    """Builds a channel from a view's cells and the largest allowed ratio of weights, for draws of some bits."""

    def __call__(self, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Oracle:
        """Return the least noisy channel of its kind; LayoutError outside its range."""


def are_integers(*numbers: object, low: int = 0, high: int) -> bool:
    """Return whether all are whole numbers from low to high; booleans are not."""
    return all(type(number) is int and low <= number <= high for number in numbers)


def flat_index(cells: Sequence[Cells], sizes: Sequence[int]) -> Cells:
    """Return the index in the product of ``sizes``, last attribute fastest."""
    index = np.asarray(cells[0], dtype=np.int64)
    for column, size in zip(cells[1:], sizes[1:], strict=True):
        index = index * size + column
    return index


def flat_values(terms: Terms) -> npt.NDArray[np.float64]:
    """Return a sum of products as one vector over the product of the cells, last attribute fastest."""
    total: npt.NDArray[np.float64] = np.zeros(1)
    for term in terms:
        product = np.ones(1)
        for vector in term:
            product = np.multiply.outer(product, vector).ravel()
        total = total + product
    return total


def remainder(numbers: Draws | Codes, divisor: int) -> Codes:
    """Return ``numbers % divisor``: numpy divides by a scalar with multiplications, but takes slow remainders."""
    scalar = numbers.dtype.type(divisor)
    result = numbers // scalar
    result *= scalar
    np.subtract(numbers, result, out=result)
    return result.view(np.int64)
