"""The work of `tacit load`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tacit.adapters.connect import connect
from tacit.cli.coin_key import read_coin_key
from tacit.cli.progress import bar
from tacit.collection import Collection
from tacit.errors import ReportError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Create the collections and load their reports."""
    totals: dict[str, dict[str, int]] = {}
    read = [_read_folder(Path(folder)) for folder in options.folders]  # before a database is created
    key = read_coin_key(options.coin_key)
    existed = Path(options.database).exists()
    database = connect(options.database)
    try:
        for collection, reports in read:
            database.create(collection)
            progress = bar if sys.stderr.isatty() else None
            for name, loaded in database.load(reports, key=key, progress=progress).items():
                total = totals.setdefault(name, {"stored": 0, "refused": 0})
                total["stored"] += loaded.stored
                total["refused"] += loaded.refused
    finally:
        database.close()
        if not existed and not totals:
            Path(options.database).unlink(missing_ok=True)
    if options.json:
        print(json.dumps(totals))
    else:
        for name, total in totals.items():
            before = " because their people have reported before" if total["refused"] else ""
            print(f"{name}: {total['stored']:,} reports stored, {total['refused']:,} refused{before}")
    return 0


def _read_folder(folder: Path) -> tuple[Collection, dict[str, pa.Table]]:
    if not (folder / "contract.json").is_file():
        message = (
            f"{folder.name} was not written by `tacit encode`: it has no contract.json. Name a folder that it wrote."
        )
        raise ReportError(message, code="unreadable-reports")
    collection = Collection.from_file(folder / "contract.json")
    return collection, {service.name: _read(folder, service.name) for service in collection.schema.services}


def _read(folder: Path, service: str) -> pa.Table:
    path = folder / f"{service}.parquet"
    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowException) as cause:
        message = f"{folder.name}/{path.name} cannot be read ({type(cause).__name__}). Encode the tables again."
        raise ReportError(message, code="unreadable-reports") from None
