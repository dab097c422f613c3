"""Ours for many attributes: noisy tables of single attributes and of chosen pairs, and the model of the local mode.

Steps       1. Every attribute's own counts, with a third of the budget. 2. One pair after another is chosen where the
            product of both attributes' noisy tables is worst, by report-noisy-max with an eighth of the rest, first so
            that every attribute is connected with the others. 3. Each is counted, in cells of at least so many people
            as the noise allows, which are runs of values, or the frequent values and the others.
Score       The number of people in cells above what the published tables predict, less what noise would add. One record
            more raises every score by at most 1 and lowers none, so noise of scale 1/epsilon is enough.
Model       `tacit.model`: a table near what its attributes' tables predict, as near as noise suggests; pairs that were
            not counted follow through those that were.
Guarantee   epsilon: cells of a table hold different people, tables and choices add up; everything else is computed from
            published numbers. With ``noise="gaussian"`` the same in zCDP, stated as epsilon and delta
            (`tacit.central.concentrated`): less noise, because the noise of k tables grows with the root of k.
Reference   McKenna, Miklau and Sheldon 2021 (a maximum spanning tree of pairs); Dwork and Roth 2014, claim 3.9.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.body import Body
from tacit.central.charges import Charge
from tacit.central.concentrated import ConcentratedBudget, PureBudget, largest_rho
from tacit.central.noise import Gaussian, Ints, Laplace, Law, NoiseSource
from tacit.central.records import Records
from tacit.contract.amplification import parse_delta
from tacit.contract.budget import BudgetLike, read_fraction
from tacit.contract.schema import Ordinal, Service
from tacit.errors import LayoutError, UsageError
from tacit.estimate.functional import Functional, Vector
from tacit.model.bounds import mean_bounds
from tacit.model.evidence import Attribute, NoisyTable
from tacit.model.model import Model
from tacit.model.synthesis import draw_rows

__all__ = ["Counted", "MarginalTables", "Marginals", "noisy_max"]

SINGLE_SHARE, CHOICE_SHARE = Fraction(1, 3), Fraction(1, 8)
"""Part of the budget for single attributes, and part of the rest for choosing pairs."""

PER_NOISE, MOST_TIMES = 875.0, 5
"""People for each unit of a pair's mean absolute noise, and how many times the pairs of a tree are counted at most."""

FEWEST_CELLS, MOST_CELLS = 4, 64
"""Cells of an attribute in a pair's table."""

NOISE_PER_PERSON = 0.25
"""Noise of a pair's table, summed over cells, for each person, up to which cells may be finer."""

SMALLEST_EPSILON = Fraction(1, 10_000)
"""Least epsilon of Gaussian noise: a smaller rho would lose digits."""

MANY_DRAWS = 1e6
"""Draws that the errors of a fitted model are taken to rest on."""

MOST_SINGLE = 1024
"""Maximum cells of a single attribute: more ordered values are counted in runs of equal length."""


