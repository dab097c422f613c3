"""What data frame libraries and BI tools do beside SELECT: COPY to them, cursors, and tables without rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import tuple_row

from support.wire import Place
from tacit.adapters.pgwire.copying import Copying, read_copy
from tacit.errors import TacitError

ASKED = "SELECT os, COUNT(*) AS n FROM users WHERE age > 2 GROUP BY os ORDER BY os"


@pytest.fixture(scope="module")
def wire(place: Place) -> Iterator[psycopg.Connection[Any]]:
    with place.connect() as made:
        yield made


def state_of(wire: psycopg.Connection[Any], text: str) -> tuple[str | None, str | None]:
    """Return the SQLSTATE and place of what is refused."""
    with pytest.raises(psycopg.Error) as refusal:
        wire.execute(text)
    return refusal.value.sqlstate, refusal.value.diag.statement_position


def test_copies_hold_the_rows_of_the_answer_in_every_format(wire: psycopg.Connection[Any]) -> None:
    rows = wire.execute(ASKED).fetchall()
    cursor = wire.cursor(row_factory=tuple_row)
    with cursor.copy(f"COPY ({ASKED}) TO STDOUT") as copy:
        copy.set_types(["text", *["float8"] * 4])
        assert list(copy.rows()) == rows
    with cursor.copy(f"COPY ({ASKED}) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["text", *["float8"] * 4])
        assert list(copy.rows()) == rows
    with cursor.copy(f"COPY ({ASKED}) TO STDOUT WITH CSV HEADER") as copy:
        lines = b"".join(copy).decode().splitlines()
    assert lines[0] == "os,n,n_error,n_low,n_high"
    assert [line.split(",") for line in lines[1:]] == [[row[0], *map(repr, row[1:])] for row in rows]
    with cursor.copy("COPY (SELECT relname FROM pg_class WHERE relname = 'users') TO STDOUT") as copy:
        assert b"".join(copy) == b"users\n"


def test_special_letters_and_nothing_are_written_as_postgresql_writes_them() -> None:
    rows = [("a\tb\\\n", None), ("", 'say "x", y')]
    text = b"".join(Copying().messages("ab", ("text", "text"), rows))
    assert b"a\\tb\\\\\\n\t\\N\n" in text
    written = b"".join(Copying("csv", ",", "").messages("ab", ("text", "text"), rows))
    assert b'"a\tb\\\n",\n' in written
    assert b'"","say ""x"", y"\n' in written
    empty = b"".join(Copying("binary").messages("a", ("int8",), []))
    assert b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xff" in empty


@pytest.mark.parametrize(
    ("text", "state", "at"),
    [
        ("COPY users TO STDOUT", "25006", "1"),
        ("COPY users FROM STDIN", "25006", "1"),
        ("COPY (SELECT COUNT(*) AS n FROM users) TO '/tmp/x'", "25006", "1"),
        ("COPY (SELECT nope FROM users) TO STDOUT", "42703", "14"),
        ("COPY (SELECT * FROM users) TO STDOUT", "0A000", "14"),
        ("COPY (SELECT COUNT(*) AS n FROM users) TO STDOUT (FORMAT xml)", "0A000", "50"),
        ("COPY (SELECT COUNT(*) AS n FROM users) TO STDOUT (FORCE_QUOTE *)", "0A000", "50"),
        ("COPY (SHOW ALL) TO STDOUT", "08P01", None),
        ("FETCH NEXT FROM nobody", "34000", "17"),
        ("DECLARE one CURSOR FOR SELECT COUNT(*) AS n FROM users", "25P01", None),
        ("FETCH BACKWARD 2 FROM nobody", "0A000", "1"),
    ],
)
def test_other_copies_and_cursors_are_refused(
    wire: psycopg.Connection[Any], text: str, state: str, at: str | None
) -> None:
    assert state_of(wire, text) == (state, at)


def test_options_are_read_in_both_spellings() -> None:
    assert read_copy("COPY (SELECT 1) TO STDOUT WITH (FORMAT csv, HEADER true, DELIMITER ';', NULL 'x')")[1] == Copying(
        "csv", ";", "x", has_header=True
    )
    assert read_copy("copy (select ')') to stdout csv header delimiter as '|'") == (
        "      select ')'",
        Copying("csv", "|", "", has_header=True),
    )
    with pytest.raises(TacitError):
        read_copy("COPY (SELECT 1) TO STDOUT (DELIMITER 'ab')")


def test_a_cursor_hands_out_rows_forwards(place: Place) -> None:
    with place.connect() as wire:
        wire.autocommit = False
        rows = wire.execute(ASKED).fetchall()
        with wire.cursor("named") as cursor:
            cursor.execute(ASKED)
            assert [column.name for column in cursor.description or ()] == ["os", "n", "n_error", "n_low", "n_high"]
            assert [*cursor.fetchmany(1), *cursor.fetchall()] == rows
        wire.execute(f"DECLARE Second CURSOR FOR {ASKED}")
        assert wire.execute("MOVE 1 IN second").statusmessage == "MOVE 1"
        assert wire.execute('FETCH ALL FROM "second"').fetchall() == rows[1:]
        wire.execute("CLOSE second")
        wire.execute(f"DECLARE third CURSOR WITH HOLD FOR {ASKED}")
        wire.commit()
        assert wire.execute("FETCH 1 FROM third").fetchall() == rows[:1]
        wire.execute(f"DECLARE fourth CURSOR FOR {ASKED}")
        wire.commit()
        assert state_of(wire, "FETCH 1 FROM fourth") == ("34000", "14")


@pytest.mark.parametrize("end", ["LIMIT 0", "WHERE 1 = 0", "WHERE false", "WHERE 1 <> 1 ORDER BY age", "WHERE (0 = 1)"])
def test_a_table_without_rows_shows_its_columns(wire: psycopg.Connection[Any], end: str) -> None:
    asked = wire.execute(f'SELECT * FROM "public"."users" {end}')
    assert [column.name for column in asked.description or ()] == ["uid", "age", "os", "round", "tier"]
    assert asked.fetchall() == []


@pytest.mark.parametrize("end", ["LIMIT 1", "WHERE 1 = 1", "WHERE age = 0", "", "WHERE 'a' = 'b'"])
def test_rows_stay_private(wire: psycopg.Connection[Any], end: str) -> None:
    assert state_of(wire, f"SELECT * FROM users {end}")[0] == "0A000"
