"""Spark answers with one job, with none from kept sums, and notices every change of its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from support.engines import engine_named, spark_session

COLLECTION = tc.Collection(
    tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("xyz"))])]), 4.0, mechanism="fc"
)
GROUPS = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"


def load(db: tc.Database, first: int) -> None:
    rows = {"uid": np.arange(first, first + 100), "a": ["x"] * 100}
    db.load(COLLECTION.encode(t=rows, rng=tc.insecure_rng(first)))


def test_one_job_for_each_question_until_files_change(tmp_path: Path) -> None:
    with engine_named("spark", tmp_path) as db:
        session: Any = spark_session("spark")
        tracker = session.sparkContext.statusTracker()

        def asked() -> tuple[int, int]:
            """Return the people of an answer, and the jobs it took."""
            before = len(tracker.getJobIdsForGroup(None))
            people = db.sql(GROUPS)["n"][0].n
            return people, len(tracker.getJobIdsForGroup(None)) - before

        db.create(COLLECTION)
        load(db, 0)
        assert asked()[0] == 100  # and the schema was read
        load(db, 100)
        assert asked() == (200, 1)  # more than a tenth came in: whether views are even is told from the same sums
        assert asked() == (200, 0)
        other = tc.connect(str(tmp_path / "reports"), engine=session)
        load(other, 200)
        assert asked() == (300, 1)
        removed = max((tmp_path / "reports").glob("reports_*/*/*.parquet"), key=lambda file: file.stat().st_mtime_ns)
        removed.unlink()  # by hand
        assert asked()[0] < 300
