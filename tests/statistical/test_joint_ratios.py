"""What is claimed against the JOINT paper's mechanisms, in exact predicted variances; bench/joint measures the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.tiers import keeping

SIZE, CATEGORIES, MOST = 125, 500, 10
RANGE_STARTS = (3, 41, 94)
PEOPLE = 1_000_000
JOIN = "t1 JOIN t2 USING (uid)"
NORMAL = np.exp(-(((np.arange(SIZE) - SIZE / 2) / (SIZE / 4)) ** 2) / 2)
"""SYN-1 and SYN-2 of the paper: ordinals of 125 values with mean 62.5 and deviation 31.25."""


@cache
def single(d: int, epsilon: float, mechanism: str, oracle: str) -> tc.Collection:
    attributes = [tc.Ordinal(f"a{i}", low=1, high=SIZE) for i in range(d)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    return tc.Collection(schema, epsilon, mechanism=mechanism, oracle=oracle)


@cache
def joined(sends: int, epsilon: float, mechanism: str, oracle: str) -> tc.Collection:
    """Return a collection of two services; with ``sends`` above 0, people have up to ten rows in the second."""
    many = {"at_most": MOST, "sends": sends} if sends else {}
    values = list(range(CATEGORIES))
    services = [
        tc.Service(
            f"t{i}",
            key="uid",
            attributes=[tc.Ordinal(f"o{i}", low=1, high=SIZE), tc.Categorical(f"c{i}", values)],
            **(many if i == 2 else {}),
        )
        for i in (1, 2)
    ]
    return tc.Collection(tc.Schema(services), epsilon, mechanism=mechanism, oracle=oracle)


def mean_square(collection: tc.Collection, aggregate: str, rows: str, decoder: Any, like: Any) -> float:
    """Return the predicted mean squared error over conditions at several places; the text has {low} and {high}."""
    squares = []
    for low in RANGE_STARTS:
        text = f"SELECT {aggregate} AS x FROM {rows.format(low=low, high=low + (18 if 'a1' in rows else 14))}"
        squares.append(collection.predict(text, users=PEOPLE, like=like, decoder=decoder)["x"].error ** 2)
    return float(np.mean(squares))


SUMS = [
    (2, "SUM(a0)", "ahio", 1 / 10),
    (2, "SUM(a0)", "ehio", 1 / 7),
    (2, "COUNT(*)", "hio", 1.0),
    (4, "SUM(a0)", "ahio", 1 / 20),
    (4, "SUM(a0)", "ehio", 1 / 20),
    (4, "COUNT(*)", "hio", 1.0),
]


@pytest.mark.parametrize(
    ("d", "aggregate", "baseline", "claimed"),
    keeping(SUMS[:3], SUMS, "predicted sums of a sensitive attribute; two of four attributes stay"),
)
def test_sums_of_a_sensitive_attribute(d: int, aggregate: str, baseline: str, claimed: float) -> None:
    """One range of volume 0.15, epsilon 2, as in figure 6 of the paper."""
    rows, like = "t WHERE a1 BETWEEN {low} AND {high}", {f"a{i}": NORMAL for i in range(d)}
    ours = mean_square(single(d, 2.0, "hio", "auto"), aggregate, rows, "blue", like)
    theirs = mean_square(single(d, 2.0, baseline, "olh"), aggregate, rows, "cover", like)
    assert ours <= claimed * theirs


CO = f"{JOIN} WHERE c1 = 7 AND o2 BETWEEN {{low}} AND {{high}}"
CO_LEFT = f"{JOIN} WHERE c1 = 7 AND o1 BETWEEN {{low}} AND {{high}}"
SHARES = {"t1": {"o1": NORMAL}, "t2": {"o2": NORMAL}}


@pytest.mark.parametrize("epsilon", keeping([2.0], [1.0, 2.0, 5.0], "budgets of joins beside rounding"))
@pytest.mark.parametrize("sends", [0, 1, 2])
@pytest.mark.parametrize(
    ("aggregate", "rows", "claimed"),
    [
        ("SUM(o1)", CO, 1 / 4),
        ("SUM(o2)", CO, 1 / 4),
        ("SUM(o2)", CO_LEFT, 1 / 4),
        ("COUNT(*)", CO, 1 / 2),
        ("COUNT(*)", CO_LEFT, 1 / 2),
    ],
)
def test_joins_against_rounding(epsilon: float, sends: int, aggregate: str, rows: str, claimed: float) -> None:
    """HIO-JOIN-RDC as the paper collects it, one-to-one, and one-to-many with double rounding."""
    ours = mean_square(joined(sends, epsilon, "hio", "auto"), aggregate, rows, "blue", SHARES)
    theirs = mean_square(joined(sends, epsilon, "ahio", "olh"), aggregate, rows, "rdc", SHARES)
    assert ours <= claimed * theirs


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_counts_of_joins_against_reports_without_rounding(epsilon: float) -> None:
    """With both conditions on one table the other tells nothing, and the ratio is 0.72 to 0.74: not claimed."""
    ours = mean_square(joined(0, epsilon, "hio", "auto"), "COUNT(*)", CO, "blue", SHARES)
    theirs = mean_square(joined(0, epsilon, "hio", "olh"), "COUNT(*)", CO, "rdc", SHARES)
    assert ours <= 0.7 * theirs
