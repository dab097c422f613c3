"""The work of `tacit encode`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tacit.cli.coin_key import read_coin_key
from tacit.cli.outputs import new_folder
from tacit.cli.progress import bar
from tacit.cli.tables import named_tables
from tacit.collection import Collection
from tacit.encode.prepare import prepare_tables
from tacit.errors import UsageError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Encode; nothing is written unless all rows are valid."""
    collection = Collection.from_file(options.file)
    tables: dict[str, Any] = named_tables(options.tables)
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        message = f"{folder.name} is a file. Choose a new folder."
        raise UsageError(message, code="unwritable-file")
    if folder.exists() and any(folder.iterdir()):
        message = f"{folder.name} is not empty. Encoding again would draw second reports. Choose a new folder."
        raise UsageError(message, code="folder-not-empty")
    notes: list[str] = []
    if options.prepare:
        tables, notes = prepare_tables(collection.schema, tables)
    with new_folder(folder) as part:
        key = read_coin_key(options.coin_key, make=collection.contract.assigned)
        reports = collection.encode(**tables, key=key, progress=bar if sys.stderr.isatty() else None)
        (part / "contract.json").write_text(collection.to_json(), encoding="utf-8")
        for name, table in reports.items():
            pyarrow.parquet.write_table(table, part / f"{name}.parquet")
    counts = {name: table.num_rows for name, table in reports.items()}
    if options.json:
        print(json.dumps({"collection": collection.id, "reports": counts} | ({"notes": notes} if notes else {})))
    else:
        for note in notes:
            print(note)
        print(f"collection {collection.id}")
        for name, rows in counts.items():
            print(f"  {name}: {rows:,} reports")
    return 0
