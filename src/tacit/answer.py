"""Numbers with their errors, and tables of them.

An `Estimate` is a value, its standard error and an interval at a confidence. Several estimates of one answer come from
the same reports, so they carry their covariance through a shared list of totals and gradients.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import pyarrow as pa

from tacit.errors import UnknownNameError

__all__ = ["Answer", "Estimate", "t_quantile"]


def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t: exact for one and two degrees of freedom, else by Cornish and Fisher.

    Examples
    --------
    >>> round(t_quantile(0.975, 1), 3), round(t_quantile(0.975, 10), 3)
    (12.706, 2.228)
    """
    z = NormalDist().inv_cdf(probability)
    if math.isinf(freedom):
        return z
    if freedom < 2:
        return math.tan(math.pi * (probability - 0.5))
    if freedom < 3:
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    n = freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


@dataclass(frozen=True)
class Estimate:
    """A value that is not known exactly.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error.
    n : int
        People whose reports it is made of.
    confidence : float
        Level of ``low`` and ``high``.
    freedom : float
        Effective degrees of freedom of the error.
    """

    value: float
    error: float
    n: int
    confidence: float = 0.95
    freedom: float = math.inf

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        return t_quantile(0.5 + self.confidence / 2, self.freedom) * self.error if self.error else 0.0

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.margin

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.margin

    @property
    def is_weak(self) -> bool:
        """Whether the interval holds zero, so that not even the sign is known."""
        return self.error > 0 and not (self.low > 0 or self.high < 0)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not defined"
        digits = 0
        if self.margin > 0 and math.isfinite(self.margin):
            digits = max(0, 1 - math.floor(math.log10(self.margin)))
        elif self.value != int(self.value):
            digits = 6
        return f"{self.value:,.{digits}f} ± {self.margin:,.{digits}f}"


class Answer:
    """The rows of an answer: group values as they are, aggregates as estimates."""

    def __init__(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, notes: Sequence[str] = (), plan: str = ""
    ) -> None:
        self.columns, self.rows, self.notes = tuple(columns), [tuple(row) for row in rows], tuple(notes)
        self._plan = plan

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> Any:
        """Return a column: one cell for an answer of one row, else a list."""
        if column not in self.columns:
            raise UnknownNameError("output column", str(column), self.columns)
        index = self.columns.index(column)
        return self.rows[0][index] if len(self.rows) == 1 else [row[index] for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """Return a table; an estimate ``x`` becomes ``x``, ``x_error``, ``x_low`` and ``x_high``."""
        columns: dict[str, list[Any]] = {}
        for index, name in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            if any(isinstance(cell, Estimate) for cell in cells):
                for suffix, attribute in (("", "value"), ("_error", "error"), ("_low", "low"), ("_high", "high")):
                    columns[name + suffix] = [getattr(cell, attribute) for cell in cells]
            else:
                columns[name] = cells
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the columns of `to_arrow`."""
        return self.to_arrow().to_pandas()

    def explain(self) -> str:
        """Return how the answer was made: functionals, decoders, and the SQL that the engine ran."""
        return self._plan

    def _cells(self) -> list[list[str]]:
        shown = [[f"{cell}" if not isinstance(cell, str) else cell for cell in row] for row in self.rows]
        return [["" if cell == "None" else cell for cell in row] for row in shown]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(self.columns)]
        lines = ["  ".join(name.ljust(width) for name, width in zip(self.columns, widths, strict=True)).rstrip()]
        lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        confidence = next((c.confidence for row in self.rows for c in row if isinstance(c, Estimate)), None)
        if confidence is not None:
            lines.append(f"(± at {confidence:.0%} confidence)")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
