"""No text makes the database do anything but answer or refuse: no traceback, no statement with a user's words in it."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from support.hostile_texts import Spy, answer_or_refuse, hostile_texts, spied
from support.tiers import how_many


@pytest.fixture(scope="module")
def spy() -> tuple[tc.Database, Spy]:
    return spied()


PARTS = 4
TEXTS = how_many(300, 20_000, "hostile texts of questions")


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_texts_are_answered_or_refused(
    spy: tuple[tc.Database, Spy], source: np.random.Generator, part: int
) -> None:
    count = TEXTS // PARTS
    seen = answer_or_refuse(*spy, hostile_texts(source, count))
    assert (seen["read"] >= 0.4 * count, seen["bound"] >= 0.2 * count, seen["answered"] >= 0.1 * count) == (True,) * 3


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000,
        "SELECT " + "COUNT(*)," * 1_000 + "COUNT(*) FROM town",
        "SELECT COUNT(*) FROM town WHERE " + " OR ".join(f"age = {i % 10}" for i in range(400)),
        "SELECT COUNT(*) FROM town WHERE " + "NOT " * 500 + "age = 1",
        "SELECT COUNT(*) FROM town WHERE age IN (" + ",".join("1" for _ in range(3_000)) + ")",
        "SELECT " + "-" * 900 + "1 FROM town",
        "SELECT COUNT(*) FROM town WHERE age = " + "9" * 5_000,
        "\ud800",
        'SELECT COUNT(*) FROM "town""; DROP TABLE x; --"',
    ],
    ids=range(9),
)
def test_extreme_texts_end(spy: tuple[tc.Database, Spy], text: str) -> None:
    rows = 1
    try:
        rows = len(spy[0].sql(text))
    except tc.TacitError as error:
        code = error.code
        rows = int(bool(code))
    assert rows == 1
