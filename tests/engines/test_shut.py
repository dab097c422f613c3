"""S5: a database of DuckDB reaches its own file alone, and nobody changes that; copies are made another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from tacit import dbapi
from tacit.errors import EngineError

ESCAPES = {
    "read_csv": "SELECT * FROM read_csv('{file}')",
    "COPY": "COPY tacit_collections TO '{folder}/out.csv'",
    "ATTACH": "ATTACH '{folder}/other.db' AS other",
    "INSTALL": "INSTALL httpfs",
    "SET": "SET threads = 1",
    "opening again": "SET enable_external_access = true",
    "COPY FROM": "COPY tacit_collections FROM '{file}'",
    "read_text": "SELECT * FROM read_text('{file}')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "a file as a table": "SELECT * FROM '{file}'",
    "EXPORT": "EXPORT DATABASE '{folder}/all'",
    "LOAD": "LOAD httpfs",
    "PRAGMA": "PRAGMA memory_limit = '1GB'",
    "RESET": "RESET lock_configuration",
    "temporary folder": "SET temp_directory = '{folder}/elsewhere'",
}


def escapes(connection: Any, folder: Path) -> list[str]:
    """Return the ways out that work."""
    (folder / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    before = {path.name for path in folder.iterdir()}
    found = []
    for name, statement in ESCAPES.items():
        try:
            connection.execute(statement.format(folder=folder, file=folder / "secret.csv"))
            found.append(name)
        except duckdb.Error:
            pass
    assert {path.name for path in folder.iterdir()} <= before | {"reports.tacit.wal"}
    return found


def test_a_plain_database_has_ways_out(tmp_path: Path) -> None:
    """The test would notice one: outside tacit most of them work."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE tacit_collections (a INTEGER)")
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    for name in ("read_csv", "COPY", "ATTACH", "SET"):
        connection.execute(ESCAPES[name].format(folder=tmp_path, file=tmp_path / "secret.csv"))
    assert len({path.name for path in tmp_path.iterdir()} - {"secret.csv"}) >= 2, "COPY and ATTACH have written"


def test_the_collector_database_has_none(tmp_path: Path) -> None:
    with collector_here(tmp_path / "store") as collector:
        collector.accept(COLLECTION.id, reports_of(0, 3)).result()
        collector.move()
        with collector.database._engine._cursor() as connection:  # type: ignore[attr-defined]
            assert escapes(connection, tmp_path) == []


@pytest.mark.parametrize("where", ["memory", "file", "dbapi"])
def test_other_databases_have_none(where: str, tmp_path: Path) -> None:
    path = tmp_path / "reports.tacit"
    tc.connect(path).close()
    ways = {"memory": tc.connect, "file": lambda: tc.connect(path), "dbapi": lambda: dbapi.connect(path).database}
    database = ways[where]()
    with database._engine._cursor() as connection:  # type: ignore[attr-defined]
        assert escapes(connection, tmp_path) == []
    database.close()


def test_a_copy_holds_everything_as_it_was(tmp_path: Path) -> None:
    with collector_here(tmp_path / "store") as collector:
        collector.accept(COLLECTION.id, reports_of(0, 500)).result()
        collector.move()
        collector.database.rollup("users", by=["os"])
        collector.database.dimension("shops", {"id": [1, 2], "city": ["x", None]}, key="id")
        collector.database.copy_to(tmp_path / "copy.tacit")
        with pytest.raises(EngineError, match="unwritable-file"):
            collector.database.copy_to(tmp_path / "nowhere" / "copy.tacit")
        copied = tc.connect(tmp_path / "copy.tacit")
        question = "SELECT os, COUNT(*) AS n, AVG(age) AS m FROM users GROUP BY os"
        assert copied.sql(question).to_json() == collector.database.sql(question).to_json()
        assert [one.name for one in copied.dimensions()] == ["shops"]
        assert [one.id for one in copied.collections] == [one.id for one in collector.database.collections]
        tables = "SELECT table_name, sql FROM duckdb_tables() WHERE NOT temporary ORDER BY table_name"
        first, second = (one._engine._rows(tables) for one in (copied, collector.database))  # type: ignore[attr-defined]
        assert first == second
        for name, _ in first:
            counts = [one._engine._rows(f'SELECT * FROM "{name}" ORDER BY ALL') for one in (copied, collector.database)]  # type: ignore[attr-defined]
            assert counts[0] == counts[1], name
        copied.close()


def test_a_database_closes_at_the_end_of_its_block(tmp_path: Path) -> None:
    """So another process may open it to write."""
    with tc.connect(tmp_path / "d.tacit") as db:
        db.create(COLLECTION)
        with pytest.raises(duckdb.Error):
            duckdb.connect(str(tmp_path / "d.tacit"))
    with duckdb.connect(str(tmp_path / "d.tacit")) as other:
        assert other.execute("SELECT COUNT(*) FROM tacit_collections").fetchone() == (1,)
