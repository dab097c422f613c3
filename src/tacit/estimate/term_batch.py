"""Read terms over the attributes of one grid with blue: totals from tables of the views, contributions of codes.

A term t with vectors f_k contributes

    c_t(code) = coefficient * (presence_0 A(code) + kappa (1 - O(code) - sum_e E_e(code)) + sum_e presence_e E_e(code))

where A reads the product of the split vectors, O the split of 1, and E_e an extra cell (`tacit.estimate.decoder`).
Reading the same three from the tables of all reports instead of one code gives the total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import ServiceContract
from tacit.contract.oracles import Reader
from tacit.contract.oracles.base import Codes
from tacit.estimate.decoder import Grid, ViewSource
from tacit.estimate.functional import Vector
from tacit.estimate.tallies import Tallies
from tacit.estimate.terms import Terms

__all__ = ["TermBatch"]

CELLS_OF_FUNCTIONAL = 2**6
"""Cells that a code is added to in the time in which it is read for one more functional."""


@dataclass(frozen=True, eq=False)
class TermBatch:
    """Terms over the attributes of a grid, as it reads them."""

    grid: Grid
    terms: Terms
    _combinations: dict[bytes, tuple[Codes, Codes]] = field(default_factory=dict)
    _whole: tuple[TermBatch, tuple[Codes, ...]] | None = None
    """The batch that these terms are a part of, and which of its vectors they take; 1 is the last."""

    def part(self, place: Codes) -> TermBatch:
        """Return the terms of some functionals, given the new number of each, or -1."""
        owner = place[self.owner]
        stays, used, vectors, columns = owner >= 0, [], [], []
        for k, rows in enumerate(self.vectors):
            taken, column = np.unique(self.picks[stays, k], return_inverse=True)
            used.append(np.append(taken, len(rows)))
            vectors.append(rows[taken])
            columns.append(column)
        picks = np.stack(columns, axis=1) if columns else self.picks[stays]
        terms = Terms(
            self.terms.attributes, self.coefficients[stays], self.presence[stays], tuple(vectors), picks, owner[stays]
        )
        return TermBatch(self.grid, terms, _whole=(self, tuple(used)))

    @property
    def coefficients(self) -> Vector:
        """Of each term."""
        return self.terms.coefficients

    @property
    def presence(self) -> Vector:
        """For each term, its values on a record and on the extra cells, attributes apart."""
        return self.terms.presence

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """For each attribute, its distinct vectors as rows."""
        return self.terms.vectors

    @property
    def picks(self) -> Codes:
        """Terms x attributes: the vectors that each term takes."""
        return self.terms.picks

    @property
    def owner(self) -> Codes:
        """The functional that each term belongs to."""
        return self.terms.owner

    @property
    def service(self) -> ServiceContract:
        """The compiled service."""
        return self.grid.service

    @cached_property
    def busy(self) -> tuple[bool, ...]:
        """For each attribute, whether terms have any vector other than 1."""
        return tuple(bool((rows != 1).any()) for rows in self.vectors)

    def coefficients_of(self, shown: int | None, count: int) -> tuple[Vector, Vector]:
        """Return the coefficients of functionals for views that show one busy attribute, or none, and no other.

        There is a row for each of its vectors, for 1, and for each extra cell; and a constant for every report.
        """
        owner = self.owner
        rows = 1 + (0 if shown is None else len(self.vectors[shown]))
        factor, unit = np.ones(len(self.picks)), 1.0
        for k, busy in enumerate(self.busy):
            if busy and k != shown:  # at its root
                factor *= self.splits[k][0][self.picks[:, k], 0]
                unit *= float(self.splits[k][0][-1, 0])
        known = self.coefficients * self._known_shares
        weights = np.zeros((rows + self.grid.extras, count))
        place = np.full(len(self.picks), rows - 1) if shown is None else self.picks[:, shown]
        np.add.at(weights, (place, owner), self.coefficients * self.presence[:, 0] * factor)
        beside = np.asarray(np.bincount(owner, known, minlength=count), np.float64)
        weights[rows - 1] -= unit * beside
        for extra in range(self.grid.extras):
            added = self.coefficients * self.presence[:, 1 + extra] - known
            weights[rows + extra] = np.bincount(owner, added, minlength=count)
        return weights, beside

    def variances(self) -> dict[int, Vector]:
        """Return, for each view read, the variance of its reports' contributions to each term, up to a factor."""
        norms = [[np.square(level).sum(axis=1) for level in split] for split in self.splits]
        size = np.square(self.coefficients * self.presence[:, 0])
        by_view = {}
        for source, share in self.grid.read_shares:
            variance = size * (share**2 / source.weight)
            for k, depth in enumerate(source.trace):
                variance = variance * norms[k][depth][self.picks[:, k]]
            by_view[source.view] = variance
        return by_view

    @cached_property
    def unread(self) -> Vector:
        """The contribution to each term of a report of a view that is not read."""
        return self.coefficients * self._known_shares

    @cached_property
    def _turns(self) -> list[Codes]:
        """The first terms of all functionals, then the second ones, and so on; a functional's terms are adjacent."""
        turn = np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner)
        return [np.flatnonzero(turn == number) for number in range(int(turn.max(initial=-1)) + 1)]

    @cached_property
    def splits(self) -> list[list[Vector]]:
        """For each attribute and level, the splits of all its vectors as rows, and of 1 as the last."""
        if self._whole is not None:
            larger, used = self._whole
            return [[level[taken] for level in split] for split, taken in zip(larger.splits, used, strict=True)]
        splits = []
        for tree, vectors in zip(self.grid.trees, self.vectors, strict=True):
            rows = np.concatenate([vectors, np.ones((1, vectors.shape[1]))])
            splits.append([weight * sums for weight, sums in zip(tree.weights, tree.cell_sums(rows), strict=True)])
        return splits

    @cached_property
    def _split_picks(self) -> Codes:
        """The splits that each term takes; 1 is the last."""
        return np.concatenate([self.picks, [[len(vectors) for vectors in self.vectors]]])

    @cached_property
    def _known_shares(self) -> Vector:
        """Kappa of each term: the multiple of 1, whose total is known, that minimises what has to be read."""
        read: Vector = self.presence[:, 0].copy()
        for k, (tree, vectors) in enumerate(zip(self.grid.trees, self.vectors, strict=True)):
            read *= (vectors @ tree.ones_solved)[self.picks[:, k]]
        return self.grid.known_share(read, self.presence[:, 1:].sum(axis=1))

    def _gather(self, reports: float, product: Vector, ones: Vector, extras: Vector) -> Vector:
        """Return the contributions of reports, given their readings of each product, of 1, and of the extra cells."""
        known = self._known_shares * (reports - ones - extras.sum(axis=-1))[..., None]
        added: Vector = self.presence[:, 0] * product + known + extras @ self.presence[:, 1:].T
        return self.coefficients * added

    def reads_margin(self, view: int, functionals: int) -> bool:
        """Return whether a view's cells of the grid's attributes are found faster than its codes are read."""
        shown = self.service.channels[0].views[view]
        sizes = zip(shown.active, shown.oracle.sizes, strict=True)
        cells = math.prod(size for i, size in sizes if i in self.grid.attributes)
        return shown.oracle.fast_margins and not self.grid.extras and cells <= CELLS_OF_FUNCTIONAL * functionals

    def totals(self, tallies: Tallies, views: frozenset[int], reports: float) -> Vector:
        """Return the sum of contributions to each term over all reports of the views."""
        shown = [view for view in views if self.grid.reads(view)]
        if not shown:
            return reports * self.unread
        combined = np.zeros([len(vectors) + 1 for vectors in self.vectors])
        for trace, table in self._tables_by_levels(tallies, shown).items():
            combined += _contract_axes(table, [split[depth] for split, depth in zip(self.splits, trace, strict=True)])
        sums = combined[tuple(self._split_picks.T)] if self.vectors else np.full(len(self._split_picks), combined)
        return self._gather(reports, sums[:-1], sums[-1], self._extra_cells(tallies, shown))

    def _tables_by_levels(self, tallies: Tallies, views: Sequence[int]) -> dict[tuple[int, ...], Vector]:
        """Return, for each combination of levels, the weighted sum of the tables of all views that show it."""
        tables: dict[tuple[int, ...], Vector] = {}
        for view in views:
            share = self.grid.share(view)
            if not share or not tallies.codes(view):
                continue
            source, weight = self.grid.source(view), share / tallies.probability(view)
            weighted = tallies.keep((self.grid, view), partial(_weigh_table, self.grid, source, weight, tallies))
            tables[source.trace] = tables[source.trace] + weighted if source.trace in tables else weighted
        return tables

    def _extra_cells(self, tallies: Tallies, views: Sequence[int]) -> Vector:
        """Return the number of people in each extra cell."""
        people = np.zeros(self.grid.extras)
        for view in views if self.grid.extras else ():
            table = tallies.table(view)
            if table is not None:
                cells = table.reshape(table.shape[0], -1)[-self.grid.extras :, 0]
                people += cells * (self.grid.extra_share(self.grid.source(view)) / tallies.probability(view))
        return people

    def add_contributions(self, values: npt.NDArray[Any], view: int, read: Reader) -> None:
        """Add the contributions of a view's codes to each functional."""
        owner, channel = self.owner, self.service.channels[0]
        oracle, probability = channel.views[view].oracle, channel.probability(view)
        keep, lie = oracle.support_rates
        scale = 1 / ((keep - lie) * probability)
        number, count = values.dtype, values.shape[1]
        known = np.bincount(owner, self.unread, minlength=count)
        values += known.astype(number)
        if share := self.grid.share(view):
            axes, picks, factor = self._axes(self.grid.source(view))
            distinct, column = self._distinct(picks, tuple(map(len, axes)))
            sums = read(axes, distinct)
            sums -= (lie * _product_sums(axes, distinct)).astype(number)
            factor = factor * (share * scale)
            values -= np.multiply.outer(sums[:, column[-1]], (factor[-1] * known).astype(number))
            taken = (self.coefficients * self.presence[:, 0] * factor[:-1]).astype(number)
            for terms in self._turns:
                added = sums.T.take(column[terms], axis=0).T  # readers write rows of codes, most of them
                added *= taken[terms]
                if len(terms) == count:
                    values += added
                else:
                    values[:, owner[terms]] += added
        if self.grid.extras:
            behind = np.eye(self.grid.extras, oracle.sizes[0], oracle.sizes[0] - self.grid.extras)
            cells = [behind, *(np.eye(1, size) for size in oracle.sizes[1:])]
            picks = np.zeros((self.grid.extras, len(cells)), dtype=np.int64)
            picks[:, 0] = np.arange(self.grid.extras)
            extras = (read(cells, picks) - lie) * (self.grid.extra_share(self.grid.source(view)) * scale)
            for extra, shown in enumerate(extras.T):
                beyond = np.bincount(owner, self.coefficients * self.presence[:, 1 + extra], minlength=count) - known
                values += np.multiply.outer(shown, beyond).astype(number)

    def _distinct(self, picks: Codes, shape: tuple[int, ...]) -> tuple[Codes, Codes]:
        """Return the distinct combinations of vectors, and the index of each term's combination."""
        key = picks.tobytes()
        if key not in self._combinations:
            distinct, place = np.unique(np.ravel_multi_index(tuple(picks.T), shape), return_inverse=True)
            self._combinations[key] = np.stack(np.unravel_index(distinct, shape), axis=1), place
        return self._combinations[key]

    def _axes(self, source: ViewSource) -> tuple[list[Vector], Codes, Vector]:
        """Return vectors over the cells of each attribute that a view shows, their index for each term, and factors."""
        view, picks = self.service.channels[0].views[source.view], self._split_picks
        factor = np.ones(len(picks))
        axes: list[Vector] = []
        chosen: list[Codes] = []
        for i, size in zip(view.active, view.oracle.sizes, strict=True):
            behind = 0 if axes else self.grid.extras
            k = self.grid.attributes.index(i) if i in self.grid.attributes else None
            real = np.ones((1, size - behind)) if k is None else self.splits[k][source.trace[k]]
            axes.append(np.concatenate([real, np.zeros((len(real), behind))], axis=1) if behind else real)
            chosen.append(picks[:, k] if k is not None else np.zeros(len(picks), dtype=np.int64))
        for k, i in enumerate(self.grid.attributes):
            if i not in view.active:  # at its root: a number
                factor *= self.splits[k][source.trace[k]][picks[:, k], 0]
        return axes, np.stack(chosen, axis=1), factor