@dataclass(frozen=True)
class Marginals:
    """The method.

    Parameters
    ----------
    pairs : int, optional
        How many pairs are counted; by default what the number of people and the budget allow.
    noise : str
        "laplace", for epsilon alone, or "gaussian", for epsilon and delta.
    delta : number, optional
        With Gaussian noise: the chance that the bound epsilon does not hold.
    """

    pairs: int | None = None
    noise: str = "laplace"
    delta: BudgetLike | None = None

    def __post_init__(self) -> None:
        if self.noise not in ("laplace", "gaussian"):
            message = (
                f"noise is {self.noise!r}; it must be 'laplace' (epsilon alone) or 'gaussian' (epsilon and delta)."
            )
            raise UsageError(message, code="bad-option")
        if (self.noise == "gaussian") != (self.delta is not None):
            message = "delta= and noise='gaussian' go together: pass both, such as delta=1e-9, or neither."
            raise UsageError(message, code="bad-option")

    def _budget(self, epsilon: Fraction) -> PureBudget | ConcentratedBudget:
        if self.delta is None:
            return PureBudget(epsilon)
        return ConcentratedBudget(largest_rho(epsilon, parse_delta(self.delta)))

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse too many categories."""
        for attribute in service.sensitive:
            if not isinstance(attribute, Ordinal) and attribute.size > MOST_SINGLE:
                message = (
                    f"{service.name}: {attribute.name} has {attribute.size:,} values; marginals counts at most "
                    f"{MOST_SINGLE:,} of a categorical column. Declare the frequent ones, and other= for the rest."
                )
                raise LayoutError(message, code="domain-too-large")
        if self.delta is not None:
            if epsilon < SMALLEST_EPSILON:
                message = f"epsilon is {float(epsilon):.3g}; Gaussian noise needs at least {float(SMALLEST_EPSILON)}."
                raise UsageError(message, code="epsilon-out-of-range")
            return [Charge(epsilon, "release: counts and choices of columns and pairs", delta=parse_delta(self.delta))]
        parts = self._parts(len(service.sensitive), epsilon)
        purposes = ("counts of single columns", "choice of pairs of columns", "counts of pairs of columns")
        return [Charge(part, f"release: {purpose}") for part, purpose in zip(parts, purposes, strict=True) if part]

    def count(self, attributes: int, tables: float = 0.0) -> int:
        """Return how many pairs are counted, given how many the budget pays for; all but one at most.

        They connect all attributes, and as many times more as the budget pays for.
        """
        every = math.comb(attributes, 2)
        if self.pairs is not None:
            return max(0, min(self.pairs, every))
        edges = max(0, attributes - 1)
        times = min(max(1, round(tables / max(1, edges))), MOST_TIMES)
        return edges if every == edges else min(times * edges, every - 1)

    def _parts(self, attributes: int, total: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the budgets of single attributes, of choices and of pairs."""
        if not self.count(attributes):
            return total, Fraction(0), Fraction(0)
        for_pairs = total * (1 - SINGLE_SHARE)
        choice = for_pairs * CHOICE_SHARE if self.count(attributes) < math.comb(attributes, 2) else Fraction(0)
        return total - for_pairs, choice, for_pairs - choice

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy tables."""
        sizes, budget = records.sizes, self._budget(epsilon)
        single, choice, pairs = self._parts(len(sizes), budget.total)
        law = budget.law(single / len(sizes))
        release = MarginalTables(_attributes(records.service), [])
        for i, attribute in enumerate(release.attributes):
            cells = _runs(attribute)
            counts = np.bincount(cells[records.values[i]], minlength=int(cells.max()) + 1)
            release.tables.append(Counted((i,), (cells,), source.noisy(counts, law), law))
        if not self.count(len(sizes)):
            return release
        singles = MarginalTables(release.attributes, list(release.tables))
        rounds = self.count(len(sizes), budget.tables(pairs, singles.people / PER_NOISE))
        each, law = choice / rounds, budget.law(pairs / rounds)
        partitions = singles.partitions(law)
        candidates = {
            (i, j): _pair_counts(records, (i, j), partitions) for i, j in itertools.combinations(range(len(sizes)), 2)
        }
        scores = {pair: singles.score(pair, partitions, counts, law) for pair, counts in candidates.items()}
        group = list(range(len(sizes)))
        while rounds:
            apart = [pair for pair in candidates if group[pair[0]] != group[pair[1]]]
            left = apart or list(candidates)
            numbers = np.array([scores[pair] for pair in left], dtype=np.int64)
            best = left[noisy_max(numbers, budget.choice(each), source) if choice else 0]
            cells_of = (partitions[best[0]], partitions[best[1]])
            release.tables.append(Counted(best, cells_of, source.noisy(candidates.pop(best), law), law))
            joined = group[best[1]]
            group = [group[best[0]] if tree == joined else tree for tree in group]
            rounds -= 1
        return release


def noisy_max(scores: Ints, epsilon: Fraction, source: NoiseSource) -> int:
    """Return the place of the largest score, for epsilon.

    One record more must raise every score by 0 or 1: then noise of scale 1/epsilon on each is enough (report-noisy-max
    of monotone scores). The noisy scores themselves are not published.
    """
    return int(np.argmax(source.noisy(scores, Laplace(epsilon))))


def _attributes(service: Service) -> list[Attribute]:
    return [Attribute(a.name, a.size, a.ordered, int(bool(a.null))) for a in service.sensitive]


def _runs(attribute: Attribute) -> Ints:
    """Return the cells in which a single attribute is counted: its values, or runs of them."""
    count = attribute.size - attribute.apart
    cells = np.arange(count) // -(-count // MOST_SINGLE)
    return np.concatenate([cells, cells.max() + 1 + np.arange(attribute.apart)])


def _pair_counts(records: Records, pair: tuple[int, int], partitions: Sequence[Ints]) -> Ints:
    left, right = (partitions[i][records.values[i]] for i in pair)
    sizes = [int(partitions[i].max()) + 1 for i in pair]
    return np.bincount(left * sizes[1] + right, minlength=sizes[0] * sizes[1]).reshape(sizes)


@dataclass(frozen=True, eq=False)
class Counted:
    """Noisy counts of some attributes, in a partition of each."""

    attributes: tuple[int, ...]
    partitions: tuple[Ints, ...]
    counts: Ints
    law: Law

    def deviation(self, functional: Functional) -> float | None:
        """Return the standard error of a functional's unbiased estimate; None if these cells do not show it."""
        if not set(functional.attributes) <= set(self.attributes):
            return None
        weights = np.zeros(self.counts.shape)
        for term in functional.terms:
            product = np.full((), term.coefficient)
            for i, cells in zip(self.attributes, self.partitions, strict=True):
                vector = term.factors.get(i, np.ones(len(cells)))
                first = np.unique(cells, return_index=True)[1]
                if not np.array_equal(vector, vector[first][cells]):
                    return None
                product = np.multiply.outer(product, vector[first])
            weights = weights + product
        return math.sqrt(self.law.variance * float((weights**2).sum()))


