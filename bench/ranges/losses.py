"""Known losses: rough, skewed and dependent people on which AHEAD or HDG were better than the first release.

Run ``python -m bench.ranges.losses [--encodings N] [--minutes M] [--part kept]``. Every collection is declared with
``users=``, once designed for ranges of both attributes (``questions=``) and once without. Measured is the mean absolute
error of 100 products of ranges, post-processed and unbiased, as a fraction of the people. losses.json keeps what was
measured, encoding by encoding, so that a run goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.ranges.ahead import ahead
from bench.ranges.hdg import hdg
from bench.ranges.rough import KEPT, LOST, SIZE, USED, boxes, rough
from bench.ranges.run import functionals, model_for
from tacit.contract.contract import ServiceContract
from tacit.engines.code_counts import Counts
from tacit.estimate.decoder import Decoder
from tacit.model.reports import decode_frequencies

HERE = Path(__file__).parent
RESULTS, README = HERE / "losses.json", HERE / "README.md"
VOLUMES = (0.25, 0.5)
OURS = {
    part: [(name, 100_000, epsilon) for name in names for epsilon in ("0.5", "1", "4")]
    for part, names in (("kept", KEPT), ("used", USED))
}
PLAIN = 0
"""Encodings whose unbiased answers are measured, too: reading them takes longer than all fits."""

DESIGNED_FOR = 48
"""Random ranges of both attributes that the design is given; none of those that are asked."""

PEER_DRAWS = 10
"""Encodings of peers on the populations that were kept."""

Cell = tuple[str, int, str]


@lru_cache(maxsize=2)
def collection_of(people: int, epsilon: str, designed: bool) -> tc.Collection:  # noqa: FBT001
    """Compile a collection of two attributes."""
    attributes = [tc.Ordinal(f"a{i}", 0, SIZE - 1) for i in range(2)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    texts = []
    source = np.random.default_rng(9)
    for _ in range(DESIGNED_FOR if designed else 0):
        ends = [sorted(source.integers(0, SIZE + 1, 2).tolist()) for _ in range(2)]
        both = [(low, high) if low < high else (0, SIZE) for low, high in ends]
        where = " AND ".join(f"a{i} BETWEEN {low} AND {high - 1}" for i, (low, high) in enumerate(both))
        texts.append(f"SELECT COUNT(*) FROM t WHERE {where}")
    return tc.Collection(schema, epsilon, users=people, questions=texts)


@lru_cache(maxsize=2)
def readings_of(people: int, epsilon: str, designed: bool, volume: float) -> list[tuple[float, dict[int, Any]]]:  # noqa: FBT001
    """Return how the decoder reads each product of ranges: a constant, and weights of every view's cells."""
    decoder, made = Decoder(collection_of(people, epsilon, designed).contract["t"]), []
    asked = [((0, 1), ((a, b), (c, d))) for a, b, c, d in boxes(volume)]
    for functional in functionals((SIZE, SIZE), asked):
        [(coefficient, (factor,))] = decoder.decode(functional).products
        views = {
            number: coefficient * sum(np.multiply.outer(*own) if len(own) == 2 else own[0] for own in products)
            for number, products in factor.readings[0].products.items()
        }
        made.append((coefficient * factor.constant, views))
    return made


def unbiased(service: ServiceContract, counts: Counts, readings: list[tuple[float, dict[int, Any]]]) -> np.ndarray:
    """Return the decoder's answers, as shares of people."""
    channel, (codes, times) = service.channels[0], counts[0]
    ends = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
    tables: dict[int, np.ndarray] = {}
    for number, view in enumerate(channel.views):
        own = slice(ends[number], ends[number + 1])
        if some := times[own].sum():
            table = decode_frequencies(view.oracle, codes[own] - view.offset, times[own])
            tables[number] = table * (some / times.sum() / channel.probability(number))
    return np.array(
        [
            constant
            + sum(float((weights * tables[number]).sum()) for number, weights in views.items() if number in tables)
            for constant, views in readings
        ]
    )


def measure(cell: Cell, encoding: int, *, designed: bool) -> dict[str, list[float]]:
    """Return the errors of one encoding: by volume, of post-processed and of unbiased answers."""
    name, people, epsilon = cell
    values, collection = rough(name, people), collection_of(people, epsilon, designed)
    table = pa.table({"uid": np.arange(people), "a0": values[:, 0], "a1": values[:, 1]})
    reports = collection.encode(t=table, rng=tc.insecure_rng(seed_of(*cell, designed, encoding)))
    codes, times = np.unique(np.asarray(reports["t"]["code"]), return_counts=True)
    service = collection.contract["t"]
    fitted = model_for(service, {0: (codes, times)}).table((0, 1))
    truth = np.bincount(values[:, 0] * SIZE + values[:, 1], minlength=SIZE**2).reshape(SIZE, SIZE) / people
    found = {}
    for volume in VOLUMES:
        asked = boxes(volume)
        right = _sums(truth, asked)
        made = [_sums(fitted, asked)]
        if encoding < PLAIN:
            made.append(unbiased(service, {0: (codes, times)}, readings_of(people, epsilon, designed, volume)))
        found[str(volume)] = [figure(np.abs(own - right).mean()) for own in made]
    return found


