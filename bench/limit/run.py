"""How far from the limit: variance of nested levels, of ``auto``, and of ``auto`` designed for a class of questions.

Run ``python -m bench.limit.run``; the whole grid takes half an hour, ``--slice`` some of its cells a minute.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of
from bench.limit.bound import Matrix, bound
from tacit.contract.contract import ServiceContract
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_variance

RESULTS = Path(__file__).parent / "results.json"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DOMAINS = [(16,), (64,), (256,), (1024,), (16, 16), (32, 32), (64, 64)]
SLICE = [((16,), 1.0), ((64,), 4.0), ((16, 16), 1.0)]
MOST_CELLS = 1_100
"""Values of the joint domain up to which the bound is computed: it takes their eigenvalues."""

ASKED, DESIGNED_FOR = 60, 48
"""Random questions that are measured, and other ones that the design is given."""

Vectors = dict[int, Matrix]


def ranges(size: int, rng: np.random.Generator) -> tuple[str, Matrix]:
    """Return a range, each as likely as any other."""
    low, high = sorted(rng.integers(0, size + 1, 2))
    low, high = (low, high) if low < high else (0, size)
    place = np.arange(size)
    return f"{{}} BETWEEN {low} AND {high - 1}", ((place >= low) & (place < high)).astype(float)


def points(size: int, rng: np.random.Generator) -> tuple[str, Matrix]:
    """Return a single value."""
    value = int(rng.integers(size))
    return f"{{}} = {value}", (np.arange(size) == value).astype(float)


def question(kind: str, sizes: Sequence[int], rng: np.random.Generator) -> tuple[str, Vectors]:
    """Return a question of a class as SQL and as vectors."""
    conditions: list[str] = []
    vectors: Vectors = {}
    told = kind.split(" x ")
    for i, part in enumerate(told):
        if part in ("range", "point"):
            text, vectors[i] = (ranges if part == "range" else points)(sizes[i], rng)
            conditions.append(text.format(f"x{i}"))
        else:
            vectors[i] = (np.arange(sizes[i]) + 0.5) / sizes[i]
    selected = "SUM(x0)" if told[0] == "sum" else "COUNT(*)"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {selected} FROM s{where}", vectors


def gram(part: str, size: int) -> Matrix:
    """Return the mean of f f' over a class of one attribute."""
    place = np.arange(size)
    if part == "range":
        shared = np.minimum.outer(place + 1, place + 1) * np.minimum.outer(size - place, size - place)
        return shared / (size * (size + 1) / 2)
    if part == "point":
        return np.eye(size) / size
    if part == "sum":
        return np.outer(place + 0.5, place + 0.5) / size**2
    return np.ones((size, size))


def classes(sizes: Sequence[int]) -> list[str]:
    """Return the classes of questions over a domain."""
    alone = ["range", "point", "sum"]
    return alone if len(sizes) == 1 else [*alone, "range x range", "point x point", "sum x range"]


def variance(compiled: ServiceContract, asked: Sequence[Vectors]) -> float:
    """Return the mean variance per report, over uniform records."""
    decoder, population = Decoder(compiled), Population.of(compiled)
    sizes = tuple(levels.size for levels in compiled.levels)
    total = 0.0
    for vectors in asked:
        functional = Functional.constant(sizes)
        for i, vector in vectors.items():
            functional = functional * Functional.of(sizes, i, vector)
        total += expected_variance(decoder, functional, population)
    return total / len(asked)


def measure(sizes: tuple[int, ...], epsilon: float) -> dict[str, Any]:
    """Return the variances of all classes over one domain."""
    attributes = [tc.Ordinal(f"x{i}", 0, size - 1) for i, size in enumerate(sizes)]
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    nested = tc.Collection(schema, epsilon, mechanism="hio").contract["s"]
    automatic = tc.Collection(schema, epsilon).contract["s"]
    found: dict[str, Any] = {}
    for kind in classes(sizes):
        rng = np.random.default_rng(seed_of("limit", sizes, kind))
        count = 1 if kind == "sum" else ASKED
        asked = [question(kind, sizes, rng)[1] for _ in range(count)]
        texts = [question(kind, sizes, rng)[0] for _ in range(1 if kind == "sum" else DESIGNED_FOR)]
        designed = tc.Collection(schema, epsilon, questions=texts).contract["s"]
        parts = [*kind.split(" x "), "all"][: len(sizes)]
        grams = [gram(part, size) for part, size in zip(parts, sizes, strict=True)]
        limit = bound(grams, epsilon) if np.prod(sizes) <= MOST_CELLS else None
        found[kind] = {
            "nested": figure(variance(nested, asked)),
            "auto": figure(variance(automatic, asked)),
            "designed": figure(variance(designed, asked)),
            "bound": None if limit is None else figure(limit),
        }
    views = [len(one.channels[0].views) for one in (nested, automatic)]
    codes = [one.channels[0].alphabet for one in (nested, automatic)]
    return {"sizes": list(sizes), "epsilon": epsilon, "classes": found, "views": views, "codes": codes}


def main() -> None:
    """Measure the grid, or compare a slice of it with the committed results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--slice", action="store_true", help="recompute some cells and compare them with those committed"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the results as JSON")
    options = parser.parse_args()
    if options.slice:
        known = {(tuple(one["sizes"]), one["epsilon"]): one for one in json.loads(RESULTS.read_text())["cells"]}
        same = all(measure(*cell)["classes"] == known[cell]["classes"] for cell in SLICE)
        say(f"{len(SLICE)} cells {'as committed' if same else 'differ'}")
        raise SystemExit(0 if same else 1)
    cells = []
    for sizes in DOMAINS:
        for epsilon in EPSILONS:
            start = time.perf_counter()
            cells.append(measure(sizes, epsilon))
            say(f"{sizes} epsilon {epsilon}: {time.perf_counter() - start:.0f} s")
            options.output.write_text(json.dumps({"about": provenance(["numpy"]), "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
