"""What coarser cells leave blurred is said: conditions by a cell, sums by bins, squares by the variance of rounding."""

from __future__ import annotations

import pytest

import tacit as tc

SCHEMA = tc.Schema(
    [
        tc.Service(
            "t",
            key="uid",
            attributes=[
                tc.Ordinal("x", 0, 1000, cells=11, step=1),
                tc.Ordinal("b", 0, 39, cells=4, dither=False, step=1),
                tc.Ordinal("y", 0, 9),
            ],
        )
    ]
)
COLLECTION = tc.Collection(SCHEMA, epsilon=4)

ROUNDING = "include the variance of the rounding (at most 2500, about 1667"
BINS = "off by up to 4.5"
BLURRED = "x was collected in coarser cells: conditions on it are accurate to one cell only (docs/glossary.md#cell)"

SAID = {
    "VAR_POP(x)": ROUNDING,
    "STDDEV(x * y)": ROUNDING,
    "SUM(x * x)": ROUNDING,
    "AVG((x + y) * x)": ROUNDING,
    "AVG(b)": BINS,
    "SUM(b + y)": BINS,
    "VAR_POP(b)": BINS,
    "COUNT(*) FILTER (WHERE x > 100)": BLURRED,
    "AVG(CASE WHEN x > 100 THEN y ELSE 0 END)": BLURRED,
}
NOT_SAID = [
    "AVG(x)",
    "SUM(x * y)",
    "SUM(x + x)",
    "VAR_POP(y)",
    "COUNT(*) FILTER (WHERE b < 10)",
    "AVG(CASE WHEN b < 10 THEN y ELSE 0 END)",
    "AVG(CASE WHEN y > 1 THEN x ELSE 0 END)",
]


@pytest.mark.parametrize("column", SAID)
def test_what_is_blurred_is_said(column: str) -> None:
    notes = COLLECTION.predict(f"SELECT {column} AS v FROM t", users=10_000).notes
    assert [note for note in notes if SAID[column] in note], notes


@pytest.mark.parametrize("column", NOT_SAID)
def test_nothing_is_said_where_nothing_is_blurred(column: str) -> None:
    assert len(COLLECTION.predict(f"SELECT {column} AS v FROM t", users=10_000).notes) == 1


def test_groups_may_name_outputs() -> None:
    asked = "SELECT CASE WHEN x > 100 THEN 'more' ELSE 'less' END AS g, AVG(y) AS m FROM t GROUP BY g"
    assert [note for note in COLLECTION.predict(asked, users=10_000).notes if BLURRED in note]
