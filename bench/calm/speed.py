"""Seconds of tables from stored reports: 16 binary attributes, 2**18 people, any four; 32 attributes, any eight."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, timed

__all__ = ["speed"]

CASES = (
    (16, 4, "calm(4)", "fit"),
    (16, 4, "tables(4)", "fit"),
    (16, 4, "calm(4)", "calm"),
    (32, 8, "calm(8)", "fit"),
)


def speed() -> dict[str, Any]:
    """Return the median seconds of a whole answer: counting codes, consistency, shrinking, the table and its errors."""
    found = {}
    for d, k, mechanism, method in CASES:
        rng, n = np.random.default_rng(7), 2**18
        names = [f"a{i}" for i in range(d)]
        hidden = rng.random(n) < 0.3
        columns = {name: (rng.random(n) < 0.1 + 0.3 * hidden).astype(np.int64) for name in names}
        service = tc.Service("s", key="uid", attributes=[tc.Categorical(name, values=[0, 1]) for name in names])
        collection = tc.Collection(tc.Schema([service]), 1.0, mechanism=mechanism, users=n)
        db = tc.connect()
        db.create(collection)
        db.load(collection.encode(s={"uid": np.arange(n)} | columns, rng=tc.insecure_rng(1)))
        asked = [rng.choice(names, k, replace=False).tolist() for _ in range(5)]
        seconds = [timed(partial(db.marginal, own, method=method)) for own in asked]
        found[f"{d} attributes, {k} asked, {mechanism}, {method}"] = figure(np.median(seconds))
    return {"median_seconds": found}
