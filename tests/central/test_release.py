"""Using a release: the same SQL, honest errors, files that cannot be changed, synthetic rows."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.adult import SCHEMA, adult_table
from support.chances import assert_mean
from support.decoding import random_functional
from support.tape import Tape
from support.tiers import how_many, keeping
from tacit import central
from tacit.central.adaptive import even_parts
from tacit.central.blue import Views
from tacit.central.boxes import Boxes
from tacit.central.noise import Laplace
from tacit.central.records import Records
from tacit.errors import ContractError, LayoutError, RecordError, TacitError, UsageError
from tacit.estimate.functional import Functional
from tacit.sql import formula

SERVICE = tc.Service("adult", key="uid", attributes=SCHEMA["adult"].sensitive)
TABLE = adult_table().select(["uid", "age", "work", "edu", "hours"])
JOBS = pa.table({"work": ["private", "public", "self"], "sector": ["market", "state", "market"], "weight": [1, 2, 3]})
QUESTIONS = [
    "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM adult WHERE edu >= 1 AND hours < 2",
    "SELECT COUNT(work) AS n FROM adult WHERE age BETWEEN 3 AND 5 OR work = 'self'",
    "SELECT work, COUNT(*) AS n, AVG(edu) AS a FROM adult GROUP BY work",
    "SELECT edu, hours, COUNT(*) AS n FROM adult WHERE age > 2 GROUP BY edu, hours ORDER BY n DESC LIMIT 5",
    "SELECT STDDEV(age) AS d, VAR_POP(edu) AS v FROM adult WHERE NOT work = 'private'",
    "SELECT CASE WHEN age < 4 THEN 'young' ELSE 'old' END AS band, SUM(edu * hours) AS s FROM adult GROUP BY band",
    "SELECT COUNT(*) AS n FROM adult WHERE edu > hours AND work IS NULL",
    "SELECT sector, COUNT(*) AS n, SUM(weight) AS w FROM adult JOIN jobs USING (work) GROUP BY sector",
    "SELECT COUNT(*) FILTER (WHERE hours = 1) AS n, COUNT(DISTINCT uid) AS people FROM adult",
]


@pytest.mark.parametrize("method", ["cells", "blue"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_without_noise_answers_are_those_of_the_raw_table(
    method: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tape adds no noise, so there is none that VAR could be corrected by."""
    monkeypatch.setattr(formula.Noisy, "noise_of", lambda *_: 0.0)
    made = central.release(TABLE, SERVICE, 1, method=method, source=Tape()).with_table("jobs", JOBS, key="work")
    with duckdb.connect() as engine:
        engine.register("adult", TABLE)
        engine.register("jobs", JOBS)
        expected = engine.sql(question).fetchall()
    found = [tuple(getattr(cell, "value", cell) for cell in row) for row in made.sql(question)]
    found = [row for row in found if "JOIN" not in question or row[0] is not None]  # a group of nobody
    order = (lambda row: str(row[:-1])) if "LIMIT" not in question else (lambda row: 0)
    for row, truth in zip(sorted(found, key=order), sorted(expected, key=order), strict=True):
        if "LIMIT" in question:
            assert row[-1] == pytest.approx(truth[-1])
            continue
        assert [x for x in row if isinstance(x, str | None)] == [x for x in truth if isinstance(x, str | None)]
        numbers = [float(x) for x in row if not isinstance(x, str | None)]
        assert numbers == pytest.approx([float(x) for x in truth if not isinstance(x, str | None)], rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("method", ["cells", "blue"])
def test_variances_are_corrected_by_the_declared_noise_of_the_mean(method: str) -> None:
    made = central.release(TABLE, SERVICE, 1, method=method, source=Tape())
    answer = made.sql("SELECT AVG(age) AS m, VAR_POP(age) AS v, VAR_SAMP(age) AS s FROM adult")
    ages, noise = np.asarray(TABLE["age"]), answer["m"].error ** 2
    assert noise > 0
    assert answer["v"].value == pytest.approx(ages.var() + noise, rel=1e-9)
    assert answer["s"].value == pytest.approx(ages.var(ddof=1) + noise * len(ages) / (len(ages) - 1), rel=1e-9)


@pytest.mark.parametrize("method", ["cells", "blue", "kdtree", "hierarchical", "adaptive"])
def test_stated_noise_is_that_of_the_numbers_an_estimate_is_made_of(method: str, source: np.random.Generator) -> None:
    """Estimates are linear in the noisy counts: their exact covariance follows from every count's coefficient."""
    options = {"kdtree": {"count_threshold": 2000.0}, "hierarchical": {"height": 3}}.get(method, {})
    body = central.release(TABLE, SERVICE, 1, method=method, source=Tape(), **options).body
    asked = [random_functional(source, body.sizes) for _ in range(3)]
    counts, laws = flat_counts(body)
    gradients = []
    for functional in asked:
        start, row = body.value(functional), []
        for place in range(len(counts)):
            counts[place] += 1
            row.append(body_with(body, counts).value(functional) - start)
            counts[place] -= 1
        gradients.append(row)
    exact = np.array(gradients) * np.array([law.variance for law in laws]) @ np.array(gradients).T
    for i, j in ((0, 0), (1, 1), (0, 1), (1, 2)):
        stated = body.covariance(asked[i], asked[j])
        if isinstance(body, Boxes):
            stated -= body._inside(asked[i], asked[j])
        scale = math.sqrt(exact[i, i] * exact[j, j])
        assert stated == pytest.approx(exact[i, j], abs=1e-7 * scale)


SEVERAL = [name for name in central.METHODS if name != "multiscale"]
"""Methods for several attributes; tests/central/test_multiscale.py has the other."""


def flat_counts(body: central.Body) -> tuple[list[int], list[Laplace]]:
    """Return all noisy counts of a body and their laws."""
    if isinstance(body, Views):
        pairs = [(int(count), body.laws[d]) for d in body.laws for count in body.counts[d].ravel()]
    elif isinstance(body, Boxes):
        pairs = [(int(count), body.law) for count in body.noisy]
        if body.parents:
            pairs += [(int(count), body.parents.law) for count in body.parents.counts]
    else:
        pairs = [(int(count), body.law) for count in body.counts.ravel()]  # type: ignore[attr-defined]
    return [count for count, _ in pairs], [law for _, law in pairs]


def body_with(body: central.Body, counts: list[int]) -> central.Body:
    """Return a body with other counts, in the order of `flat_counts`."""
    numbers = np.array(counts)
    columns = body.columns()
    own = numbers[: columns.num_rows]
    changed = columns.set_column(columns.column_names.index("count"), "count", pa.array(own))
    if isinstance(body, Boxes) and body.parents:
        parents = numbers[columns.num_rows :][body.parents.of]
        changed = changed.set_column(changed.column_names.index("parent_count"), "parent_count", pa.array(parents))
    return type(body).of_file(body.sizes, body.facts(), changed)


def test_blue_is_unbiased_and_never_worse_than_cells_on_ranges(source: np.random.Generator) -> None:
    """Exactly: the mean of an estimate is the truth (noise has mean 0), and the stated variance of ranges is less."""
    service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 255), tc.Ordinal("y", 0, 63)])
    rows = {"uid": np.arange(900), "x": source.integers(0, 256, 900), "y": source.integers(0, 64, 900)}
    records = Records.read(rows, service)
    bodies = {m: central.release(rows, service, "0.1", method=m, source=Tape()).body for m in ("cells", "blue")}
    worse = 0.0
    for _ in range(40):
        functional = Functional.constant(records.sizes)
        for i, size in enumerate(records.sizes):
            low, high = np.sort(source.integers(0, size, 2))
            marks = (np.arange(size) >= low) & (np.arange(size) <= high)
            functional = functional * Functional.of(records.sizes, i, marks)
        truth = float(records.evaluate(functional).sum())
        assert bodies["blue"].value(functional) == pytest.approx(truth, abs=1e-6)
        worse += bodies["blue"].deviation(functional)[0] ** 2 - bodies["cells"].deviation(functional)[0] ** 2
    assert worse < 0


