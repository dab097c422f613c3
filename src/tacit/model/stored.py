"""Counts of codes among stored reports, from which all tables are computed."""

from __future__ import annotations

import numpy as np

from tacit.engines.base import Engine, counted, rollup_of
from tacit.model.views import Counts

__all__ = ["code_counts"]


def code_counts(engine: Engine, table: str, *, rollup: bool = False) -> Counts:
    """Return the codes of each channel, in order, and their counts; from the table's rollup if it has one."""
    query = counted(rollup_of(table), (), again=True) if rollup else counted(table, ())
    rows = engine.fetch(query, [], {})
    channel, code, people = (np.asarray(rows.column(name)).astype(np.int64) for name in ("channel", "code", "0n"))
    order = np.lexsort((code, channel))
    order = order[people[order] > 0]  # a rollup keeps rows of deleted people, with negative counts
    parts = {int(number): order[channel[order] == number] for number in np.unique(channel[order])}
    return {number: (code[own], people[own]) for number, own in parts.items()}
