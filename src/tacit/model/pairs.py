"""Tables of two attributes of different services, from the reports of the same people to both.

The decoded cells of a report have the indicator of the sender's cell as their mean; a person's two reports are drawn
independently, so the mean of the product is the share of the pair of cells. Each side is centred first, so that it sums
to 1 for every report: this is still unbiased, and removes most of the noise of the other side's total. Views with the
same partition of an attribute are averaged by precision, so there is a table for every two partitions. Summed over one
attribute, such a table is the mean of the other's reports again: it counts for the pair alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import CompiledView, ServiceContract
from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes
from tacit.estimate.functional import Vector
from tacit.model.evidence import Cells, Margins, NoisyTable

__all__ = ["Side", "by_class", "cell_noise", "paired_tables", "partition_of", "proportional_noise"]

DENSE_PAIRS = 2**22
"""Maximum pairs of codes that are counted in a table; more are multiplied row by row."""

AT_ONCE = 2**16
"""Rows that are multiplied at once."""

SUPPORTS_AT_ONCE = 2**22
"""Codes times cells whose supports are marked at once."""

SMALL = 1e-12
"""Smallest share and precision, to divide by."""


def partition_of(service: ServiceContract, view: CompiledView, attribute: int) -> Cells:
    """Return the cell of each value of an attribute in a view; extra cells come last."""
    table = service.levels[attribute][view.levels[attribute]].table()
    cells = int(table.max()) + 1
    return np.concatenate([table, np.arange(cells, cells + service.extras)])


def cell_noise(oracle: Oracle, cells: int | None = None) -> float:
    """Return the variance of a cell per report where people are uniform over cells: those of the oracle by default."""
    either, neither = oracle.pair_split
    return float((neither / 2 + (either - neither) / (cells or oracle.domain)) / (oracle.keep - oracle.lie) ** 2)


def proportional_noise(oracle: Oracle, cells: int | None = None) -> float:
    """Return the share of that variance which is in proportion to the people of a cell."""
    either, neither = oracle.pair_split
    share = (either - neither) / (cells or oracle.domain)
    return float(share / (neither / 2 + share))


@dataclass(frozen=True, eq=False)
class _Looks:
    """Decoded cells of an attribute in one partition: codes x cells, weighted by precision, and the weights."""

    partition: Cells
    codes: Codes
    looks: Vector
    weights: Vector


class Side:
    """One service's reports among rows of joined reports."""

    def __init__(self, service: ServiceContract, channels: Codes, codes: Codes) -> None:
        self.service = service
        self._stride = max(channel.alphabet for channel in service.channels)
        numbers = channels * self._stride + codes
        if self._stride * len(service.channels) <= max(4 * len(codes), 2**16):
            self.codes = np.flatnonzero(np.bincount(numbers))
            places = np.zeros(self._stride * len(service.channels), dtype=np.int64)
            places[self.codes] = np.arange(len(self.codes))
            self.rows = places[numbers]
        else:
            self.codes, self.rows = np.unique(numbers, return_inverse=True)

    def counts(self, times: Vector, group: Codes, classes: int) -> tuple[Codes, Codes, Vector, Codes]:
        """Return the distinct combinations of channel, code and class, with their counts."""
        summed = np.bincount(self.rows * classes + group, times, len(self.codes) * classes)
        present = np.flatnonzero(summed)
        channels, codes = np.divmod(self.codes[present // classes], self._stride)
        times = summed[present].astype(np.float64)
        return channels.astype(np.int64), codes.astype(np.int64), times, (present % classes).astype(np.int64)

    def looks(self, attribute: int) -> list[_Looks]:
        """Return the decoded cells of an attribute; the number after the last attribute is presence."""
        by_partition: dict[bytes, list[tuple[Cells, Codes, Vector, float]]] = {}
        for number, channel in enumerate(self.service.channels):
            for view in channel.views:
                presence = attribute == len(self.service.service.sensitive)
                if not presence and not view.levels[attribute]:
                    continue
                partition = (
                    np.arange(1 + self.service.extras) if presence else partition_of(self.service, view, attribute)
                )
                start = number * self._stride + view.offset
                low, high = np.searchsorted(self.codes, [start, start + view.oracle.alphabet])
                if high > low and view.oracle.domain > 1:
                    looks, noise = self._of_view(view, attribute, self.codes[low:high] - start)
                    by_partition.setdefault(partition.tobytes(), []).append(
                        (partition, np.arange(low, high), looks, noise)
                    )
        merged = []
        for parts in by_partition.values():
            weights = np.concatenate([np.full(len(codes), 1 / noise) for _, codes, _, noise in parts])
            looks = np.concatenate([look for _, _, look, _ in parts]) * weights[:, None]
            merged.append(_Looks(parts[0][0], np.concatenate([codes for _, codes, _, _ in parts]), looks, weights))
        return merged

    def _of_view(self, view: CompiledView, attribute: int, codes: Codes) -> tuple[Vector, float]:
        """Return the decoded cells of an attribute for a view's codes, centred, and the variance of a cell."""
        extras, sizes = self.service.extras, view.oracle.sizes
        axes: list[Vector] = []
        summed = 1
        for axis, (i, size) in enumerate(zip(view.active, sizes, strict=True)):
            behind = extras if axis == 0 else 0
            if i == attribute and view.levels[i]:
                axes.append(np.eye(size - behind, size))
            else:
                axes.append(np.concatenate([np.ones((1, size - behind)), np.zeros((1, behind))], axis=1))
                summed *= size - behind
        picks = np.zeros((max(map(len, axes)), len(axes)), dtype=np.int64)
        for axis, marks in enumerate(axes):
            picks[:, axis] = np.arange(len(marks)) if len(marks) > 1 else 0
        real = attribute < len(self.service.service.sensitive)
        looks = self._indicators(view.oracle, axes, picks, codes) if real else np.zeros((len(codes), 0))
        if extras:
            axes = [np.eye(extras, sizes[0], sizes[0] - extras), *(np.eye(1, size) for size in sizes[1:])]
            picks = np.zeros((extras, len(axes)), dtype=np.int64)
            picks[:, 0] = np.arange(extras)
            extra = self._indicators(view.oracle, axes, picks, codes)
            if not real:
                present = 1 - extra.sum(axis=1, keepdims=True)
                return np.concatenate([present, extra], axis=1), cell_noise(view.oracle, 1 + extras)
            looks = np.concatenate([looks, extra], axis=1)
        looks = looks + (1 - looks.sum(axis=1, keepdims=True)) / looks.shape[1]
        return looks, cell_noise(view.oracle) * summed

    def _indicators(self, oracle: Oracle, axes: list[Vector], picks: Codes, codes: Codes) -> Vector:
        keep, lie = oracle.support_rates
        cells = np.ones(len(picks))
        for axis, marks in enumerate(axes):
            cells *= marks.sum(axis=1)[picks[:, axis]]
        if type(oracle).reader is not Oracle.reader:
            values: Vector = (oracle.reader(codes)(axes, picks) - lie * cells) / (keep - lie)
            return values
        sums = np.empty((len(codes), len(picks)))
        step = max(1, SUPPORTS_AT_ONCE // oracle.domain)
        for start in range(0, len(codes), step):  # an axis is either separate cells or one sum over cells
            supports = oracle.support(codes[start : start + step])
            table: npt.NDArray[np.generic] = supports.reshape(len(supports), *oracle.sizes)
            for axis in reversed(range(len(axes))):
                shown = axes[axis] > 0
                if len(shown) == 1:
                    part = table.compress(shown[0], axis=1 + axis)
                    table = part.sum(axis=1 + axis, dtype=np.float64, keepdims=True)
                else:
                    table = table.compress(shown.any(axis=0), axis=1 + axis)
            sums[start : start + step] = table.reshape(len(supports), -1)
        return np.asarray((sums - lie * cells) / (keep - lie))


def paired_tables(
    sides: tuple[Side, Side],
    attributes: tuple[tuple[int, int], tuple[int, int]],
    times: Vector,
    classes: tuple[int, Codes, Vector],
) -> Iterator[NoisyTable]:
    """Yield the tables of an attribute of each side, given as (place in the model, number in the service).

    ``classes`` are the place of public classes, the class of each row, and their shares.
    """
    public, group, shares = classes
    (left_place, left), (right_place, right) = attributes
    firsts, seconds = sides[0].looks(left), sides[1].looks(right)
    (look, index), (another, another_index) = _places(sides[0], firsts), _places(sides[1], seconds)
    rows = np.flatnonzero((look >= 0) & (another >= 0))
    block = (look[rows] * len(seconds) + another[rows]) * len(shares) + group[rows]
    blocks = len(firsts) * len(seconds) * len(shares)
    order = np.argsort(block.astype(np.uint16 if blocks <= 1 << 16 else np.int64), kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=blocks))])
    rows = rows[order]
    index, another_index, times = index[rows], another_index[rows], times[rows]
    for number, (first, second) in enumerate(itertools.product(firsts, seconds)):
        tables, weights = [], []
        for start, stop in itertools.pairwise(ends[number * len(shares) : (number + 1) * len(shares) + 1]):
            table, weight = _product(first, second, index[start:stop], another_index[start:stop], times[start:stop])
            tables.append(table / max(weight, SMALL))
            weights.append(weight)
        places, partitions = (left_place, right_place), (first.partition, second.partition)
        if any(weights):
            exact = np.ones((1, 1))
            for noisy in by_class(places, partitions, np.stack(tables), np.array(weights), (public, shares), exact):
                yield replace(noisy, repeats=True)


