"""Accuracy on range queries: ``mechanism="auto"`` with ``consistent=True``, from real encoded reports.

The full run writes results.json; ``--slice`` recomputes some encodings and exits with 1 if one is off. Answers are of
the model that `Database.sql` asks with ``consistent=True``, unbiased ones from the decoder's weights on the views'
tables, which are the sums that SQL adds up code by code; ``--check`` shows that both are what `Database.sql` says.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import figure, provenance, say, seed_of, verdict
from bench.ranges.peers import BEST
from bench.ranges.populations import SIZES, People, Range, population, ranges, truth
from tacit.contract.contract import ServiceContract
from tacit.engines.code_counts import Counts
from tacit.errors import UnanswerableError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.reading import Factor
from tacit.model.model import Model
from tacit.model.reports import Reports, decode_frequencies, model_of

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
ENCODINGS = 5
ERRORS_OF = 20
"""Questions of each set whose stated errors are compared with the truth."""

PROCESSES = 2
SLICED = ("normal | 1000000 | 2 | 1", "spiky | 200000 | 2 | 1")


@dataclass(frozen=True)
class Campaign:
    """One collection: people, how many, their first attributes, and the budget."""

    data: str
    people: int
    attributes: int
    epsilon: str

    @property
    def name(self) -> str:
        """Its name in the results."""
        return f"{self.data} | {self.people} | {self.attributes} | {self.epsilon}"

    def sets(self) -> list[tuple[int, float]]:
        """Return the sets of questions: attributes asked for, and volume of each."""
        every = [(self.attributes, 0.5)] if self.attributes > 2 else []
        return [(2, 0.5), (2, 0.25), *every]


def campaigns() -> list[Campaign]:
    """Return everything that is measured, the comparison's cells first."""
    made = ("normal", "spiky", "laplace")
    cells = [(2, "0.5"), (2, "1"), (2, "2"), (4, "1"), (6, "1"), (6, "2")]
    found = [Campaign(data, 1_000_000, d, epsilon) for d, epsilon in cells for data in made]
    found += [Campaign(data, 200_000, d, "1") for d in (2, 4) for data in made]
    return found + [Campaign("census", people, 4, "1") for people in (1_000_000, 200_000)]


@lru_cache(maxsize=2)
def people_of(data: str, people: int, folder: Path) -> People:
    """Return the people of a campaign."""
    return population(data, people, folder)


