"""Real engines for tests: DuckDB, a PostgreSQL server of their own, Spark on this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

import tacit as tc


class PostgresServer:
    """A PostgreSQL server of this process, with all the time it needs."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver = pytest.importorskip("pgserver")
            from pgserver.utils import ensure_prefix_permissions, ensure_user_exists
        self._folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
        self._programs, self._user = Path(pgserver.postgres_server.POSTGRES_BIN_PATH), None
        if os.geteuid() == 0:  # the server refuses to run as root
            self._user = "pgserver"
            ensure_user_exists(self._user)
            ensure_prefix_permissions(self._programs)
            shutil.chown(self._folder, self._user)
        self._run("initdb", "--auth=trust", "--username=postgres", "--encoding=utf8")
        self.address = f"postgresql://postgres@/postgres?host={self._folder}"

    def _run(self, program: str, *arguments: str) -> None:
        words = [str(self._programs / program), "-D", str(self._folder / "data"), *arguments]
        subprocess.run(words, user=self._user, cwd=self._folder, stdout=subprocess.DEVNULL, check=True)

    def start(self) -> None:
        options = f"-h '' -k {self._folder} -c fsync=on"
        self._run("pg_ctl", "-w", "-t", "300", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "fast", "-t", "300", "stop")


@contextmanager
def own_postgres() -> Iterator[PostgresServer]:
    """Lend a server that a test may stop and start."""
    if os.geteuid() == 0 and os.environ.get("TACIT_REQUIRE_ALL") != "1":
        pytest.skip("as root the packaged PostgreSQL adds a system user: set TACIT_REQUIRE_ALL=1")
    server = PostgresServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@cache
def _server() -> str:
    """Start a server for all tests of this process, and return its address."""
    server = PostgresServer()
    server.start()
    atexit.register(server.stop)
    return server.address


@contextmanager
def postgres_address() -> Iterator[str]:
    """Lend an empty database: of the server that TACIT_TEST_POSTGRES names, else of one that is started here.

    As root the packaged server needs a system user, which it adds: nobody's wish unless everything is required.
    """
    psycopg = pytest.importorskip("psycopg")
    given = os.environ.get("TACIT_TEST_POSTGRES")
    if not given and os.geteuid() == 0 and os.environ.get("TACIT_REQUIRE_ALL") != "1":
        pytest.skip("as root the packaged PostgreSQL adds a system user: set TACIT_REQUIRE_ALL=1")
    server, name = given or _server(), f"tacit_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    parts = urlsplit(server)
    yield urlunsplit(parts._replace(path=f"/{name}"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _postgres(folder: Path) -> Iterator[tc.Database]:
    del folder
    with postgres_address() as address:
        database = tc.connect(address)
        yield database
        database.close()


@contextmanager
def _spark(folder: Path, session: str = "spark") -> Iterator[tc.Database]:
    pytest.importorskip("pyspark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield tc.connect(str(folder / "reports"), engine=spark_session(session))


ENGINES: dict[str, Callable[[Path], AbstractContextManager[tc.Database]]] = {
    "duckdb": lambda folder: closing(tc.connect(folder / "reports.tacit")),
    "lake": lambda folder: closing(tc.connect(f"{folder}/lake/")),
    "postgres": _postgres,
    "spark": _spark,
}
"""What lends an empty database of each engine, in a folder."""


def engine_named(name: str, folder: Path) -> AbstractContextManager[tc.Database]:
    """Lend an empty database of an engine."""
    folder.mkdir(exist_ok=True)
    return _spark(folder, name) if name == "spark connect" else ENGINES[name](folder)


def spark_session(name: str) -> object:
    """Start Spark on two cores: in this process, or behind Spark Connect."""
    from tacit.engines.java import provide_java
    from tacit.engines.spark import local_session

    if name == "spark":
        return local_session(2)
    from pyspark.sql import SparkSession

    provide_java()
    return SparkSession.builder.remote("local[2]").getOrCreate()
