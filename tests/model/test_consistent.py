"""`db.sql(..., consistent=True)`: answers add up, are nearer than unbiased ones, marked, refused where they must be."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.tiers import how_many, keeping
from tacit.cli import main
from tacit.datasets.town import town, town_schema
from tacit.errors import TacitError
from tacit.estimate.functional import Functional
from tacit.model import model

PEOPLE = 30_000


@pytest.fixture(scope="module")
def shop() -> tc.Database:
    """Return a town's reports at a budget of 2 for each service."""
    collection = tc.Collection(town_schema(), epsilon=4, mechanism="pairs")
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(**town(PEOPLE), rng=tc.insecure_rng(5)))
    return db


def values(answer: tc.Answer, column: str) -> np.ndarray:
    return answer.to_pandas()[column].to_numpy()


def ask(db: tc.Database, question: str, **options: object) -> tc.Answer:
    return db.sql(question, consistent=True, **options)


def test_answers_add_up_and_are_never_negative(shop: tc.Database) -> None:
    assert np.isclose(ask(shop, "SELECT COUNT(*) AS n FROM shop")["n"].value, PEOPLE)
    ages = values(ask(shop, "SELECT age, COUNT(*) AS n FROM shop GROUP BY age"), "n")
    assert ages.min() >= 0
    assert np.isclose(ages.sum(), PEOPLE)
    both = ask(shop, "SELECT age, region, COUNT(*) AS n FROM shop GROUP BY age, region")
    assert values(both, "n").min() >= 0
    summed = both.to_pandas().groupby("age")["n"].sum().to_numpy()
    assert np.allclose(summed, ages, atol=1e-3 * PEOPLE / len(ages))
    rich = "FROM shop WHERE income > 40000"
    parts = values(ask(shop, f"SELECT region, COUNT(*) AS n {rich} GROUP BY region"), "n")
    assert np.isclose(parts.sum(), ask(shop, f"SELECT COUNT(*) AS n {rich}")["n"].value, rtol=1e-4)
    unbiased = values(shop.sql("SELECT age, COUNT(*) AS n FROM shop GROUP BY age"), "n")
    assert unbiased.min() < 0, "the test has no power if nothing was negative before"


def test_either_is_both_less_their_overlap(shop: tc.Database) -> None:
    one, two = "age > 50", "region = 'north'"
    count = {w: ask(shop, f"SELECT COUNT(*) AS n FROM shop WHERE {w}")["n"].value for w in (one, two)}
    both, either = (
        ask(shop, f"SELECT COUNT(*) AS n FROM shop WHERE {one} {w} {two}")["n"].value for w in ("AND", "OR")
    )
    assert np.isclose(either, count[one] + count[two] - both, rtol=1e-6)
    assert either >= max(count.values()) - 1e-6 * PEOPLE
    assert both <= min(count.values()) + 1e-6 * PEOPLE


def test_averages_are_ratios_and_errors_are_positive(shop: tc.Database) -> None:
    answer = ask(shop, "SELECT SUM(income) AS s, COUNT(*) AS n, AVG(income) AS m FROM shop WHERE age BETWEEN 30 AND 60")
    assert np.isclose(answer["m"].value, answer["s"].value / answer["n"].value)
    assert all(answer[name].error > 0 for name in "snm")
    wide = ask(shop, "SELECT COUNT(*) AS n FROM shop WHERE age < 30", confidence=0.5)["n"]
    assert wide.high - wide.low < 2 * wide.error


SHARE = "COUNT(*) FILTER (WHERE age > 40) / COUNT(*)"


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize(
    ("plain", "written", "scale", "offset"),
    [
        (SHARE, "100.0 * COUNT(*) FILTER (WHERE age > 40) / COUNT(*)", 100, 0),
        (SHARE, "COUNT(*) FILTER (WHERE age > 40) / (COUNT(*) / 100.0)", 100, 0),
        (SHARE, "(2 * COUNT(*) FILTER (WHERE age > 40)) / (4 * COUNT(*))", 0.5, 0),
        (SHARE, f"1 - {SHARE}", -1, 1),
        (SHARE, "-COUNT(*) FILTER (WHERE age > 40) / COUNT(*)", -1, 0),
        (SHARE, "AVG(CASE WHEN age > 40 THEN 100 ELSE 0 END)", 100, 0),
        ("AVG(age)", "3 * SUM(age) / COUNT(*) + 1", 3, 1),
        ("AVG(age)", "SUM(2 * age) / COUNT(age)", 2, 0),
    ],
)
def test_scaled_ratios_have_scaled_intervals(
    shop: tc.Database, plain: str, written: str, scale: float, offset: float, *, consistent: bool
) -> None:
    source = "FROM shop WHERE region = 'north'"
    one, other = (shop.sql(f"SELECT {column} AS x {source}", consistent=consistent)["x"] for column in (plain, written))
    low, high = sorted(scale * end + offset for end in (one.low, one.high))
    assert (other.low, other.value, other.high) == pytest.approx((low, scale * one.value + offset, high), rel=1e-9)
    assert other.low < other.value < other.high


