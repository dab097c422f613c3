"""Tables of estimates: printed, exported and drawn."""

from __future__ import annotations

import copy
import html
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from tacit.contract.readers import Privacy
from tacit.errors import UnknownNameError, UsageError
from tacit.estimate.chart import Picture, picture, write_picture
from tacit.estimate.estimate import Estimate
from tacit.tables.html import table_html
from tacit.tables.numbers import number_text

__all__ = ["DECODERS", "NOISY", "Answer", "Options", "Watermark", "shift_text"]

DECODERS = ("blue", "cover", "rdc", "rdc(1)", "rdc(4)", "rdc(8)", "rdc(16)")


NOISY = "← too noisy to tell"
"""Mark of rows with an estimate whose interval includes zero."""

MOST_ROWS = 60
"""Maximum rows shown by a prompt or a notebook."""


LOWEST = 1e-6
"""Lowest confidence: errors are computed from intervals, and narrower ones have too few digits."""


@dataclass(frozen=True)
class Options:
    """How a question is answered: level of intervals, decoder, and what the errors cover."""

    confidence: float = 0.95
    decoder: Any = "blue"
    simultaneous: bool = False
    superpopulation: bool = False

    def __post_init__(self) -> None:
        level = self.confidence
        if isinstance(level, bool) or not isinstance(level, int | float) or not LOWEST <= level < 1 - 1e-12:
            message = "confidence must be a number between 0 and 1, such as 0.95."
            raise UsageError(message, code="bad-option")
        if self.decoder not in DECODERS:
            raise UnknownNameError("decoder", str(self.decoder), DECODERS)


class Watermark(NamedTuple):
    """How many reports of an answer's services the collector acknowledged, and how many of them the answer counts."""

    acknowledged: int
    counted: int


