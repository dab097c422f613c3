"""How often intervals of ``consistent=True`` hold on census tables, and on populations that are hard to smooth.

Every attribute that has at most 128 values is collected, in services of four, and asked for as SQL: one-way tables,
two-way tables, ranges, sums and averages. Compared with the truth: whether the 95 % interval holds it, how many stated
errors the answer is off, and how wide the interval is beside that of the unbiased answer.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.census.populations import FILES, Column, made, read, services
from bench.common import figure, provenance, say, seed_of, write_part
from tacit.errors import TacitError
from tacit.estimate.estimate import Estimate

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"

TOGETHER = 4
"""Attributes of a service."""

MOST_PAIR_CELLS = 500
"""Cells of the two-way tables that are asked for."""

FAR = 6.0
"""Stated errors that no answer should be off."""


@dataclass(frozen=True)
class Campaign:
    """One population, collected once."""

    population: str
    mechanism: str
    epsilon: float
    people: int

    @property
    def name(self) -> str:
        """Its name in the results."""
        return f"{self.population} | {self.mechanism} | {self.epsilon:g} | {self.people}"


def campaigns() -> list[Campaign]:
    """Return everything that is measured: the census first, in all sizes, budgets and layouts."""
    found = [Campaign("census", "auto", epsilon, 100_000) for epsilon in (0.5, 1, 2, 4)]
    found += [Campaign("census", mechanism, 1, 100_000) for mechanism in ("pairs", "am(2)", "am(1)")]
    found += [Campaign("census", "auto", 1, people) for people in (1_000, 10_000, 299_285)]
    others = ((name, people) for name, people in (("adult", 48_842), ("acs", 200_000), ("nist", 87_293)))
    found += [Campaign(name, "auto", epsilon, people) for name, people in others for epsilon in (1, 4)]
    found += [Campaign(name, "auto", 1, people) for name, people in (("taxi", 200_000), ("retail", 200_000))]
    return found + [Campaign("made", "auto", epsilon, 100_000) for epsilon in (0.5, 1, 4)]


def columns_of(campaign: Campaign, folder: Path) -> list[Column]:
    """Return the people of a campaign: a random part of a file's."""
    if campaign.population == "made":
        return made(campaign.people, seed_of(campaign.name))
    columns = read(campaign.population, folder)
    source = np.random.default_rng(seed_of(campaign.name))
    chosen = source.permutation(len(columns[0].codes))[: campaign.people]
    return [Column(own.name, own.codes[chosen], own.size, own.ordered) for own in columns]


def collected(campaign: Campaign, columns: list[Column]) -> tc.Database:
    """Collect one service."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[own.attribute() for own in columns])])
    mechanism = "am(1)" if campaign.mechanism == "am(2)" and len(columns) == 1 else campaign.mechanism
    collection = tc.Collection(schema, campaign.epsilon, mechanism=mechanism, users=campaign.people)
    people = np.arange(len(columns[0].codes))
    rng = tc.insecure_rng(seed_of(campaign.name, columns[0].name))
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": people} | {own.name: own.codes for own in columns}, rng=rng))
    return db


def questions(columns: list[Column]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield kinds of questions, each as SQL, with the truth of its rows."""
    for own in columns:
        truth = np.bincount(own.codes, minlength=own.size)
        yield "one-way", f"SELECT {own.name}, COUNT(*) AS n FROM t GROUP BY {own.name}", truth
        if own.ordered and own.size > 3:
            low, high = own.size // 5, own.size // 2
            inside = (own.codes >= low) & (own.codes <= high)
            where = f"FROM t WHERE {own.name} BETWEEN {low} AND {high}"
            yield "range", f"SELECT COUNT(*) AS n {where}", np.array([inside.sum()])
            yield "sum", f"SELECT SUM({own.name}) AS n {where}", np.array([own.codes[inside].sum()])
            if inside.any():
                yield "average", f"SELECT AVG({own.name}) AS n {where}", np.array([own.codes[inside].mean()])
    for left, right in itertools.pairwise(columns):
        if left.size * right.size <= MOST_PAIR_CELLS:
            names = f"{left.name}, {right.name}"
            truth = np.bincount(left.codes * right.size + right.codes, minlength=left.size * right.size)
            yield "two-way", f"SELECT {names}, COUNT(*) AS n FROM t GROUP BY {names}", truth


