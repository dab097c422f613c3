"""The rounds of a panel in which many people are asked: what `tacit.client.panel` computes for one person.

DuckDB hashes whole columns and NumPy swaps for everybody at once, so nothing proportional to people happens in a Python
loop.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.panel import Panel
from tacit.encode.assigned import Ints, Texts, hash_words, join_texts

__all__ = ["rounds_of_people"]

SWAPS_AT_ONCE = 2**24
"""People times rounds that are shuffled at once: 32 MiB."""


def rounds_of_people(panel: Panel, people: Texts) -> npt.NDArray[np.int64]:
    """Return the rounds, from 1 on, in which each person is asked: a row per person, unordered."""
    step = max(1, SWAPS_AT_ONCE // panel.rounds)
    parts = [_shuffle(panel, people.slice(start, step)) for start in range(0, len(people), step)]
    return np.concatenate([np.zeros((0, panel.reports), dtype=np.int64), *parts])


def _shuffle(panel: Panel, people: Texts) -> npt.NDArray[np.int64]:
    """Return the first rounds of each person's shuffle."""
    kind = "n" if pa.types.is_integer(people.type) else "t"
    order = np.tile(np.arange(1, panel.rounds + 1, dtype=np.int16), (len(people), 1))
    rows = np.arange(len(people))
    for j in range(panel.reports):
        other = j + _words(join_texts(f"tacit panel\0{panel.name}\0{kind}", people, f"\0{j}")) % (panel.rounds - j)
        taken = order[rows, other]
        order[rows, other] = order[:, j]
        order[:, j] = taken
    return order[:, : panel.reports].astype(np.int64)


def _words(texts: Texts) -> Ints:
    """Return the first 48 bits of each text's digest."""
    words = hash_words(texts)
    return ((words[:, 0] << np.uint64(16)) | (words[:, 1] >> np.uint64(16))).astype(np.int64)
