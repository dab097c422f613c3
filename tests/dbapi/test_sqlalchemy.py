"""The dialect ``tacit://``: constructs, tables, errors."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy import and_, case, func, or_, select

import tacit as tc
from tacit import dbapi
from tacit.datasets import town, town_schema


@pytest.fixture(scope="module")
def engine(path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"tacit:///{path}")
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def tables(engine: sa.Engine) -> dict[str, sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(engine, views=True)
    return dict(metadata.tables)


Build = Callable[[sa.Table, sa.Table, sa.Table], sa.Select[tuple[object, ...]]]

N = func.count().label("n")

CONSTRUCTS: dict[str, tuple[Build, str]] = {
    "count": (lambda s, c, d: select(func.count()).select_from(s), "SELECT COUNT(*) AS count_1 FROM shop"),
    "sum and avg": (
        lambda s, c, d: select(func.sum(s.c.age), func.avg(s.c.income).label("mean")),
        "SELECT SUM(age) AS sum_1, AVG(income) AS mean FROM shop",
    ),
    "and, between, in": (
        lambda s, c, d: select(N).where(and_(s.c.age.between(20, 60), s.c.region.in_(["north", "east"]))),
        "SELECT COUNT(*) AS n FROM shop WHERE age BETWEEN 20 AND 60 AND region IN ('north', 'east')",
    ),
    "or, not, not in": (
        lambda s, c, d: select(N).where(or_(s.c.age > 40, ~s.c.region.in_(["west", "islands"])), s.c.age != 50),
        "SELECT COUNT(*) AS n FROM shop WHERE (age > 40 OR NOT region IN ('west', 'islands')) AND age <> 50",
    ),
    "not between": (
        lambda s, c, d: select(N).where(~s.c.age.between(20, 60)),
        "SELECT COUNT(*) AS n FROM shop WHERE NOT age BETWEEN 20 AND 60",
    ),
    "null": (
        lambda s, c, d: select(N).where(c.c.smoker.is_(None)),
        "SELECT COUNT(*) AS n FROM clinic WHERE smoker IS NULL",
    ),
    "not null": (
        lambda s, c, d: select(func.count(c.c.smoker).label("n")).where(c.c.smoker.is_not(None)),
        "SELECT COUNT(smoker) AS n FROM clinic WHERE smoker IS NOT NULL",
    ),
    "group, order, limit": (
        lambda s, c, d: select(s.c.region, N).group_by(s.c.region).order_by(sa.desc("n")).limit(2),
        "SELECT region, COUNT(*) AS n FROM shop GROUP BY region ORDER BY n DESC LIMIT 2",
    ),
    "order by an expression": (
        lambda s, c, d: select(s.c.region, N).group_by(s.c.region).order_by(func.count().desc(), s.c.region),
        "SELECT region, COUNT(*) AS n FROM shop GROUP BY region ORDER BY COUNT(*) DESC, region",
    ),
    "public group": (
        lambda s, c, d: select(s.c.device, N).where(s.c.device != "web", s.c.age < 50).group_by(s.c.device),
        "SELECT device, COUNT(*) AS n FROM shop WHERE device <> 'web' AND age < 50 GROUP BY device",
    ),
    "having": (
        lambda s, c, d: select(s.c.region, N).group_by(s.c.region).having(func.count() > 300),
        "SELECT region, COUNT(*) AS n FROM shop GROUP BY region HAVING COUNT(*) > 300",
    ),
    "ratio": (
        lambda s, c, d: select((func.sum(s.c.age) / func.count()).label("mean"), func.sum(s.c.age * 2) / 2),
        "SELECT SUM(age) / COUNT(*) AS mean, SUM(age * 2) / 2 AS anon_1 FROM shop",
    ),
    "case": (
        lambda s, c, d: select(case((s.c.age < 30, "young"), else_="old").label("who"), N).group_by("who"),
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS who, COUNT(*) AS n FROM shop GROUP BY who",
    ),
    "case without a name": (
        lambda s, c, d: select(x := case((s.c.age < 30, "young"), else_="old"), N).group_by(x),
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS anon_1, COUNT(*) AS n FROM shop GROUP BY 1",
    ),
    "buckets": (
        lambda s, c, d: select(x := func.width_bucket(s.c.age, 0, 100, 4), N).group_by(x),
        "SELECT width_bucket(age, 0, 100, 4) AS width_bucket_1, COUNT(*) AS n FROM shop GROUP BY 1",
    ),
    "filter": (
        lambda s, c, d: select(func.count().filter(c.c.visits > 3).label("n")).select_from(c),
        "SELECT COUNT(*) FILTER (WHERE visits > 3) AS n FROM clinic",
    ),
    "people": (
        lambda s, c, d: select(func.count(sa.distinct(s.c.uid)).label("n")),
        "SELECT COUNT(DISTINCT uid) AS n FROM shop",
    ),
    "join": (
        lambda s, c, d: (
            select(s.c.region, func.avg(c.c.visits).label("v"))
            .join_from(s, c, s.c.uid == c.c.uid)
            .where(s.c.age > 30)
            .group_by(s.c.region)
        ),
        "SELECT region, AVG(visits) AS v FROM shop JOIN clinic USING (uid) WHERE age > 30 GROUP BY region",
    ),
    "aliases": (
        lambda s, c, d: (
            select(func.count().label("n")).select_from((a := s.alias("a")).join(b := c.alias("b"), a.c.uid == b.c.uid))
        ).where(a.c.age < 30, b.c.visits > 2),
        "SELECT COUNT(*) AS n FROM shop a JOIN clinic b ON a.uid = b.uid WHERE a.age < 30 AND b.visits > 2",
    ),
    "dimension": (
        lambda s, c, d: select(d.c.sun, N).join_from(s, d, s.c.region == d.c.region).group_by(d.c.sun),
        "SELECT sun, COUNT(*) AS n FROM shop JOIN climate USING (region) GROUP BY sun",
    ),
    "round": (
        lambda s, c, d: select(s.c.round, N).group_by(s.c.round),
        "SELECT round, COUNT(*) AS n FROM shop GROUP BY round",
    ),
    "spread": (
        lambda s, c, d: select(func.var_samp(c.c.visits).label("a"), func.stddev_pop(c.c.visits).label("b")),
        "SELECT VAR_SAMP(visits) AS a, STDDEV_POP(visits) AS b FROM clinic",
    ),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs_are_questions(
    engine: sa.Engine, tables: dict[str, sa.Table], connection: dbapi.Connection, name: str
) -> None:
    build, question = CONSTRUCTS[name]
    expected = connection.cursor().execute(question)
    with engine.connect() as opened:
        for _ in range(2):  # the second time from SQLAlchemy's cache
            result = opened.execute(build(tables["shop"], tables["clinic"], tables["climate"]))
            assert list(result.keys()) == [column[0] for column in expected.description]
            rows = result.all()
    assert rows
    for row, wanted in zip(rows, expected, strict=True):
        for cell, other in zip(row, wanted, strict=True):
            assert cell == (pytest.approx(other, rel=1e-9) if isinstance(other, float) else other)


def test_cached_statements_take_new_constants(engine: sa.Engine, tables: dict[str, sa.Table]) -> None:
    shop = tables["shop"]
    with engine.connect() as opened:
        ages = [opened.scalar(select(func.count()).where(shop.c.age < age)) for age in (0, 30, 100)]
        listed = [opened.scalar(select(N).where(shop.c.age.in_(range(n)))) for n in (1, 40, 100)]
    assert (ages[0], ages[2]) == (0, 2_000)
    assert ages[0] < ages[1] < ages[2] == pytest.approx(listed[2])
    assert listed[0] < listed[1] < listed[2]


def test_rows_are_read_by_name_and_by_column(engine: sa.Engine, tables: dict[str, sa.Table]) -> None:
    shop = tables["shop"]
    with engine.connect() as opened:
        row = opened.execute(select(shop.c.region, N).group_by(shop.c.region)).first()
        assert row.n_low < row.n < row.n_high
        assert row._mapping[shop.c.region] == row.region == row[0]
        assert row._mapping[N] == row.n
        assert opened.scalars(select(N).where(shop.c.age >= 0)).one() == 2_000
        text = sa.text("SELECT region, COUNT(*) AS n FROM shop WHERE age >= :age GROUP BY region")
        assert opened.execute(text, {"age": 0}).first().region == row.region
        lines = opened.execute(sa.text("EXPLAIN SELECT COUNT(*) FROM shop")).scalars().all()
        assert any("SELECT" in line for line in lines)


@pytest.mark.parametrize(
    ("build", "error", "code"),
    [
        (lambda s: select(s), sa.exc.ProgrammingError, "key-column"),
        (lambda s: select(s.c.age), sa.exc.ProgrammingError, "not-grouped"),
        (lambda s: select(func.max(s.c.age)), sa.exc.NotSupportedError, "unsupported-aggregate"),
        (lambda s: select(N).where(s.c.age == b"x"), sa.exc.ProgrammingError, "bad-parameter"),
        (lambda s: sa.insert(s).values(age=1), sa.exc.NotSupportedError, "not-a-select"),
        (lambda s: sa.update(s).values(age=1), sa.exc.NotSupportedError, "not-a-select"),
        (lambda s: sa.delete(s), sa.exc.NotSupportedError, "not-a-select"),
        (lambda s: sa.schema.CreateTable(sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer))), None, None),
    ],
)
def test_refusals_keep_their_codes(
    engine: sa.Engine, tables: dict[str, sa.Table], build: Callable[[sa.Table], sa.Executable], error: object, code: str
) -> None:
    with engine.connect() as opened, pytest.raises(error or sa.exc.NotSupportedError) as caught:
        opened.execute(build(tables["shop"]))
    assert caught.value.orig.code == (code or "not-a-select")
    assert f"[{caught.value.orig.code}]" in str(caught.value)


def test_nothing_is_inserted_many_times(engine: sa.Engine, tables: dict[str, sa.Table]) -> None:
    with engine.connect() as opened, pytest.raises(sa.exc.NotSupportedError, match="read-only"):
        opened.execute(sa.insert(tables["shop"]), [{"age": 1}, {"age": 2}])


def test_tables_are_services_with_reports(engine: sa.Engine) -> None:
    seen = sa.inspect(engine)
    assert seen.get_table_names() == ["clinic", "shop"]
    assert seen.get_view_names() == ["climate"]
    assert seen.get_schema_names() == []
    assert [seen.has_table(name) for name in ("shop", "SHOP", "climate", "nothing")] == [True, True, True, False]
    assert not seen.has_table("shop", schema="main")
    columns = {column["name"]: column for column in seen.get_columns("shop")}
    assert list(columns) == ["uid", "age", "region", "income", "device", "round", "tier"]
    kinds = {"uid": sa.BigInteger, "age": sa.BigInteger, "region": sa.String, "income": sa.Double, "device": sa.String}
    assert all(isinstance(columns[name]["type"], kind) for name, kind in kinds.items())
    assert [columns[name]["comment"] for name in ("uid", "age", "device")] == [
        "the person's key",
        "sensitive",
        "public",
    ]
    assert {column["name"]: column["nullable"] for column in seen.get_columns("clinic")}["smoker"]
    kinds = {"region": sa.String, "sun": sa.Double, "sea": sa.Boolean}
    assert all(isinstance(column["type"], kinds[column["name"]]) for column in seen.get_columns("climate"))
    assert seen.get_pk_constraint("shop")["constrained_columns"] == []
    for listed in (seen.get_foreign_keys, seen.get_indexes, seen.get_unique_constraints, seen.get_check_constraints):
        assert listed("shop") == []
    for asked in (seen.get_columns, seen.get_pk_constraint, seen.get_indexes):
        with pytest.raises(sa.exc.NoSuchTableError):
            asked("nothing")
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("nothing", sa.MetaData(), autoload_with=engine)


def test_services_without_reports_are_no_tables() -> None:
    database = tc.connect()
    collection = tc.Collection(town_schema(), epsilon=4.0)
    database.create(collection)
    made = sa.create_engine("tacit://", connect_args={"database": database})
    assert sa.inspect(made).get_table_names() == []
    database.load(collection.encode(**town(50)))
    assert sa.inspect(made).get_table_names() == ["clinic", "shop"], "reports that come later are seen"


def test_names_that_are_keywords_or_in_capitals() -> None:
    names = ["pivot", "userAge", "from", "qualify", "Window", "date"]
    attributes = [tc.Ordinal(name, 0, 3) for name in names]
    collection = tc.Collection(tc.Schema([tc.Service("order", "Key", attributes)]), epsilon=4.0, mechanism="sc")
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(order={"Key": range(60), **dict.fromkeys(names, [0, 1, 2] * 20)}))
    made = sa.create_engine("tacit://", connect_args={"database": database})
    order = sa.Table("order", sa.MetaData(), autoload_with=made)
    with made.connect() as opened:
        for name in names:
            asked = select(order.c[name], N).where(order.c[name] >= 0).group_by(order.c[name])
            result = opened.execute(asked)
            assert list(result.keys()) == [name, "n", "n_low", "n_high"]
            assert [row._mapping[order.c[name]] for row in result] == [0, 1, 2, 3]
        people = select(func.count(sa.distinct(order.c.Key)), func.count().label("group"))
        assert opened.execute(people).one()[::3] == (60, 60)


def test_types_of_columns() -> None:
    day = datetime.date(2026, 1, 1)
    attributes = [
        tc.Ordinal("half", 0, 3, step="0.5"),
        tc.Ordinal("day", day, datetime.date(2026, 1, 8)),
        tc.Categorical("stars", [1, 2, 3]),
        tc.Public("paid"),
        tc.Public("at"),
    ]
    collection = tc.Collection(tc.Schema([tc.Service("s", "id", attributes)]), epsilon=4.0, mechanism="hio")
    rows = {"id": ["a", "b"], "half": [0.5, 3], "day": [day, day], "stars": [1, 3]}
    public = {"paid": [True, False], "at": pa.array([0, 1], pa.timestamp("us"))}
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=pa.table(rows | public)))
    made = sa.create_engine("tacit://", connect_args={"database": database})
    table = sa.Table("s", sa.MetaData(), autoload_with=made)
    kinds = [sa.String, sa.Double, sa.Date, sa.BigInteger, sa.Boolean, sa.DateTime]
    assert [type(column.type) for column in list(table.c)[:6]] == kinds
    with made.connect() as opened:
        assert len(opened.execute(select(table.c.day, N).where(table.c.day >= day).group_by(table.c.day)).all()) == 8
        assert opened.scalar(select(N).where(table.c.paid == sa.true())) == 1
        assert opened.scalar(select(N).where(table.c.at >= datetime.datetime(1970, 1, 1))) == 2


def test_threads_share_an_engine(engine: sa.Engine, tables: dict[str, sa.Table]) -> None:
    shop, wrong = tables["shop"], []
    with engine.connect() as opened:
        expected = [opened.scalar(select(N).where(shop.c.age < 10 * k)) for k in range(1, 9)]

    def ask(k: int) -> None:
        for _ in range(5):
            with engine.connect() as own:
                value = own.scalar(select(N).where(shop.c.age < 10 * k))
            if value != pytest.approx(expected[k - 1], rel=1e-9):
                wrong.append((k, value))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