@pytest.mark.parametrize("method", keeping(["blue"], ["cells", "blue"], "coverage of 1,500 releases"))
def test_intervals_hold_at_their_level(method: str) -> None:
    """n = 700 releases at 90 %, false alarms 1e-9, for a range of few draws and AVG. The mutant covers 75 %."""
    releases = how_many(700, 1_500, "releases whose intervals hold")
    service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 8, fanout=3)])
    rows = {"uid": range(900), "x": [1, 3, 3, 5, 6, 8] * 150}
    inside: dict[str, list[bool]] = {"n": [], "a": []}
    for _ in range(releases):
        answer = central.release(rows, service, "0.1", method=method).sql(
            "SELECT COUNT(*) AS n, AVG(x) AS a FROM s WHERE x BETWEEN 2 AND 5", confidence=0.9
        )
        for name, truth in (("n", 450), ("a", 11 / 3)):
            inside[name].append(answer[name].low <= truth <= answer[name].high)
    for name in ("n", "a"):
        assert_mean(float(np.mean(inside[name])), 0.9, math.sqrt(0.09 / releases), mutant=0.75)


def test_estimates_of_a_release_combine_with_their_covariance() -> None:
    made = central.release(TABLE, SERVICE, 1, method="blue")
    young, old = (made.sql(f"SELECT COUNT(*) AS n FROM adult WHERE age {how}")["n"] for how in ("< 4", ">= 4"))
    whole = made.sql("SELECT COUNT(*) AS n FROM adult")["n"]
    assert (young + old).value == pytest.approx(whole.value)
    assert (young + old).error == pytest.approx(whole.error)
    assert (young + old - whole).error < 1e-6 * whole.error
    assert (young / whole).error > 0