class MarginalTables:
    """Noisy tables of single attributes and of pairs, and their model."""

    kind, unbiased = "marginals", False
    assumption = (
        "fitted to noisy tables of single columns and of some pairs; columns are assumed independent otherwise, given "
        "those they are paired with. Errors contain whatever the counted tables leave possible"
    )

    def __init__(self, attributes: Sequence[Attribute], tables: list[Counted]) -> None:
        self.attributes, self.tables = list(attributes), tables
        self.sizes = tuple(attribute.size for attribute in attributes)

    @cached_property
    def people(self) -> float:
        """The number of people: the average of all tables' sums, by their precision."""
        weights = [1 / (table.law.variance * table.counts.size) for table in self.tables]
        sums = [float(table.counts.sum()) for table in self.tables]
        return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))

    @cached_property
    def model(self) -> Model:
        """The model of all tables."""
        evidence = [
            NoisyTable(
                table.attributes,
                table.partitions,
                table.counts / self.people,
                np.asarray(self.people**2 / table.law.variance),
            )
            for table in self.tables
        ]
        return Model(self.attributes, evidence, self.people)

    def partitions(self, law: Law) -> list[Ints]:
        """Return the cells of each attribute in tables of pairs: as many as noise of a law allows."""
        most = math.sqrt(NOISE_PER_PERSON * self.people / law.mean_noise)
        cells = int(min(max(most, FEWEST_CELLS), MOST_CELLS))
        return [_merged_values(self.model.values(i), attribute, cells) for i, attribute in enumerate(self.attributes)]

    def score(self, pair: tuple[int, int], partitions: Sequence[Ints], counts: Ints, law: Law) -> int:
        """Return how many people a pair's counts put above the prediction, less what noise would."""
        sides = [np.bincount(partitions[i], self.model.values(i)) for i in pair]
        predicted = self.people * np.multiply.outer(*sides)
        above = np.floor(np.maximum(counts - np.round(predicted), 0.0)).sum()
        return int(above) - int(counts.size * law.mean_noise / 4)

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        return self.people * self.model.means([functional])[0]

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the covariance of two estimates."""
        both, apart = self.model.errors([left + right, left - right])
        shared = self._total_variance * self.model.means([left])[0] * self.model.means([right])[0]
        return self.people**2 * (both**2 - apart**2) / 4 + shared

    @property
    def _total_variance(self) -> float:
        """The variance of the number of people."""
        return 1 / sum(1 / (table.law.variance * table.counts.size) for table in self.tables)

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws.

        It is not below that of the unbiased estimate from a counted table, where there is one, or else below the least
        noise of a count: the model may be wrong. What tables with the same counts may hide is in it, too.
        """
        fitted = np.sqrt([max(0.0, self.covariance(functional, functional))]) / self.people
        error = self.people * float(self.model.hidden([functional]).error(fitted)[0])
        counted = [deviation for table in self.tables if (deviation := table.deviation(functional)) is not None]
        if not counted:
            low, high = mean_bounds(functional)
            counted = [(high - low) * math.sqrt(min(table.law.variance for table in self.tables))]
        return max(error, min(counted)), MANY_DRAWS

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell, with an axis for each attribute."""
        return self.people * self.model.table(range(len(self.sizes)))

    def draw(self, rows: int, source: np.random.Generator) -> Ints:
        """Return value indices of synthetic people."""
        return np.stack(draw_rows(self.sizes, self.model.table, rows, source), axis=1)

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        return {
            "attributes": [[attribute.name, attribute.ordered, attribute.apart] for attribute in self.attributes],
            "tables": [
                {
                    "attributes": list(table.attributes),
                    **_law_facts(table.law),
                    "partitions": [
                        None if len(partition) == int(partition.max()) + 1 else partition.tolist()
                        for partition in table.partitions
                    ],
                }
                for table in self.tables
            ],
        }

    def columns(self) -> pa.Table:
        """Return the counts of all tables, one after another, last attribute fastest."""
        numbers = np.repeat(np.arange(len(self.tables), dtype=np.int32), [table.counts.size for table in self.tables])
        return pa.table({"table": numbers, "count": np.concatenate([table.counts.ravel() for table in self.tables])})

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        attributes = [
            Attribute(name, size, ordered, apart)
            for (name, ordered, apart), size in zip(facts["attributes"], sizes, strict=True)
        ]
        if not all(type(named.apart) is int and 0 <= named.apart <= named.size for named in attributes):
            raise ValueError
        return cls(attributes, list(_read(sizes, facts["tables"], np.asarray(table.column("count"), dtype=np.int64))))


def _read(sizes: tuple[int, ...], tables: Sequence[Mapping[str, Any]], counts: Ints) -> Iterator[Counted]:
    start = 0
    for table in tables:
        attributes = tuple(table["attributes"])
        partitions = tuple(
            np.arange(sizes[i]) if cells is None else np.array(cells, dtype=np.int64)
            for i, cells in zip(attributes, table["partitions"], strict=True)
        )
        if min(attributes) < 0 or any(
            len(cells) != sizes[i]
            or cells.max() >= sizes[i]
            or not np.bincount(cells).all()  # which refuses negative ones
            for i, cells in zip(attributes, partitions, strict=True)
        ):
            raise ValueError
        shape = [int(cells.max()) + 1 for cells in partitions]
        stop = start + math.prod(shape)
        law: Law = Gaussian(read_fraction(table["rho"])) if "rho" in table else Laplace(read_fraction(table["epsilon"]))
        yield Counted(attributes, partitions, counts[start:stop].reshape(shape), law)
        start = stop


def _law_facts(law: Law) -> dict[str, str]:
    return {"rho": str(law.rho)} if isinstance(law, Gaussian) else {"epsilon": str(law.epsilon)}


def _merged_values(shares: Vector, attribute: Attribute, most: int) -> Ints:
    """Return cells of about equal shares: runs of ordered values, or the most frequent ones and all others."""
    size = attribute.size
    if size <= most:
        return np.arange(size)
    if not attribute.ordered:
        largest = np.sort(np.argsort(-shares, kind="stable")[: most - 1])
        cells = np.full(size, most - 1)
        cells[largest] = np.arange(most - 1)
        return cells
    count = size - attribute.apart
    before = np.concatenate([[0.0], np.cumsum(shares[:count])[:-1]]) / max(float(shares[:count].sum()), 1e-12)
    runs = np.minimum((before * (most - attribute.apart)).astype(np.int64), most - 1)
    cells = np.unique(runs, return_inverse=True)[1]
    return np.concatenate([cells, cells.max() + 1 + np.arange(attribute.apart)]).astype(np.int64)
