"""Tables of any attributes, by one of several methods.

fit        ours, the default: the model's, as SQL with ``consistent=True`` and synthetic rows have it
linear     least squares on all views: unbiased, possibly negative; only for attributes that a view reports together
calm       the paper's: consistent views of single values, rounds of ripple and consistency, maximum entropy
uniform    every combination equally likely: the baseline to beat
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Vector
from tacit.model.calm import Calm
from tacit.model.evidence import Attribute, NoisyTable, Observed, along, observe
from tacit.model.joint import check_cells
from tacit.model.model import Model
from tacit.model.near import conjugate

__all__ = ["METHODS", "Table", "linear_table", "marginal"]

METHODS = ("fit", "calm", "linear", "uniform")

EXACT_CELLS = 1024
"""Maximum cells for exact variances; above, partitions are assumed to share their eigenvectors."""

MOST_ERRORS = 1024
"""Maximum cells of a table that no view reports for which errors are computed."""

COARSE = (
    "views report these attributes in coarser cells only: values within a cell are assumed equally likely "
    "(docs/glossary.md#cell)"
)
FITTED = (
    "post-processed: consistent and never negative, so biased; errors come from the unbiased table "
    "(docs/glossary.md#consistent)"
)
ASSUMED = (
    "no view reports these attributes together: they are assumed independent given the rest. Errors cover the noise "
    "and whatever the reported tables leave possible"
)


@dataclass(frozen=True, eq=False)
class Table:
    """Frequencies of combinations of values, their standard errors, and notes."""

    attributes: tuple[int, ...]
    frequencies: Vector
    errors: Vector
    notes: tuple[str, ...]
    unbiased: Vector | None = None
    """The unbiased table from which the errors of a post-processed one are derived."""


def marginal(model: Model, attributes: Sequence[int], method: str = "fit") -> Table:
    """Return the table of some attributes, with axes in the given order."""
    ordered = tuple(attributes)
    sizes = [model.attributes[i].size for i in ordered]
    check_cells(sizes)
    varying = tuple(i for i in ordered if model.attributes[i].size > 1)  # views do not contain constants
    if not varying:
        return Table(ordered, np.ones(sizes), np.zeros(sizes), ("the same for everybody",))
    if method == "uniform":
        return Table(
            ordered, np.full(sizes, 1 / math.prod(sizes)), np.full(sizes, np.nan), ("every combination equally likely",)
        )
    if not all(model.together((i,)) for i in varying):
        message = "Nobody has reported a view with one of these attributes. Load more reports, or leave it out."
        raise UnanswerableError(message, code="no-reports")
    linear = linear_table(model.attributes, model.evidence, varying) if model.together(varying) else None
    if method == "linear":
        if linear is None:
            message = "No view reports these attributes together, so their table has no unbiased estimate. Use 'fit'."
            raise UnanswerableError(message)
        table = linear
    else:
        table = _post_process(model, varying, method, linear)
    unbiased = None if table.unbiased is None else table.unbiased.reshape(sizes)
    frequencies, errors = table.frequencies.reshape(sizes), table.errors.reshape(sizes)
    return replace(table, attributes=ordered, frequencies=frequencies, errors=errors, unbiased=unbiased)


def _post_process(model: Model, attributes: tuple[int, ...], method: str, linear: Table | None) -> Table:
    if method == "calm":
        frequencies, how = (
            Calm.of(model.attributes, model.evidence).table(attributes),
            "maximum entropy over reported tables",
        )
    else:
        frequencies = model.table(attributes)
        how = "by maximum entropy from all pairs and wider views"
    if linear is not None and linear.unbiased is None:
        return replace(linear, frequencies=frequencies)
    if linear is not None:
        return replace(linear, frequencies=frequencies, notes=(FITTED,))
    errors = np.full(frequencies.shape, np.nan)
    if method == "fit" and frequencies.size <= MOST_ERRORS:
        errors = _errors(model, attributes).reshape(frequencies.shape)
    return Table(attributes, frequencies, errors, (how, ASSUMED))


def _errors(model: Model, attributes: tuple[int, ...]) -> Vector:
    """Return the error of every cell: the fit's own, and what the tables that views report leave open."""
    sizes = tuple(attribute.size for attribute in model.attributes)
    cells = []
    for values in itertools.product(*(range(sizes[i]) for i in attributes)):
        cell = Functional.constant(sizes)
        for i, value in zip(attributes, values, strict=True):
            cell = cell * Functional.of(sizes, i, np.eye(sizes[i])[value])
        cells.append(cell)
    return model.hidden(cells).error(np.array(model.errors(cells)))


def linear_table(attributes: Sequence[Attribute], evidence: Sequence[NoisyTable], wanted: tuple[int, ...]) -> Table:
    """Return the least-squares table of attributes that are reported together, and its errors; the total is known."""
    sizes = [attributes[i].size for i in wanted]
    even = [np.full(size, 1 / size) for size in sizes]
    observed = observe(evidence, wanted, [np.arange(size) for size in sizes], even)
    flat = np.full(sizes, 1 / math.prod(sizes))

    def apply(shift: Vector) -> Vector:
        image = observed.information(shift)
        centred: Vector = image - image.mean()
        return centred

    slope = observed.gradient(flat)
    table = flat + conjugate(apply, slope.mean() - slope, tolerance=1e-10, most=2_000)
    variance, shown = _variances(observed)
    if not shown:
        return Table(wanted, np.asarray(table), np.sqrt(variance), (COARSE,))
    note = "unbiased: averaged over the views that report these attributes"
    return Table(wanted, table, np.sqrt(variance), (note,), table)


def _variances(observed: Observed) -> tuple[Vector, bool]:
    """Return the variance of each cell, as far as views determine it, and whether they show single values."""
    cells = math.prod(observed.shape)
    if cells <= EXACT_CELLS:
        columns = observed.information(np.eye(cells).reshape(-1, *observed.shape)).reshape(cells, cells)
        centre = np.eye(cells) - 1 / cells
        values, vectors = np.linalg.eigh(centre @ (columns + columns.T) @ centre / 2)
        known = values > 1e-9 * values.max()
        spread = vectors[:, known] ** 2 @ (1 / values[known])
        return spread.reshape(observed.shape), int(known.sum()) >= cells - 1
    waves = [np.linalg.eigh(stack.T @ stack)[1] for stack in observed.stacks]
    squares = [((stack @ wave) ** 2).T for stack, wave in zip(observed.stacks, waves, strict=True)]
    information = along(observed.weight, squares)
    known = information > 1e-9 * information.max()
    inverse = np.where(known, 1 / np.where(known, information, 1.0), 0.0)
    return along(inverse, [wave**2 for wave in waves]), int(known.sum()) >= cells - 1