@dataclass
class Score:
    """What was found of one kind of question."""

    answers: int = 0
    held: int = 0
    far: int = 0
    below: int = 0
    width: float = 0.0
    compared: int = 0
    unbiased_held: int = 0

    def add(self, cells: list[Estimate], plain: list[Estimate] | None, truth: np.ndarray) -> None:
        """Compare answers with the truth, and with unbiased ones."""
        for place, (cell, right) in enumerate(zip(cells, truth.tolist(), strict=True)):
            slack = 1e-9 * max(1.0, abs(right))
            self.answers += 1
            self.held += cell.low - slack <= right <= cell.high + slack
            self.far += abs(cell.value - right) > FAR * cell.error + slack
            self.below += cell.low < 0
            if plain is not None and 0 < plain[place].margin < np.inf:
                self.compared += 1
                self.width += cell.margin / plain[place].margin
                self.unbiased_held += plain[place].low <= right <= plain[place].high

    def found(self) -> dict[str, float]:
        """Return the shares."""
        return {
            "answers": self.answers,
            "held": figure(self.held / max(1, self.answers)),
            f"off_by_{FAR:g}_errors": self.far,
            "intervals_below_zero": self.below,
            "width_over_unbiased": figure(self.width / max(1, self.compared)),
            "unbiased_held": figure(self.unbiased_held / max(1, self.compared)),
        }


def measure(campaign: Campaign, folder: Path, *, plain: bool) -> dict[str, Any]:
    """Return what one campaign's answers are worth, by kind of question."""
    scores: dict[str, Score] = {}
    seconds, worst = 0.0, 1.0
    for columns in services(columns_of(campaign, folder), TOGETHER):
        db = collected(campaign, columns)
        for kind, text, truth in questions(columns):
            start = time.perf_counter()
            cells = [row[-1] for row in db.sql(text, consistent=True)]
            seconds += time.perf_counter() - start
            try:
                unbiased = [row[-1] for row in db.sql(text)] if plain and len(truth) < 60 else None
            except TacitError:
                unbiased = None
            score = scores.setdefault(kind, Score())
            before = (score.held, score.answers)
            score.add(cells, unbiased, truth)
            if kind == "one-way":
                worst = min(worst, (score.held - before[0]) / (score.answers - before[1]))
    found = {kind: score.found() for kind, score in scores.items()}
    return {"seconds_of_answers": round(seconds, 1), "worst_one_way_table": figure(worst), "kinds": found}


def table(points: dict[str, Any]) -> str:
    """Return the results as a table."""
    lines = ["| population, mechanism, epsilon, people | kind | answers | held | off by 6 errors | width / unbiased |"]
    lines.append("|---|---|---|---|---|---|")
    for name, point in points.items():
        for kind, own in point["kinds"].items():
            width = f"{own['width_over_unbiased']:.2f}" if own["width_over_unbiased"] else "–"
            row = (name.replace(" | ", ", "), kind, f"{own['answers']:,}", f"{own['held']:.3f}")
            lines.append(f"| {' | '.join(row)} | {own['off_by_6_errors']} | {width} |")
    every = [own for point in points.values() for own in point["kinds"].values()]
    answers = sum(own["answers"] for own in every)
    held = sum(own["answers"] * own["held"] for own in every) / answers
    off = sum(own["off_by_6_errors"] for own in every)
    lines.append(f"| all | | {answers:,} | {held:.3f} | {off} | |")
    return "\n".join(lines)


def keep(name: str, point: dict[str, Any]) -> None:
    """Put one campaign's point beside the others, with the commit it was measured at, and renew the table."""
    before = json.loads(RESULTS.read_text(encoding="utf-8"))["points"] if RESULTS.exists() else {}
    about = provenance(("tacit", "numpy", "pyarrow"))
    points = before | {name: {"commit": about["commit"][:12], **point}}
    points = {one.name: points[one.name] for one in campaigns() if one.name in points}
    RESULTS.write_text(json.dumps({**about, "points": points}, indent=1) + "\n", encoding="utf-8")
    write_part(README, "<!-- results -->", table(points))


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder of {', '.join(FILES.values())}")
    parser.add_argument("--only", nargs="+", default=[""], help="campaigns whose names contain one of these")
    parser.add_argument("--print", action="store_true", help="print, and write nothing")
    parser.add_argument(
        "--plain", action="store_true", help="ask the unbiased questions, too: takes several times as long"
    )
    options = parser.parse_args()
    for campaign in campaigns():
        if any(words in campaign.name for words in options.only):
            point = measure(campaign, options.data, plain=options.plain)
            say(f"{campaign.name}: {json.dumps(point)}")
            if not options.print:
                keep(campaign.name, point)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
