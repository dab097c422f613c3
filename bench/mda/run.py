"""The MDA paper's figures 4 to 8, 10 to 12 and 14 on public census data, and the same questions by tacit.

The full run writes results.json. ``--slice`` recomputes three points with the committed seeds, prints them next to the
committed ones, and exits with 1 if one is off by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.chart import layout
from bench.common import figure, provenance, say, seed_of, verdict
from bench.mda.claims import judge
from bench.mda.figures import Campaign, DecoderName, Point, Setting, Workload, panels
from bench.mda.populations import MEASURE, load
from bench.mda.queries import Question, Sample, draw

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb")
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""Mean of |x| for a normal x of standard deviation 1."""

TOLERANCE = 1.6
"""Factor within which two means of 30 absolute errors agree: four standard errors (each 0.76/sqrt(30) of the mean)."""

SLICED = (("4a", "HIO", "0.25"), ("5", "tacit", "1"), ("6b", "MG", "0.1"))
"""Figure, curve and position of the points that ``--slice`` recomputes."""


def collection_of(campaign: Campaign, folder: Path) -> tc.Collection:
    """Compile the collection of a campaign."""
    setting, method = campaign.setting, campaign.method
    attributes: list[Any] = []
    for place, (name, size) in enumerate(setting.ordinals):
        declared = size * (method.room if place == len(setting.ordinals) - 1 else 1)
        attributes.append(tc.Ordinal(name, low=0, high=declared - 1))
    for name in setting.categories:
        values = np.unique(load(folder, setting.population).categories[name])
        attributes.append(tc.Categorical(name, values=values.tolist()))
    schema = tc.Schema([tc.Service("persons", key="uid", attributes=[*attributes, tc.Public(MEASURE)])])
    return tc.Collection(schema, campaign.epsilon, mechanism=method.mechanism, oracle=method.oracle)


@lru_cache(maxsize=2)
def sample_of(folder: Path, setting: Setting, rows: int) -> Sample:
    """Return the rows of a campaign; campaigns of one setting follow each other."""
    return Sample.of(load(folder, setting.population), setting, rows)


@lru_cache(maxsize=256)
def questions_of(folder: Path, setting: Setting, workload: Workload) -> list[Question]:
    """Return the questions of a point."""
    return draw(load(folder, setting.population), setting, workload)


def measure(campaign: Campaign, workloads: Iterable[Workload], folder: Path) -> dict[str, dict[str, Any]]:
    """Encode, load, ask; return what each workload found."""
    workloads, method = list(workloads), campaign.method
    sample = sample_of(folder, campaign.setting, campaign.rows)
    collection = collection_of(campaign, folder)
    found: dict[Workload, list[dict[str, float]]] = {workload: [] for workload in workloads}
    seconds = dict.fromkeys(workloads, 0.0)
    for encoding in range(method.encodings):
        rng = tc.insecure_rng(seed_of(campaign.name, encoding))
        with_reports = tc.connect()
        with_reports.create(collection)
        with_reports.load(collection.encode(persons=sample.table(), rng=rng))
        for workload in workloads:
            asked = questions_of(folder, campaign.setting, workload)[: method.queries]
            start = time.perf_counter()
            found[workload] += [
                ask(with_reports, question, sample, workload, method.decoder)
                for question in asked[encoding :: method.encodings]
            ]
            seconds[workload] += time.perf_counter() - start
        with_reports.close()
    return {w.name: summary(found[w], sample, seconds[w]) for w in workloads}


def ask(db: Any, question: Question, sample: Sample, workload: Workload, decoder: DecoderName) -> dict[str, float]:
    """Ask one question; return errors, stated errors and truths."""
    truth = sample.truth(question)
    names = ("sum",) if workload.kind is None else ("count", "sum", "avg")
    written = {"count": "COUNT(*) AS count_", "sum": f"SUM({MEASURE}) AS sum_", "avg": f"AVG({MEASURE}) AS avg_"}
    selected = ", ".join(written[name] for name in names)
    answer = db.sql(f"SELECT {selected} FROM persons WHERE {question.where}", decoder=decoder)
    noted = {}
    for name in names:
        estimate = answer[f"{name}_"]
        noted[f"{name}_off"] = abs(estimate.value - truth[name])
        noted[f"{name}_error"] = estimate.error
        noted[f"{name}_truth"] = truth[name]
    return noted


