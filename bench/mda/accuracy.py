"""How much less error the default decoder has than the papers': ranges on all attributes at epsilon 1.

The full run writes accuracy.json. ``--slice`` repeats the first encoding of both cases with the committed seeds, and
exits with 1 if its mean squared errors are not the committed ones.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tacit as tc
from bench.common import SAME, provenance, say
from bench.mda.figures import DecoderName
from bench.mda.run import PACKAGES

HERE = Path(__file__).parent
RESULTS = HERE / "accuracy.json"
SEED = 7
AT_ONCE = 25
"""Questions in one statement: they share the join with the reports."""

Floats = npt.NDArray[np.float64]
Ranges = list[list[tuple[int, int]]]


@dataclass(frozen=True)
class Case:
    """Attributes alike, and the factors by which blue is claimed to be better than the papers' decoders."""

    name: str
    attributes: int
    values: int
    claims: dict[str, float]
    people: int = 200_000
    epsilon: float = 1.0
    volume: float = 0.25
    questions: int = 100
    encodings: int = 20


CASES = (
    Case("a", attributes=2, values=625, claims={"cover": 6.0, "rdc": 1.5}),
    Case("b", attributes=4, values=25, claims={"cover": 25.0}),
)
DECODERS: dict[DecoderName, str] = {"cover": "olh", "rdc": "olh", "blue": "auto"}
"""Decoders with their oracles: the papers' read OLH's reports and use no known total."""


def collection_of(case: Case, oracle: str) -> tc.Collection:
    """Compile the HIO collection of a case."""
    attributes = [tc.Ordinal(f"a{i}", low=0, high=case.values - 1) for i in range(case.attributes)]
    schema = tc.Schema([tc.Service("users", key="uid", attributes=attributes)])
    return tc.Collection(schema, case.epsilon, mechanism="hio", oracle=oracle)


def records_of(case: Case) -> dict[str, npt.NDArray[np.int64]]:
    """Return uniform records, the same for all encodings."""
    rng = np.random.default_rng(SEED)
    columns = {f"a{i}": rng.integers(0, case.values, case.people) for i in range(case.attributes)}
    return {"uid": np.arange(case.people)} | columns


def ranges_of(case: Case) -> Ranges:
    """Return the questions: a random range on each attribute, all of the same width."""
    rng = np.random.default_rng(SEED + 1)
    width = round(case.values * case.volume ** (1 / case.attributes))
    lows = rng.integers(0, case.values - width + 1, (case.questions, case.attributes))
    return [[(int(low), int(low) + width - 1) for low in row] for row in lows]


def condition_of(question: list[tuple[int, int]]) -> str:
    """Return a question's ranges in SQL."""
    return " AND ".join(f"a{i} BETWEEN {low} AND {high}" for i, (low, high) in enumerate(question))


def answers(db: tc.Database, questions: Ranges, decoder: DecoderName) -> Floats:
    """Return the estimates of all questions, some in each statement."""
    found: list[float] = []
    for start in range(0, len(questions), AT_ONCE):
        some = questions[start : start + AT_ONCE]
        columns = [f"COUNT(*) FILTER (WHERE {condition_of(one)}) AS n{i}" for i, one in enumerate(some)]
        answer = db.sql(f"SELECT {', '.join(columns)} FROM users", decoder=decoder)
        found += [answer[f"n{i}"].value for i in range(len(some))]
    return np.array(found)


def truths_of(case: Case, questions: Ranges) -> Floats:
    """Return the true counts."""
    records = records_of(case)
    found = []
    for question in questions:
        marks = np.ones(case.people, dtype=np.bool_)
        for i, (low, high) in enumerate(question):
            marks &= (records[f"a{i}"] >= low) & (records[f"a{i}"] <= high)
        found.append(float(marks.sum()))
    return np.array(found)


