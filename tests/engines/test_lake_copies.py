"""Backups of a lake that went on after a restore; deletions, backups and merges that are interrupted or disturbed."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tacit as tc
from engines.test_lake import COLLECTION, QUESTIONS, lake_with, reports_of
from tacit.engines.lake import copies, versions
from tacit.engines.lake.engine import Lake
from tacit.engines.lake.storage import Folder, ObjectStore, storage_at
from tacit.errors import EngineError, UsageError


def count_in(folder: Path) -> float:
    return tc.connect(folder).sql(QUESTIONS[0])["x"].n


def people_in(folder: Path) -> set[int]:
    return {uid for file in folder.glob("reports_*/*.parquet") for uid in pq.read_table(file)["uid"].to_pylist()}


def test_a_backup_keeps_one_history(tmp_path: Path) -> None:
    """A lake that was restored to an earlier version writes other versions of the same numbers.

    A backup that has the first ones reported success, copied nothing, and later restored reports that the lake lacks.
    """
    lake, backup = Folder(tmp_path / "lake"), Folder(tmp_path / "backup")
    database = lake_with(tmp_path / "lake", (0, 20))
    first = copies.back_up(lake, backup).version
    database.load(reports_of(100, 20))
    copies.back_up(lake, backup)
    restored = Folder(tmp_path / "restored")
    copies.restore(backup, restored, version=first)
    assert copies.back_up(restored, backup).files == 0, "nothing has changed since"
    tc.connect(tmp_path / "restored").load(reports_of(500, 7))
    with pytest.raises(UsageError, match="restored to an earlier version"):
        copies.back_up(restored, backup)
    copies.back_up(restored, Folder(tmp_path / "second"))
    copies.restore(Folder(tmp_path / "second"), Folder(tmp_path / "again"))
    assert count_in(tmp_path / "again") == 27
    with pytest.raises(UsageError, match="the lake itself"):
        copies.back_up(lake, Folder(tmp_path / "backup" / ".." / "lake"))


def test_a_deletion_interrupted_at_any_step_leaves_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests went first: a process that died then left a file with the person that nothing named any more."""
    remove, steps = Folder.remove, 0
    while True:
        folder, done = tmp_path / str(steps), 0
        database = lake_with(folder, (0, 9))

        def counted(self: Folder, name: str, steps: int = steps) -> None:
            nonlocal done
            if done == steps:
                raise KeyboardInterrupt
            done += 1
            remove(self, name)

        with monkeypatch.context() as patch:
            patch.setattr(Folder, "remove", counted)
            try:
                database.forget(8)
            except KeyboardInterrupt:
                steps += 1
            else:
                break
        assert copies.verify(Folder(folder)) == [], "versions before the deletion do not count any more"
        Lake(folder)
        assert 8 not in people_in(folder), steps
    assert steps > 4


