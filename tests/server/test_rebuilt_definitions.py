"""A rebuilt database has the rollups and public tables of the old one, and nothing of another store's."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from tacit.errors import OverloadedError
from tacit.server.collector import Collector

COUNT = "SELECT COUNT(*) AS n FROM users"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the folder of a stopped collector with 60 people, a rollup and a public table."""
    with collector_here(tmp_path / "store") as made:
        made.accept(COLLECTION.id, reports_of(0, 60)).result()
        made.move()
    define(tmp_path / "store", "own")
    with collector_here(tmp_path / "store") as again:
        assert "rollup: used" in answered(again).explain()
    return tmp_path / "store"


def define(folder: Path, name: str) -> None:
    db = tc.connect(folder / "reports.tacit")
    db.rollup("users")
    db.dimension(name, {"age": [1, 2], "word": ["one", "two"]}, key="age")
    db.close()


def answered(collector: Collector) -> tc.Answer:
    for _ in range(200):
        try:
            return collector.query(COUNT)
        except OverloadedError:
            time.sleep(0.05)
    raise AssertionError("there never was an answer")


def test_rollups_of_a_deleted_file_are_defined_again(store: Path) -> None:
    (store / "reports.tacit").unlink()
    with collector_here(store) as again:
        assert "rollup: used" in answered(again).explain()


def test_a_file_that_lacks_reports_is_rebuilt_with_its_public_tables(store: Path, tmp_path: Path) -> None:
    shutil.copyfile(store / "reports.tacit", tmp_path / "older")
    with collector_here(store) as later:
        later.forget("u-8")
    shutil.copyfile(tmp_path / "older", store / "reports.tacit")
    with collector_here(store) as again:
        answer = answered(again)
        assert answer["n"].n == 59
        assert "rollup: used" in answer.explain()
        assert [one.name for one in again.database.dimensions()] == ["own"]


def test_nothing_of_another_store_is_taken_over(store: Path, tmp_path: Path) -> None:
    with collector_here(tmp_path / "other") as other:
        other.accept(COLLECTION.id, reports_of(100, 20)).result()
        other.move()
    define(tmp_path / "other", "foreign")
    shutil.copyfile(tmp_path / "other" / "reports.tacit", store / "reports.tacit")
    with collector_here(store) as again:
        answer = answered(again)
        assert answer["n"].n == 60
        assert "rollup: used" in answer.explain()
        assert not again.database.dimensions()
