"""A small town in a file, opened by everything that analysts use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tacit as tc
from tacit import dbapi
from tacit.datasets import town, town_schema


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with reports of two services, a rollup and a public dimension."""
    found = tmp_path_factory.mktemp("dbapi") / "town.tacit"
    collection = tc.Collection(town_schema(), epsilon=4.0)
    database = tc.connect(found)
    database.create(collection)
    database.load(collection.encode(**town(2_000), rng=tc.insecure_rng(7)))
    climate = {
        "region": ["north", "east", "south", "west"],
        "sun": [1.5, 2.0, 3.0, 2.5],
        "sea": [True, False, True, True],
    }
    database.dimension("climate", pa.table(climate), key="region")
    database.rollup("clinic")
    database.close()
    return found


@pytest.fixture(scope="session")
def connection(path: Path) -> Iterator[dbapi.Connection]:
    with dbapi.connect(path) as opened:
        yield opened