def _sums(table: np.ndarray, asked: list[tuple[int, int, int, int]]) -> np.ndarray:
    below = np.zeros((SIZE + 1, SIZE + 1))
    below[1:, 1:] = table.cumsum(0).cumsum(1)
    return np.array([below[b + 1, d + 1] - below[a, d + 1] - below[b + 1, c] + below[a, c] for a, b, c, d in asked])


def main() -> None:
    """Measure what losses.json lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encodings", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--part", choices=OURS, help="our own populations: kept for the last test, or used since")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": {}}
    start = time.monotonic()
    for cell in (
        OURS[options.part] if options.part else list(LOST)
    ):  # cell by cell: contracts and readings are made once
        for designed in (True, False):
            key = " | ".join(map(str, (*cell, "designed" if designed else "auto")))
            done = known["cells"].setdefault(key, [])
            for encoding in range(len(done), options.encodings):
                if time.monotonic() - start > 60 * options.minutes:
                    break
                done.append(measure(cell, encoding, designed=designed))
                known["provenance"] = provenance(["numpy", "pyarrow"])
                RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
                say(f"{key}, encoding {encoding}: {done[-1]}")
    write_part(README, "<!-- losses -->", table_of(known["cells"], LOST))
    if options.part:
        peers = {cell: peers_of(cell) for cell in OURS[options.part]}
        write_part(README, f"<!-- {options.part} -->", table_of(known["cells"], peers))


def peers_of(cell: Cell) -> dict[float, tuple[float, ...]]:
    """Return the mean errors of our own AHEAD and HDG, by volume."""
    name, people, epsilon = cell
    values = rough(name, people)
    counts = np.bincount(values[:, 0] * SIZE + values[:, 1], minlength=SIZE**2).reshape(SIZE, SIZE)
    errors: dict[float, tuple[float, ...]] = dict.fromkeys(VOLUMES, ())
    for peer in (ahead, hdg):
        made = [peer(counts, float(epsilon), np.random.default_rng(draw)) for draw in range(PEER_DRAWS)]
        for volume in VOLUMES:
            asked = boxes(volume)
            right = _sums(counts / people, asked)
            errors[volume] += (float(np.mean([np.abs(_sums(one, asked) - right).mean() for one in made])),)
    return errors


def table_of(cells: dict[str, Any], compared: Mapping[Cell, Mapping[float, tuple[float, ...]]]) -> str:
    """Return a row for each cell and volume, and how many are lost."""
    lines = [
        "| people | epsilon | volume | AHEAD | HDG | designed | ratio | auto | ratio | unbiased, designed | runs |"
    ]
    lines.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    ratios: dict[str, list[float]] = {"designed": [], "auto": []}
    for (name, people, epsilon), volumes in compared.items():
        for volume, peers in volumes.items():
            row = [f"{name}, {people:,}", epsilon, f"{volume}", *(f"{peer:.4f}" for peer in peers)]
            runs: list[list[float]] = []
            for kind, own in ratios.items():
                runs = [run[str(volume)] for run in cells.get(f"{name} | {people} | {epsilon} | {kind}", [])]
                if not runs:
                    continue
                mean = float(np.mean([run[0] for run in runs]))
                own.append(mean / min(peers))
                row += [f"{mean:.4f}", f"{own[-1]:.2f}"]
            plain = [
                run[str(volume)][1]
                for run in cells.get(f"{name} | {people} | {epsilon} | designed", [])
                if len(run[str(volume)]) > 1
            ]
            lines.append(f"| {' | '.join([*row, f'{np.mean(plain):.4f}' if plain else '', str(len(runs))])} |")
    lines.append("")
    for (kind, own), limit in zip(ratios.items(), (1.0, 1.15), strict=True):
        if own:
            mean = math.exp(float(np.mean(np.log(own))))
            lost = sum(ratio > limit for ratio in own)
            lines.append(
                f"- {kind}: {mean:.2f} of the better peer in the geometric mean, {max(own):.2f} at most; {lost} of "
                f"{len(own)} above {limit}."
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
