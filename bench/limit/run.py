"""How far from the limit: variance of nested levels, of ``auto``, and of ``auto`` designed for a class of questions.

Run ``python -m bench.limit.run [--minutes M]``: measures the cells that results.json lacks and writes the tables of the
page; ``--slice`` measures some cells again. Beside each class stand its bound, over up to a dozen values the least
variance of any channel (`optimum`), and the mechanisms of the papers; the mixture takes each class relative to nested
levels.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.limit.bound import Matrix, bound_of, bound_of_ranges
from bench.limit.optimum import optimum
from tacit.contract.contract import ServiceContract
from tacit.errors import TacitError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import moments

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DOMAINS = [(12,), (4, 3), (16,), (64,), (256,), (1024,), (16, 16), (8, 8, 8), (5, 5, 5, 5), (32, 32), (64, 64)]
SLICE = [((16,), 1.0), ((64,), 4.0), ((16, 16), 1.0)]
MOST_CELLS = 1_100
"""Values of the joint domain up to which the bound is computed: it takes their eigenvalues."""

FEW_CELLS = 12
"""Values of the joint domain up to which the best of all channels is searched."""

SAMPLED, DESIGNED_FOR = 40, 150
"""Eigenvectors that stand for a class, and random questions of it that the design is given."""

LATTICE = (0.6180339887498949, 0.7548776662466927)
"""Steps of even draws for one and two attributes."""

PAPERS = ("hi", "sc", "fc", "mg", "am(2)")
"""Mechanisms of the papers beside hio, which has nested levels; those that refuse a question are left out."""

Vectors = dict[int, Matrix]


def ranges(size: int, rng: np.random.Generator) -> tuple[str, Matrix]:
    """Return a range, each as likely as any other."""
    low, high = sorted(rng.choice(size + 1, 2, replace=False))
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
    places = sorted(rng.choice(len(sizes), len(told), replace=False).tolist()) if len(sizes) > 2 else range(len(told))
    for i, part in zip(places, told, strict=True):
        if part in ("range", "point"):
            text, vectors[i] = (ranges if part == "range" else points)(sizes[i], rng)
            conditions.append(text.format(f"x{i}"))
        else:
            vectors[i] = (np.arange(sizes[i]) + 0.5) / sizes[i]
    selected = f"SUM(x{places[0]})" if told[0] == "sum" else "COUNT(*)"
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


def sample(kind: str, sizes: Sequence[int], rng: np.random.Generator) -> list[tuple[float, Vectors]]:
    """Return weighted vectors whose mean variance is, on average, that of all questions of a class.

    They are products of eigenvectors of the class's Gram matrices. Under the best channels an eigenvalue r has variance
    about 1/sqrt(r), so they are drawn by sqrt(r): then each tells about the same. Draws are even (a lattice), not
    independent.
    """
    parts = kind.split(" x ")
    made: list[tuple[float, Vectors]] = []
    starts = rng.random(len(LATTICE))
    for number in range(SAMPLED):
        places = sorted(rng.choice(len(sizes), len(parts), replace=False).tolist()) if len(sizes) > 2 else range(2)
        weight, vectors = 1.0, {}
        for i, part, start, step in zip(places, parts, starts, LATTICE, strict=False):
            values, columns = _eigen(part, sizes[i])
            chances = np.sqrt(values) / np.sqrt(values).sum()
            place = (start + step * number) % 1
            chosen = min(int(np.searchsorted(np.cumsum(chances), place)), len(values) - 1)
            weight *= float(values[chosen] / chances[chosen])
            vectors[i] = columns[:, chosen]
        made.append((weight, vectors))
    return made


@lru_cache(maxsize=64)
def _eigen(part: str, size: int) -> tuple[Matrix, Matrix]:
    values, columns = np.linalg.eigh(gram(part, size))
    kept = values > 1e-9 * values[-1]
    return values[kept], columns[:, kept]


def variance(compiled: ServiceContract, asked: Sequence[tuple[float, Vectors]]) -> float:
    """Return the mean variance per report, over uniform records."""
    decoder, population = Decoder(compiled), Population.of(compiled)
    sizes = tuple(levels.size for levels in compiled.levels)
    total = 0.0
    for weight, vectors in asked:
        functional = Functional.constant(sizes)
        for i, vector in vectors.items():
            functional = functional * Functional.of(sizes, i, vector)
        expected = moments(decoder, functional, population)
        total += weight * (expected.estimate - expected.truth)
    return total / len(asked)


def gram_of(kind: str, sizes: Sequence[int], *, every: bool = False) -> Matrix:
    """Return the mean of f f' over a class, on all values of the joint domain.

    Questions are about the first attributes of two, and about any of more; about any where ``every`` is asked for, as
    in a mixture, which must not be for one attribute alone.
    """
    parts = kind.split(" x ")
    several = len(sizes) > 2 or every
    choose = itertools.permutations if every else itertools.combinations
    places = list(choose(range(len(sizes)), len(parts))) if several else [tuple(range(len(parts)))]
    total = np.zeros((math.prod(sizes),) * 2)
    for own in places:
        shown = dict(zip(own, parts, strict=True))
        made = np.ones((1, 1))
        for i, size in enumerate(sizes):
            made = np.kron(made, gram(shown.get(i, "all"), size))
        total += made / len(places)
    return total


def measure(sizes: tuple[int, ...], epsilon: float) -> dict[str, Any]:
    """Return the variances of all classes over one domain."""
    attributes = [tc.Ordinal(f"x{i}", 0, size - 1) for i, size in enumerate(sizes)]
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    nested = tc.Collection(schema, epsilon, mechanism="hio").contract["s"]
    automatic = tc.Collection(schema, epsilon).contract["s"]
    cells = math.prod(sizes)
    classes_found: dict[str, Any] = {}
    mixed = np.zeros((cells, cells)) if cells <= MOST_CELLS else None
    for kind in classes(sizes):
        rng = np.random.default_rng(seed_of("limit", sizes, kind))
        alone = kind == "sum" and len(sizes) <= 2
        asked = sample(kind, sizes, rng)[: 1 if alone else SAMPLED]
        texts = [question(kind, sizes, rng)[0] for _ in range(1 if alone else DESIGNED_FOR)]
        designed = tc.Collection(schema, epsilon, questions=texts).contract["s"]
        own: dict[str, Any] = {
            "nested": figure(variance(nested, asked)),
            "auto": figure(variance(automatic, asked)),
            "designed": figure(variance(designed, asked)),
            "bound": None,
        }
        if mixed is not None:
            whole = gram_of(kind, sizes)
            own["bound"] = figure(bound_of(whole, epsilon))
            mixed += gram_of(kind, sizes, every=True) / own["nested"] / len(classes(sizes))
            if cells <= FEW_CELLS:
                own["optimum"] = figure(optimum(whole, epsilon)[1])
        if max(sizes) <= 64 and cells <= MOST_CELLS:
            own["papers"] = {
                name: compared for name in PAPERS if (compared := paper(schema, epsilon, name, asked[:10])) is not None
            }
            own["nested of papers"] = figure(variance(nested, asked[:10]))
        classes_found[kind] = own
    views = [len(one.channels[0].views) for one in (nested, automatic)]
    codes = [one.channels[0].alphabet for one in (nested, automatic)]
    ratios = [one["auto"] / one["nested"] for one in classes_found.values()]
    mixture = {"auto": figure(float(np.mean(ratios))), "bound": None}
    if mixed is not None:
        mixture["bound"] = figure(bound_of(mixed, epsilon))
        if cells <= FEW_CELLS:
            mixture["optimum"] = figure(optimum(mixed, epsilon)[1])
    described = {"sizes": list(sizes), "epsilon": epsilon, "views": views, "codes": codes, "mixture": mixture}
    return described | {"classes": classes_found}


def paper(schema: tc.Schema, epsilon: float, mechanism: str, asked: Sequence[tuple[float, Vectors]]) -> float | None:
    """Return the mean variance of a mechanism; None where it refuses."""
    try:
        return figure(variance(tc.Collection(schema, epsilon, mechanism=mechanism).contract["s"], asked))
    except TacitError:
        return None


def table_of(cells: Sequence[dict[str, Any]]) -> str:
    """Return a row for each class of each cell, and for the mixture."""
    lines = [
        "| values | epsilon | class | auto / nested | designed / nested | auto / bound | designed / bound "
        "| auto / optimum | designed / optimum | best of the papers / nested |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for cell in cells:
        start = f"| {' × '.join(map(str, cell['sizes']))} | {cell['epsilon']:g}"
        for kind, one in cell["classes"].items():
            if kind == "range" and len(cell["sizes"]) == 1:
                one = one | {"bound": max(one["bound"], bound_of_ranges(*cell["sizes"], cell["epsilon"]))}
            own = [_over(one[name], one.get(under)) for under in ("nested", "bound", "optimum") for name in _OURS]
            papers = {name: value / one["nested of papers"] for name, value in one.get("papers", {}).items()}
            best = min(papers, key=lambda name: papers[name], default="")
            lines.append(f"{start} | {kind} | {' | '.join(own)} | {f'{best} {papers[best]:.2f}' if best else ''} |")
        mixture = cell["mixture"]
        ratios = [mixture["auto"] and f"{mixture['auto']:.2f}", "", _over(mixture["auto"], mixture["bound"]), ""]
        lines.append(
            f"{start} | mixture | {' | '.join(ratios)} | {_over(mixture['auto'], mixture.get('optimum'))} | | |"
        )
    return "\n".join(lines)


_OURS = ("auto", "designed")


def _over(value: float, limit: float | None) -> str:
    if limit is None:
        return ""
    return f"{value / limit:.2f}" if limit > 0 else "–"


def main() -> None:
    """Measure the cells that are missing, or compare a slice with the committed results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--slice", action="store_true", help="recompute some cells and compare them with those committed"
    )
    parser.add_argument("--minutes", type=float, default=600)
    options = parser.parse_args()
    cells = json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else []
    known = {(tuple(one["sizes"]), one["epsilon"]): one for one in cells}
    if options.slice:
        same = all(measure(*cell)["classes"] == known[cell]["classes"] for cell in SLICE)
        say(f"{len(SLICE)} cells {'as committed' if same else 'differ'}")
        raise SystemExit(0 if same else 1)
    begin = time.monotonic()
    wanted = list(itertools.product(DOMAINS, EPSILONS))
    for sizes, epsilon in wanted:
        if (sizes, epsilon) in known or time.monotonic() - begin > 60 * options.minutes:
            continue
        start = time.process_time()
        known[sizes, epsilon] = measure(sizes, epsilon)
        say(f"{sizes} epsilon {epsilon}: {time.process_time() - start:.0f} s of the processor")
        found = [known[cell] for cell in wanted if cell in known]
        RESULTS.write_text(json.dumps({"about": provenance(["numpy"]), "cells": found}, indent=1) + "\n")
    write_part(README, "<!-- results -->", table_of([known[cell] for cell in wanted if cell in known]))


if __name__ == "__main__":
    main()