def test_a_release_is_a_file_that_names_its_guarantee(tmp_path: Path) -> None:
    for method in SEVERAL:
        made = central.release(TABLE, SERVICE, "0.5", method=method)
        path = tmp_path / f"{method}.parquet"
        made.save(path)
        again = central.Release.load(path)
        assert again.id == made.id
        assert again.epsilon == Fraction(1, 2)
        assert "0.5-differential privacy" in pq.read_schema(path).metadata[b"tacit.release"].decode()
        for question in QUESTIONS[:2]:
            before, after = made.sql(question), again.sql(question)
            assert str(before) == str(after)
        with pytest.raises(UsageError) as caught:
            made.save(path)
        assert caught.value.code == "unwritable-file"


def test_changed_files_are_refused(tmp_path: Path) -> None:
    made = central.release(TABLE, SERVICE, 1, method="kdtree")
    made.save(tmp_path / "good.parquet")
    table = pq.read_table(tmp_path / "good.parquet")
    other = table.set_column(table.column_names.index("count"), "count", pa.array([7] * table.num_rows))
    pq.write_table(other, tmp_path / "counts.parquet")
    text = table.schema.metadata[b"tacit.release"].replace(b'"epsilon": "1"', b'"epsilon": "2"')
    pq.write_table(table.replace_schema_metadata({b"tacit.release": text}), tmp_path / "epsilon.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    codes = {
        "counts": "release-damaged",
        "epsilon": "release-damaged",
        "other": "release-version",
        "text": "unreadable-file",
        "missing": "unreadable-file",
    }
    for name, code in codes.items():
        with pytest.raises(ContractError) as caught:
            central.Release.load(tmp_path / f"{name}.parquet")
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"epsilon": 0}, "epsilon-out-of-range"),
        ({"epsilon": -1}, "epsilon-out-of-range"),
        ({"epsilon": math.inf}, "epsilon-not-a-number"),
        ({"epsilon": "1e-3"}, "epsilon-not-a-number"),
        ({"epsilon": Fraction(1, 10**14)}, "epsilon-out-of-range"),
        ({"method": "kd"}, "unknown-name"),
        ({"method": "kdtree", "count_treshold": 3}, "bad-option"),
        ({"method": "kdtree", "count_threshold": -3}, "bad-option"),
        ({"method": "hierarchical", "height": 0}, "bad-option"),
        ({"table": TABLE.slice(0, 0)}, "empty-table"),
        ({"table": TABLE.drop_columns(["edu"])}, "missing-column"),
        ({"table": pa.concat_tables([TABLE, TABLE])}, "duplicate-key"),
    ],
)
def test_bad_input_is_named_and_spends_nothing(arguments: dict[str, object], code: str) -> None:
    ledger = central.Ledger(None, 1)
    given = {"table": TABLE, "service": SERVICE, "epsilon": 1, "ledger": ledger} | arguments
    with pytest.raises(TacitError) as caught:
        central.release(**given)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert ledger.spent == 0


