"""Table 2 and figures 6 to 9, 11 and 12 of the JOINT paper, on synthetic and public census data, and tacit beside them.

The full run writes results.json. ``--slice`` recomputes three points with the committed seeds, prints them next to the
committed ones, and exits with 1 if one is off by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.chart import layout
from bench.common import figure, provenance, say, verdict
from bench.joint.claims import judge
from bench.joint.figures import GROUPED, QUESTIONS, TABLE, Point, panels
from bench.joint.measure import AVG, COUNT, SUM, Campaign, Errors, campaign_errors, point_of, predicted, truths
from bench.joint.worlds import Kind, world_of

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb")

TOLERANCE = 3.0
"""Factor within which two means of squared errors agree if the encoder's randomness changed: few, and far from even."""

SLOW = 5.0
"""Epsilon from which tacit's linear hash over three attributes is slow: a minute a statement, three releases."""

SLICED = (("6d", "AHIO", "0.15"), ("8d", "HIO-JOIN-RDC", "1"), ("8d", "tacit", "2"))
"""Figure, curve and position of the points that ``--slice`` recomputes."""


def encodings_of(point: Point) -> int:
    """Return how many times a point's reports are made."""
    ours_in_table = point in TABLE and point.reader.name == "tacit"
    return 3 if ours_in_table and point.campaign.epsilon >= SLOW else point.encodings


def campaigns() -> dict[Campaign, list[Point]]:
    """Return every campaign with the points of all panels, each once, campaigns of a population together."""
    wanted: dict[str, Point] = {}
    drawn = [point for panel in panels() for curve in panel.curves for _, point in curve.points]
    for point in [*drawn, *(point for row in GROUPED for point in row), *TABLE]:
        wanted.setdefault(point.name + point.campaign.oracle, point)
    found: dict[Campaign, list[Point]] = {}
    for point in sorted(wanted.values(), key=lambda each: each.campaign.kind.name):
        found.setdefault(point.campaign, []).append(point)
    return found


def measured(campaign: Campaign, points: list[Point], folder: Path) -> dict[str, Errors]:
    """Encode and ask all points of a campaign that need as many encodings, then those that need others."""
    found = {}
    for encodings in sorted({encodings_of(point) for point in points} - {0}):
        pairs = {(p.reader, p.workload): p.name for p in points if encodings_of(p) == encodings}
        for reader, workload, errors in campaign_errors(campaign, list(pairs), folder, encodings):
            found[pairs[reader, workload]] = errors
    return found


def expectations(campaign: Campaign, points: list[Point], folder: Path) -> dict[str, dict[str, float]]:
    """Predict all points of a campaign, those of a reader together."""
    names = {(point.reader, point.workload): point.name for point in points}
    found = {}
    for reader in dict.fromkeys(point.reader for point in points):
        workloads = [point.workload for point in points if point.reader == reader]
        for workload, expected in predicted(campaign, reader, workloads, folder).items():
            found[names[reader, workload]] = expected
    return found


def population(kind: Kind, wanted: dict[Campaign, list[Point]], folder: Path) -> dict[str, Any]:
    """Run all campaigns of a population."""
    start, points, table, groups = time.perf_counter(), {}, {}, {}
    for campaign, some in wanted.items():
        begun = time.perf_counter()
        errors = measured(campaign, some, folder)
        between = time.perf_counter()
        expected = expectations(campaign, some, folder)
        for point in some:
            found = errors.get(point.name) or Errors(*truths(world_of(kind, folder), point.workload), {}, {})
            points[point.name] = point_of(found, expected[point.name])
            if point in TABLE:
                table[point.name] = table_row(point, folder) | means(found)
            if any(point in row for row in GROUPED):
                groups[point.name] = {"method": point.reader.name, "race": point.workload.name} | release(found)
        done = f"{between - begun:.1f} s measured, {time.perf_counter() - between:.1f} s predicted"
        say(f"{campaign.name}: {len(some)} points, {done}")
    found = {"seconds": round(time.perf_counter() - start), "points": points, "table": table, "groups": groups}
    return provenance(PACKAGES) | found


