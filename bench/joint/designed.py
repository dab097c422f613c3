"""What designed views gain in the cases of `accuracy`: squared errors of ``auto`` over those of nested levels.

Run ``python -m bench.joint.designed [--encodings N]``. The claims of `accuracy` are of nested levels read by blue. Here
the same questions are predicted for ``auto``, without questions and designed for two dozen others of the same kind, and
for a join with a range on either side, which is also measured with N encodings of each. Writes designed.json and the
table of the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.joint.accuracy import MANY, ONE, ratio_of
from bench.joint.measure import COUNT, SUM, Workload, truths
from bench.joint.questions import VALUES, join_questions, volume_questions
from bench.joint.worlds import Kind, Syn1, World, world_of

HERE = Path(__file__).parent
RESULTS, README = HERE / "designed.json", HERE / "README.md"
EPSILON, OTHERS = 2.0, 24
MECHANISMS = ("hio", "auto", "designed")


def both_ranges(count: int, seed: str) -> Workload:
    """Return ranges with random ends on either side of the join of SYN-2; t1's ordered attribute is summed."""
    rng = np.random.default_rng(seed_of("both", seed))
    conditions = []
    for _ in range(count):
        (a, b), (c, d) = np.sort(rng.choice(VALUES + 1, (2, 2)), axis=1).tolist()
        conditions.append(f"o1 BETWEEN {a + 1} AND {max(b, a + 1)} AND o2 BETWEEN {c + 1} AND {max(d, c + 1)}")
    return Workload("ranges of both", "o1", tuple(conditions), (COUNT, SUM))


def cases() -> list[tuple[str, Kind, Workload, Workload]]:
    """Return populations with the questions asked, and those that designs are given."""
    volumes = volume_questions(0.15, OTHERS)
    made: list[tuple[str, Kind, Workload, Workload]] = [
        (f"sum, d = {d}", Syn1(d), replace(volumes, conditions=volumes.conditions[:count]), _others(volumes, count))
        for d, count in ((2, 8), (4, 6))
    ]
    for name, kind in (("join", ONE), ("one-to-many, tau = 1", MANY)):
        asked = join_questions("CO", OTHERS)
        made.append((name, kind, replace(asked, conditions=asked.conditions[:6]), _others(asked, 6)))
        made.append((name, kind, both_ranges(6, "asked"), both_ranges(OTHERS, "designed for")))
    return made


def _others(workload: Workload, first: int) -> Workload:
    return replace(workload, conditions=workload.conditions[first:])


def collection_of(world: World, mechanism: str, given: Workload) -> tc.Collection:
    """Return a collection in nested levels, by ``auto``, or designed for some questions."""
    services = []
    for name, attributes in world.attributes.items():
        many = {"at_most": world.at_most[name]} if name in world.at_most else {}
        services.append(tc.Service(name, key="uid", attributes=attributes, **many))
    schema = tc.Schema(services)
    if mechanism != "designed":
        return tc.Collection(schema, EPSILON, mechanism=mechanism)
    written = {COUNT: "COUNT(*)", SUM: f"SUM({given.summed})"}
    asked = [f"SELECT {one} FROM {world.source} WHERE {own}" for own in given.conditions for one in written.values()]
    return tc.Collection(schema, EPSILON, questions=asked)


def predict(world: World, collection: tc.Collection, asked: Workload) -> dict[str, float]:
    """Return the predicted mean squared errors of COUNT and SUM."""
    like = world.tables if len(world.tables) > 1 else next(iter(world.tables.values()))
    answer = collection.predict(asked.text(world.source, (COUNT, SUM)), users=world.people, like=like)
    numbers = range(len(asked.conditions))
    return {one: float(np.mean([answer[f"{one}{i}"].error ** 2 for i in numbers])) for one in (COUNT, SUM)}


def measure(world: World, collection: tc.Collection, asked: Workload, encodings: int) -> dict[str, Any]:
    """Return the measured mean squared errors of COUNT and SUM, encoding by encoding."""
    truth = truths(world, asked)[0]
    squares: dict[str, list[float]] = {COUNT: [], SUM: []}
    for encoding in range(encodings):
        database = tc.connect()
        database.create(collection)
        database.load(collection.encode(**world.tables, rng=tc.insecure_rng(seed_of("designed", encoding))))
        answer = database.sql(asked.text(world.source, (COUNT, SUM)))
        for one, found in squares.items():
            values = np.array([answer[f"{one}{i}"].value for i in range(len(asked.conditions))])
            found.append(figure(np.mean((values - truth[one]) ** 2)))
        database.close()
    return squares


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return a row for each case and aggregate."""
    lines = [
        "| case | questions | aggregate | auto / nested, predicted | designed / nested, predicted | auto, measured "
        "| designed, measured |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        measured = [f"{row[name][0]:.2f} ± {row[name][1]:.2f}" if name in row else "" for name in MECHANISMS[1:]]
        own = " | ".join([f"{row['predicted'][name]:.2f}" for name in MECHANISMS[1:]] + measured)
        lines.append(f"| {row['case']} | {row['questions']} | {row['aggregate']} | {own} |")
    return "\n".join(lines)


def main() -> None:
    """Predict all cases, and measure the join of ranges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encodings", type=int, default=10)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, kind, asked, given in cases():
        world = world_of(kind, None)
        collections = {one: collection_of(world, one, given) for one in MECHANISMS}
        expected = {one: predict(world, own, asked) for one, own in collections.items()}
        squares = {}
        if asked.name == "ranges of both" and kind is ONE and options.encodings:
            squares = {one: measure(world, own, asked, options.encodings) for one, own in collections.items()}
        for aggregate in (COUNT, SUM):
            ratios = {one: figure(expected[one][aggregate] / expected["hio"][aggregate]) for one in MECHANISMS}
            row: dict[str, Any] = {"case": name, "questions": asked.name, "aggregate": aggregate, "predicted": ratios}
            for one in MECHANISMS[1:] if squares else ():
                over = ratio_of(np.array(squares[one][aggregate]), np.array(squares["hio"][aggregate]))
                row[one] = [figure(part) for part in over]
            say(json.dumps(row))
            rows.append(row)
    about = provenance(["numpy"]) | {"epsilon": EPSILON, "encodings": options.encodings}
    RESULTS.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    write_part(README, "<!-- designed -->", table_of(rows))


if __name__ == "__main__":
    main()
