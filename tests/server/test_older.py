"""A database that goes back under running collectors, as after a failover to a standby that was behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.collectors import COLLECTION, collector_here, reports_of
from support.engines import postgres_address
from tacit.errors import TacitError

COUNT = "SELECT COUNT(*) AS n FROM users"
BACK = {
    "reports": "SELECT setval('tacit_pending_number_seq', last_value - 1) FROM tacit_pending_number_seq",
    "leases": "UPDATE tacit_fences SET token = token - 1000",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_address() as made:
        yield made


@pytest.mark.parametrize("change", BACK.values(), ids=BACK)
def test_a_collector_refuses_everything_once_its_database_went_back(server: str, tmp_path: Path, change: str) -> None:
    """Its contracts, places, keys and counts may be gone, and their numbers given to others."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        with collector_here(tmp_path / "1", store=server) as collector:
            collector.accept(COLLECTION.id, reports_of(0, 5)).result()
            assert collector.query(COUNT)["n"].value == 5
            connection.execute(change)
            for _ in range(2):  # it stays so, even if the database comes as far again
                with pytest.raises(TacitError) as failure:
                    collector.query(COUNT)
                assert failure.value.code == "store-older"
                with pytest.raises(TacitError) as failure:
                    collector.accept(COLLECTION.id, reports_of(5, 5)).result()
                assert failure.value.code == "store-older"
                connection.execute("UPDATE tacit_fences SET token = token + 1000")
        with collector_here(tmp_path / "2", store=server) as restarted:
            restarted.accept(COLLECTION.id, reports_of(5, 5)).result()
            assert restarted.query(COUNT)["n"].value == 10
