"""Estimates and answers: intervals, printing, tables."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t

from tacit.answer import Answer, Estimate, t_quantile
from tacit.errors import UnknownNameError


@pytest.mark.parametrize("probability", [0.9, 0.95, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1.0, 2.0, 5.0, 10.0, 30.0, 1000.0])
def test_quantiles_of_student(probability: float, freedom: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(t.ppf(probability, freedom), rel=0.03)


def test_few_reports_widen_the_interval_and_none_is_normal() -> None:
    assert Estimate(10, 2, 100, freedom=3).margin > Estimate(10, 2, 100, freedom=300).margin > 1.95 * 2
    assert Estimate(10, 0, 100).low == 10
    assert Estimate(1, 1, 100).is_weak
    assert not Estimate(100, 1, 100).is_weak


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(12340.4, 209.2, 10), "12,340 ± 410"),
        (Estimate(0.123456, 0.01, 10), "0.123 ± 0.020"),
        (Estimate(200, 0, 10), "200 ± 0"),
        (Estimate(math.nan, math.nan, 10), "not defined"),
    ],
)
def test_estimates_print_significant_digits(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_answers_are_tables() -> None:
    answer = Answer(
        ["kind", "n"], [["x", Estimate(5, 1, 9)], [None, Estimate(7, 2, 9)]], notes=["mind the gap"], plan="SQL"
    )
    assert len(answer) == 2
    assert [cell.value for cell in answer["n"]] == [5, 7]
    assert answer.to_arrow().column_names == ["kind", "n", "n_error", "n_low", "n_high"]
    assert list(answer.to_pandas()["n_error"]) == [1, 2]
    assert "note: mind the gap" in str(answer)
    assert "&lt;b&gt;" in Answer(["<b>"], [["<b>"]])._repr_html_()
    assert answer.explain() == "SQL"
    with pytest.raises(UnknownNameError):
        answer["m"]