def test_an_unseen_category_is_refused_without_showing_it() -> None:
    ledger = central.Ledger(None, 1)
    table = {"uid": [1, 2], "c": ["a", "secret-value"]}
    service = tc.Service("s", key="uid", attributes=[tc.Categorical("c", ["a", "b"])])
    with pytest.raises(RecordError) as caught:
        central.release(table, service, 1, ledger=ledger)
    assert caught.value.code == "unknown-category"
    assert "secret-value" not in str(caught.value)
    assert ledger.spent == 0


@pytest.mark.parametrize("method", SEVERAL)
def test_one_cell_and_all_rows_in_one_cell(method: str) -> None:
    for size in (1, 6):
        service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, size - 1), tc.Categorical("c", ["a"])])
        rows = {"uid": range(2_000), "x": [0] * 2_000, "c": ["a"] * 2_000}
        made = central.release(rows, service, 4, method=method)
        estimate = made.sql("SELECT COUNT(*) AS n FROM s WHERE x = 0")["n"]
        assert estimate.value == pytest.approx(2_000, abs=max(60, 8 * estimate.error))
        assert made.synthesize(10, seed=1).num_rows == 10


def test_a_ledger_refuses_the_second_release() -> None:
    ledger = central.Ledger(None, "1.5")
    central.release(TABLE, SERVICE, 1, ledger=ledger, method="kdtree")
    with pytest.raises(central.BudgetError):
        central.release(TABLE, SERVICE, 1, ledger=ledger, method="kdtree")
    assert ledger.spent == 1
    assert [event.charge.epsilon for event in ledger.events] == [Fraction(1, 2), Fraction(1, 2)]


@pytest.mark.parametrize(
    "question", ["SELECT COUNT(*) FROM nothing", "SELECT round, COUNT(*) FROM adult GROUP BY round"]
)
def test_questions_that_a_release_cannot_answer_are_refused(question: str) -> None:
    made = central.release(TABLE, SERVICE, 1, method="cells", source=Tape())
    with pytest.raises(TacitError) as caught:
        made.sql(question)
    assert caught.value.code in ("unknown-table", "unsupported-condition")


def test_answers_say_what_they_assume() -> None:
    notes = central.release(TABLE, SERVICE, 1, method="kdtree").sql("SELECT COUNT(*) AS n FROM adult").notes
    assert any("spread evenly" in note for note in notes)
    made = central.release(TABLE, SERVICE, 1, method="blue")
    assert not made.sql("SELECT COUNT(*) AS n FROM adult").notes
    assert "total 0" in str(made.sql("EXPLAIN SELECT COUNT(*) AS n FROM adult WHERE age > 3"))
    assert "total 0" in made.sql("SELECT COUNT(*) AS n FROM adult WHERE age > 3").explain()
    wide = made.sql("SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu", simultaneous=True)
    assert wide["n"][0].margin > made.sql("SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu")["n"][0].margin


