"""Tables of any attributes from the views of a service, by one of several methods.

shrink     ours, the default: consistent means, interactions shrunk according to their noise, then non-negative level by
           level; maximum entropy for attributes that no view reports together
calm       the paper's: consistent means, rounds of ripple and consistency, maximum entropy
linear     the consistent means: unbiased, possibly negative; only for attributes that a view reports together
uniform    every combination equally likely: the baseline to beat
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from tacit.errors import UnanswerableError, UnknownNameError
from tacit.model.basis import Array
from tacit.model.coefficients import Coefficients, Shape
from tacit.model.entropy import Fitted, maximum_entropy
from tacit.model.nonnegative import norm_sub, ripple, top_down
from tacit.model.shrink import informs_beyond_pairs, shrunk

__all__ = ["METHODS", "MarginalModel", "Table"]

METHODS = ("shrink", "calm", "linear", "uniform")

RIPPLES = 3
"""Rounds of ripple and consistency."""

REPLICAS = 24
"""Tables with new noise whose spread gives the error of a reconstructed table."""

MOST_MARGINAL_CELLS = 2**20
"""Cells of a table."""

COARSE = (
    "views report these attributes in coarser cells only: values within a cell are assumed equally likely "
    "(docs/glossary.md#cell)"
)


@dataclass(frozen=True, eq=False)
class Table:
    """Frequencies of combinations of values, their standard errors, and notes."""

    attributes: tuple[int, ...]
    frequencies: Array
    errors: Array
    notes: tuple[str, ...]
    unbiased: Array | None = None
    """The unbiased table from which a post-processed one and its errors are derived."""


@dataclass(frozen=True, eq=False)
class MarginalModel:
    """The views of a service, combined; leading axes of the tables are independent collections of the same shape."""

    shape: Shape
    tables: Sequence[Array]
    reports: Sequence[float] | Sequence[Array]
    method: str = "shrink"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method", str(self.method), METHODS)

    @cached_property
    def linear(self) -> Coefficients:
        """The consistent means, unbiased."""
        return self.shape.combine(self.tables, self.reports)

    @cached_property
    def means(self) -> Coefficients:
        """The means that tables are computed from."""
        if self.method == "shrink":
            return shrunk(self.linear)
        return self._ripple() if self.method == "calm" else self.linear

    def _ripple(self) -> Coefficients:
        means = self.linear
        for _ in range(RIPPLES):
            tables = [ripple(means.table(view.attributes), len(view.attributes)) for view in self.shape.views]
            means = replace(self.shape.combine(tables, self.reports), variances=means.variances)
        return means

    def marginal(self, attributes: Sequence[int]) -> Table:
        """Return the table of some attributes, with axes in the given order."""
        asked = tuple(sorted(attributes))
        sizes = [self.shape.levels[i].size for i in asked]
        if (cells := math.prod(sizes)) > MOST_MARGINAL_CELLS:
            message = f"The table would have {cells:,} cells; at most {MOST_MARGINAL_CELLS:,} are allowed. Name fewer."
            raise UnanswerableError(message, code="table-too-large")
        varying = tuple(i for i in asked if self.shape.levels[i].size > 1)  # constants are in no view
        frequencies, errors, notes = self._table(varying, [size for size in sizes if size > 1])
        frequencies = frequencies.reshape(*frequencies.shape[: frequencies.ndim - len(varying)], *sizes)
        errors = errors.reshape(sizes)
        order = [asked.index(i) for i in attributes]
        leading = frequencies.ndim - len(asked)
        axes = [*range(leading), *(leading + k for k in order)]
        unbiased = None
        processed = self.method in ("shrink", "calm") and bool(varying) and not leading
        if processed and self.linear.covers(varying) and self.linear.shows(varying):
            unbiased = self.linear.table(varying).reshape(sizes).transpose(order)
        return Table(tuple(attributes), frequencies.transpose(axes), errors.transpose(order), notes, unbiased)

    def _table(self, asked: tuple[int, ...], sizes: list[int]) -> tuple[Array, Array, tuple[str, ...]]:
        if not asked:
            return np.ones(()), np.zeros(()), ("the same for everybody",)
        if self.method == "uniform":
            return np.full(sizes, 1 / math.prod(sizes)), np.full(sizes, np.nan), ("every combination equally likely",)
        if self.linear.covers(asked):
            errors = np.sqrt(self.linear.table_variance(asked))
            if not self.linear.shows(asked):
                return self._positive(self.means, asked), errors, (COARSE,)
            if self.method == "linear":
                return (
                    self.linear.table(asked),
                    errors,
                    ("unbiased: averaged over the views that report these attributes",),
                )
            note = (
                "post-processed: consistent and never negative, so biased; errors come from the unbiased table "
                "(docs/glossary.md#consistent)"
            )
            return self._positive(self.means, asked), errors, (note,)
        if self.method == "linear":
            message = (
                "No view reports these attributes together, so their table has no unbiased estimate. Use 'shrink'."
            )
            raise UnanswerableError(message)
        return self._reconstruct(asked, sizes)

    def frequencies(self, attributes: Sequence[int]) -> Array:
        """Return a table without its errors, attributes in increasing order; any leading axes."""
        asked = tuple(sorted(attributes))
        if self.means.covers(asked):
            return self._positive(self.means, asked)
        return self._fit(self.linear, self.means, asked)[0]

    def _reconstruct(self, asked: tuple[int, ...], sizes: list[int]) -> tuple[Array, Array, tuple[str, ...]]:
        fitted, notes = self._fit(self.linear, self.means, asked)
        rng = np.random.default_rng(2018)
        spread = np.sqrt(np.where(np.isfinite(self.linear.variances), self.linear.variances, 0.0))
        if fitted.ndim > len(sizes):
            return fitted, np.full(sizes, np.nan), notes
        again = self.linear.values + spread * rng.standard_normal((REPLICAS, self.shape.size))
        again[..., 0] = 1.0
        drawn = replace(self.linear, values=again)
        means = shrunk(drawn) if self.method == "shrink" else drawn
        errors = self._fit(drawn, means, asked)[0].std(axis=0, ddof=1)
        note = (
            "errors cover the noise only; attributes that no view reports together are assumed independent given the "
            "rest, which no error covers"
        )
        return fitted, errors, (*notes, note)

    def _fit(self, linear: Coefficients, means: Coefficients, asked: tuple[int, ...]) -> tuple[Array, tuple[str, ...]]:
        faces = means.faces(asked)
        missing = [i for i in asked if not any(i in face for face in faces)]
        if missing:
            message = "Nobody has reported a view with one of these attributes. Load more reports, or leave it out."
            raise UnanswerableError(message, code="no-reports")
        fit = self._widest(asked, faces, [self._face(linear, means, face) for face in faces])
        held = "alone" if max(map(len, faces)) == 1 else f"at most {max(map(len, faces))} at a time"
        how = f"{fit.sweeps} sweeps, largest difference left {fit.gap:.1g}"
        return fit.table, (f"by maximum entropy: views report these attributes {held}; {how}",)

    def _widest(self, asked: tuple[int, ...], faces: Sequence[tuple[int, ...]], given: Sequence[Array]) -> Fitted:
        """Return the table of maximum entropy given the tables of its faces."""
        places = [tuple(asked.index(i) for i in face) for face in faces]
        return maximum_entropy([self.shape.levels[i].size for i in asked], places, given)

    def _predict(self, means: Coefficients, face: tuple[int, ...]) -> Array:
        """Return the table of a face predicted from its pairs alone."""
        pairs = list(combinations(face, 2))
        return self._widest(face, pairs, [self._positive(means, pair) for pair in pairs]).table

    def _face(self, linear: Coefficients, means: Coefficients, face: tuple[int, ...]) -> Array:
        """Return the table of a covered set as a part of larger tables, where it must say more than its pairs."""
        table = self._positive(means, face)
        if self.method != "shrink" or len(face) < 3:
            return table
        predicted = self._predict(means, face)
        informative = informs_beyond_pairs(linear, means, face, table, predicted)
        return np.where(informative[(..., *[None] * len(face))], table, predicted)

    def _positive(self, means: Coefficients, asked: tuple[int, ...]) -> Array:
        table = means.table(asked)
        if self.method == "calm":
            flat = table.reshape(*table.shape[: table.ndim - len(asked)], -1)
            return norm_sub(flat).reshape(table.shape)
        return top_down(table, [self.shape.levels[i] for i in asked])