def by_class(
    places: tuple[int, ...],
    partitions: tuple[Cells, ...],
    tables: Vector | Margins,
    reports: Vector,
    public: tuple[int, Vector],
    exact: Vector,
    proportional: float = 0.0,
) -> Iterator[NoisyTable]:
    """Yield the table of everybody and, where there are several, that of all public classes.

    ``tables`` (or their margins) and ``reports`` (their precisions) are those of each class; ``exact`` multiplies the
    precision of cells, ``proportional`` is the share of the variance that is proportional to the people of a cell.
    """
    place, shares = public
    weights, classes = reports / reports.sum(), np.arange(len(shares))

    def overall(of_classes: Vector) -> Vector:
        return np.tensordot(weights, of_classes, (0, 0))

    def split(of_classes: Vector) -> Vector:
        return of_classes * shares.reshape(-1, *[1] * (of_classes.ndim - 1))

    def split_margins(margins: Margins) -> Margins:
        def of_axes(axes: tuple[int, ...]) -> Vector:
            of_classes = split(margins(tuple(axis - 1 for axis in axes if axis)))
            return of_classes if 0 in axes else of_classes.sum(axis=0)

        return of_axes

    def overall_margins(margins: Margins) -> Margins:
        return lambda axes: overall(margins(axes))

    everybody = overall(tables) if isinstance(tables, np.ndarray) else overall_margins(tables)
    yield NoisyTable(places, partitions, everybody, reports.sum() * exact, proportional=proportional)
    if len(shares) > 1:
        precision = (reports / np.maximum(shares, SMALL) ** 2 + SMALL).reshape(-1, *[1] * len(places))
        yield NoisyTable(
            (place, *places),
            (classes, *partitions),
            split(tables) if isinstance(tables, np.ndarray) else split_margins(tables),
            precision * exact,
            split=True,
        )


def _places(side: Side, looks: list[_Looks]) -> tuple[Codes, Codes]:
    """Return, for each row, the looks that contain its code (-1 for none), and the code's index among them."""
    which, places = np.full(len(side.codes), -1), np.zeros(len(side.codes), dtype=np.int64)
    for number, member in enumerate(looks):
        which[member.codes], places[member.codes] = number, np.arange(len(member.codes))
    return which[side.rows], places[side.rows]


def _product(first: _Looks, second: _Looks, left: Codes, right: Codes, times: Vector) -> tuple[Vector, float]:
    """Return the weighted sum over rows of the products of both decoded codes, and the sum of the weights."""
    weight = float((times * first.weights[left] * second.weights[right]).sum())
    pairs = len(first.codes) * len(second.codes)
    if pairs <= DENSE_PAIRS:
        counts = np.bincount(left * len(second.codes) + right, times, pairs).reshape(len(first.codes), -1)
        return first.looks.T @ (counts @ second.looks), weight
    table = np.zeros((first.looks.shape[1], second.looks.shape[1]))
    for start in range(0, len(left), AT_ONCE):
        batch = slice(start, start + AT_ONCE)
        table += first.looks[left[batch]].T @ (times[batch, None] * second.looks[right[batch]])
    return table, weight
