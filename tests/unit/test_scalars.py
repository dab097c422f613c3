"""Values of numpy, pandas, Arrow and enumerations are taken for what they obviously mean, wherever values are given."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from support.collectors import Serving
from tacit.client import connect
from tacit.client.scalars import plain_scalar
from tacit.sql.parse import parse


class Plan(enum.StrEnum):
    FREE = "a"
    PRO = "b"


class Old(str, enum.Enum):  # noqa: UP042  what people wrote before StrEnum
    FREE = "a"


class Level(enum.IntEnum):
    LOW = 1


DAY = datetime.date(2026, 1, 5)
MEANT: list[tuple[Any, Any]] = [
    (np.str_("a"), "a"),
    (np.array(["a"])[0], "a"),
    (Plan.FREE, "a"),
    (Old.FREE, "a"),
    (pa.scalar("a"), "a"),
    (np.int64(1), 1),
    (np.uint8(1), 1),
    (Level.LOW, 1),
    (pa.scalar(1), 1),
    (np.float64(1.5), 1.5),
    (np.float32(1.5), 1.5),
    (np.bool_(True), True),
    (np.datetime64("2026-01-05"), DAY),
    (pa.scalar(DAY), DAY),
    (pd.NA, None),
    (pd.NaT, None),
    (np.array(3), 3),
]


@pytest.mark.parametrize(("given", "meant"), MEANT, ids=lambda value: f"{type(value).__name__}")
def test_scalars_become_plain(given: Any, meant: Any) -> None:
    found = plain_scalar(given)
    if type(given) is np.datetime64:
        found = found.date()
    assert found == meant
    assert type(found) is type(meant)


def test_what_is_no_scalar_stays() -> None:
    for value in ([1], {"a": 1}, np.array([1, 2]), b"a", Decimal("1.5"), object()):
        assert plain_scalar(value) is value


@pytest.mark.parametrize(
    "values",
    [list(np.array(["a", "b"])), np.array(["a", "b"]), pd.Series(["a", "b"]), pa.array(["a", "b"]), list(Plan), Plan],
    ids=["list of numpy", "numpy", "pandas", "Arrow", "members", "StrEnum"],
)
def test_categories_may_be_declared_by_any_of_them(values: Any) -> None:
    assert tc.Categorical("c", values) == tc.Categorical("c", ["a", "b"])
    assert tc.Categorical("c", values, other=np.str_("c")) == tc.Categorical("c", ["a", "b"], other="c")


@pytest.mark.parametrize("values", [np.arange(3), pd.Series([0, 1, 2]), [np.int8(0), 1, Decimal(2)], [0, 1.0]])
def test_whole_numbers_may_be_declared_unless_they_are_no_whole_numbers(values: Any) -> None:
    if any(isinstance(value, Decimal | float) for value in values):
        with pytest.raises(tc.TacitError, match="these are of type"):
            tc.Categorical("c", values)
    else:
        assert tc.Categorical("c", values) == tc.Categorical("c", [0, 1, 2])


def test_bounds_and_options_may_be_any_of_them() -> None:
    plain = tc.Ordinal("x", 0, 9, fanout=3)
    assert tc.Ordinal("x", np.int64(0), np.float64(9), fanout=np.int64(3)) == plain  # type: ignore[arg-type]
    assert tc.Ordinal("x", pa.scalar(0), Decimal(9), fanout=pa.scalar(3)) == plain  # type: ignore[arg-type]
    dates = tc.Ordinal("d", DAY, datetime.date(2026, 2, 1))
    for low in (pd.Timestamp(DAY), np.datetime64(DAY), datetime.datetime(2026, 1, 5)):
        assert tc.Ordinal("d", low, pd.Timestamp("2026-02-01")) == dates  # type: ignore[arg-type]
    with pytest.raises(tc.TacitError, match="dates"):
        tc.Ordinal("d", datetime.datetime(2026, 1, 5, 12), datetime.date(2026, 2, 1))
    service = tc.Service("s", key="uid", attributes=[plain], at_most=np.int64(3), sends=np.int64(2))  # type: ignore[arg-type]
    assert tc.Collection(tc.Schema([service]), epsilon=np.float64(1.5)).audit().ok


SERVICE = tc.Service(
    "users",
    key="uid",
    attributes=[
        tc.Ordinal("x", 0, 9, null=True),
        tc.Categorical("c", ["a", "b"]),
        tc.Ordinal("d", DAY, datetime.date(2026, 1, 31)),
        tc.Public("p"),
    ],
)
COLLECTION = tc.Collection(tc.Schema([SERVICE]), epsilon=1)
ROW = {"x": 1, "c": "a", "d": DAY, "p": "q"}
CELLS: list[tuple[str, Any]] = [
    ("x", np.int64(1)),
    ("x", np.float32(1)),
    ("x", Decimal(1)),
    ("x", Level.LOW),
    ("x", pa.scalar(1)),
    ("x", pd.NA),
    ("c", np.str_("a")),
    ("c", Plan.FREE),
    ("c", Old.FREE),
    ("c", pa.scalar("a")),
    ("d", pd.Timestamp(DAY)),
    ("d", np.datetime64(DAY)),
    ("d", pa.scalar(DAY)),
    ("p", np.bool_(True)),
    ("p", Plan.FREE),
    ("p", np.int64(1)),
    ("uid", np.int64(1)),
    ("uid", np.str_("u-1")),
]


@pytest.mark.parametrize(
    ("column", "value"), CELLS, ids=lambda value: type(value).__name__ if value is not str else value
)
def test_lists_of_them_are_encoded(column: str, value: Any) -> None:
    table = {name: [cell] for name, cell in ({"uid": 1} | ROW | {column: value}).items()}
    assert COLLECTION.encode(users=table)["users"].num_rows == 1


@pytest.mark.parametrize(
    "value", [value for column, value in CELLS if column in ("x", "c", "d")], ids=lambda value: type(value).__name__
)
def test_they_are_parameters_of_questions(value: Any) -> None:
    filled = parse("SELECT COUNT(*) AS n FROM users WHERE x = ?", [value])
    plain = parse("SELECT COUNT(*) AS n FROM users WHERE x = ?", [plain_scalar(value)])
    assert filled == plain


def test_the_client_of_an_app_takes_them(tmp_path: Path) -> None:
    serving = Serving(tmp_path, collection=COLLECTION)
    try:
        app = connect(serving.address, collection=COLLECTION.id, store=tmp_path / "wallet.db", cap=1000, every=0)
        for number, (column, value) in enumerate(CELLS):
            person: Any = value if column == "uid" else f"person {number}"
            app.person(person).record("users", ROW | ({} if column == "uid" else {column: value}))
        delivery = app.flush()
        app.close()
    finally:
        serving.end()
    assert (delivery.sent, delivery.rejected) == (len(CELLS), 0)
