"""A shared store on a PostgreSQL whose transactions see, by default, only what was committed before they began."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg

from support.engines import postgres_address
from tacit.server.store.shared.postgres import PostgresStore

SNAPSHOTS = """
DO $$ BEGIN
EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''', current_database());
END $$
"""
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_who_waits_for_a_deletion_sees_it(tmp_path: Path) -> None:
    """Otherwise reports of a person who was just deleted would be stored again."""
    seen: list[set[bytes]] = []
    with postgres_address() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(SNAPSHOTS)
        with (
            closing(PostgresStore(address, tmp_path)) as deleting,
            closing(PostgresStore(address, tmp_path)) as storing,
        ):

            def store() -> None:
                with storing.transaction():
                    storing.begin_storing(["u-1"])
                    seen.append(storing.forgotten({b"tombstone": "c"}))

            thread = threading.Thread(target=store)
            with deleting.transaction():
                deleting.forget("c", "", b"tombstone", [], "u-1")
                thread.start()
                while not connection.execute(WAITING).fetchall():
                    time.sleep(0.01)
            thread.join()
    assert seen == [{b"tombstone"}]
