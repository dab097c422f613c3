"""`db.marginal`, `db.synthesize` and their verbs: every layout that has tables, what errors mean, refusals."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.cli import main
from tacit.database import Database
from tacit.errors import TacitError

PEOPLE = 40_000
STATES = ["CA", "NY", "WA"]

SCHEMA = tc.Schema(
    [
        tc.Service(
            "users",
            key="uid",
            attributes=[
                tc.Ordinal("age", low=0, high=15, fanout=4),
                tc.Categorical("state", values=STATES),
                tc.Categorical("sex", values=["f", "m"]),
                tc.Public("os"),
            ],
        )
    ]
)


def people() -> dict[str, object]:
    rng = np.random.default_rng(11)
    age = np.clip(rng.normal(7, 3, PEOPLE), 0, 15).astype(int)
    state = np.where(rng.random(PEOPLE) < 0.2 + 0.5 * (age > 7), 0, rng.integers(1, 3, PEOPLE))
    sex = (rng.random(PEOPLE) < 0.3 + 0.4 * (state == 0)).astype(int)
    columns = {"uid": np.arange(PEOPLE), "age": age, "state": np.array(STATES)[state], "sex": np.array(["f", "m"])[sex]}
    return columns | {"os": np.full(PEOPLE, "linux")}


def collected(mechanism: str, path: Path | None = None) -> Database:
    collection = tc.Collection(SCHEMA, 3.0, mechanism=mechanism, users=PEOPLE)
    db = tc.connect(path)
    db.create(collection)
    db.load(collection.encode(users=people(), rng=tc.insecure_rng(5)))
    return db


def counts(*names: str) -> dict[tuple[object, ...], int]:
    found: dict[tuple[object, ...], int] = {}
    table = people()
    for row in zip(*(np.asarray(table[name]).tolist() for name in names), strict=True):
        found[row] = found.get(row, 0) + 1
    return found


@pytest.mark.parametrize(
    "mechanism",
    keeping(
        ["pairs", "calm(3)"],
        ["hio", "hi", "pairs", "fc", "am(2)", "calm(3)", "tables(3)", "em", "sc"],
        "tables of each layout",
    ),
)
def test_tables_of_every_layout(mechanism: str) -> None:
    """40,000 people, fixed seed: every cell within six of its standard errors, or five hundredths where unknown."""
    db = collected(mechanism)
    apart = mechanism in ("em", "sc")  # a fraction of the budget for each attribute: 16 ages would be mere noise
    for names in (["state", "sex"], *([] if apart else [["sex", "age"], ["sex", "state", "age"]])):
        answer, truth = db.marginal(names), counts(*names)
        frame = answer.to_pandas()
        assert list(frame.columns) == [*names, "count", "count_error", "count_low", "count_high"]
        assert frame["count"].sum() == pytest.approx(PEOPLE)
        assert (frame["count"] >= 0).all()
        for row in answer:
            known = row[-1].error if np.isfinite(row[-1].error) else 0.0
            assert abs(row[-1].value - truth.get(row[:-1], 0)) <= max(6 * known, 0.05 * PEOPLE)
        assert answer.notes
    truth = counts("state", "sex")
    ours, flat = (
        sum((row[-1].value - truth.get(row[:-1], 0)) ** 2 for row in db.marginal(["state", "sex"], method=method))
        for method in (None, "uniform")
    )
    assert ours < 0.2 * flat


def test_errors_of_unbiased_tables_are_true() -> None:
    """435 two-way counts of 30 attributes, 60,000 people: their squares over their variances follow chi square, nearly.

    The bounds hold with probability 1 - 1e-9 (435 plus or minus 6.1 standard deviations of 29.5), and half the variance
    would double the sum.
    """
    d, n = 30, 60_000
    rng = np.random.default_rng(3)
    names = [f"a{i}" for i in range(d)]
    rows = (rng.random((n, d)) < rng.uniform(0.1, 0.6, d)).astype(int)
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Categorical(name, values=[0, 1]) for name in names])])
    collection = tc.Collection(schema, 1.0, mechanism="am(2)")
    db = tc.connect()
    db.create(collection)
    columns = {"uid": np.arange(n)} | {name: rows[:, i] for i, name in enumerate(names)}
    db.load(collection.encode(s=columns, rng=tc.insecure_rng(2)))
    total = 0.0
    for first, second in itertools.combinations(range(d), 2):
        cells = [row[-1] for row in db.marginal([names[first], names[second]], method="linear")]
        both = float(np.mean((rows[:, first] == 1) & (rows[:, second] == 1)))
        total += ((cells[3].value - n * both) / cells[3].error) ** 2
    assert 435 - 180 < total < 435 + 180


def test_two_attributes_are_a_heat_map(tmp_path: Path) -> None:
    table = collected("am(2)").marginal(["state", "sex"])
    drawn = table.plot(path=tmp_path / "map.svg")
    assert drawn == (tmp_path / "map.svg").read_text()
    assert drawn.count("<rect") == 6
    assert "CA, f:" in drawn
    assert drawn in table._repr_html_()


def test_made_up_rows_have_the_schema_and_follow_the_tables() -> None:
    db = collected("tables(3)")
    rows = db.synthesize(20_000, seed=4)
    assert rows.column_names == ["uid", "age", "state", "sex", "os"]
    assert rows.equals(db.synthesize(20_000, seed=4))
    assert not rows.equals(db.synthesize(20_000, seed=5))
    assert not rows.equals(db.synthesize(20_000).append_column("x", pa.nulls(20_000)).drop_columns(["x"]))
    truth = counts("state", "sex")
    made = rows.group_by(["state", "sex"]).aggregate([("uid", "count")]).to_pylist()
    for row in made:
        assert abs(row["uid_count"] / 20_000 - truth[row["state"], row["sex"]] / PEOPLE) < 0.05
    again = tc.Collection(SCHEMA, 1.0).encode(users=rows, rng=tc.insecure_rng(1))
    assert again["users"].num_rows == 20_000


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (lambda db: db.marginal(["age", "stat"]), "unknown-column"),
        (lambda db: db.marginal(["age", "os"]), "unknown-column"),
        (lambda db: db.marginal("age"), "bad-option"),
        (lambda db: db.marginal([]), "bad-option"),
        (lambda db: db.marginal(["age", "age"]), "duplicate-name"),
        (lambda db: db.marginal(["age"], method="magic"), "unknown-name"),
        (lambda db: db.marginal(["age"], method="em"), "not-reported-apart"),
        (lambda db: db.marginal(["age"], service="orders"), "unknown-name"),
        (lambda db: db.marginal(["age", "state", "sex"], method="linear"), "not-collected-together"),
        (lambda db: db.marginal(["age"], confidence=2), "bad-option"),
        (lambda db: db.synthesize(0), "bad-option"),
        (lambda db: db.synthesize(10, seed=-1), "bad-option"),
    ],
)
def test_bad_questions_are_named(asked: object, code: str) -> None:
    with pytest.raises(TacitError) as refused:
        asked(collected("am(2)"))  # type: ignore[operator]
    assert refused.value.code == code


def test_services_without_tables_say_why() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", optional=True, attributes=[tc.Categorical("a", values=[0, 1])])])
    collection = tc.Collection(schema, 1.0)
    db = tc.connect()
    with pytest.raises(TacitError) as refused:
        db.marginal(["a"])
    assert refused.value.code == "no-reports"
    db.create(collection)
    db.load(collection.encode(s={"uid": [1, 2], "a": [0, 1]}, people=[1, 2, 3]))
    assert any("rows are counted" in note for note in db.marginal(["a"]).notes)
    for method, code in (("em", "not-reported-apart"), ("magic", "unknown-name")):
        with pytest.raises(TacitError) as refused:
            db.marginal(["a"], method=method)
        assert refused.value.code == code


def test_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "town.tacit"
    collected("am(2)", path).close()
    assert main(["marginal", str(path), "state", "sex", "--json", "--plot", str(tmp_path / "map.svg")]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 6
    for name in ("rows.parquet", "rows.csv"):
        assert main(["synthesize", str(path), str(tmp_path / name), "--rows", "50", "--seed", "1"]) == 0
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").num_rows == 50
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 51
    assert main(["synthesize", str(path), str(tmp_path / "rows.csv")]) == 2
    assert "file-exists" in capsys.readouterr().err
    assert main(["synthesize", str(path), str(tmp_path / "rows.txt")]) == 2
    assert main(["marginal", str(path), "nothing"]) == 2


@pytest.mark.parametrize("method", ["fit", "calm"])
def test_intervals_of_tables_are_possible_and_hold(method: str) -> None:
    """144 cells, of which most are empty: none starts below 0, and 90 % hold (at 95 %, fewer with a chance of 1e-2)."""
    rng = np.random.default_rng(3)
    a, b = np.minimum(rng.geometric(0.5, 20_000) - 1, 11), np.minimum(rng.geometric(0.4, 20_000) - 1, 11)
    attributes = [tc.Categorical(name, values=list(range(12))) for name in "ab"]
    collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=attributes)]), 1.0, mechanism="am(2)")
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(s={"uid": np.arange(20_000), "a": a, "b": b}, rng=tc.insecure_rng(2)))
    cells = [(row[-1], int(((a == row[0]) & (b == row[1])).sum())) for row in db.marginal(["a", "b"], method=method)]
    assert all(0 <= count.low <= count.value <= count.high <= 20_000 for count, _ in cells)
    assert np.mean([count.low <= truth <= count.high for count, truth in cells]) >= 0.9
