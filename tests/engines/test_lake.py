"""A lake of Parquet files: versions, two writers, deletions, backups, and Spark beside DuckDB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.engines import engine_named, spark_session
from support.lakes import COLLECTION, QUESTIONS, answers, engine_of, lake_with, reports_of
from support.tiers import how_many
from tacit import dbapi
from tacit.cli import main
from tacit.engines.lake import copies
from tacit.engines.lake.manifest import manifest_names
from tacit.engines.lake.storage import Folder
from tacit.engines.lake.versions import KEPT_VERSIONS, remove_unnamed
from tacit.errors import EngineError, ReportError, UsageError

TESTS = Path(__file__).parents[1]


def test_small_files_are_merged_and_answers_stay(tmp_path: Path) -> None:
    """Twenty batches end as few files; what is stored is what one load of a file would have stored."""
    batches = [(1000 * number, 150 if number % 2 else 300) for number in range(20)]
    database, plain = lake_with(tmp_path / "lake", *batches), tc.connect()
    plain.create(COLLECTION)
    for first, count in batches:
        plain.load(reports_of(first, count))
    table = engine_of(tmp_path / "lake").versions.latest().tables[f"reports_{COLLECTION.id[:16]}_users"]
    assert len(table.files) < 15
    assert len(table.rollups) < 15
    assert table.by == ("os",), "declared values are counted by without being asked to"
    assert table.rows == sum(count for _, count in batches)
    assert np.allclose(np.concatenate(answers(database)), np.concatenate(answers(plain)), rtol=1e-9)
    assert "rollup: used" in database.sql(QUESTIONS[1]).explain()


def test_other_processes_see_each_version(tmp_path: Path) -> None:
    writer = lake_with(tmp_path / "lake", (0, 100))
    reader = tc.connect(tmp_path / "lake")
    assert reader.sql(QUESTIONS[0])["x"].n == 100
    writer.load(reports_of(100, 50))
    assert reader.sql(QUESTIONS[0])["x"].n == 150
    assert reader.load(reports_of(120, 50))["users"] == tc.database.Loaded(20, 30)
    assert writer.sql(QUESTIONS[0])["x"].n == 170


def test_two_writers_at_once_store_each_person_once(tmp_path: Path) -> None:
    """Processes load overlapping people at the same time; each person is acknowledged by one of them."""
    count = min(8, how_many(2, 4, "processes that load into a lake at once"))
    lake_with(tmp_path / "lake")
    program = (
        "import sys, tacit as tc; from engines.test_lake import reports_of\n"
        "database = tc.connect(sys.argv[1]); stored = 0\n"
        "for first in range(0, 400, 50):\n"
        "    stored += database.load(reports_of(first, 100))['users'].stored\n"
        "print(stored)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lake")]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(count)]
    stored = [int(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0] * count
    database = tc.connect(tmp_path / "lake")
    assert database.sql(QUESTIONS[0])["x"].n == sum(stored) == 450
    files = engine_of(tmp_path / "lake").versions.latest().tables[f"reports_{COLLECTION.id[:16]}_users"].files
    keys = np.concatenate([pq.read_table(tmp_path / "lake" / file.name)["uid"].to_numpy() for file in files])
    assert len(np.unique(keys)) == len(keys) == 450
    assert copies.verify(Folder(tmp_path / "lake")) == []


def test_a_version_that_was_taken_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lock, a second writer is faster: the first looks again who has reported, and leaves no file."""
    monkeypatch.setattr(Folder, "turn", lambda _: nullcontext())
    slow, fast = lake_with(tmp_path / "lake"), tc.connect(tmp_path / "lake")
    engine, turns = slow._engine, iter([lambda: fast.load(reports_of(50, 100))])
    find = engine._new_rows

    def interrupted(*given: object) -> pa.Table:
        rows = find(*given)
        next(turns, lambda: None)()
        return rows

    monkeypatch.setattr(engine, "_new_rows", interrupted)
    assert slow.load({"users": reports_of(0, 100)["users"]})["users"] == tc.database.Loaded(50, 50)
    assert fast.sql(QUESTIONS[0])["x"].n == 150
    named = {file.name for version in copies.versions_of(Folder(tmp_path / "lake")) for file in version.files()}
    assert {str(path.relative_to(tmp_path / "lake")) for path in (tmp_path / "lake").rglob("*.parquet")} <= named


