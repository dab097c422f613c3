"""Coverage and error of fitted answers: python -m bench.model.run --data FOLDER [--only TEXT] [--encodings N].

Every campaign collects one population and asks it as SQL: single values, ranges of one attribute, cells and ranges of
two, cells of three. Measured are the share of 95 % intervals that hold, the most stated errors that an answer is off,
and the root mean squared error over that of the unbiased answer. results.json keeps what was measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.model.populations import HELD_OUT, JOINED, POPULATIONS, attributes_of
from bench.simulated import Simulated
from tacit.errors import TacitError

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"

DESIGN = [*itertools.product((1.0,), (100_000,)), (0.5, 30_000), (2.0, 300_000), (4.0, 30_000), (0.2, 1_000_000)]
"""Budgets and numbers of people."""

RANGES, CELLS = 24, 300
"""Ranges of a class, and cells of a table up to which it is asked for."""

Columns = dict[str, np.ndarray]


def questions(columns: Columns, sizes: dict[str, int], wide: list[str]) -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Yield classes of questions: a name, what is selected, the rest of the statement, and the true numbers.

    Ranges are of the ``wide`` attributes.
    """
    source = np.random.default_rng(5)
    names = list(columns)
    for name in names:
        truth = np.bincount(columns[name], minlength=sizes[name])
        yield "value", f"{name}, COUNT(*) AS n", f"GROUP BY {name} ORDER BY {name}", truth
    for some, label in ((1, "range"), (2, "range of two"), (3, "range of three")):
        if len(wide) < some:
            continue
        shown, truth = [], []
        for k in range(RANGES):
            asked = [wide[place] for place in source.permutation(len(wide))[:some]]
            inside, texts = np.ones(len(columns[names[0]]), dtype=bool), []
            for name in asked:
                width = int(sizes[name] * source.choice([0.1, 0.25, 0.5])) or 1
                low = int(source.integers(0, sizes[name] - width + 1))
                texts.append(f"{name} BETWEEN {low} AND {low + width - 1}")
                inside &= (columns[name] >= low) & (columns[name] < low + width)
            shown.append(f"COUNT(*) FILTER (WHERE {' AND '.join(texts)}) AS n{k}")
            truth.append(inside.sum())
        yield label, ", ".join(shown), "", np.array(truth)
    for count, label in ((2, "cell of two"), (3, "cell of three")):
        for some_names in list(itertools.combinations(names, count))[:3]:
            shape = [sizes[name] for name in some_names]
            if math.prod(shape) <= CELLS:
                flat = np.ravel_multi_index(tuple(columns[name] for name in some_names), shape)
                listed = ", ".join(some_names)
                truth = np.bincount(flat, minlength=math.prod(shape))
                yield label, f"{listed}, COUNT(*) AS n", f"GROUP BY {listed} ORDER BY {listed}", truth


def answers(db: tc.Database, shown: str, rest: str, **options: Any) -> list[Any]:
    """Return the estimates of a question, over all services joined."""
    first, *others = [own.name for own in db.collections[0].schema.services]
    tables = " ".join([first, *(f"JOIN {own} USING (uid)" for own in others)])
    rows = list(db.sql(f"SELECT {shown} FROM {tables} {rest}", **options))
    return list(rows[0]) if not rest else [row[-1] for row in rows]


def campaign(population: str, epsilon: float, people: int, data: Path) -> tuple[Simulated, list[tuple[Any, ...]]]:
    """Return a population whose reports can be drawn, and its questions."""
    source = np.random.default_rng(seed_of(population, people))
    columns = POPULATIONS[population](people, source, data)
    attributes = attributes_of(columns)
    groups = [[own] for own in attributes] if population in JOINED else [attributes]
    services = [tc.Service(f"t{k}", key="uid", attributes=own) for k, own in enumerate(groups)]
    keys = {"uid": np.arange(people)}
    rows = {own.name: keys | {one.name: columns[one.name] for one in own.attributes} for own in services}
    sizes = {own.name: own.size for own in attributes}
    wide = [own.name for own in attributes if isinstance(own, tc.Ordinal) and own.size > 8]
    simulated = Simulated(tc.Collection(tc.Schema(services), epsilon, users=people), rows)
    return simulated, list(questions(columns, sizes, wide))