class Answer:
    """The rows of an answer: group values, and aggregates as estimates.

    ``watermark`` is how many reports the collector had acknowledged, and how many of them the answer counts; None
    without a collector. ``privacy`` bounds what reports and answers reveal about a person; None where no reports were
    read.
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        notes: Sequence[str] = (),
        plan: Callable[[], str] | None = None,
        estimates: Sequence[str] | None = None,
    ) -> None:
        self.columns, self.rows, self.notes = tuple(columns), [tuple(row) for row in rows], tuple(notes)
        self.watermark: Watermark | None = None
        self._privacy: Callable[[], Privacy] | None = None
        self._plan = plan
        self._estimates = estimates

    @property
    def estimates(self) -> tuple[str, ...]:
        """Names of the columns of estimates, also if there are no rows."""
        if self._estimates is not None:
            return tuple(self._estimates)
        return tuple(n for i, n in enumerate(self.columns) if any(isinstance(row[i], Estimate) for row in self.rows))

    def with_watermark(self, watermark: Watermark, *notes: str) -> Answer:
        """Return the same answer with a watermark and more notes."""
        marked = copy.copy(self)
        marked.watermark, marked.notes = watermark, (*self.notes, *notes)
        return marked

    def with_privacy(self, privacy: Callable[[], Privacy]) -> Answer:
        """Return the same answer with its guarantees, which are computed on first use."""
        marked = copy.copy(self)
        vars(marked).update(_privacy=cache(privacy))
        return marked

    @property
    def has_privacy(self) -> bool:
        """Whether the answer was computed from reports, so that it has guarantees."""
        return self._privacy is not None

    @property
    def privacy(self) -> Privacy | None:
        """Both guarantees of the answer: against the collector, and against readers of answers."""
        return self._privacy() if self._privacy else None

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
        columns: dict[str, Any] = {}
        for index, name in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            if name in self.estimates:
                for suffix, attribute in (("", "value"), ("_error", "error"), ("_low", "low"), ("_high", "high")):
                    columns[name + suffix] = pa.array([getattr(cell, attribute) for cell in cells], pa.float64())
            else:
                columns[name] = cells
        return pa.table(columns)

    def to_json(self) -> str:
        """Return rows with the columns of `to_arrow`, which columns are estimates, notes, watermark and guarantees.

        An estimate ``x`` also has ``x_max_shift_per_1pct``, and ``x_noisy``: whether its interval includes zero.
        Numbers that are not finite become null.
        """
        rows = [{name: _finite(value) for name, value in row.items()} for row in self.to_arrow().to_pylist()]
        for shown, cells in zip(rows, self.rows, strict=True):
            for name, cell in zip(self.columns, cells, strict=True):
                if isinstance(cell, Estimate):
                    shown[f"{name}_max_shift_per_1pct"] = _finite(cell.max_shift_per_1pct)
                    shown[f"{name}_noisy"] = cell.is_noisy
        names = {"columns": self.columns, "estimates": self.estimates}
        about = {"notes": list(self.notes), "watermark": self.watermark and self.watermark._asdict()}
        privacy = self.privacy
        about |= {"privacy": privacy.to_data() if privacy else None}
        return json.dumps({"rows": rows, **names, **about}, indent=1, default=str)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the columns of `to_arrow`."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars frame with the columns of `to_arrow`."""
        try:
            import polars
        except ImportError:
            message = "polars is not installed. Install it, or use to_arrow()."
            raise UsageError(message, code="missing-package") from None
        return polars.from_arrow(self.to_arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain values, with the columns of `to_arrow`."""
        return [tuple(row.values()) for row in self.to_arrow().to_pylist()]

    df, pl, arrow = to_pandas, to_polars, to_arrow

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Lend the table to other libraries: ``polars.DataFrame(answer)``, ``duckdb.sql("FROM answer")``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def explain(self) -> str:
        """Return how the answer was computed: functionals, views, contributions, SQL, and the privacy guarantees."""
        privacy = self.privacy
        return (self._plan() if self._plan else "") + (f"\n\nprivacy: {privacy}" if privacy else "")

    def shifts(self) -> dict[str, float]:
        """Return, for each column of estimates, the largest shift of a value that 1 % of fake people could cause."""
        by_name = {}
        for index, name in enumerate(self.columns):
            moved = [row[index].max_shift_per_1pct for row in self.rows if isinstance(row[index], Estimate)]
            known = [shift for shift in moved if not math.isnan(shift)]
            if known:
                by_name[name] = max(known)
        return by_name

    def _labels(self) -> list[str]:
        """Return the label of each row: the values of its groups."""
        return [
            ", ".join(_show(cell) or "missing" for cell in row if not isinstance(cell, Estimate)) for row in self.rows
        ]

    def plot(self, column: str | None = None, *, path: Any = None) -> Picture:
        """Chart estimates with their intervals as SVG, which notebooks display; ``path`` also writes it to a file.

        ``column`` is an output column of estimates, by default the first.
        """
        estimated = self.estimates if self.rows else ()
        if not estimated:
            message = "There are no estimates to draw."
            raise UsageError(message, code="nothing-to-draw")
        name = estimated[0] if column is None else column
        if name not in estimated:
            raise UnknownNameError("column of estimates", str(name), estimated)
        index = self.columns.index(name)
        return write_picture(picture(name, self._labels(), [row[index] for row in self.rows]), path)

    def _is_noisy(self, row: Sequence[Any]) -> bool:
        """Whether the sign of some estimate in a row is unknown."""
        return any(isinstance(cell, Estimate) and cell.is_noisy for cell in row)

    def _texts(self, most: int | None = None) -> list[list[str]]:
        """Return the cells of the rows as texts; noisy rows end with a mark."""
        rows = self.rows if most is None else self.rows[:most]
        return [[*map(_show, row), NOISY if self._is_noisy(row) else ""] for row in rows]

    def _text(self, most: int | None = None) -> str:
        cells = self._texts(most)
        heads = [*self.columns, ""]
        widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(heads)]
        numbers = [*(name in self.estimates for name in self.columns), False]
        lines = []
        for row in [heads, *cells]:
            placed = [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, numbers, strict=True)
            ]
            lines.append("  ".join(placed).rstrip())
        if len(cells) < len(self.rows):
            lines.append(f"… and {len(self.rows) - len(cells):,} more rows; print() shows all")
        confidence = next((c.confidence for row in self.rows for c in row if isinstance(c, Estimate)), None)
        if confidence is not None:
            lines.append(f"(± at {confidence * 100:.12g}% confidence)")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return self._text(MOST_ROWS)

    def _repr_html_(self) -> str:
        numbers = [name in self.estimates for name in self.columns]
        faint = [self._is_noisy(row) for row in self.rows[:MOST_ROWS]]
        table = table_html([*self.columns, ""], self._texts(MOST_ROWS), numbers=numbers, faint=faint)
        more = len(self.rows) - MOST_ROWS
        notes = [f"{more:,} more rows are not shown"] if more > 0 else []
        below = "".join(f"<p>{html.escape(note)}</p>" for note in [*notes, *self.notes])
        has_estimates = any(isinstance(cell, Estimate) for row in self.rows for cell in row)
        return table + (self.plot() if has_estimates else "") + below


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _show(cell: Any) -> str:
    return "" if cell is None else str(cell)


def shift_text(name: str, shift: float) -> str:
    """Describe how far fake people could shift a column."""
    amount = f"at most {number_text(shift)}" if math.isfinite(shift) else "any amount"
    return f"1 % of fake people could shift {name} by {amount}"
