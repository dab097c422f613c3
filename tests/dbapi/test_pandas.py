"""`pandas.read_sql`, by the DB-API connection and by SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from tacit import dbapi

QUESTION = "SELECT region, COUNT(*) AS n, AVG(age) AS mean FROM shop WHERE age >= ? GROUP BY region"


@pytest.fixture(params=["dbapi", "sqlalchemy"])
def reader(request: pytest.FixtureRequest, path: Path) -> Iterator[Any]:
    """Return `read_sql` over a connection of either kind."""
    if request.param == "sqlalchemy":
        engine = sa.create_engine(f"tacit:///{path}")
        yield lambda *args, **options: pd.read_sql(args[0], engine, **options)
        engine.dispose()
        return

    def read(*args: Any, **options: Any) -> pd.DataFrame:
        with pytest.warns(UserWarning, match="pandas only supports SQLAlchemy"):
            return pd.read_sql(args[0], opened, **options)

    with dbapi.connect(path) as opened:
        yield read


def test_estimates_are_three_columns_of_floats(reader: Any, connection: dbapi.Connection) -> None:
    frame = reader(QUESTION, params=(18,))
    assert list(frame.columns) == ["region", "n", "n_low", "n_high", "mean", "mean_low", "mean_high"]
    answer = connection.database.sql(QUESTION, [18])
    assert list(frame["region"]) == answer["region"]
    assert (frame.dtypes.iloc[1:] == "float64").all()
    for column in ("n", "mean"):
        for name, part in ((column, "value"), (f"{column}_low", "low"), (f"{column}_high", "high")):
            assert list(frame[name]) == pytest.approx([getattr(one, part) for one in answer[column]], rel=1e-9)
    assert ((frame["n_low"] <= frame["n"]) & (frame["n"] <= frame["n_high"])).all()


def test_undefined_estimates_are_missing(reader: Any) -> None:
    frame = reader("SELECT AVG(visits) AS v FROM clinic WHERE visits < 0")
    assert frame["v"].isna().all()


def test_answers_without_rows_have_their_columns(reader: Any) -> None:
    frame = reader("SELECT region, COUNT(*) AS n FROM shop GROUP BY region HAVING COUNT(*) > 1000000")
    assert (len(frame), list(frame.columns)) == (0, ["region", "n", "n_low", "n_high"])


def test_index_and_chunks(reader: Any) -> None:
    frame = reader("SELECT region, COUNT(*) AS n FROM shop GROUP BY region", index_col="region")
    assert "north" in frame.index
    chunks = list(reader("SELECT region, COUNT(*) AS n FROM shop GROUP BY region", chunksize=2))
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]


def test_refusals_come_through(reader: Any) -> None:
    with pytest.raises(Exception, match="not-grouped"):
        reader("SELECT age FROM shop")
    with pytest.raises(Exception, match="not-a-select"):
        reader("DROP TABLE shop")


def test_rows_of_people_cannot_be_read(path: Path) -> None:
    engine = sa.create_engine(f"tacit:///{path}")
    with pytest.raises(Exception, match="key-column"):
        pd.read_sql("shop", engine)
    with pytest.raises(Exception, match="not-grouped"):
        pd.read_sql_table("shop", engine, columns=["age"])
    engine.dispose()


def test_constructs_are_read(path: Path) -> None:
    engine = sa.create_engine(f"tacit:///{path}")
    shop = sa.Table("shop", sa.MetaData(), autoload_with=engine)
    n = sa.func.count().label("n")
    frame = pd.read_sql(sa.select(shop.c.region, n).where(shop.c.age < 40).group_by(shop.c.region), engine)
    assert list(frame.columns) == ["region", "n", "n_low", "n_high"]
    assert len(frame) == 5
    text = sa.text("SELECT COUNT(*) AS n FROM shop WHERE age < :age")
    assert list(pd.read_sql(text, engine, params={"age": 40}).columns) == ["n", "n_low", "n_high"]
    engine.dispose()


def test_nothing_is_written(path: Path) -> None:
    engine = sa.create_engine(f"tacit:///{path}")
    with pytest.raises(sa.exc.NotSupportedError, match="not-a-select"):
        pd.DataFrame({"a": [1]}).to_sql("new", engine)
    engine.dispose()
