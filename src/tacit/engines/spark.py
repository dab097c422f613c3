"""Spark: reports in a folder of Parquet files, contributions broadcast, sums as Spark SQL.

Only the DataFrame and SQL interfaces are used, so Spark Connect sessions work as well. A batch is written to new
folders, and counts as soon as its name is in ``commits``, which is one file. Leftovers of a crash are never read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.engines.base import ReportBatch, Stamp, Upload, unfit, unrunnable
from tacit.engines.dialect import in_spark
from tacit.engines.java import provide_java
from tacit.errors import EngineError

try:
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import array_contains, broadcast, col, split
except ImportError:
    message = "Spark needs pyspark. Install tacit with its extra: pip install '.[spark]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["FAILURES", "Spark", "local_session", "open_spark", "upload"]

FAILURES = (PySparkException, Py4JError)

BROADCAST_BYTES = 64 << 20
"""Maximum size of contributions that are broadcast to executors; larger ones are joined by shuffling."""

LOGS = {
    "contracts": "number LONG, id STRING, contract STRING",
    "dimensions": "number LONG, name STRING, key STRING, place STRING",
    "commits": "number LONG, batch STRING, tables STRING",
}
"""Small tables that are appended to, one file at a time."""


def local_session(cores: int | None = None) -> SparkSession:
    """Start Spark on this machine, reachable from this machine only, with the extra's Java if there is none."""
    provide_java()
    builder = SparkSession.builder.master(f"local[{cores or '*'}]").appName("tacit")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores or os.cpu_count()),
        "spark.sql.adaptive.enabled": "false",  # each stage would be a separate job
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def open_spark(path: Any, engine: Any, *, read_only: bool) -> Spark:
    """Open a folder in a session, given as path or engine, or in a new session on this machine."""
    del read_only
    if not isinstance(path, str | Path | None):
        path, engine = None, path
    return Spark(local_session() if engine == "spark" else engine, path)


