"""Random questions of the paper's kinds, the same for all mechanisms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.common import seed_of
from bench.joint.measure import Workload
from bench.joint.worlds import MEASURE

__all__ = ["JOINED", "join_questions", "random_ranges", "volume_questions"]

VALUES, CATEGORIES = 125, 500
JOIN_VOLUME = 0.12

JOINED = ("C", "O", "CO", "CO same", "CO left")
"""C, O: a condition on t1, the sum over t2. CO: the category of t1 and a range in t2, the sum over t1; "same": over t2,
the ranged attribute itself; "left": both conditions on t1, the sum over t2. The paper names no attributes."""


def _range(rng: np.random.Generator, name: str, width: int) -> str:
    low = int(rng.integers(1, VALUES - width + 2))
    return f"{name} BETWEEN {low} AND {low + width - 1}"


def volume_questions(volume: float, count: int, *, public: bool = False) -> Workload:
    """Return ranges on the second attribute of SYN-1; the first, or its public copy, is summed."""
    rng = np.random.default_rng(seed_of("volume", volume))
    conditions = tuple(_range(rng, "a1", round(volume * VALUES)) for _ in range(count))
    return Workload(f"volume {volume:g}{' public' if public else ''}", MEASURE if public else "a0", conditions)


def random_ranges(d: int, asked: int, count: int, *, public: bool = False) -> Workload:
    """Return ranges with random ends on the last ``asked`` of d attributes."""
    rng = np.random.default_rng(seed_of("ranges", d, asked))
    conditions = []
    for _ in range(count):
        ends = np.sort(rng.integers(1, VALUES + 1, (asked, 2)), axis=1).tolist()
        names = [f"a{i}" for i in range(d - asked, d)]
        conditions.append(
            " AND ".join(f"{name} BETWEEN {low} AND {high}" for name, (low, high) in zip(names, ends, strict=True))
        )
    kind = " public" if public else ""
    return Workload(f"{asked} ranges{kind}", MEASURE if public else "a0", tuple(conditions))


def join_questions(kind: str, count: int, *asked: str) -> Workload:
    """Return questions over the join of SYN-2's tables, of all aggregates or of those named."""
    rng = np.random.default_rng(seed_of("join", kind))
    width = round(JOIN_VOLUME * VALUES)
    ranged = "o1" if kind in ("O", "CO left") else "o2"
    conditions = []
    for _ in range(count):
        point = [] if kind == "O" else [f"c1 = {int(rng.integers(CATEGORIES))}"]
        span = [] if kind == "C" else [_range(rng, ranged, width)]
        conditions.append(" AND ".join(point + span))
    workload = Workload(kind, "o1" if kind == "CO" else "o2", tuple(conditions))
    return replace(workload, name=f"{kind} {' '.join(asked)}", asked=asked) if asked else workload