@pytest.mark.parametrize("method", ["blue", "kdtree", "cells"])
def test_synthetic_rows_follow_the_release(method: str) -> None:
    """n = 200,000 rows of a release without noise; shares within 6.11 standard errors. The mutant is the uniform."""
    options = {"count_threshold": 0.0} if method == "kdtree" else {}
    made = central.release(TABLE, SERVICE, 1, method=method, source=Tape(), **options)
    rows = made.synthesize(200_000, seed=3)
    assert rows.column_names == ["age", "work", "edu", "hours"]
    share = float(np.mean(np.asarray(rows.column("edu")) == 3))
    truth = float(np.mean(np.asarray(TABLE.column("edu")) == 3))
    assert_mean(share, truth, math.sqrt(truth * (1 - truth) / 200_000), mutant=0.25 + 2 * abs(truth - 0.25))
    assert rows.column("work").null_count > 0
    assert made.synthesize().num_rows == TABLE.num_rows
    for bad in (0, -3, True, 2.5):
        with pytest.raises(UsageError):
            made.synthesize(bad)  # type: ignore[arg-type]


def wide(columns: int, size: int) -> tuple[tc.Service, dict[str, np.ndarray]]:
    """Return a service of many columns and a table of 200 people."""
    names = [f"c{i}" for i in range(columns)]
    service = tc.Service("s", key="uid", attributes=[tc.Categorical(name, values=list(range(size))) for name in names])
    return service, {"uid": np.arange(200)} | {name: np.arange(200) % size for name in names}


@pytest.mark.parametrize(("columns", "size"), [(23, 2), (15, 9)])
def test_auto_counts_marginals_above_four_million_cells(columns: int, size: int) -> None:
    service, table = wide(columns, size)
    made = central.release(table, service, 1)
    assert made.body.kind == "marginals"
    assert made.sql("SELECT COUNT(*) AS n FROM s")["n"].error > 0
    assert central.advise(service, 1, 200).method == "marginals"


@pytest.mark.parametrize(("columns", "size", "kind"), [(5, 6, "marginals"), (5, 2, "views"), (4, 9, "boxes")])
def test_auto_counts_marginals_of_five_columns_with_few_people(columns: int, size: int, kind: str) -> None:
    """200 people: blue for 32 cells at epsilon 2, pairs of five columns with 7,776 cells, boxes of four with 6,561."""
    service, table = wide(columns, size)
    assert central.release(table, service, 2).body.kind == kind
    assert (central.advise(service, 2, 200).method == "marginals") == (kind == "marginals")


def test_auto_refuses_too_many_categories_and_names_what_works() -> None:
    service, table = wide(2, 4_000)
    ledger = central.Ledger(None, 1)
    with pytest.raises(LayoutError) as refused:
        central.release(table, service, 1, ledger=ledger)
    assert refused.value.code == "domain-too-large"
    assert ledger.spent == 0
    assert "other=" in str(refused.value)


def test_four_million_cells_are_released() -> None:
    service, table = wide(2, 2_048)
    assert central.release(table, service, 1).method == "auto"


@pytest.mark.parametrize("columns", [19, 20, 21, 40])
def test_adaptive_cuts_no_more_boxes_than_fit(columns: int) -> None:
    """With many columns, cutting each in two would make 2**40 boxes: refused before anything is charged."""
    service, table = wide(columns, 2)
    ledger = central.Ledger(None, 1)
    if columns > 20:
        with pytest.raises(LayoutError) as refused:
            central.release(table, service, 1, method="adaptive", ledger=ledger)
        assert refused.value.code == "domain-too-large"
        assert ledger.spent == 0
    for wanted in (100.0, 2.0**20):
        parts = even_parts(np.array([[3] * columns]), np.array([wanted]))
        assert np.prod(parts.astype(np.float64)) <= 2**20