def summary(rows: list[dict[str, float]], sample: Sample, seconds: float) -> dict[str, Any]:
    """Return MNAE or MRE with their standard deviations, and the same as the stated errors would have it."""
    whole = float(np.abs(sample.measure).sum())
    column = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    result: dict[str, Any] = {"queries": len(rows), "seconds": round(seconds, 2)}

    def note(name: str, off: Any, error: Any, scale: Any) -> None:
        result[name] = figure(np.mean(off / scale))
        result[f"{name}_std"] = figure(np.std(off / scale))
        result[f"{name}_stated"] = figure(MEAN_ABSOLUTE * np.mean(error / scale))

    if "count_off" not in column:
        note("mnae", column["sum_off"], column["sum_error"], whole)
    else:
        result["selectivity"] = figure(np.mean(column["count_truth"]) / len(sample.measure))
        for name in ("count", "sum", "avg"):
            note(f"mre_{name}", column[f"{name}_off"], column[f"{name}_error"], np.abs(column[f"{name}_truth"]))
    result["off_over_stated"] = figure(np.mean(column["sum_off"] / column["sum_error"]))
    return result


def predict(campaign: Campaign, workload: Workload, folder: Path) -> dict[str, Any]:
    """Return what the prediction of COUNT says of a point of SUM: noise is multiplied by the measure, person by person.

    The measure's root mean square stands for every person's, and errors are taken to be normal.
    """
    sample, collection = sample_of(folder, campaign.setting, campaign.rows), collection_of(campaign, folder)
    asked = questions_of(folder, campaign.setting, workload)[: campaign.method.queries]
    spread = MEAN_ABSOLUTE * float(np.sqrt(np.mean(sample.measure**2)))
    shares = []
    for question in asked:
        text = f"SELECT COUNT(*) AS n FROM persons WHERE {question.where}"
        answer = collection.predict(text, users=campaign.rows, like=sample.table(), decoder=campaign.method.decoder)
        whole = np.abs(sample.measure).sum() if workload.kind is None else sample.truth(question)["sum"]
        shares.append(spread * answer["n"].error / float(whole))
    name = "mnae" if workload.kind is None else "mre_sum"
    return {"queries": 0, f"{name}_predicted": figure(np.mean(shares))}


def campaigns() -> dict[Campaign, list[Workload]]:
    """Return every campaign with the workloads of all panels, each once."""
    wanted: dict[Campaign, dict[Workload, None]] = {}
    for panel in panels():
        for curve in panel.curves:
            for _, point in curve.points:
                wanted.setdefault(point.campaign, {})[point.workload] = None
    ordered = sorted(wanted, key=lambda c: (c.setting.population, c.setting.name, c.rows))
    return {campaign: list(wanted[campaign]) for campaign in ordered}


def everything(folder: Path) -> dict[str, Any]:
    """Run all campaigns."""
    start, points = time.perf_counter(), {}
    for campaign, workloads in campaigns().items():
        begun = time.perf_counter()
        found = measure(campaign, workloads, folder) if campaign.is_measured else {}
        for workload in workloads:
            both = predict(campaign, workload, folder) | found.get(workload.name, {})
            points[Point(campaign, workload).name] = both
        kind = "measured" if campaign.is_measured else "predicted"
        say(f"{campaign.name}: {len(workloads)} points {kind} in {time.perf_counter() - begun:.1f} s")
    return {"seconds": round(time.perf_counter() - start), "points": points, "panels": [layout(p) for p in panels()]}


def methods() -> list[dict[str, Any]]:
    """Return every method with its parameters."""
    return [asdict(method) for method in dict.fromkeys(campaign.method for campaign in campaigns())]


def check_slice(folder: Path) -> int:
    """Recompute three points; return 1 if one is off by more than the tolerance."""
    committed, failed = json.loads(RESULTS.read_text(encoding="utf-8"))["points"], False
    chosen = {
        (panel.figure, curve.name, at): point
        for panel in panels()
        for curve in panel.curves
        for at, point in curve.points
    }
    for key in SLICED:
        point = chosen[key]
        now = measure(point.campaign, [point.workload], folder)[point.workload.name]["mnae"]
        before = committed[point.name]["mnae"]
        near, shown = verdict(now, before, TOLERANCE)
        say(f"figure {key[0]}, {key[1]} at {key[2]}: MNAE {now:.6g}, committed {before:.6g}: {shown}.")
        failed |= not near
    return int(failed)


def main() -> int:
    """Run in full or in part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with acs2024_person.parquet and adult.parquet")
    parser.add_argument("--slice", action="store_true", help="recompute three points and compare with results.json")
    options = parser.parse_args()
    if options.slice:
        return check_slice(options.data)
    results = provenance(PACKAGES, methods=methods()) | everything(options.data)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for statement in judge(results):
        say(f"{'agrees' if statement['agrees'] else 'DIFFERS'}: {statement['paper']} Found: {statement['found']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
