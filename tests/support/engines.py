"""Real engines for tests: DuckDB, a PostgreSQL server of their own, Spark on this machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tacit as tc

ENGINES = ("duckdb", "postgres", "spark")


@contextmanager
def postgres_address(folder: Path) -> Iterator[str]:
    """Lend an empty database: of the server that TACIT_TEST_POSTGRES names, else of one that is started here.

    As root the packaged server adds a system user, which is nobody's wish unless everything is required.
    """
    given = os.environ.get("TACIT_TEST_POSTGRES")
    psycopg = pytest.importorskip("psycopg")
    if given:
        import uuid

        name = f"tacit_{uuid.uuid4().hex}"
        with psycopg.connect(given, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        yield psycopg.conninfo.make_conninfo(given, dbname=name)
        with psycopg.connect(given, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        return
    if os.geteuid() == 0 and os.environ.get("TACIT_REQUIRE_ALL") != "1":
        pytest.skip("as root the packaged PostgreSQL adds a system user: set TACIT_REQUIRE_ALL=1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pgserver")
        server = pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def engine_named(name: str, folder: Path) -> Iterator[tc.Database]:
    """Lend an empty database of an engine."""
    if name == "duckdb":
        yield tc.connect(folder / "reports.tacit")
    elif name == "postgres":
        with postgres_address(folder) as address:
            database = tc.connect(address)
            yield database
            database.close()
    else:
        pytest.importorskip("pyspark")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield tc.connect(str(folder / "reports"), engine=spark_session(name))


def spark_session(name: str) -> object:
    """Start Spark on two cores: in this process, or behind Spark Connect."""
    from tacit.engines.java import provide_java
    from tacit.engines.spark import local_session

    if name == "spark":
        return local_session(2)
    from pyspark.sql import SparkSession

    provide_java()
    return SparkSession.builder.remote("local[2]").getOrCreate()
