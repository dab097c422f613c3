"""Predicted and measured variance: every report of a million people, over uniform, skewed and census records.

Run ``python -m bench.limit.measured --data FOLDER [--people N]``. For ranges of one attribute and products of ranges of
two, the mean square of what a report adds minus its person's truth is compared with what is predicted from the shares
of values; attributes are drawn independently, as predictions assume.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import say, seed_of
from bench.limit.run import question
from bench.ranges.populations import population
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_variance

__all__ = ["compared", "values_of"]

PEOPLE, SIZE, ASKED = 1_000_000, 64, 6
KINDS = ("range", "range x range")
Values = npt.NDArray[np.int64]


def values_of(name: str, people: int, folder: Path | None = None) -> Values:
    """Return people x 2 values, of independent attributes."""
    source = np.random.default_rng(seed_of("measured", name, people))
    if name == "uniform":
        return source.integers(0, SIZE, (people, 2))
    if name == "zipf":
        weights = 1 / np.arange(1, SIZE + 1) ** 1.2
        return source.choice(SIZE, (people, 2), p=weights / weights.sum())
    if name == "lognormal":
        return np.minimum(source.lognormal(2.0, 0.9, (people, 2)), SIZE - 1).astype(np.int64)
    if folder is None:
        raise ValueError(name)
    real = population("census", people, folder)[:, :2] * SIZE // 100
    return np.stack([source.permutation(column) for column in real.T], axis=1)


def compared(values: Values, epsilon: float, kind: str, *, even: bool = False) -> float:
    """Return the measured over the predicted variance, both summed over some questions of a class.

    Predictions know the shares of values, unless they are to be for ``even`` records.
    """
    attributes = [tc.Ordinal(f"x{i}", 0, SIZE - 1) for i in range(2)]
    collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=attributes)]), epsilon)
    service = collection.contract["s"]
    table = pa.table({"uid": np.arange(len(values)), "x0": values[:, 0], "x1": values[:, 1]})
    reports = collection.encode(s=table, rng=tc.insecure_rng(seed_of("measured", epsilon, kind)))["s"]
    codes, order = np.asarray(reports["code"]), np.asarray(reports["uid"])
    kept, place = np.unique(codes, return_inverse=True)
    shares = [np.bincount(column, minlength=SIZE) / len(values) for column in values.T]
    decoder, people = Decoder(service), Population.of(service, None if even else shares)
    rng = np.random.default_rng(seed_of("measured", kind))
    measured = predicted = 0.0
    for _ in range(ASKED):
        vectors = question(kind, (SIZE, SIZE), rng)[1]
        functional = Functional.constant((SIZE, SIZE))
        right = np.ones(len(values))
        for i, vector in vectors.items():
            functional = functional * Functional.of((SIZE, SIZE), i, vector)
            right *= vector[values[order, i]]
        [(coefficient, (factor,))] = decoder.decode(functional).products
        added = coefficient * (factor.constant + factor.readings[0].contributions(kept))
        measured += float(((added[place] - right) ** 2).mean())
        predicted += expected_variance(decoder, functional, people)
    return measured / predicted


def main() -> None:
    """Print the ratio for each population, budget and class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--people", type=int, default=PEOPLE)
    options = parser.parse_args()
    for name in ("uniform", "zipf", "lognormal", "census"):
        values = values_of(name, options.people, options.data)
        for epsilon in (0.5, 1.0, 4.0):
            ratios = [f"{compared(values, epsilon, kind):.4f}" for kind in KINDS]
            say(f"{name}, epsilon {epsilon:g}: ranges {ratios[0]}, ranges of both {ratios[1]}")


if __name__ == "__main__":
    main()