def test_deletion_rewrites_only_files_of_the_person_and_ends_history(tmp_path: Path) -> None:
    database = lake_with(tmp_path / "lake", (0, 400), (1000, 400))
    plain = tc.connect()
    plain.create(COLLECTION)
    for first in (0, 1000):
        plain.load(reports_of(first, 400))
    before = {file.name for file in engine_of(tmp_path / "lake").versions.latest().files()}
    assert database.forget(8) == plain.forget(8) == 3  # one report to users, two to orders
    latest = engine_of(tmp_path / "lake").versions.latest()
    kept = {file.name for file in latest.files()}
    assert len(before - kept) == 2, "one file of users and one of orders were rewritten"
    assert not [name for name in before - kept if (tmp_path / "lake" / name).exists()]
    assert len(copies.versions_of(Folder(tmp_path / "lake"))) == 1
    assert np.allclose(np.concatenate(answers(database)), np.concatenate(answers(plain)), rtol=1e-9)
    assert database.forget(8) == 0
    assert database.forget("nobody") == 0
    assert engine_of(tmp_path / "lake").versions.latest().number == latest.number
    for path in (tmp_path / "lake").rglob("*.parquet"):
        table = pq.read_table(path)
        assert "uid" not in table.column_names or 8 not in table["uid"].to_pylist()


def test_old_versions_and_their_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT_VERSIONS > 5
    monkeypatch.setattr("tacit.engines.lake.versions.KEPT_VERSIONS", 5)
    monkeypatch.setattr("tacit.engines.lake.versions.SLACK", 0)
    database = lake_with(tmp_path / "lake", *((100 * number, 20) for number in range(30)))
    versions = copies.versions_of(Folder(tmp_path / "lake"))
    assert [version.number for version in versions] == list(range(versions[-1].number - 4, versions[-1].number + 1))
    named = {file.name for version in versions for file in version.files()}
    there = {str(path.relative_to(tmp_path / "lake")) for path in (tmp_path / "lake").rglob("*.parquet")}
    assert there == {name for name in named if name.endswith(".parquet")}
    assert database.sql(QUESTIONS[0])["x"].n == 600


def test_backups_are_incremental_and_any_version_comes_back(tmp_path: Path) -> None:
    database = lake_with(tmp_path / "lake", (0, 300))
    source, target = Folder(tmp_path / "lake"), Folder(tmp_path / "backup")
    first = copies.back_up(source, target)
    at_first = answers(database)
    moment = copies.versions_of(source)[-1].time
    database.load(reports_of(300, 100))
    second = copies.back_up(source, target)
    assert 0 < second.files < first.files
    assert copies.back_up(source, target).files == 0
    restored = copies.restore(target, Folder(tmp_path / "then"), time=moment)
    assert restored.version == first.version
    assert answers(tc.connect(tmp_path / "then")) == at_first
    copies.restore(target, Folder(tmp_path / "now"))
    assert answers(tc.connect(tmp_path / "now")) == answers(database)
    with pytest.raises(UsageError, match="no such version"):
        copies.restore(target, Folder(tmp_path / "never"), version=999)
    with pytest.raises(UsageError, match="already"):
        copies.restore(target, Folder(tmp_path / "now"))
    database.forget(8)
    copies.back_up(source, target)
    assert copies.verify(target) == []
    with pytest.raises(UsageError, match="no such version"):
        copies.restore(target, Folder(tmp_path / "again"), version=first.version)


