"""How often each code of each channel occurs in a table of reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.engines.base import Engine, rollup_of
from tacit.sql.names import PEOPLE
from tacit.sql.report_tables import rolled_up

__all__ = ["Counts", "code_counts"]

Counts = Mapping[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
"""For each channel, the codes that occur, in order, and their counts."""


def code_counts(engine: Engine, table: str, *, rollup: bool = False) -> Counts:
    """Return the codes of each channel, in order, and their counts; from the table's rollup if it has one."""
    query = rolled_up(rollup_of(table), (), again=True) if rollup else rolled_up(table, ())
    rows = engine.fetch(*query, {})
    named = (rows.column(name).cast(pa.int64()).combine_chunks() for name in ("channel", "code", PEOPLE))
    channel, code, people = (np.asarray(np.from_dlpack(column), dtype=np.int64) for column in named)  # without pandas
    order = np.lexsort((code, channel))
    order = order[people[order] > 0]  # a rollup has rows of deleted people, with negative counts
    parts = {int(number): order[channel[order] == number] for number in np.unique(channel[order])}
    return {number: (code[rows], people[rows]) for number, rows in parts.items()}