class Spark:
    """An engine over one folder that all executors can reach."""

    whole_alphabet = 100_000

    def __init__(self, session: Any, folder: str | Path | None = None) -> None:
        self._session, self._door = session, threading.Lock()
        self._temporary = folder is None
        self._schemas: dict[str, Any] = {}
        self._logged: dict[Path, list[dict[str, Any]]] = {}
        self._frames: dict[str, tuple[Hashable, Any]] = {}
        if folder is None and not self._is_here:
            problem = "Name a folder that all executors can reach: tc.connect('hdfs://…', engine=spark)."
            raise EngineError(problem, code="no-folder")
        self._root = str(folder) if folder is not None else tempfile.mkdtemp(prefix="tacit-spark-")
        self._local = Path(self._root) if self._is_here and ":/" not in self._root else None
        """The folder, if this process can read it directly: small files then need no Spark job."""

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _rows(self, log: str) -> list[Any]:
        """Return the rows of a log, oldest first."""
        if self._local is not None:
            rows = [row for file in (self._local / log).glob("*.parquet") for row in self._rows_of(file)]
            return sorted(rows, key=lambda row: row["number"])
        try:
            rows = self._session.read.schema(LOGS[log]).parquet(self._path(log)).collect()
        except AnalysisException:  # the log is empty
            return []
        return sorted(rows, key=lambda row: row["number"])

    def _rows_of(self, file: Path) -> list[dict[str, Any]]:
        """Return the rows of a log's file, which never changes."""
        if file not in self._logged:
            self._logged[file] = pq.read_table(file, partitioning=None).to_pylist()
        return self._logged[file]

    def _note(self, log: str, **values: str) -> None:
        """Append one row to a log, as one file."""
        row = pa.table({"number": [len(self._rows(log))]} | {word: [text] for word, text in values.items()})
        self._session.createDataFrame(row).coalesce(1).write.mode("append").parquet(self._path(log))

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        return [row["contract"] for row in self._rows("contracts")]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        self._note("contracts", id=name, contract=text)

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Store a public table; one of the same name is replaced."""
        place = f"dimension_{name}/{uuid.uuid4().hex}"
        self._session.createDataFrame(table).write.parquet(self._path(place))
        self._note("dimensions", name=name, key=key, place=place)

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        newest = {row["name"]: row for row in self._rows("dimensions")}
        stored = {name: self._session.read.parquet(self._path(row["place"])) for name, row in newest.items()}
        return [(name, newest[name]["key"], table.toArrow()) for name, table in sorted(stored.items())]

    def _batches(self, table: str) -> list[str]:
        """Return the committed batches of a table."""
        return [row["batch"] for row in self._rows("commits") if table in row["tables"].split("\n")]

    def _reports(self, table: str) -> Any | None:
        """Return the reports of a table, or None if there is none."""
        changes = self.changes()
        if changes is None:
            return self._read_reports(table)
        if self._frames.get(table, (None, None))[0] != changes:
            self._frames[table] = changes, self._read_reports(table)
        return self._frames[table][1]

    def _read_reports(self, table: str) -> Any | None:
        if not self.has_table(table):
            return None
        reader = self._session.read
        if table in self._schemas:
            reader = reader.schema(self._schemas[table])
        stored = reader.parquet(self._path(table))
        self._schemas.setdefault(table, stored.schema)
        if self._local is not None:
            return stored.where(col("batch").isin(self._batches(table))).drop("batch")
        commits = self._session.read.schema(LOGS["commits"]).parquet(self._path("commits"))  # read in the same job
        counting = commits.where(array_contains(split(col("tables"), "\n"), table)).select("batch")
        return stored.join(broadcast(counting), ["batch"], "left_semi").drop("batch")

    def has_table(self, table: str) -> bool:
        """Return whether a report table exists; an existing one is never removed."""
        return table in self._schemas or bool(self._batches(table))

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""
        reports = self._reports(table)
        kinds = dict(reports.dtypes) if reports is not None else {}
        return frozenset(name for name, kind in kinds.items() if kind == "string")

    def append(self, batches: Sequence[ReportBatch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return the refused rows of each."""
        name = f"b{uuid.uuid4().hex}"
        try:
            with self._door:
                refused = [self._write(batch, name) for batch in batches]
                self._note("commits", batch=name, tables="\n".join(batch.table for batch in batches))
            return refused
        except FAILURES as cause:
            failure = cause
        raise unfit(failure)

    def _write(self, batch: ReportBatch, name: str) -> int:
        """Write the new reports of a batch; return how many are not new."""
        if not self._is_here:
            return self._write_new(batch, name, self._session.createDataFrame(batch.reports))
        with tempfile.TemporaryDirectory(prefix="tacit-spark-") as folder:
            file = Path(folder) / "reports.parquet"
            pq.write_table(batch.reports, file)
            return self._write_new(batch, name, self._session.read.parquet(file.as_uri()))

    @property
    def _is_here(self) -> bool:
        """Whether Spark runs in this process: a file takes a quarter of the time of a table, and less memory."""
        elsewhere = type(self._session).__module__.startswith("pyspark.sql.connect")
        return not elsewhere and str(self._session.conf.get("spark.master", "")).startswith("local")

    def _write_new(self, batch: ReportBatch, name: str, reports: Any) -> int:
        key = batch.service.key
        new = reports.dropDuplicates([key, "slot", "channel"])
        known = self._reports(batch.table)
        if known is not None:
            if known.schema != new.schema:
                raise unfit(TypeError())
            new = new.join(known.select(key, "slot", "channel"), [key, "slot", "channel"], "left_anti")
        for other, other_key in batch.elsewhere:
            elsewhere = self._reports(other)
            if elsewhere is not None:
                new = new.join(elsewhere.select(col(other_key).alias(key)).distinct(), [key], "left_anti")
        place = self._path(f"{batch.table}/batch={name}")
        new.select(*batch.reports.column_names).write.parquet(place)
        return batch.rows - int(self._session.read.parquet(place).count())

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Refuse: files are append-only."""
        del person  # never named in an error
        problem = f"Spark's files are append-only. Rewrite {len(tables)} tables without that person's rows."
        raise EngineError(problem, code="cannot-forget")

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Refuse: Spark reads all reports, and its files are append-only."""
        problem = f"Spark has no rollups: {table.rpartition('_')[2]} by {', '.join(by) or 'code'} is read in full."
        raise EngineError(problem, code="no-rollups")

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return nothing."""
        return {}

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""
        reports = self._reports(table)
        if reports is None:
            return np.zeros(0, dtype=np.int64)
        distinct = reports.where(col("channel") == channel).select("code").distinct().toArrow()
        return np.sort(np.asarray(distinct["code"], dtype=np.int64))

    def changes(self) -> Hashable | None:
        """Return names, sizes and times of all files, if this process can list them: other processes may add some."""
        if self._local is None:
            return None
        return tuple(sorted(_files(self._local)))

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        try:
            with self._door:  # names of views belong to the session
                self._show(statement, uploads)
                return self._session.sql(in_spark(statement), args=list(parameters) or None).toArrow()
        except FAILURES as cause:
            failure = cause
        raise unrunnable(failure)

    def _show(self, statement: str, uploads: Upload) -> None:
        """Create views of the tables that a statement names."""
        for name, table in uploads.items():
            upload(self._session, name, table)
        for word in set(statement.split('"')[1::2]):
            if word.startswith("reports_"):
                reports = self._reports(word)
                if reports is not None:
                    reports.createOrReplaceTempView(f"`{word}`")

    def stamp(self) -> Stamp | None:
        """Return nothing: no collector writes to Spark."""

    def set_stamp(self, stamp: Stamp) -> None:
        """Refuse: no collector writes to Spark."""
        problem = f"A collector does not write to Spark, so stamp {stamp.generation} is not kept."
        raise EngineError(problem, code="no-stamp")

    def probe(self) -> bool:
        """Refuse: no collector writes to Spark."""
        problem = "A collector does not write to Spark, so there is nothing to probe."
        raise EngineError(problem, code="no-stamp")

    def read_all(self) -> None:
        """Do nothing: Parquet files have checksums of their own."""

    def clear(self, table: str) -> None:
        """Refuse: files are append-only."""
        problem = f"Spark's files are append-only. Remove the folder {table} by hand."
        raise EngineError(problem, code="cannot-forget")

    def copy_to(self, path: Any) -> None:
        """Refuse: Spark's folder is copied with other tools."""
        del path
        message = "Copy Spark's folder with your own tools."
        raise EngineError(message, code="kept-elsewhere")

    def close(self) -> None:
        """Remove a temporary folder; the session is the caller's."""
        if self._temporary:
            shutil.rmtree(self._root, ignore_errors=True)


def upload(session: Any, name: str, table: pa.Table) -> None:
    """Create a view of a small table, broadcast to every executor."""
    frame = session.createDataFrame(table)
    (broadcast(frame) if table.nbytes <= BROADCAST_BYTES else frame).createOrReplaceTempView(name)


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of each file, except files that are being written."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_dir():
            yield from _files(Path(entry.path))
        else:
            with suppress(FileNotFoundError):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
