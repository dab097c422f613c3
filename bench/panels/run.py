"""Coverage of a panel's rounds, averages, differences and slopes: every group of people is one repetition.

Run ``python -m bench.panels.run --groups 4000``; it takes ten minutes for 4,000 groups of 800 people. With
``--enrolled`` the people of each group are known, as if it were a panel of its own. With ``--consistent`` rounds are
fitted together, which groups cannot share: every group is a database of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from unittest import mock

import numpy as np

import tacit as tc
from tacit.answers import sums
from tacit.answers.columns import Values
from tacit.answers.group_sums import GroupSums
from tacit.contract.panel import Enrolled, Panel
from tacit.sql.rounds import Round

ROUNDS, PEOPLE, EPSILON = 8, 800, 2
SLOPE = np.arange(ROUNDS) - (ROUNDS - 1) / 2
HELD = "CASE WHEN x = 'a' THEN 1 ELSE 0 END"


def drifting(base: np.ndarray, number: int, rounds: int) -> np.ndarray:
    """Return everybody's value in a round: more and more people hold ``a``."""
    share = 0.2 + 0.5 * number / rounds
    return np.where(base < share, "a", np.where(base < 0.9, "b", "c"))


def covered(estimates: Iterable[tc.Estimate], truths: Iterable[float]) -> dict[str, float]:
    """Return how often intervals hold the truth, and the mean and spread of errors in stated errors."""
    pairs = list(zip(estimates, truths, strict=True))
    held = np.mean([one.low <= truth <= one.high for one, truth in pairs])
    off = np.array([(one.value - truth) / one.error for one, truth in pairs])
    return {"intervals": len(pairs), "held": round(float(held), 4), "mean": round(float(off.mean()), 3),
            "spread": round(float(off.std()), 3)}  # fmt: skip


def measure(groups: int, reports: int, seed: int, *, enrolled: bool = False) -> dict[str, dict[str, float]]:
    """Encode a panel once for all groups, and compare each group's answers with its truth."""
    columns = [tc.Categorical("x", ["a", "b", "c"]), tc.Public("rep", type=int)]
    schema = tc.Schema([tc.Service("users", key="uid", attributes=columns)])
    panel = tc.Collection(schema, EPSILON, panel="bench", rounds=ROUNDS, reports=reports)
    base = np.random.default_rng(seed).random(PEOPLE)
    everybody, rep = np.tile(base, groups), np.repeat(np.arange(groups), PEOPLE)
    database, truth = tc.connect(), []
    database.create(panel)
    for number in range(ROUNDS):
        truth.append(int((drifting(base, number, ROUNDS) == "a").sum()))
        table = {"uid": np.arange(PEOPLE * groups), "x": drifting(everybody, number, ROUNDS), "rep": rep}
        database.load(panel.round(number + 1).encode(users=table, rng=tc.insecure_rng(seed + number)))
    assert panel.panel
    with enrolled_groups(panel.panel, groups) if enrolled else nullcontext():
        return compare(database, panel, truth)


def measure_consistent(groups: int, reports: int, seed: int, until: float) -> dict[str, dict[str, float]]:
    """Encode a panel once for each group, and compare the fitted answers of all groups with their truth."""
    schema = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Categorical("x", ["a", "b", "c"])])])
    panel = tc.Collection(schema, EPSILON, panel="bench", rounds=ROUNDS, reports=reports)
    base = np.random.default_rng(seed).random(PEOPLE)
    values = [drifting(base, number, ROUNDS) for number in range(ROUNDS)]
    truth = [int((own == "a").sum()) for own in values]
    wanted = {"rounds": truth, "differences": [truth[-1] - truth[0]], "slopes": [float(SLOPE @ truth)]}
    estimates: dict[str, list[tc.Estimate]] = {name: [] for name in wanted}
    done = 0
    for done in range(1, groups + 1):
        database = tc.connect()
        database.create(panel)
        for number, own in enumerate(values):
            people = np.arange(PEOPLE) + done * PEOPLE  # others are asked in other rounds
            rng = tc.insecure_rng(seed + ROUNDS * done + number)
            database.load(panel.round(number + 1).encode(users={"uid": people, "x": own}, rng=rng))
        by_round = f"SELECT round, SUM({HELD}) AS n FROM users GROUP BY round ORDER BY round"
        estimates["rounds"] += database.sql(by_round, consistent=True)["n"]
        [(change, slope)] = database.sql(f"SELECT {trends(panel)} FROM users", consistent=True)
        estimates["differences"].append(change)
        estimates["slopes"].append(slope)
        database.close()
        if time.monotonic() > until:
            break
    return {name: covered(estimates[name], truths * done) for name, truths in wanted.items()}


def compare(database: tc.Database, panel: tc.Collection, truth: Sequence[int]) -> dict[str, dict[str, float]]:
    """Compare each group's answers with its truth."""
    each = list(database.sql(f"SELECT rep, round, SUM({HELD}) AS n, AVG({HELD}) AS f FROM users GROUP BY rep, round"))
    at = [truth[int(row[1].rsplit("/")[-1]) - 1] for row in each]
    found = {"rounds": covered((row[2] for row in each), at)}
    found["averages"] = covered((row[3] for row in each), (one / PEOPLE for one in at))
    lines = list(database.sql(f"SELECT rep, {trends(panel)} FROM users GROUP BY rep"))
    found["differences"] = covered((row[1] for row in lines), [truth[-1] - truth[0]] * len(lines))
    found["slopes"] = covered((row[2] for row in lines), [float(SLOPE @ truth)] * len(lines))
    return found


def trends(panel: tc.Collection) -> str:
    """Return the difference of the last and the first round, and the slope over all rounds."""
    parts = [f"SUM(CASE WHEN round = '{part.contract.round}' AND x = 'a' THEN 1 ELSE 0 END)" for part in panel.parts]
    weighted = " + ".join(f"({weight}) * {part}" for weight, part in zip(SLOPE, parts, strict=True))
    return f"{parts[-1]} - {parts[0]} AS d, {weighted} AS s"


@contextmanager
def enrolled_groups(panel: Panel, groups: int) -> Iterator[None]:
    """Enrol the people of every group by themselves, as if each group were a panel: its numbers are known."""
    asked = np.zeros((groups, panel.rounds + 1), dtype=np.int64)
    for person in range(PEOPLE * groups):
        asked[person // PEOPLE, list(panel.rounds_of(person))] += 1

    def over_rounds(found: Sequence[dict[Values, GroupSums]], rounds: Sequence[Round]) -> dict[Values, GroupSums]:
        total: dict[Values, GroupSums] = {}
        for one, about in zip(found, rounds, strict=True):
            number = int(about.labels["round"].rsplit("/")[-1])
            for values, own in one.items():
                design = panel.design(Enrolled(PEOPLE, int(asked[values[0], number])))
                made = own.of_panel(design)
                total[values] = total[values].plus(made) if values in total else made
        return total

    with mock.patch.object(sums, "over_rounds", over_rounds):
        yield


def main() -> None:
    """Print the coverage of panels of one and of two reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--enrolled", action="store_true")
    parser.add_argument("--consistent", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e6, help="of each number of reports, with --consistent")
    options = parser.parse_args()
    for reports in (1, 2):
        start = time.perf_counter()
        if options.consistent:
            until = time.monotonic() + 60 * options.minutes
            found = measure_consistent(options.groups, reports, options.seed, until)
        else:
            found = measure(options.groups, reports, options.seed, enrolled=options.enrolled)
        print(json.dumps({"reports": reports, "seconds": round(time.perf_counter() - start), **found}), flush=True)


if __name__ == "__main__":
    main()
