"""Questions to a lake of a billion codes, from its counts: `python -m bench.lake.billion`.

Two batches of a million reports are counted 500 times each: their files are linked under 500 names, and their counts
multiplied, since a billion reports have as many rows of counts as the alphabet allows, whoever sent them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import tacit as tc
from bench.common import say
from bench.lake.run import COLLECTION, QUESTIONS, batch_of, used
from tacit.engines.base import rollup_of
from tacit.engines.lake.engine import Lake
from tacit.engines.lake.manifest import Manifest
from tacit.engines.lake.parquet import read_rows, write_rows

TIMES = 500


def multiply(lake: Lake, place: Path) -> Manifest:
    """Name each file of reports so often, and multiply the counts."""
    [(name, _)] = lake.versions.latest().tables.items()

    def change(before: Manifest) -> Manifest:
        table, files = before.tables[name], []
        for file in table.files * TIMES:
            link = f"{name}/{uuid.uuid4().hex}.parquet"
            os.link(place / file.name, place / link)
            files.append(file._replace(name=link))
        rows = read_rows(lake.storage, table.rollups, table.rollup_columns)
        *by, people = rows.column_names
        counted = rows.group_by(by).aggregate([(people, "sum")]).rename_columns([*by, people])
        counted = counted.set_column(len(by), people, pc.multiply(counted[people], pa.scalar(TIMES, pa.int64())))
        merged = write_rows(lake.storage, rollup_of(name), counted)
        return before.with_table(name, replace(table, files=tuple(files), rollups=(merged,)))

    return lake.versions.commit(change)


def main() -> int:
    """Make the lake, and ask each question for the first time and in other words."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "lake"
        database = tc.connect(f"{place}/")
        database.create(COLLECTION)
        for number in range(2):
            database.load({"users": batch_of(number)})
        [table] = multiply(Lake(place), place).tables.values()
        result = {"codes": table.rows, "files": len(table.files), "rollup_rows": sum(r.rows for r in table.rollups)}
        asked = tc.connect(place)
        times = {
            f"{label}, {'again ' * bool(more)}{more or 'first'}": used(partial(asked.sql, text.replace("age", words)))
            for label, text in QUESTIONS.items()
            for more, words in enumerate(("age", "age + 1", "age + 2"))
        }
    say(json.dumps(result | times, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
