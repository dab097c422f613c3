"""What is measured: tacit's collections and the tables they encode."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import tacit as tc

__all__ = ["DENSE", "SPARSE", "flat_collection", "flat_table", "pair_collection", "pair_table"]

DENSE, SPARSE = "dense", "sparse"
"""Keys 0..n-1 in random order, or random integers of 62 bits; distinct in both cases, which encoding verifies."""


def pair_collection(size: int, epsilon: float) -> tc.Collection:
    """Return the collection of the requirement: two ordinal attributes of ``size`` values in the HIO layout."""
    attributes = [tc.Ordinal(name, low=0, high=size - 1) for name in ("a", "b")]
    schema = tc.Schema([tc.Service("users", key="uid", attributes=attributes)])
    return tc.Collection(schema, epsilon=epsilon, mechanism="hio")


def flat_collection(size: int, epsilon: float) -> tc.Collection:
    """Return the peers' own task: one categorical attribute, sent as a whole with the papers' local hashing."""
    attribute = tc.Categorical("v", values=list(range(size)))
    schema = tc.Schema([tc.Service("users", key="uid", attributes=[attribute])])
    return tc.Collection(schema, epsilon=epsilon, mechanism="fc", oracle="olh")


def pair_table(rows: int, size: int, *, keys: str, seed: int) -> pa.Table:
    """Return ``rows`` records of two attributes, uniform."""
    rng = np.random.default_rng(seed)
    columns = {name: pa.array(rng.integers(0, size, rows, dtype=np.int16)) for name in ("a", "b")}
    return pa.table({"uid": _keys(rows, keys, rng)} | columns)


def flat_table(rows: int, size: int, *, keys: str, seed: int) -> pa.Table:
    """Return ``rows`` records of one attribute, uniform."""
    rng = np.random.default_rng(seed)
    return pa.table({"uid": _keys(rows, keys, rng), "v": pa.array(rng.integers(0, size, rows, dtype=np.int16))})


def _keys(rows: int, keys: str, rng: np.random.Generator) -> pa.Array:
    if keys == SPARSE:
        return pa.array(rng.integers(0, 1 << 62, rows, dtype=np.int64))
    return pa.array(rng.permutation(rows).astype(np.int64, copy=False))