def measure(simulated: Simulated, asked: list[tuple[Any, ...]], seed: int) -> dict[str, list[list[float]]]:
    """Return, for each class, the numbers of `COLUMNS` of each answer of newly drawn reports."""
    simulated.draw(seed)
    found: dict[str, list[list[float]]] = {}
    for label, shown, rest, truth in asked:
        fitted = answers(simulated.database, shown, rest, consistent=True)
        try:
            plain = answers(simulated.database, shown, rest)
        except TacitError:
            plain = [None] * len(fitted)
        found.setdefault(label, []).extend(answer_rows(truth.tolist(), fitted, plain))
    return found


def answer_rows(truth: list[float], fitted: list[Any], plain: list[Any]) -> list[list[float]]:
    """Return the numbers of `COLUMNS` of each answer; an unbiased one may be missing."""
    rows = []
    for right, one, other in zip(truth, fitted, plain, strict=True):
        held, width = one.low <= right <= one.high, one.high - one.low
        off = abs(one.value - right) / one.error if one.error > 0 else 0.0
        anchor = [math.nan] * 3
        if other is not None:
            anchor = [other.value, float(other.low <= right <= other.high), width / max(other.high - other.low, 1e-9)]
        rows.append([right, one.value, float(held), off, *anchor])
    return rows


COLUMNS = ("truth", "fitted", "covered", "stated errors off", "unbiased", "unbiased covered", "width over unbiased")


def point(runs: list[dict[str, list[list[float]]]]) -> dict[str, Any]:
    """Return the numbers of each class over some encodings."""
    made = {}
    for label in runs[0]:
        rows = np.array([row for run in runs for row in run[label]])
        fit = math.sqrt(float(np.mean((rows[:, 1] - rows[:, 0]) ** 2)))
        plain = math.sqrt(float(np.mean((rows[:, 4] - rows[:, 0]) ** 2)))
        known = not math.isnan(plain)
        made[label] = {
            "answers": len(rows),
            "covered": figure(rows[:, 2].mean()),
            "farthest": figure(rows[:, 3].max()),
            "rmse": figure(fit),
            "over_unbiased": figure(fit / plain) if known else None,
            "unbiased_covered": figure(rows[:, 5].mean()) if known else None,
            "width": figure(rows[:, 6].mean()) if known else None,
        }
    return made


def main() -> None:
    """Measure what is missing, campaign by campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--encodings", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=360)
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    start = time.monotonic()
    for (epsilon, people), population in itertools.product(DESIGN, POPULATIONS):
        key = f"{population} | {epsilon:g} | {people}"
        late = time.monotonic() - start > 60 * options.minutes
        if options.only not in key or late or known["points"].get(key, {}).get("encodings", 0) >= options.encodings:
            continue
        simulated, asked = campaign(population, epsilon, people, options.data)
        seeds = [seed_of(population, epsilon, people, one) for one in range(options.encodings)]
        runs = [measure(simulated, asked, seed) for seed in seeds]
        simulated.close()
        known["points"][key] = {"encodings": options.encodings, "classes": point(runs)}
        known["provenance"] = provenance(["numpy", "duckdb"])
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        say(f"{key}: {known['points'][key]['classes']}")
    write_part(README, "<!-- table -->", table_of(known["points"]))


def table_of(points: dict[str, Any]) -> str:
    """Return the results: a row for each campaign and class, and what all of them come to."""
    head = "population, epsilon, people | class | answers | covered | farthest | error over unbiased"
    lines = [f"| {head} | width over unbiased |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    ratios, covered, answered, far = [], [], 0, 0.0
    for key, own in points.items():
        name = key.split(" | ")[0]
        for label, one in own["classes"].items():
            ratio = one["over_unbiased"]
            star = "*" if name in HELD_OUT else ""
            text = " | " if ratio is None else f"{ratio:.2f} | {one['width']:.2f}"
            lines.append(
                f"| {key.replace(' | ', ', ')}{star} | {label} | {one['answers']} | {one['covered']:.3f} | "
                f"{one['farthest']:.1f} | {text} |"
            )
            ratios += [] if ratio is None else [ratio]
            covered.append(one["covered"])
            answered, far = answered + one["answers"], max(far, one["farthest"])
    if ratios:
        mean = math.exp(float(np.mean(np.log(ratios))))
        lines.append("")
        lines.append(
            f"{answered:,} answers in {len(covered)} classes: error over unbiased {mean:.2f} in the geometric mean, "
            f"{max(ratios):.2f} at most; covered {min(covered):.3f} to {max(covered):.3f}, at least 0.93 in "
            f"{sum(own >= 0.93 for own in covered)}; farthest {far:.1f} stated errors. * kept for testing alone."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