def test_a_deletion_that_was_interrupted_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies between the new version and the removal of old ones: the next to open the lake removes them."""
    database = lake_with(tmp_path / "lake", (0, 100))
    with monkeypatch.context() as patch:
        patch.setattr("tacit.engines.lake.versions.Versions._expire", lambda *_: None)
        database.forget(8)
    assert len(manifest_names(Folder(tmp_path / "lake"))) > 1
    assert tc.connect(tmp_path / "lake").sql(QUESTIONS[0])["x"].n == 99
    assert len(manifest_names(Folder(tmp_path / "lake"))) == 1
    keys = [pq.read_table(path).column(0).to_pylist() for path in (tmp_path / "lake").glob("reports_*/*.parquet")]
    assert all(8 not in some for some in keys)


def test_files_of_crashed_writers_are_never_read_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = lake_with(tmp_path / "lake", (0, 100))
    engine = engine_of(tmp_path / "lake")
    folder = tmp_path / "lake" / f"reports_{COLLECTION.id[:16]}_users"
    [named] = folder.glob("*.parquet")
    (folder / "unnamed.parquet").write_bytes(named.read_bytes())
    (folder / ".unfinished-x").write_bytes(b"half")
    assert database.sql(QUESTIONS[0])["x"].n == 100
    assert remove_unnamed(engine.storage) == 0, "its writer may still be at work"
    monkeypatch.setattr("tacit.engines.lake.versions.UNNAMED_SECONDS", -1.0)
    assert remove_unnamed(engine.storage) == 1
    assert named.exists()
    (folder / "unnamed.parquet").write_bytes(named.read_bytes())
    database.forget(8)  # ends old versions
    assert not (folder / "unnamed.parquet").exists()
    assert database.sql(QUESTIONS[0])["x"].n == 99


def test_types_that_do_not_fit_are_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    database = lake_with(tmp_path / "lake", (0, 100))
    table = reports_of(100, 50)["users"]
    other = table.set_column(5, "w", pa.array(["x"] * 50)).replace_schema_metadata(table.schema.metadata)
    with pytest.raises(ReportError):
        database.load({"users": other})
    assert database.sql(QUESTIONS[0])["x"].n == 100


def test_columns_without_a_value_take_a_type_later(tmp_path: Path) -> None:
    database = lake_with(tmp_path / "lake")
    table = reports_of(0, 50)["users"]
    empty = table.set_column(5, "w", pa.nulls(50)).replace_schema_metadata(table.schema.metadata)
    database.load({"users": empty})
    database.load({"users": reports_of(50, 50)["users"]})
    assert database.sql("SELECT COUNT(*) AS x FROM users WHERE w >= 0")["x"].n >= 50
    assert database.sql("SELECT SUM(w) AS x FROM users")["x"].value == sum(key % 11 for key in range(50, 100))


def test_the_engine_reads_the_lake_and_nothing_else(tmp_path: Path) -> None:
    lake_with(tmp_path / "lake's", (0, 10))
    (tmp_path / "other.csv").write_text("a\n1\n")
    engine = engine_of(tmp_path / "lake's")
    assert engine.fetch("SELECT 1 AS one", [], {}).num_rows == 1
    for statement in (f"SELECT * FROM read_csv('{tmp_path}/other.csv')", "SET enable_external_access = true"):
        with pytest.raises(EngineError):
            engine.fetch(statement, [], {})
    with pytest.raises(duckdb.Error):
        duckdb.connect(str(tmp_path / "lake's"))


def test_spark_reads_the_same_lake(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    database = lake_with(tmp_path / "lake", (0, 400), (400, 100))
    spark = tc.connect(tmp_path / "lake", engine=spark_session("spark"))
    assert np.allclose(np.concatenate(answers(spark)), np.concatenate(answers(database)), rtol=1e-9)
    spark.load(reports_of(500, 100))
    assert np.allclose(np.concatenate(answers(spark)), np.concatenate(answers(database)), rtol=1e-9)


def test_a_lake_may_be_opened_by_name_and_needs_one(tmp_path: Path) -> None:
    with engine_named("lake", tmp_path) as database:
        assert database.collections == []
    assert tc.connect(tmp_path / "new", engine="lake").collections == []
    with pytest.raises(UsageError, match="folder"):
        tc.connect(engine="lake")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        tc.connect(f"{tmp_path}/other/")


def test_tools_ask_a_lake_and_create_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake_with(tmp_path / "lake", (0, 50))
    assert main(["query", str(tmp_path / "lake"), QUESTIONS[0], "--json"]) == 0
    with closing(dbapi.connect(tmp_path / "lake")) as connection:
        assert connection.cursor().execute(QUESTIONS[0]).fetchone()[0] == 50.0
    assert main(["query", f"{tmp_path}/none/", QUESTIONS[0]]) == 2
    assert not (tmp_path / "none").exists()
    assert "no database" in capsys.readouterr().err


def test_the_command_lists_verifies_backs_up_and_restores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake, backup, restored = (str(tmp_path / name) for name in ("lake", "backup", "restored"))
    database = lake_with(tmp_path / "lake", (0, 300))

    def said(*words: str, code: int = 0) -> str:
        assert main(["lake", *words]) == code
        return capsys.readouterr().out

    [*_, newest] = json.loads(said("versions", lake, "--json"))
    assert (newest["version"], newest["reports"]) == (3, 900)
    assert "900 reports" in said("versions", lake)
    assert "intact" in said("verify", lake)
    assert "version 3" in said("backup", lake, backup)
    database.load(reports_of(300, 100))
    said("restore", backup, restored, "--time", newest["time"])
    assert tc.connect(restored).sql(QUESTIONS[0])["x"].n == 300
    next((tmp_path / "lake").glob("rollup_*/*.parquet")).write_bytes(b"")
    assert "altered" in said("verify", lake, code=1)
    assert main(["lake", "versions", str(tmp_path / "nothing")]) == 2
    assert "nothing" not in capsys.readouterr().err, "an address may hold a key"
    assert main(["lake", "restore", backup, str(tmp_path / "x"), "--time", "yesterday"]) == 2
    assert "2026-11-30T12:00:00" in capsys.readouterr().err