def _weigh_table(grid: Grid, source: ViewSource, weight: float, tallies: Tallies) -> Vector:
    """Return a view's table over a grid's attributes: summed over other attributes it shows, without extra cells."""
    service, attributes = grid.service, grid.attributes
    view = service.channels[0].views[source.view]
    table = None if tallies.is_read_by_code(source.view) else tallies.table(source.view)
    if table is None:
        axes = tuple(axis for axis, i in enumerate(view.active) if i in attributes)
        summed = tallies.margin(source.view, axes, [np.ones(size) for size in view.oracle.sizes])
    else:
        others = tuple(axis for axis, i in enumerate(view.active) if i not in attributes)
        summed = table[: len(table) - service.extras].sum(axis=others)
    cells = [service.levels[i][depth].cells for i, depth in zip(attributes, source.trace, strict=True)]
    return weight * summed.reshape(cells)


def _contract_axes(table: Vector, rows: Sequence[Vector]) -> Vector:
    """Return the sums of a table times one row for each axis, for all combinations of rows."""
    for row in rows:  # the axis in front goes, its rows come last
        behind = table.shape[1:]
        table = (table.reshape(table.shape[0], -1).T @ row.T).reshape(*behind, len(row))
    return table


def _product_sums(axes: Sequence[Vector], picks: Codes) -> Vector:
    """Return the sum of each product over all cells."""
    total = np.ones(len(picks))
    for k, marks in enumerate(axes):
        total *= marks.sum(axis=1)[picks[:, k]]
    return total