def renew(folder: Path, part: str) -> dict[str, Any]:
    """Run the populations whose names start with a word, and return all results with theirs renewed."""
    by_kind: dict[Kind, dict[Campaign, list[Point]]] = {}
    for campaign, points in campaigns().items():
        by_kind.setdefault(campaign.kind, {})[campaign] = points
    for kind, wanted in by_kind.items():
        if kind.name.startswith(part):
            found = population(kind, wanted, folder)
            results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"populations": {}}
            results["populations"][kind.name] = found
            results |= {"methods": methods(), "panels": [layout(panel) for panel in panels()]}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def table_row(point: Point, folder: Path) -> dict[str, Any]:
    """Return what a row of table 2 is about, with the predicted standard errors of its means."""
    campaign = point.campaign
    world = world_of(campaign.kind, folder)
    [like] = world.tables.values()
    collection = world.collection(campaign.epsilon, campaign.mechanism, campaign.oracle, campaign.sends)
    text = point.workload.text(world.source, [AVG])
    answer = collection.predict(text, users=world.people, like=like, decoder=point.reader.decoder)
    predicted_errors = [figure(answer[f"{AVG}{i}"].error) for i in range(len(QUESTIONS))]
    about = {"method": point.reader.name, "epsilon": campaign.epsilon, "questions": list(QUESTIONS)}
    return about | {"predicted": predicted_errors}


def means(found: Errors) -> dict[str, Any]:
    """Return the mean of AVG over releases with its deviation, the stated errors, and the truth, for each question."""
    values, stated = found.values[AVG], found.stated[AVG]
    return {
        "releases": len(values),
        "mean": [figure(x) for x in values.mean(axis=0)],
        "deviation": [figure(x) for x in values.std(axis=0, ddof=1)] if len(values) > 1 else None,
        "stated": [figure(x) for x in np.nanmean(stated, axis=0)],
        "truth": [figure(x) for x in found.truth[AVG]],
    }


def release(found: Errors) -> dict[str, Any]:
    """Return the first release of a group: estimates, stated errors and truths of COUNT and SUM."""
    return {
        one: {
            "estimate": figure(found.values[one][0, 0]),
            "error": figure(found.stated[one][0, 0]),
            "truth": figure(found.truth[one][0]),
        }
        for one in (COUNT, SUM)
    }


def methods() -> list[dict[str, Any]]:
    """Return every reader with its parameters."""
    readers = dict.fromkeys(point.reader for points in campaigns().values() for point in points)
    return [asdict(reader) for reader in readers]


def check_slice(folder: Path) -> int:
    """Recompute three points; return 1 if one is off by more than the tolerance."""
    committed, failed = json.loads(RESULTS.read_text(encoding="utf-8"))["populations"], False
    chosen = {
        (panel.figure, curve.name, at): (point, panel.measure)
        for panel in panels()
        for curve in panel.curves
        for at, point in curve.points
    }
    for key in SLICED:
        point, measure = chosen[key]
        [(_, _, errors)] = campaign_errors(point.campaign, [(point.reader, point.workload)], folder, point.encodings)
        now, before = point_of(errors, {})[measure], committed[point.campaign.kind.name]["points"][point.name][measure]
        near, shown = verdict(now, before, TOLERANCE)
        say(f"figure {key[0]}, {key[1]} at {key[2]}: NMSE {now:.6g}, committed {before:.6g}: {shown}.")
        failed |= not near
    return int(failed)


def main() -> int:
    """Run in full or in part."""
    parser = argparse.ArgumentParser(description=__doc__)
    files = "acs2024_person.parquet and acs2024_household.parquet"
    parser.add_argument("--data", type=Path, help=f"folder with {files}; the slice needs none")
    parser.add_argument("--slice", action="store_true", help="recompute three points and compare with results.json")
    parser.add_argument("--part", default="", help="renew the populations whose names start so, such as 'SYN-1 d=4'")
    options = parser.parse_args()
    if options.slice:
        return check_slice(options.data)
    if options.data is None:
        parser.error("--data is needed for the full run")
    results = renew(options.data, options.part)
    for statement in judge(results):
        say(f"{'agrees' if statement['agrees'] else 'DIFFERS'}: {statement['paper']} Found: {statement['found']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