def test_questions_over_three_attributes_are_answered(shop: tc.Database) -> None:
    question = "SELECT COUNT(*) AS n, AVG(income) AS m FROM shop WHERE age > 40 AND region = 'north' AND income > 20000"
    with pytest.raises(TacitError) as refusal:
        shop.sql(question)
    assert "not collected together" in str(refusal.value)
    answer = ask(shop, question)
    pair = ask(shop, "SELECT COUNT(*) AS n FROM shop WHERE age > 40 AND region = 'north'")["n"].value
    assert 0 < answer["n"].value < pair
    assert answer["m"].value > 20_000
    assert answer["n"].error > 0
    assert any("maximum entropy" in note for note in answer.notes)


def odd_ones_out(people: int) -> dict[str, np.ndarray]:
    """Return three attributes of which any two are independent, and all three are not; and a fourth."""
    source = np.random.default_rng(7)
    a, b, d = source.integers(0, 2, people), source.integers(0, 2, people), source.integers(0, 3, people)
    return {"a": a, "b": b, "c": a ^ b ^ (source.random(people) < 0.1), "d": d}


@pytest.mark.parametrize("mechanism", ["am(3)", "hio", "am(2)"])
def test_views_of_three_attributes_say_more_than_their_pairs(mechanism: str) -> None:
    """n = 100,000, epsilon 2; within 6.1 unbiased errors of 500, a false alarm of 1e-9; am(2), the mutant, cannot."""
    columns = odd_ones_out(100_000)
    attributes = [tc.Categorical(name, values=list(range(3 if name == "d" else 2))) for name in columns]
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=attributes)]), 2.0, mechanism=mechanism)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": np.arange(100_000)} | columns, rng=tc.insecure_rng(2)))
    answer = ask(db, "SELECT COUNT(*) AS n FROM t WHERE a = 1 AND b = 1 AND c = 1")
    truth = int((columns["a"] & columns["b"] & columns["c"]).sum())
    near = abs(answer["n"].value - truth) < 6.1 * 500
    assert near == (mechanism != "am(2)")
    assert any("views of three" in note for note in answer.notes) == (mechanism != "am(2)")
    whole = ask(db, "SELECT a, b, c, COUNT(*) AS n FROM t GROUP BY a, b, c").to_pandas()
    assert whole["n"].min() >= 0
    pairs = ask(db, "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b").to_pandas()
    assert np.allclose(whole.groupby(["a", "b"])["n"].sum(), pairs["n"], atol=1)
    four = ask(db, "SELECT COUNT(*) AS n FROM t WHERE a = 1 AND b = 1 AND c = 1 AND d <> 0")["n"]
    assert 0 < four.value < answer["n"].value
    assert four.error > 0


def stored(
    columns: dict[str, np.ndarray], attributes: list[object], mechanism: str, epsilon: float = 2.0
) -> tc.Database:
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])  # type: ignore[arg-type]
    collection = tc.Collection(schema, epsilon, mechanism=mechanism)
    db = tc.connect()
    db.create(collection)
    people = len(next(iter(columns.values())))
    db.load(collection.encode(t={"uid": np.arange(people)} | columns, rng=tc.insecure_rng(2)))
    return db


