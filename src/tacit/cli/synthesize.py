"""The work of `tacit synthesize`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

from tacit.cli.outputs import new_file
from tacit.cli.query import open_existing
from tacit.errors import UsageError

__all__ = ["run"]

WRITERS = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}


def run(options: argparse.Namespace) -> int:
    """Generate rows and write them."""
    out = Path(options.out)
    if out.suffix.lower() not in WRITERS:
        message = f"{out.name} must end in .parquet or .csv."
        raise UsageError(message, code="bad-option")
    database = open_existing(options.database, options.key_file)
    try:
        with new_file(out) as part:
            rows = database.synthesize(options.rows, seed=options.seed, service=options.service, method=options.method)
            WRITERS[out.suffix.lower()](rows, part)
    finally:
        database.close()
    words = {"file": out.name, "rows": rows.num_rows, "columns": rows.column_names}
    print(json.dumps(words) if options.json else f"{rows.num_rows:,} synthetic rows written to {out.name}")
    return 0
