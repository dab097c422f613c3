"""How often each code occurs among stored reports: all that tables are made of."""

from __future__ import annotations

import numpy as np

from tacit.engines.base import Engine, counted, rollup_of
from tacit.model.views import Counts

__all__ = ["code_counts"]


def code_counts(engine: Engine, table: str, *, rollup: bool = False) -> Counts:
    """Return the codes of each channel, in order, and how often they occur; from the table's rollup if it has one."""
    query = counted(rollup_of(table), (), again=True) if rollup else counted(table, ())
    rows = engine.fetch(query, [], {})
    channel, code, people = (np.asarray(rows.column(name)).astype(np.int64) for name in ("channel", "code", "0n"))
    order = np.lexsort((code, channel))
    order = order[people[order] > 0]  # a rollup keeps rows of people who were deleted
    parts = {int(number): order[channel[order] == number] for number in np.unique(channel[order])}
    return {number: (code[own], people[own]) for number, own in parts.items()}