@pytest.mark.parametrize("mechanism", keeping(["am(2)"], ["am(2)", "am(3)", "hio"], "averages over three conditions"))
def test_averages_over_three_conditions_lie_among_the_values_and_groups_add_up(mechanism: str) -> None:
    source = np.random.default_rng(4)
    hidden = source.random(20_000)
    columns = {name: (source.random(20_000) < hidden).astype(np.int64) for name in "abc"}
    columns["y"] = 2000 + np.floor(16 * hidden).astype(np.int64)
    attributes = [*(tc.Categorical(name, values=[0, 1]) for name in "abc"), tc.Ordinal("y", 2000, 2015)]
    db = stored(columns, attributes, mechanism)
    where = "FROM t WHERE a = 1 AND b = 1 AND c = 1"
    answer = ask(db, f"SELECT COUNT(*) AS n, AVG(y) AS m, STDDEV(y) AS s, SUM(y) AS t {where}")
    assert 2000 <= answer["m"].value <= 2015
    assert 0 <= answer["s"].value <= 7.6
    assert answer["m"].error < 15, "a year is known to sixteen"
    assert answer["t"].error < 2016 * 20_000
    groups = values(ask(db, f"SELECT y, COUNT(*) AS n {where} GROUP BY y"), "n")
    assert np.isclose(groups.sum(), answer["n"].value)
    shifted = ask(db, f"SELECT AVG(y - 2000) AS m {where}")["m"]
    assert np.isclose(shifted.error, answer["m"].error, rtol=1e-3)
    assert np.isclose(shifted.value + 2000, answer["m"].value)


def test_of_what_no_view_shows_together_everything_is_possible() -> None:
    source = np.random.default_rng(4)
    columns = {name: source.integers(0, 2, 20_000) for name in "ab"}
    answer = ask(
        stored(columns, [tc.Categorical(name, values=[0, 1]) for name in "ab"], "am(1)"),
        "SELECT COUNT(*) AS n FROM t WHERE a = 1 AND b = 1",
    )
    assert answer["n"].value == pytest.approx(5_000, abs=1_000)
    assert answer["n"].error == pytest.approx(10_000 / 12**0.5, rel=0.1)
    assert (answer["n"].low, answer["n"].high) == (0, pytest.approx(10_000, rel=0.1))
    assert any("independent" in note for note in answer.notes)


def test_people_with_two_rare_values_may_be_all_who_have_one_of_them() -> None:
    """The fit draws rare values towards nothing: what is possible of two ended where one of them does in the fit."""
    source = np.random.default_rng(4)
    a = np.minimum(19, source.zipf(1.6, 50_000) - 1)
    columns = {"a": a, "b": a * (a > 0) % 12}
    attributes = [tc.Categorical(name, values=list(range(size))) for name, size in (("a", 20), ("b", 12))]
    answer = ask(stored(columns, attributes, "am(1)", 1.0), "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b")
    truth = np.bincount(columns["a"] * 12 + columns["b"], minlength=240)
    cells = [row[-1] for row in answer]
    off = [abs(cell.value - right) / cell.error for cell, right in zip(cells, truth, strict=True)]
    held = [cell.low <= right <= cell.high for cell, right in zip(cells, truth, strict=True)]
    assert max(off) < 6
    assert np.mean(np.array(held)[truth > 0]) > 0.9


