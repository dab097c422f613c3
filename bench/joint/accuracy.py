"""How much less error tacit has than the JOINT paper's mechanisms, at the same epsilon: sums, joins, several rows.

The full run writes accuracy.json. ``--slice`` repeats the first encoding of some cases with the committed seeds, and
exits with 1 if a mean squared error is not the committed one.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.common import SAME, figure, provenance, say
from bench.joint.measure import Campaign, Reader, Workload, campaign_errors, predicted
from bench.joint.questions import join_questions, volume_questions
from bench.joint.worlds import Kind, Syn1, Syn2

HERE = Path(__file__).parent
RESULTS = HERE / "accuracy.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb")
COUNT, SUM = "count", "sum"

OURS = Reader("tacit", "hio", "auto", "blue", (COUNT, SUM))
HIO = Reader("HIO", "hio", "olh", "cover", (COUNT,))
AHIO = Reader("AHIO", "ahio", "olh", "cover", (COUNT, SUM))
AHIO_RDC = Reader("AHIO-RDC", "ahio", "olh", "rdc", (COUNT, SUM))
EHIO = Reader("EHIO", "ehio", "olh", "cover", (COUNT, SUM))
JOIN_RDC = Reader("HIO-JOIN-RDC", "ahio", "olh", "rdc", (COUNT, SUM))
PLAIN_RDC = Reader("HIO-JOIN-RDC without rounding", "hio", "olh", "rdc", (COUNT,))

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """The ratio of mean squared errors, tacit's over a baseline's, that is claimed not to be exceeded, or none."""

    baseline: Reader
    aggregate: str
    workload: Workload
    at_most: float | None


@dataclass(frozen=True)
class Case:
    """A population with what is claimed of it."""

    name: str
    kind: Kind
    claims: tuple[Claim, ...]
    encodings: int = 20
    epsilon: float = 2.0
    sends: int = 1

    @property
    def wanted(self) -> dict[Campaign, list[tuple[Reader, Workload]]]:
        """What is to be asked of which reports, by tacit and by the baselines."""
        pairs = [(reader, claim.workload) for claim in self.claims for reader in (OURS, claim.baseline)]
        found: dict[Campaign, list[tuple[Reader, Workload]]] = {}
        for reader, workload in dict.fromkeys(pairs):
            campaign = Campaign(self.kind, self.epsilon, reader.mechanism, reader.oracle, self.sends)
            found.setdefault(campaign, []).append((reader, workload))
        return found


def sum_claims(questions: int, below_ahio: float, below_ehio: float) -> tuple[Claim, ...]:
    """Return the claims of sums over one table."""
    asked = volume_questions(0.15, questions)
    return (
        Claim(AHIO, SUM, asked, below_ahio),
        Claim(EHIO, SUM, asked, below_ehio),
        Claim(HIO, COUNT, asked, 1.0),
        Claim(AHIO_RDC, SUM, asked, None),
        Claim(AHIO_RDC, COUNT, asked, None),
    )


def join_claims(questions: dict[str, int]) -> Iterator[Claim]:
    """Yield the claims of a join against the paper's collection, which rounds."""
    for kind, count in questions.items():
        asked = join_questions(kind, count)
        yield Claim(JOIN_RDC, SUM, asked, 1 / 4)
        yield Claim(JOIN_RDC, COUNT, asked, 1 / 2)


