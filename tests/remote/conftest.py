"""A collector of this process, so that tests can compare what it holds with what is asked of it over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.collectors import COLLECTION, collector_here, reports_of, served_here
from tacit.adapters.remote.database import RemoteDatabase
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys


@dataclass(frozen=True)
class Place:
    """A collector, its address, and its keys."""

    collector: Collector
    address: str
    query: str
    ingest: str


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("collector")
    keys = Keys(folder / "keys.json")
    query, ingest = (keys.create("test", [scope]) for scope in ("query", "ingest"))
    with collector_here(folder) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 400)).result(60)
        collector.move()
        with served_here(make_app(collector, keys, settings=Settings(questions_per_minute=1e6))) as client:
            yield Place(collector, str(client.base_url).rstrip("/"), query, ingest)


@pytest.fixture
def remote(place: Place) -> RemoteDatabase:
    return RemoteDatabase(place.address, key=place.query)
