"""`method="marginals"`: the private choice of pairs is exact, the file comes back, tables are near, auto takes it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from support.tape import Tape
from tacit import central
from tacit.central.marginals import Marginals, MarginalTables, noisy_max
from tacit.central.noise import Laplace
from tacit.central.records import Records
from tacit.errors import TacitError


def wins(scores: tuple[int, ...], scale: float) -> np.ndarray:
    """Return the probability that each score is the largest after discrete Laplace noise, ties to the first."""
    reach = np.arange(-400, 401)
    alpha = math.exp(-1 / scale)
    mass = (1 - alpha) / (1 + alpha) * alpha ** np.abs(reach)
    below = np.cumsum(mass)

    def at_most(limit: np.ndarray) -> np.ndarray:
        return below[np.clip(limit, -400, 400) + 400]

    chances = []
    for i, own in enumerate(scores):
        others = np.ones(len(reach))
        for j, other in enumerate(scores):
            if j != i:
                others = others * at_most(own + reach - other - (j < i))
        chances.append(float((mass * others).sum()))
    return np.array(chances)


def test_the_choice_of_a_pair_loses_at_most_its_budget() -> None:
    """All vectors of three scores up to 4, and all that one record more can make of them: exact probabilities.

    The mutant, half of the noise, loses twice the budget.
    """
    worst = {1.0: 0.0, 2.0: 0.0}
    law = Laplace(Fraction(1, 2))
    for scores in itertools.product(range(5), repeat=3):
        for more in itertools.product((0, 1), repeat=3):
            after = tuple(a + b for a, b in zip(scores, more, strict=True))
            for factor in worst:
                ratio = wins(scores, law.scale / factor) / wins(after, law.scale / factor)
                worst[factor] = max(worst[factor], float(np.abs(np.log(ratio)).max()))
    assert worst[1.0] <= 0.5 + 1e-9
    assert worst[2.0] > 0.6
    tape = Tape()
    assert noisy_max(np.array([1, 7, 3]), Fraction(1, 2), tape) in range(3)
    assert [scale for _, scale in tape.asked] == [law.scale]


def people(rows: int, columns: int, seed: int = 3) -> tuple[dict[str, object], tc.Service]:
    """Return a chain of columns, each near the one before it."""
    source = np.random.default_rng(seed)
    made: dict[str, object] = {"uid": np.arange(rows)}
    value = source.integers(0, 6, rows)
    for i in range(columns):
        value = np.where(source.random(rows) < 0.7, value, source.integers(0, 6, rows))
        made[f"c{i}"] = value
    attributes = [tc.Categorical(f"c{i}", values=list(range(6))) for i in range(columns)]
    return made, tc.Service("t", key="uid", attributes=attributes)


def test_scores_rise_by_one_at_most_with_every_record() -> None:
    """Adding any record raises the score of every pair by 0 or 1, whatever was published."""
    table, service = people(60, 4)
    body = central.release(table, service, 2, method="marginals").body
    assert isinstance(body, MarginalTables)
    law = body.tables[-1].law
    partitions = body.partitions(law)

    def scores(columns: dict[str, object]) -> np.ndarray:
        records = Records.read(columns, service)
        found = []
        for i, j in itertools.combinations(range(4), 2):
            sizes = [int(partitions[k].max()) + 1 for k in (i, j)]
            cells = partitions[i][records.values[i]] * sizes[1] + partitions[j][records.values[j]]
            counts = np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)
            found.append(body.score((i, j), partitions, counts, law))
        return np.array(found)

    before, moved = scores(table), set()
    for record in itertools.product((0, 2, 5), repeat=4):
        more = {"uid": [*range(61)]} | {f"c{k}": [*np.asarray(table[f"c{k}"]), record[k]] for k in range(4)}
        difference = scores(more) - before
        moved |= set(difference.tolist())
    assert moved == {0, 1}


def test_tables_are_near_and_files_come_back(tmp_path: Path) -> None:
    """30,000 people, epsilon 1, 10 columns: pairs are far nearer than independence, the mutant; so are far pairs."""
    table, service = people(30_000, 10)
    made = central.release(table, service, 1)
    assert made.method == "auto"
    assert isinstance(made.body, MarginalTables)
    model = made.body.model
    for pair, limit in (((3, 4), 0.1), ((2, 6), 0.25)):
        left, right = (np.asarray(table[f"c{i}"]) for i in pair)
        truth = np.histogram2d(left, right, bins=[np.arange(7)] * 2)[0] / 30_000
        independent = np.multiply.outer(truth.sum(axis=1), truth.sum(axis=0))
        off = np.abs(model.table(pair) - truth).sum()
        assert off < limit
        assert off < 0.6 * np.abs(independent - truth).sum()
    answer = made.sql("SELECT c3, COUNT(*) AS n FROM t GROUP BY c3")
    counts = np.bincount(np.asarray(table["c3"]))
    assert all(abs(n.value - right) < 6.1 * n.error for (_, n), right in zip(answer, counts, strict=True))
    assert any("pairs" in note for note in answer.notes)
    path = tmp_path / "wide.parquet"
    made.save(path)
    again = central.Release.load(path)
    assert again.id == made.id
    assert str(again.sql("SELECT COUNT(*) AS n FROM t WHERE c1 = 2 AND c2 = 2")) == str(
        made.sql("SELECT COUNT(*) AS n FROM t WHERE c1 = 2 AND c2 = 2")
    )
    rows = made.synthesize(5_000, seed=1).to_pandas()
    assert abs((rows["c3"] == rows["c4"]).mean() - (np.asarray(table["c3"]) == np.asarray(table["c4"])).mean()) < 0.1


@pytest.mark.parametrize(("pairs", "condition"), [(0, "a = 1 AND b = 0"), (3, "a = 1 AND b = 1 AND c = 1")])
def test_errors_contain_what_counted_tables_leave_possible(pairs: int, condition: str) -> None:
    """20,000 people, epsilon 4: columns that are the exclusive-or of the others, and equal columns without their pair.

    The truth is 0; independence predicts 2,500 and 5,000, with an error of 30 and less.
    """
    a, b = np.arange(20_000) % 2, np.arange(20_000) // 2 % 2
    columns = {"a": a, "b": b if pairs else a, "c": a ^ b}
    service = tc.Service("t", key="uid", attributes=[tc.Categorical(name, values=[0, 1]) for name in columns])
    table = {"uid": np.arange(20_000)} | columns
    release = central.release(table, service, epsilon=4, method="marginals", pairs=pairs)
    cell = release.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")["n"]
    share = release.sql(f"SELECT AVG(CASE WHEN {condition} THEN 1 ELSE 0 END) AS n FROM t")["n"]
    assert cell.low <= 0 <= cell.high < 12_500
    assert cell.value > 2_000
    assert share.low <= 0 <= share.high < 0.6
    single = release.sql("SELECT COUNT(*) AS n FROM t WHERE a = 1")["n"]
    assert single.error < 60


def test_budgets_add_up_and_are_named() -> None:
    table, service = people(500, 5)
    ledger = central.Ledger(None, 1)
    central.release(table, service, 1, method="marginals", ledger=ledger)
    assert ledger.spent == 1
    assert [event.charge.what for event in ledger.events] == [
        "release: counts of single columns",
        "release: choice of pairs of columns",
        "release: counts of pairs of columns",
    ]
    few = central.release(table, service, 1, method="marginals", pairs=2).body
    assert isinstance(few, MarginalTables)
    assert [len(own.attributes) for own in few.tables] == [1] * 5 + [2] * 2


def test_too_many_categories_are_refused_before_anything_is_spent() -> None:
    wide = tc.Service("t", key="uid", attributes=[tc.Categorical("c", values=list(range(2_000)))])
    with pytest.raises(TacitError) as refusal:
        Marginals().charges(wide, Fraction(1))
    assert refusal.value.code == "domain-too-large"


def test_what_runs_of_values_hide_is_in_the_errors() -> None:
    """A column of parity, a spike in a run of values: no answer is many stated errors off.

    Without noise the counted runs are exact, and only what they hide is wrong: 57 stated errors before.
    """
    source, rows = np.random.default_rng(4), 20_000
    x = source.integers(0, 300, rows)
    w = np.where(source.random(rows) < 0.4, 1501, source.integers(0, 3000, rows))
    table = {"uid": np.arange(rows), "x": x, "odd": x % 2 == 1, "w": w}
    attributes = [tc.Ordinal("x", 0, 299), tc.Boolean("odd"), tc.Ordinal("w", 0, 2999)]
    service = tc.Service("t", key="uid", attributes=attributes)
    made = central.release(table, service, 1, method="marginals", source=Tape())
    asked = [("x = 17 AND odd", (x == 17).sum()), ("x IN (21, 23, 25) AND NOT odd", 0), ("w = 1501", (w == 1501).sum())]
    asked += [("w = 1502", (w == 1502).sum()), ("x BETWEEN 40 AND 41 AND odd", (x == 41).sum())]
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {text}) AS n{k}" for k, (text, _) in enumerate(asked))
    [found] = made.sql(f"SELECT {counts} FROM t")
    off = [abs(one.value - right) / one.error for one, (_, right) in zip(found, asked, strict=True)]
    assert max(off) < 3
    [(mean, spread)] = made.sql("SELECT AVG(x) AS mean, STDDEV(x) AS spread FROM t WHERE odd")
    assert spread.low <= x[x % 2 == 1].std() <= spread.high
    assert mean.low <= x[x % 2 == 1].mean() <= mean.high