@lru_cache(maxsize=4)
def collection_of(campaign: Campaign) -> tc.Collection:
    """Compile the collection of a campaign."""
    sizes = SIZES[campaign.data][: campaign.attributes]
    attributes = [tc.Ordinal(f"a{i}", low=0, high=size - 1, fanout=2) for i, size in enumerate(sizes)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    return tc.Collection(schema, campaign.epsilon, mechanism="auto", users=campaign.people)


def reports_of(campaign: Campaign, encoding: int, folder: Path) -> dict[str, pa.Table]:
    """Encode everybody."""
    values = people_of(campaign.data, campaign.people, folder)
    columns = {f"a{i}": values[:, i] for i in range(campaign.attributes)}
    table = pa.table({"uid": np.arange(len(values)), **columns})
    return collection_of(campaign).encode(t=table, rng=tc.insecure_rng(seed_of(campaign.name, encoding)))


def functionals(sizes: tuple[int, ...], asked: list[Range]) -> list[Functional]:
    """Return the questions as functionals."""
    found = []
    for attributes, bounds in asked:
        made = Functional.constant(sizes)
        for i, (low, high) in zip(attributes, bounds, strict=True):
            values = np.arange(sizes[i])
            made = made * Functional.of(sizes, i, (values >= low) & (values <= high))
        found.append(made)
    return found


@dataclass(frozen=True, eq=False)
class Asked:
    """A set of questions: functionals, the truth, and how the decoder reads them (None where it refuses)."""

    functionals: list[Functional]
    truth: np.ndarray
    factors: list[tuple[float, Factor]] | None


@lru_cache(maxsize=6)
def asked_of(campaign: Campaign, count: int, volume: float, folder: Path) -> Asked:
    """Return a campaign's questions over some attributes."""
    sizes = SIZES[campaign.data][: campaign.attributes]
    questions = ranges(sizes, count, volume)
    made = functionals(sizes, questions)
    right = truth(people_of(campaign.data, campaign.people, folder), questions)
    decoder = Decoder(collection_of(campaign).contract["t"])
    try:
        products = [decoder.decode(functional).products for functional in made]
    except UnanswerableError:
        return Asked(made, right, None)
    return Asked(made, right, [(coefficient, factor) for [(coefficient, (factor,))] in products])


def unbiased(service: ServiceContract, counts: Counts, factors: list[tuple[float, Factor]]) -> np.ndarray:
    """Return the decoder's answers, as shares of people."""
    channel, people = service.channels[0], int(counts[0][1].sum())
    codes, times = counts[0]
    ends = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
    answers = []
    for coefficient, factor in factors:
        total = factor.constant
        for number, products in factor.readings[0].products.items():
            view = channel.views[number]
            own = slice(ends[number], ends[number + 1])
            table = decode_frequencies(view.oracle, codes[own] - view.offset, times[own])
            for product in products:
                read = table
                for vector in reversed(product):
                    read = read @ vector
                total += times[own].sum() / people / channel.probability(number) * float(read)
        answers.append(coefficient * total)
    return np.array(answers)


def model_for(service: ServiceContract, counts: Counts) -> Model:
    """Return the model of counts of codes."""
    codes, times = counts[0]
    zeros = np.zeros(len(codes), dtype=np.int64)
    return model_of([Reports((service,), (zeros,), (codes.astype(np.int64),), times, zeros)])


def measure(campaign: Campaign, encoding: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return the errors of one encoding, by set of questions."""
    codes, times = np.unique(np.asarray(reports_of(campaign, encoding, folder)["t"]["code"]), return_counts=True)
    service, counts = collection_of(campaign).contract["t"], {0: (codes, times)}
    model, found = model_for(service, counts), {}
    for count, volume in campaign.sets():
        asked = asked_of(campaign, count, volume, folder)
        off = np.abs(np.array([model.means([one])[0] for one in asked.functionals]) - asked.truth)
        stated = np.array(model.errors(asked.functionals[:ERRORS_OF]))
        found[f"{count} at {volume}"] = {
            "fit": float(off.mean()),
            "covered": float((off[:ERRORS_OF] <= 1.96 * stated).mean()),
        }
        if asked.factors is not None:
            plain = np.abs(unbiased(service, counts, asked.factors) - asked.truth)
            found[f"{count} at {volume}"]["unbiased"] = float(plain.mean())
    return found


def point(campaign: Campaign, folder: Path, encodings: int) -> dict[str, Any]:
    """Return everything about a campaign."""
    start = time.perf_counter()
    runs = [measure(campaign, encoding, folder) for encoding in range(encodings)]
    sets: dict[str, Any] = {}
    for name in runs[0]:
        sets[name] = {key: figure(np.mean([run[name][key] for run in runs])) for key in runs[0][name]}
        sets[name]["fits"] = [figure(run[name]["fit"]) for run in runs]
        best = BEST.get((campaign.attributes, campaign.epsilon, name), {}).get(campaign.data)
        if best is not None and campaign.people == 1_000_000:
            sets[name]["best_peer"] = best
    service = collection_of(campaign).contract["t"]
    seconds = round(time.perf_counter() - start, 1)
    return {**asdict(campaign), "layout": service.layout, "why": service.why, "seconds": seconds, "sets": sets}


def summary(points: dict[str, Any]) -> dict[str, Any]:
    """Return how many cells are at or below the best peer, and the geometric means."""
    cells = [(name, key, s) for name, p in points.items() for key, s in p["sets"].items() if "best_peer" in s]
    ratios = [s["fit"] / s["best_peer"] for _, _, s in cells]
    plain = [s["fit"] / s["unbiased"] for p in points.values() for s in p["sets"].values() if "unbiased" in s]
    return {
        "cells": len(cells),
        "at_or_below_best_peer": sum(ratio <= 1 for ratio in ratios),
        "geometric_mean_over_best_peer": figure(math.exp(np.mean(np.log(ratios)))),
        "missed": [f"{name} | {key}" for (name, key, _), ratio in zip(cells, ratios, strict=True) if ratio > 1],
        "geometric_mean_over_unbiased": figure(math.exp(np.mean(np.log(plain)))),
        "worst_over_unbiased": figure(max(plain)),
        "covered": figure(np.mean([s["covered"] for p in points.values() for s in p["sets"].values()])),
    }


def check(folder: Path) -> bool:
    """Tell whether `Database.sql` gives the same answers, consistent and unbiased."""
    campaign = Campaign("normal", 200_000, 2, "1")
    collection, reports = collection_of(campaign), reports_of(campaign, 0, folder)
    db = tc.connect()
    db.create(collection)
    db.load(reports)
    codes, times = np.unique(np.asarray(reports["t"]["code"]), return_counts=True)
    service, counts = collection.contract["t"], {0: (codes, times)}
    sizes = SIZES[campaign.data][: campaign.attributes]
    questions, asked = ranges(sizes, 2, 0.5)[:5], asked_of(campaign, 2, 0.5, folder)
    made = asked.functionals[:5]
    plain = unbiased(service, counts, (asked.factors or [])[:5])
    same = True
    for place, (attributes, bounds) in enumerate(questions):
        both = zip(attributes, bounds, strict=True)
        where = " AND ".join(f"a{i} BETWEEN {low} AND {high}" for i, (low, high) in both)
        fitted = model_for(service, counts).means([made[place]])[0]
        for expected, options in ((fitted, {"consistent": True}), (plain[place], {})):
            answer = db.sql(f"SELECT COUNT(*) AS n FROM t WHERE {where}", **options)["n"].value / campaign.people
            same &= bool(abs(answer - expected) < 1e-9)
    return same


def main() -> int:
    """Run the benchmark, a slice of it, or the check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of acs2024_person.parquet")
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--encodings", type=int, default=ENCODINGS)
    options = parser.parse_args()
    if options.check:
        say("Database.sql says the same" if (same := check(options.data)) else "Database.sql says something else")
        return int(not same)
    if options.slice:
        return sliced(options.data)
    start, points = time.perf_counter(), {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for campaign, found in zip(
            campaigns(),
            pool.map(partial(point, folder=options.data, encodings=options.encodings), campaigns()),
            strict=True,
        ):
            points[campaign.name] = found
            say(f"{campaign.name}: {found['sets']} {found['seconds']} s")
            made = provenance(("tacit", "numpy", "pyarrow"), encodings=options.encodings, summary=summary(points))
            text = json.dumps({**made, "seconds": round(time.perf_counter() - start), "points": points}, indent=1)
            RESULTS.write_text(text + "\n", encoding="utf-8")
    return 0


def sliced(folder: Path) -> int:
    """Repeat the first encodings of some campaigns."""
    committed, near = json.loads(RESULTS.read_text(encoding="utf-8"))["points"], True
    for campaign in campaigns():
        if campaign.name in SLICED:
            for name, found in measure(campaign, 0, folder).items():
                before = committed[campaign.name]["sets"][name]["fits"][0]
                good, words = verdict(found["fit"], before, 1.05)
                say(f"{campaign.name} | {name}: {found['fit']:.5f}, committed {before:.5f}: {words}")
                near &= good
    return int(not near)


if __name__ == "__main__":
    sys.exit(main())
