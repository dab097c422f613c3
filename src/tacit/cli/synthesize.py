"""Write synthetic rows that follow the marginals of a service, as Parquet or CSV."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

from tacit.cli.outputs import new_file
from tacit.cli.query import open_existing
from tacit.errors import UsageError

__all__ = ["configure", "run"]

WRITERS = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("database", help="a database file that `tacit load` wrote")
    parser.add_argument("out", help="a new file, .parquet or .csv")
    parser.add_argument("--rows", type=int, default=10_000, help="number of rows (default 10,000)")
    parser.add_argument("--seed", type=int, help="seed, to get the same rows again")
    parser.add_argument("--service", help="needed if several services have reports")
    parser.add_argument("--method", help="shrink (default), calm, em or uniform")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Generate rows and write them."""
    out = Path(options.out)
    if out.suffix.lower() not in WRITERS:
        message = f"{out.name} must end in .parquet or .csv."
        raise UsageError(message, code="bad-option")
    database = open_existing(options.database)
    try:
        with new_file(out) as part:
            rows = database.synthesize(options.rows, seed=options.seed, service=options.service, method=options.method)
            WRITERS[out.suffix.lower()](rows, part)
    finally:
        database.close()
    words = {"file": out.name, "rows": rows.num_rows, "columns": rows.column_names}
    print(json.dumps(words) if options.json else f"{rows.num_rows:,} synthetic rows written to {out.name}")
    return 0
