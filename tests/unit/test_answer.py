"""Estimates and answers: intervals, printing, tables."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import polars
import pytest
from scipy.stats import t

import tacit as tc
from tacit.errors import UnknownNameError, UsageError
from tacit.estimate.answer import Answer
from tacit.estimate.estimate import Estimate, t_quantile


@pytest.mark.parametrize("probability", [0.9, 0.95, 0.975, 0.9995, 0.99999, 0.3, 0.5])
@pytest.mark.parametrize("freedom", [1.0, 1.7, 2.0, 2.99, 3.0, 4.0, 10.0, 30.0, 1000.0, 1e6])
def test_quantiles_of_student(probability: float, freedom: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(t.ppf(probability, freedom), rel=1e-6, abs=1e-9)


def test_few_reports_widen_the_interval_and_none_is_normal() -> None:
    assert Estimate(10, 2, 100, freedom=3).margin > Estimate(10, 2, 100, freedom=300).margin > 1.95 * 2
    assert Estimate(10, 0, 100).low == 10


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(12340.4, 209.2, 10), "12,340 ± 410"),
        (Estimate(0.123456, 0.01, 10), "0.123 ± 0.020"),
        (Estimate(200, 0, 10), "200 ± 0"),
        (Estimate(math.nan, math.nan, 10), "not defined"),
        (Estimate(-0.0004, 0.1, 10), "0.00 ± 0.20"),
        (Estimate(81_853.4, math.nan, 10, interval=(-math.inf, math.inf)), "81,853 (no finite interval)"),
        (Estimate(0.00012346, math.nan, 10), "0.000123 (error not known)"),
    ],
)
def test_estimates_print_significant_digits(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_answers_are_tables() -> None:
    answer = Answer(
        ["kind", "n"], [["x", Estimate(5, 1, 9)], [None, Estimate(7, 2, 9)]], notes=["mind the gap"], plan=lambda: "SQL"
    )
    assert len(answer) == 2
    assert [cell.value for cell in answer["n"]] == [5, 7]
    assert answer.to_arrow().column_names == ["kind", "n", "n_error", "n_low", "n_high"]
    assert list(answer.to_pandas()["n_error"]) == [1, 2]
    assert "note: mind the gap" in str(answer)
    assert "&lt;b&gt;" in Answer(["<b>"], [["<b>"]])._repr_html_()
    assert answer.explain() == "SQL"
    assert answer.to_polars()["n_low"].to_list() == pytest.approx([5 - 1.96, 7 - 3.92], abs=0.01)
    assert "<svg" in answer._repr_html_()
    with pytest.raises(UnknownNameError):
        answer["m"]


def test_pictures_have_a_bar_for_each_row(tmp_path: Path) -> None:
    rows = [["x", Estimate(5, 1, 9)], ["<y>", Estimate(-7, 2, 9)], ["z", Estimate(math.nan, math.nan, 9)]]
    answer = Answer(["kind", "n"], [*rows, ["w", Estimate(1, 1, 9, interval=(-math.inf, math.inf))]])
    drawn = answer.plot(path=tmp_path / "n.svg")
    assert drawn.count("<circle") == 3
    assert "&lt;y&gt;" in drawn
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert (tmp_path / "n.svg").read_text() == drawn
    ElementTree.fromstring(drawn)
    with pytest.raises(UnknownNameError):
        answer.plot("kind")
    with pytest.raises(UsageError):
        Answer(["kind"], [["x"]]).plot()
    assert "first 60 of 70 rows" in Answer(["n"], [[Estimate(i, 1, 9)] for i in range(70)]).plot()


def test_estimates_made_by_hand_scale_but_do_not_mix() -> None:
    one = Estimate(10, 2, 100)
    assert ((one * 3).value, (one * 3).error) == (30, 6)
    assert ((1 - one).value, (1 - one).error) == (-9, 2)
    assert (one / 4).error == 0.5
    for combine in (lambda: one + one, lambda: one - one, lambda: one * one, lambda: one / one):
        with pytest.raises(UsageError) as caught:
            combine()
        assert caught.value.code == "unknown-covariance"
    for bare in (lambda: float(one), lambda: one > 3, lambda: one <= one):
        with pytest.raises(UsageError):
            bare()
    assert math.isnan((one / 0).value)


def noisy_answer() -> Answer:
    rows = [["x", Estimate(81_850.2, 31.3, 9)], [None, Estimate(-0.3, 2, 9)]]
    return Answer(["kind", "n"], [*rows, ["y", Estimate(3, math.nan, 9, interval=(-math.inf, math.inf))]])


def test_noisy_rows_are_marked_in_every_output() -> None:
    answer = noisy_answer()
    assert [("too noisy" in line) for line in str(answer).splitlines()[1:4]] == [False, True, True]
    assert answer._repr_html_().count("← too noisy to tell") == 2
    assert answer.plot().count("stroke-dasharray") == 2
    assert [row["n_noisy"] for row in json.loads(answer.to_json())["rows"]] == [False, True, True]
    assert "too noisy" in answer["n"][1]._repr_html_()
    assert not Estimate(0, 0, 9).is_noisy
    for text in (str(answer), answer._repr_html_(), answer.plot()):
        assert not re.search(r"\binf\b|nan|\de[+-]\d", text)


def test_prompts_show_a_part_of_long_tables() -> None:
    answer = Answer(["n"], [[Estimate(i, 1, 9)] for i in range(1_000)])
    assert len(repr(answer).splitlines()) < 70
    assert "940 more rows" in repr(answer)
    assert len(str(answer).splitlines()) > 1_000
    assert answer._repr_html_().count("<tr") == 61


def test_other_libraries_take_answers_as_they_are() -> None:
    answer = noisy_answer()
    assert polars.DataFrame(answer)["n_error"].to_list()[:2] == [31.3, 2.0]
    assert duckdb.sql("SELECT COUNT(*), SUM(n) FROM answer WHERE kind IS NOT NULL").fetchall() == [(2, 81_853.2)]
    assert answer.fetchall()[1][:3] == (None, -0.3, 2.0)
    assert answer.arrow().schema == answer.to_arrow().schema
    assert list(answer.df().columns) == answer.pl().columns == answer.to_arrow().column_names
    assert answer.plot()._repr_svg_().startswith("<svg")


def test_notebooks_show_collections_audits_and_databases() -> None:
    many = tc.Service("orders", "uid", [tc.Categorical("<goods>"[1:-1], ["<b>", "c"], null=True)], at_most=3)
    users = tc.Service("users", "uid", [tc.Ordinal("age", 0, 99, cells=10), tc.Public("os", values=["ios"])])
    collection = tc.Collection(tc.Schema([users, many]), epsilon=2)
    assert "&lt;b&gt;, c or NULL" in collection._repr_html_()
    assert "0 to 99 in 10 cells" in collection._repr_html_()
    assert repr(collection.audit()) == str(collection.audit())
    assert "realised" in collection.audit()._repr_html_()
    db = tc.connect()
    assert "no reports" in repr(db)
    db.create(collection)
    people = {"uid": [1, 2], "age": [20, 30], "os": ["ios", "ios"]}
    db.load(collection.encode(users=people, orders={"uid": [1], "goods": ["c"]}))
    assert "orders" in repr(db)
    assert "age bigint" in db._repr_html_()
    for shown in (collection, collection.audit(), db):
        ElementTree.fromstring(shown._repr_html_().partition("<p>")[0])
