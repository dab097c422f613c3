"""Addresses of the dialect: files, memory, PostgreSQL, and what is refused."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa

import tacit as tc
from support.engines import postgres_address
from tacit import dbapi
from tacit.adapters.sqlalchemy import TacitDialect
from tacit.datasets import town, town_schema


def test_addresses(path: Path) -> None:
    for address, confidence in [(f"tacit:///{path}", 0.95), (f"tacit:///{path}?confidence=0.5&decoder=cover", 0.5)]:
        made = sa.create_engine(address)
        expected = dbapi.connect(path, confidence=confidence, decoder="cover" if confidence == 0.5 else "blue")
        question = "SELECT COUNT(*) AS n FROM clinic WHERE visits < 3"
        with made.connect() as opened, expected:
            found = opened.execute(sa.text(question)).one()
            assert tuple(found) == pytest.approx(expected.cursor().execute(question).fetchone(), rel=1e-9)
        made.dispose()


@pytest.mark.parametrize(
    "address",
    [
        "tacit://shop.tacit",
        "tacit://me@/shop.tacit",
        "tacit:///shop.tacit?magic=1",
        "tacit:///shop.tacit?decoder=blue&decoder=rdc",
        "tacit:///shop.tacit?confidence=much",
    ],
)
def test_wrong_addresses_are_refused_at_once(address: str) -> None:
    with pytest.raises(sa.exc.ArgumentError):
        sa.create_engine(address)


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    made = sa.create_engine(f"tacit:///{tmp_path / 'no.tacit'}")
    with pytest.raises(sa.exc.OperationalError, match="no-database"):
        made.connect()
    assert list(tmp_path.iterdir()) == []


def test_a_database_in_memory_stays_the_same() -> None:
    made = sa.create_engine("tacit:///:memory:")
    collection = tc.Collection(town_schema(), epsilon=4.0)
    with made.connect() as opened:
        database = opened.connection.driver_connection.database
        database.create(collection)
        database.load(collection.encode(**town(50)))
    with made.connect() as opened:
        assert opened.scalar(sa.text("SELECT COUNT(*) AS n FROM shop")) == 50
    made.dispose()


@pytest.mark.parametrize(
    "address", ["postgresql://me:hush@host/db", "postgresql://host/db?user=me&password=hush", "postgresql://:hush@host"]
)
def test_passwords_are_not_printed(address: str) -> None:
    made = sa.create_engine(f"tacit:///?engine={quote(address, safe='')}")
    assert "hush" not in repr(made) + str(made.url) + made.url.render_as_string(hide_password=False)
    [_, arguments] = made.dialect.create_connect_args(sa.make_url(f"tacit:///?engine={quote(address, safe='')}"))
    assert arguments == {"engine": address}


def test_closed_connections_are_noticed(path: Path) -> None:
    made = sa.create_engine(f"tacit:///{path}", pool_pre_ping=True)
    with made.connect() as opened:
        opened.connection.driver_connection.close()
    with made.connect() as opened:
        assert opened.scalar(sa.text("SELECT COUNT(*) AS n FROM shop")) == 2_000
    made.dispose()


def test_the_dialect_is_found_by_its_entry_point() -> None:
    [found] = importlib.metadata.entry_points(group="sqlalchemy.dialects", name="tacit")
    assert found.load() is TacitDialect


def test_postgresql_by_its_address() -> None:
    with postgres_address() as address:
        database = tc.connect(address)
        collection = tc.Collection(town_schema(), epsilon=4.0)
        database.create(collection)
        database.load(collection.encode(**town(300), rng=tc.insecure_rng(7)))
        made = sa.create_engine(f"tacit:///?engine={quote(address, safe='')}&confidence=0.9")
        seen = sa.inspect(made)
        assert seen.get_table_names() == ["clinic", "shop"]
        kinds = [type(column["type"]) for column in seen.get_columns("shop")]
        assert kinds[:5] == [sa.BigInteger, sa.BigInteger, sa.String, sa.Double, sa.String]
        shop = sa.Table("shop", sa.MetaData(), autoload_with=made)
        with made.connect() as opened:
            found = opened.execute(
                sa.select(sa.func.count().label("n")).where(shop.c.age < 40, shop.c.device.in_(["ios", "web"]))
            ).one()
        question = "SELECT COUNT(*) AS n FROM shop WHERE age < 40 AND device IN ('ios', 'web')"
        expected = database.sql(question, confidence=0.9)["n"]
        assert tuple(found) == pytest.approx((expected.value, expected.low, expected.high), rel=1e-9)
        made.dispose()
        database.close()