@pytest.mark.parametrize("size", keeping([12, 40], [12, 40, 300], "tables of 300 categories; 40 stay"))
def test_many_categories_have_tables(size: int) -> None:
    source = np.random.default_rng(4)
    columns = {"a": source.integers(0, size, 5_000) // 3 * 2 % size, "b": source.integers(0, 2, 5_000)}
    attributes = [tc.Categorical("a", values=list(range(size))), tc.Categorical("b", values=[0, 1])]
    db = stored(columns, attributes, "pairs", 4.0)
    counts = values(ask(db, "SELECT a, COUNT(*) AS n FROM t WHERE b = 1 GROUP BY a"), "n")
    assert counts.min() >= 0
    assert np.isclose(counts.sum(), ask(db, "SELECT COUNT(*) AS n FROM t WHERE b = 1")["n"].value, rtol=1e-3)


@pytest.mark.parametrize("mechanism", ["fc", "am(3)", "pairs"])
def test_hardly_any_reports_put_nobody_into_a_corner(mechanism: str) -> None:
    """300 people, epsilon 1: what is told is next to nothing, so that every category keeps some of them."""
    attributes = [tc.Categorical("c", values=[0, 1, 2]), tc.Categorical("a", values=[0, 1]), tc.Ordinal("y", 0, 15)]
    for seed in range(5):
        source = np.random.default_rng(seed)
        columns = {"c": source.integers(0, 3, 300), "a": source.integers(0, 2, 300), "y": source.integers(0, 16, 300)}
        found = ask(stored(columns, attributes, mechanism, 1.0), "SELECT c, COUNT(*) AS n FROM t GROUP BY c")
        assert values(found, "n").max() < 0.99 * 300
        assert max(estimate.error for estimate in found["n"]) <= 150


def fitted_model(db: tc.Database) -> model.Model:
    """Return the model of table t, whose own errors assume that the fit is right."""
    return db._fitting._models.of_service([(*one, False) for one in db._catalog.newest_round("t")])


def test_sums_over_many_attributes_are_sums_of_their_parts() -> None:
    source = np.random.default_rng(4)
    columns = {f"a{i}": source.integers(0, 2, 2_000) for i in range(20)}
    db = stored(columns, [tc.Categorical(name, values=[0, 1]) for name in columns], "am(2)")
    parts = [f"COUNT(*) FILTER (WHERE {name} = 1)" for name in columns]
    each = ask(db, "SELECT " + ", ".join(f"{part} AS n{i}" for i, part in enumerate(parts)) + " FROM t")
    whole = ask(db, f"SELECT {' + '.join(parts)} AS n FROM t")["n"]
    assert np.isclose(whole.value, sum(each[f"n{i}"].value for i in range(20)))
    single = [Functional.of((2,) * 20, i, [0, 1]) for i in range(20)]
    *errors, all_together = fitted_model(db).errors([*single, reduce(Functional.__add__, single)])
    assert np.isclose(all_together**2, sum(error**2 for error in errors))


def test_values_finer_than_tables_of_pairs_have_their_own_errors() -> None:
    source = np.random.default_rng(4)
    columns = {"x": source.integers(0, 1024, 20_000), "s": source.integers(0, 2, 20_000)}
    db = stored(columns, [tc.Ordinal("x", 0, 1023), tc.Categorical("s", values=[0, 1])], "pairs")
    value, half = Functional.of((1024, 2), 0, np.arange(1024) == 503), Functional.of((1024, 2), 1, [0, 1])
    alone, both = fitted_model(db).errors([value, value * half])
    assert both > alone / 4, "half of a value's people cannot be known far better than all of them"


def test_errors_of_wide_questions_know_of_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = [tc.Categorical(name, values=[0, 1]) for name in "abc"]
    columns = {name: own for name, own in odd_ones_out(20_000).items() if name != "d"}
    asked = [reduce(Functional.__mul__, (Functional.of((2, 2, 2), i, [0, 1]) for i in range(3)))]
    [whole] = fitted_model(stored(columns, attributes, "am(3)")).errors(asked)
    real = model.Fit.errors
    for part in (1, 3):
        with monkeypatch.context() as patch:
            patch.setattr(
                model.Fit, "errors", lambda fit, given, part=part: real(fit, given) * (given.ndim != 1 + part)
            )
            assert fitted_model(stored(columns, attributes, "am(3)")).errors(asked)[0] < 0.99 * whole


@pytest.mark.parametrize("mechanism", keeping(["am(3)"], ["am(3)", "hio"], "layouts whose noise empties no cell"))
def test_noise_empties_no_cell_and_errors_say_so(mechanism: str) -> None:
    """All 32 cells of three attributes, 20,000 people, epsilon 1, 3 encodings: each within 6.1 errors, 1e-9 each.

    The mutant, a tenth of the error, is left by some: at 6.1 of its errors, 0.6 of the true ones.
    """
    attributes = [tc.Categorical(name, values=list(range(8 if name == "c" else 2))) for name in "abc"]
    off = []
    for seed in range(how_many(3, 5, "encodings whose cells are not emptied")):
        source = np.random.default_rng(seed)
        columns = {name: source.integers(0, 2, 20_000) for name in "ab"}
        columns["c"] = np.minimum(source.geometric(0.35, 20_000) - 1, 7)
        db = stored(columns, attributes, mechanism, 1.0)
        for a, b, c, n in ask(db, "SELECT a, b, c, COUNT(*) AS n FROM t GROUP BY a, b, c"):
            truth = ((columns["a"] == a) & (columns["b"] == b) & (columns["c"] == c)).sum()
            off.append(abs(n.value - truth) / n.error)
    assert max(off) < 6.1
    assert 10 * max(off) > 6.1


def test_answers_are_marked_and_explained(shop: tc.Database) -> None:
    question = "SELECT COUNT(*) AS n FROM shop WHERE age > 40 AND region = 'north'"
    answer = ask(shop, question)
    assert "post-processed" in str(answer)
    assert "age × region" in answer.explain()
    assert "age × region" in str(
        ask(shop, "EXPLAIN SELECT COUNT(*) AS n FROM shop WHERE age > 40 AND region = 'north'")
    )


@pytest.mark.parametrize(
    ("question", "options", "code"),
    [
        ("SELECT COUNT(*) FROM shop", {"decoder": "cover"}, "bad-option"),
        ("SELECT COUNT(*) FROM shop", {"superpopulation": True}, "bad-option"),
    ],
)
def test_what_tables_cannot_tell_is_refused(
    shop: tc.Database, question: str, options: dict[str, object], code: str
) -> None:
    with pytest.raises(TacitError) as refusal:
        ask(shop, question, **options)
    assert refusal.value.code == code


def correlated(people: int, seed: int) -> np.ndarray:
    source = np.random.default_rng(seed)
    normal = source.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], people)
    return np.clip(np.floor((normal + 4) * 4), 0, 31).astype(np.int64)