def squared_errors(case: Case, encoding: int) -> dict[str, float]:
    """Encode once with each oracle and return each decoder's mean squared error over the questions."""
    questions = ranges_of(case)
    found: dict[str, float] = {}
    truths, records = truths_of(case, questions), records_of(case)
    for place, oracle in enumerate(dict.fromkeys(DECODERS.values())):
        collection = collection_of(case, oracle)
        db = tc.connect()
        db.create(collection)
        db.load(collection.encode(users=records, rng=tc.insecure_rng(1000 * encoding + place)))
        for decoder in (name for name, reads in DECODERS.items() if reads == oracle):
            found[decoder] = float(np.mean((answers(db, questions, decoder) - truths) ** 2))
        db.close()
    return found


def predicted(case: Case) -> dict[str, float]:
    """Return each decoder's exact mean squared error for uniform records."""
    collections = {oracle: collection_of(case, oracle) for oracle in DECODERS.values()}
    texts = [f"SELECT COUNT(*) AS n FROM users WHERE {condition_of(question)}" for question in ranges_of(case)]
    return {
        decoder: float(
            np.mean([collections[o].predict(t, users=case.people, decoder=decoder)["n"].error ** 2 for t in texts])
        )
        for decoder, o in DECODERS.items()
    }


def ratio_of(theirs: Floats, ours: Floats) -> tuple[float, float]:
    """Return the ratio of two means and its standard error, from independent encodings."""
    ratio = float(theirs.mean() / ours.mean())
    spread = sum(float(x.var(ddof=1)) / len(x) / float(x.mean()) ** 2 for x in (theirs, ours))
    return ratio, ratio * math.sqrt(spread)


def evaluate(case: Case) -> dict[str, Any]:
    """Run a case in full."""
    start, exact = time.perf_counter(), predicted(case)
    rows = []
    for encoding in range(case.encodings):
        rows.append(squared_errors(case, encoding))
        shown = ", ".join(f"{decoder} {value:.4g}" for decoder, value in rows[-1].items())
        passed = time.perf_counter() - start
        say(f"  case {case.name}: encoding {encoding + 1} of {case.encodings}, {passed:.0f} s, {shown}")
    measured = {decoder: np.array([row[decoder] for row in rows]) for decoder in DECODERS}
    ratios = {}
    for decoder in ("cover", "rdc"):
        ratio, error = ratio_of(measured[decoder], measured["blue"])
        expected = exact[decoder] / exact["blue"]
        claimed = case.claims.get(decoder)
        ratios[decoder] = {
            "measured": round(ratio, 3),
            "standard_error": round(error, 3),
            "predicted": round(expected, 3),
            "claimed": claimed,
            "holds": claimed is None or ratio >= claimed,
        }
    return {
        "parameters": asdict(case),
        "seconds": round(time.perf_counter() - start),
        "mean_squared_errors": {decoder: values.tolist() for decoder, values in measured.items()},
        "predicted": exact,
        "ratios": ratios,
    }


def check_slice() -> int:
    """Repeat the first encoding of each case."""
    committed, failed = json.loads(RESULTS.read_text(encoding="utf-8")), False
    for case in CASES:
        now, before = squared_errors(case, 0), committed["cases"][case.name]["mean_squared_errors"]
        for decoder, value in now.items():
            same = abs(value / before[decoder][0] - 1) <= SAME
            failed |= not same
            shown = f"{value:.6g}, committed {before[decoder][0]:.6g}: {'the same' if same else 'OFF'}"
            say(f"case {case.name}, {decoder}: mean squared error {shown}.")
    return int(failed)


def main() -> int:
    """Run in full or in part; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="repeat the first encoding of each case")
    if parser.parse_args().slice:
        return check_slice()
    results = provenance(PACKAGES)
    results["cases"] = {case.name: evaluate(case) for case in CASES}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    holds = True
    for name, found in results["cases"].items():
        for decoder, ratio in found["ratios"].items():
            shown = f"{ratio['measured']} ± {ratio['standard_error']}, predicted {ratio['predicted']}"
            say(f"case {name}: mean squared error of {decoder} over blue {shown}; claimed {ratio['claimed']}.")
            holds &= ratio["holds"]
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