def test_files_of_an_interrupted_backup_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may hold the reports of somebody who was deleted before the next backup."""
    lake, backup = Folder(tmp_path / "lake"), Folder(tmp_path / "backup")
    database = lake_with(tmp_path / "lake", (0, 9))
    [file] = lake.root.glob("reports_*_users/*.parquet")
    backup.create(str(file.relative_to(lake.root)), file.read_bytes())
    database.forget(8)
    monkeypatch.setattr(versions, "UNNAMED_SECONDS", -1.0)
    copies.back_up(lake, backup)
    assert 8 not in people_in(backup.root)
    assert copies.verify(backup) == []


def test_a_backup_during_a_deletion_is_one_of_what_is_left(tmp_path: Path) -> None:
    """Files vanish while they are copied; that is no damage."""
    database = lake_with(tmp_path / "lake", (0, 9))

    class Disturbed(Folder):
        def read(self, name: str) -> bytes:
            if name.startswith("reports_"):
                database.forget(8)
            return super().read(name)

    copies.back_up(Disturbed(tmp_path / "lake"), Folder(tmp_path / "backup"))
    copies.restore(Folder(tmp_path / "backup"), Folder(tmp_path / "restored"))
    assert count_in(tmp_path / "restored") == 8
    assert 8 not in people_in(tmp_path / "backup")


def test_a_stopped_writer_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that was stopped with the lock of the lake held up its successor for as long as it was stopped."""
    monkeypatch.setattr("tacit.engines.lake.storage.TURN_SECONDS", 0.05)
    monkeypatch.setattr("tacit.engines.lake.storage.STOPPED_SECONDS", 0.01)
    database = lake_with(tmp_path / "lake", (0, 9))
    stopped = os.open(tmp_path / "lake" / ".lock", os.O_RDWR)
    fcntl.flock(stopped, fcntl.LOCK_EX)
    database.load(reports_of(20, 9))
    assert database.forget(8) == 3
    os.close(stopped)
    began = time.monotonic()
    database.load(reports_of(40, 9))
    assert count_in(tmp_path / "lake") == 26
    assert time.monotonic() - began < 60
    lock = os.open(tmp_path / "lake" / ".lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody who gave up waiting holds it
    os.close(lock)


def bucket_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a bucket on the disk, whose folders appear with their first object, as in a bucket."""
    create = ObjectStore.create

    def with_folder(self: ObjectStore, name: str, content: bytes | memoryview) -> None:
        (folder / "lake" / name).parent.mkdir(parents=True, exist_ok=True)
        create(self, name, content)

    monkeypatch.setattr(ObjectStore, "create", with_folder)
    return (folder / "lake").as_uri()


@pytest.mark.parametrize("damage", ["fewer rows", "no file", "no contract"])
def test_an_object_that_is_not_the_one_that_was_written_is_not_read(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's file system of the disk stands for a bucket: other sizes were read, missing ones ended in a traceback."""
    address = bucket_at(tmp_path, monkeypatch)
    database = tc.Database(Lake(address))
    database.create(COLLECTION)
    database.load(reports_of(0, 40))
    assert database.forget(8) == 3
    assert database.sql(QUESTIONS[0])["x"].n == 39
    assert copies.verify(storage_at(address)) == []
    [reports] = (tmp_path / "lake").glob("reports_*_users/*.parquet")
    if damage == "fewer rows":
        pq.write_table(pq.read_table(reports).slice(20), reports)
    else:
        (reports if damage == "no file" else next((tmp_path / "lake" / "contracts").iterdir())).unlink()
    with pytest.raises(EngineError) as refused:
        tc.Database(Lake(address)).sql(QUESTIONS[2])
    assert refused.value.code == "damaged-store"
    if damage != "no contract":
        with pytest.raises(EngineError):
            database.forget(9)


def test_a_store_that_loses_objects_holds_no_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server from PyPI replaced the folder of manifests by an empty file when the first manifest was removed."""
    address, remove = bucket_at(tmp_path, monkeypatch), ObjectStore.remove

    def lose(self: ObjectStore, name: str) -> None:
        remove(self, name)
        folder = tmp_path / "lake" / name.rpartition("/")[0]
        shutil.rmtree(folder)
        folder.touch()

    monkeypatch.setattr(ObjectStore, "remove", lose)
    with pytest.raises(EngineError, match="cannot hold a lake"):
        Lake(address)
    assert not (tmp_path / "lake" / "manifests").exists()


@pytest.mark.long("a batch whose files cannot be merged")
def test_a_batch_is_stored_even_if_no_merge_fits_the_disk(tmp_path: Path) -> None:
    """Merging comes after the batch counts: its failure was reported as if the batch had not been stored."""
    database = lake_with(tmp_path / "lake", *((4_000 * number, 2_000) for number in range(7)))
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(file.stat().st_size for file in (tmp_path / "lake").rglob("*.*"))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * largest, limits[1]))
        assert database.load(reports_of(28_000, 2_000))["users"].stored == 2_000
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    files = Lake(tmp_path / "lake").versions.latest().tables
    assert {len(table.files) for table in files.values()} == {8}, "nothing was merged"
    database.load(reports_of(32_000, 2_000))
    files = Lake(tmp_path / "lake").versions.latest().tables
    assert max(len(table.files) for table in files.values()) < 8, "the next one merges"
    assert count_in(tmp_path / "lake") == 18_000