def collected(values: np.ndarray, seed: int) -> tc.Database:
    attributes = [tc.Ordinal(name, low=0, high=31, fanout=2) for name in "ab"]
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=attributes)]), 1.0, mechanism="pairs")
    db = tc.connect()
    db.create(collection)
    table = pa.table({"uid": np.arange(len(values)), "a": values[:, 0], "b": values[:, 1]})
    db.load(collection.encode(t=table, rng=tc.insecure_rng(seed)))
    return db


@pytest.mark.long("12 fits of 200,000 people; single fits stay")
def test_fits_are_closer_than_unbiased_answers_and_than_independence() -> None:
    """n = 200,000, epsilon 1, nine ranges of two correlated attributes, 12 encodings, a false alarm in 1e-9.

    Over 24 other encodings, mean errors of fits were .0132 with a standard deviation of .0039, those of unbiased
    answers .0271 and .0082, correlated by .42: their means over 12 differ by 6.5 standard deviations. Independent
    attributes, the mutant, are off by .040 without any noise, which is 6.1 of them above twice the fits' mean.
    """
    values = correlated(200_000, 3)
    ranges = [(low, low + 15) for low in (3, 8, 13)]
    boxes = [(a, b) for a in ranges for b in ranges]
    where = [f"a BETWEEN {a[0]} AND {a[1]} AND b BETWEEN {b[0]} AND {b[1]}" for a, b in boxes]
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {w}) AS n{i}" for i, w in enumerate(where))
    inside = [[(values[:, k] >= box[k][0]) & (values[:, k] <= box[k][1]) for k in (0, 1)] for box in boxes]
    truth = np.array([(left & right).mean() for left, right in inside])
    mutant = np.array([left.mean() * right.mean() for left, right in inside])
    fits, plain = [], []
    for seed in range(12):
        db = collected(values, 100 + seed)
        for found, options in ((fits, {"consistent": True}), (plain, {})):
            [row] = db.sql(f"SELECT {counts} FROM t", **options)
            found.append(np.abs(np.array([cell.value for cell in row]) / len(values) - truth).mean())
    assert np.mean(fits) < np.mean(plain)
    assert np.abs(mutant - truth).mean() > 2 * np.mean(fits)


def test_models_are_kept_until_reports_change(monkeypatch: pytest.MonkeyPatch) -> None:
    db, question = collected(correlated(2_000, 1), 1), "SELECT COUNT(*) AS n FROM t WHERE a < 9 AND b < 9"
    fitted = []
    real = model.fit_table
    monkeypatch.setattr(model, "fit_table", lambda *given, **more: fitted.append(1) or real(*given, **more))
    first = ask(db, question)["n"].value
    assert len(fitted) == 3
    assert ask(db, question)["n"].value == first
    assert len(fitted) == 3
    db.forget(7)
    assert ask(db, "SELECT COUNT(*) AS n FROM t")["n"].value == 1_999
    ask(db, question)
    assert len(fitted) == 6


@pytest.mark.parametrize("mechanism", ["pairs", "am(1)", "am(2)", "hio"])
@pytest.mark.parametrize("people", [1, 30])
def test_hardly_any_reports_give_answers_that_say_so(mechanism: str, people: int) -> None:
    collection = tc.Collection(town_schema(), epsilon=1, mechanism=mechanism)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(**town(people), rng=tc.insecure_rng(people)))
    answer = ask(db, "SELECT COUNT(*) AS n FROM shop WHERE age > 30 AND region = 'north'")
    assert 0 <= answer["n"].value <= people
    assert any("almost no information" in note or "independent" in note for note in answer.notes[1:])


def test_the_command_line_asks_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "town.tacit"
    collection = tc.Collection(town_schema(), epsilon=4, mechanism="pairs")
    db = tc.connect(file)
    db.create(collection)
    db.load(collection.encode(**town(2_000), rng=tc.insecure_rng(1)))
    db.close()
    assert main(["query", str(file), "SELECT COUNT(*) AS n FROM shop WHERE age > 40", "--consistent"]) == 0
    assert "post-processed" in capsys.readouterr().out