def plain_claims(questions: int) -> Iterator[Claim]:
    """Yield those against reports without the rounded attribute; with no condition on t2 COUNT reads t1 alone."""
    yield Claim(PLAIN_RDC, COUNT, join_questions("CO", questions, COUNT), 0.7)
    yield Claim(PLAIN_RDC, COUNT, join_questions("CO left", questions // 3, COUNT), None)


ONE, MANY = Syn2(many=False), Syn2(many=True)
CASES = (
    Case("sum, d = 2", Syn1(2), sum_claims(8, 1 / 10, 1 / 7), encodings=30),
    Case("sum, d = 4", Syn1(4), sum_claims(6, 1 / 20, 1 / 20)),
    Case("join", ONE, (*join_claims({"CO": 6, "CO same": 3, "CO left": 3}), *plain_claims(12))),
    Case("one-to-many, tau = 1", MANY, tuple(join_claims({"CO": 6, "CO same": 3, "CO left": 3}))),
)
SLICED = ("sum, d = 2", "one-to-many, tau = 1")
"""Cases of which ``--slice`` repeats an encoding."""

ELSEWHERE = tuple(
    Case(f"{case.name.split(', tau')[0]}, tau = {sends}, eps = {epsilon:g}", case.kind, case.claims, 0, epsilon, sends)
    for case in CASES
    for sends in ((1, 2, 4) if case.kind == MANY else (1,))
    for epsilon in (1.0, 2.0, 5.0)
)
"""The same, predicted only, at other budgets and numbers of reports."""


def encode_and_ask(case: Case, encodings: int) -> Iterator[tuple[str, str, str, Floats]]:
    """Yield, by reader, workload and aggregate, the mean squared error of each encoding."""
    for campaign, wanted in case.wanted.items():
        start = time.perf_counter()
        for reader, workload, errors in campaign_errors(campaign, wanted, None, encodings):
            for aggregate in errors.values:
                yield reader.name, workload.name, aggregate, errors.squared(aggregate)
        say(f"  {campaign.name}: {encodings} encodings, {time.perf_counter() - start:.0f} s")


def predictions(case: Case) -> dict[tuple[str, str, str], float]:
    """Return the predicted mean squared errors by reader, workload and aggregate."""
    return {
        (reader.name, workload.name, aggregate): value
        for campaign, wanted in case.wanted.items()
        for reader in dict.fromkeys(reader for reader, _ in wanted)
        for workload, found in predicted(campaign, reader, [w for r, w in wanted if r == reader], None).items()
        for aggregate, value in found.items()
    }


def ratio_of(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return the ratio of two means and its standard error, from independent encodings."""
    ratio = float(ours.mean() / theirs.mean())
    spread = sum(float(x.var(ddof=1)) / len(x) / float(x.mean()) ** 2 for x in (ours, theirs))
    return ratio, ratio * math.sqrt(spread)


def predicted_ratios(case: Case) -> list[dict[str, Any]]:
    """Return the predicted ratios of a case with what is claimed."""
    exact, rows = predictions(case), []
    for claim in case.claims:
        of = claim.workload.name, claim.aggregate
        row = {"baseline": claim.baseline.name, "aggregate": claim.aggregate, "questions": claim.workload.name}
        ratio = exact[(OURS.name, *of)] / exact[(claim.baseline.name, *of)]
        rows.append(row | {"claimed": claim.at_most, "predicted": round(ratio, 4)})
    return rows


def evaluate(case: Case) -> dict[str, Any]:
    """Run a case in full."""
    start, rows = time.perf_counter(), predicted_ratios(case)
    found = {(reader, workload, one): square for reader, workload, one, square in encode_and_ask(case, case.encodings)}
    for row in rows:
        of = row["questions"], row["aggregate"]
        ratio, error = ratio_of(found[(OURS.name, *of)], found[(row["baseline"], *of)])
        row |= {"measured": round(ratio, 4), "standard_error": round(error, 4)}
        row["holds"] = None if row["claimed"] is None else ratio <= row["claimed"]
        row["predicted_holds"] = None if row["claimed"] is None else row["predicted"] <= row["claimed"]
        say(f"  {case.name}: {row}")
    parameters = {"population": case.kind.name, "epsilon": case.epsilon, "tau": case.sends, "encodings": case.encodings}
    questions = {claim.workload.name: len(claim.workload.conditions) for claim in case.claims}
    return {
        "parameters": parameters | {"questions": questions},
        "seconds": round(time.perf_counter() - start),
        "ratios": rows,
        "mean_squared_errors": [
            {"reader": reader, "questions": workload, "aggregate": one, "by_encoding": [figure(x) for x in square]}
            for (reader, workload, one), square in found.items()
        ],
    }


def check_slice() -> int:
    """Repeat the first encodings of some cases."""
    committed, failed = json.loads(RESULTS.read_text(encoding="utf-8"))["cases"], False
    for case in CASES:
        if case.name not in SLICED:
            continue
        before = {
            (each["reader"], each["questions"], each["aggregate"]): each["by_encoding"]
            for each in committed[case.name]["mean_squared_errors"]
        }
        for reader, workload, one, square in encode_and_ask(case, 1):
            was = before[reader, workload, one][0]
            same = abs(float(square[0]) / was - 1) <= 10 * SAME  # committed with six digits
            failed |= not same
            shown = f"mean squared error {square[0]:.6g}, committed {was:.6g}: {'the same' if same else 'OFF'}."
            say(f"{case.name}, {reader}, {one}: {shown}")
    return int(failed)


def main() -> int:
    """Run in full or in part; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="repeat the first encoding of some cases and compare")
    parser.add_argument("--predict", action="store_true", help="show the predicted ratios and encode nothing")
    options = parser.parse_args()
    if options.slice:
        return check_slice()
    elsewhere = {case.name: predicted_ratios(case) for case in ELSEWHERE}
    if options.predict:
        for name, rows in elsewhere.items():
            for row in rows:
                say(f"{name}: {row}")
        return 0
    results = provenance(PACKAGES) | {"cases": {case.name: evaluate(case) for case in CASES}, "predicted": elsewhere}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    every = [row for found in results["cases"].values() for row in found["ratios"]]
    return int(any(row["holds"] is False for row in every))


if __name__ == "__main__":
    sys.exit(main())
