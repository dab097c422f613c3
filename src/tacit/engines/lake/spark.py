"""A lake queried with Spark: files, versions and loads as with DuckDB, statements on the executors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.engines.base import Upload, unrunnable
from tacit.engines.dialect import in_spark
from tacit.engines.lake.engine import Lake, named_tables
from tacit.engines.lake.manifest import Manifest
from tacit.engines.spark import FAILURES, local_session, upload

__all__ = ["SparkLake"]


class SparkLake(Lake):
    """A lake whose statements run in a session of Spark, which reaches its files."""

    whole_alphabet = 100_000

    def __init__(self, place: str | Path, session: Any) -> None:
        super().__init__(place)
        self._session = local_session() if session == "spark" else session

    def _run(self, manifest: Manifest, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        try:
            for name, table in uploads.items():
                upload(self._session, name, table)
            for name, files, columns in named_tables(manifest, statement.split('"')[1::2]):
                self.check_files(files)
                frame = self._session.read.parquet(*(self.storage.uri(file.name) for file in files))
                frame.select(*(column for column, _ in columns)).createOrReplaceTempView(f"`{name}`")
            return self._session.sql(in_spark(statement), args=list(parameters) or None).toArrow()
        except FAILURES as cause:
            failure = cause
        raise unrunnable(failure)
