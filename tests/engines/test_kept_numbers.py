"""PostgreSQL: the kept number of reports is the number of rows, whoever changes them and however that ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

import tacit as tc
from support.engines import postgres_address
from tacit.encode.reports import report_table
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_changes import kept_rows

psycopg = pytest.importorskip("psycopg")

PAIR = [tc.Ordinal("a", 0, 15), tc.Ordinal("b", 0, 15)]
COLLECTION = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=PAIR)]), 4.0, mechanism="sc")
TABLE = report_table(COLLECTION.id, "t")
CHANNELS = len(COLLECTION.contract.services[0].channels)

OLD_FUNCTION = """
CREATE OR REPLACE FUNCTION tacit_note_change() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO tacit_versions VALUES (TG_TABLE_NAME, gen_random_uuid())
  ON CONFLICT (name) DO UPDATE SET version = excluded.version;
  RETURN NULL;
END $body$
"""

RESTORE = f"""
BEGIN; CREATE TABLE other (LIKE "{TABLE}" INCLUDING ALL); DROP TABLE "{TABLE}" CASCADE;
ALTER TABLE other RENAME TO "{TABLE}";
CREATE TRIGGER tacit_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "{TABLE}"
FOR EACH STATEMENT EXECUTE FUNCTION tacit_note_change();
ALTER TABLE "{TABLE}" ENABLE ALWAYS TRIGGER tacit_changed; COMMIT
"""

OTHERS = {
    "somebody deletes": f'DELETE FROM "{TABLE}" WHERE uid < 5',
    "somebody inserts": f'INSERT INTO "{TABLE}" SELECT * FROM "{TABLE}" LIMIT 3',
    "somebody deletes from a partition": f'DELETE FROM "{TABLE}_0" WHERE uid < 5',
    "somebody empties it": f'TRUNCATE "{TABLE}"',
    "a partition is taken away": f'ALTER TABLE "{TABLE}" DETACH PARTITION "{TABLE}_0"',
    "a change without triggers": (
        f'BEGIN; ALTER TABLE "{TABLE}" DISABLE TRIGGER tacit_changed; DELETE FROM "{TABLE}" WHERE uid < 5; '
        f'ALTER TABLE "{TABLE}" ENABLE ALWAYS TRIGGER tacit_changed; COMMIT'
    ),
    "an older copy of it is restored": RESTORE,
    "triggers of a replica": f'SET session_replication_role = replica; DELETE FROM "{TABLE}" WHERE uid < 5',
}


def load(db: tc.Database, first: int, count: int) -> None:
    people = np.arange(first, first + count)
    rows = {"uid": people, "a": people % 16, "b": people % 16}
    db.load(COLLECTION.encode(t=rows, rng=tc.insecure_rng(first)))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_address() as made:
        yield made


@pytest.fixture
def address(server: str) -> str:
    """Return a database with 100 people, in which nothing is left of the last test."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with closing(tc.connect(server)) as db:
        db.create(COLLECTION)
        load(db, 0, 100)
        load(db, 90, 20)
        db.forget(7)
    return server


def numbers(address: str) -> tuple[int | None, int, int]:
    """Return the number of rows that is kept, the one that the engine says, and the one that PostgreSQL counts."""
    with psycopg.connect(address) as connection, closing(Postgres(address)) as engine:
        [(rows,)] = connection.execute(f'SELECT count(*) FROM "{TABLE}"').fetchall()
        return kept_rows(psycopg.RawCursor(connection), TABLE), engine.count_rows(TABLE), rows


def test_writers_keep_the_number(address: str) -> None:
    assert numbers(address) == (109 * CHANNELS,) * 3
    with psycopg.connect(address) as other:
        other.execute(f'DELETE FROM "{TABLE}"')
        other.rollback()
    assert numbers(address) == (109 * CHANNELS,) * 3


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_whoever_else_changes_reports_leaves_no_number(address: str, change: str) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(change)
    kept, said, rows = numbers(address)
    assert (kept, said) == (None, rows)
    assert rows != 109 * CHANNELS
    if "DETACH" in change:
        return
    with closing(tc.connect(address)) as db:
        load(db, 500, 10)
    assert numbers(address) == (rows + 10 * CHANNELS,) * 3


def test_a_database_of_an_earlier_program_keeps_numbers_after_its_next_load(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("ALTER TABLE tacit_versions DROP COLUMN rows, DROP COLUMN triggers")
        other.execute(OLD_FUNCTION)
        other.execute(f'DELETE FROM "{TABLE}" WHERE uid = 8')
    with closing(tc.connect(address)) as db:
        assert numbers(address)[0] is None
        db.forget(9)
        assert numbers(address) == (107 * CHANNELS,) * 3


def test_writers_at_once_count_each_other(address: str) -> None:
    def write(first: int) -> None:
        with closing(tc.connect(address)) as db:
            for number in range(first, first + 40, 10):
                load(db, number, 10)
                db.forget(number)

    threads = [threading.Thread(target=write, args=(first,)) for first in (1_000, 2_000, 3_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(address) == ((109 + 3 * 4 * 9) * CHANNELS,) * 3
