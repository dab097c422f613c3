"""What PEP 249 asks of a module, a connection and a cursor."""

from __future__ import annotations

import datetime
import math
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import tacit as tc
from tacit import dbapi
from tacit.adapters.dbapi.types import type_code

GROUPS = "SELECT smoker, COUNT(*) AS n, AVG(visits) AS v FROM clinic GROUP BY smoker"


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.Error, Exception)
    assert issubclass(dbapi.Warning, Exception)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    names = [
        "DataError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
    ]
    assert all(issubclass(getattr(dbapi, name), dbapi.DatabaseError) for name in names)
    for name in ["Warning", "Error", "InterfaceError", "DatabaseError", *names]:
        assert getattr(dbapi.Connection, name) is getattr(dbapi, name)


def test_constructors_and_type_objects() -> None:
    assert dbapi.Date(2026, 11, 15) == datetime.date(2026, 11, 15)
    assert dbapi.Time(1, 2, 3) == datetime.time(1, 2, 3)
    assert dbapi.Timestamp(2026, 11, 15, 1) == datetime.datetime(2026, 11, 15, 1)
    now = datetime.datetime(2026, 11, 15, 12, 30)
    ticks = now.timestamp()
    assert dbapi.DateFromTicks(ticks) == now.date()
    assert dbapi.TimeFromTicks(ticks) == now.time()
    assert dbapi.TimestampFromTicks(ticks) == now
    assert dbapi.Binary(b"x") == b"x"
    kinds = [dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID]
    for value, kind in [("x", 0), (b"x", 1), (1, 2), (1.5, 2), (Decimal(1), 2), (True, 2), (now, 3), (now.date(), 3)]:
        assert [type_code([None, value]) == one for one in kinds] == [place == kind for place in range(5)]
    assert type_code([None]) == dbapi.STRING


def test_an_estimate_is_three_columns(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount, cursor.rownumber) == (None, -1, None)
    assert cursor.execute(GROUPS) is cursor
    assert [column[0] for column in cursor.description] == ["smoker", "n", "n_low", "n_high", "v", "v_low", "v_high"]
    assert all(len(column) == 7 for column in cursor.description)
    assert [column[1] == dbapi.NUMBER for column in cursor.description] == [False] + [True] * 6
    assert cursor.description[0][1] == dbapi.STRING
    rows = cursor.fetchall()
    answer = connection.database.sql(GROUPS)
    assert cursor.rowcount == len(rows) == len(answer) == 3
    for row, (smoker, n, v) in zip(rows, answer, strict=True):
        assert row[0] == smoker
        assert row[1:] == pytest.approx((n.value, n.low, n.high, v.value, v.low, v.high), rel=1e-9)
        assert row[2] < row[1] < row[3]


def test_the_confidence_of_a_connection_is_that_of_its_intervals(path: Path) -> None:
    question, widths = "SELECT COUNT(*) AS n FROM shop WHERE age < 30", {}
    for confidence in (0.5, 0.99):
        with dbapi.connect(path, confidence=confidence) as opened:
            value, low, high = opened.cursor().execute(question).fetchone()
            widths[confidence] = high - low
            expected = opened.database.sql(question, confidence=confidence)["n"]
            assert (value, low, high) == pytest.approx((expected.value, expected.low, expected.high), rel=1e-9)
    assert widths[0.99] > 3 * widths[0.5]


def test_the_decoder_of_a_connection_is_that_of_its_answers(path: Path) -> None:
    question = "SELECT COUNT(*) AS n FROM clinic WHERE visits < 3"
    with dbapi.connect(path, decoder="cover") as opened:
        value = opened.cursor().execute(question).fetchone()[0]
        assert value == pytest.approx(opened.database.sql(question, decoder="cover")["n"].value, rel=1e-9)
        assert value != pytest.approx(opened.database.sql(question)["n"].value, rel=1e-6)


def test_fetching(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        everything = cursor.execute("SELECT region, COUNT(*) AS n FROM shop GROUP BY region").fetchall()
        assert len(everything) == 5
        cursor.execute("SELECT region, COUNT(*) AS n FROM shop GROUP BY region")
        assert cursor.fetchone() == pytest.approx(everything[0])
        assert len(cursor.fetchmany()) == cursor.arraysize == 1
        cursor.arraysize = 2
        assert [row[0] for row in cursor.fetchmany()] == [row[0] for row in everything[2:4]]
        assert (cursor.rownumber, cursor.fetchmany(0)) == (4, [])
        assert [row[0] for row in cursor] == [everything[4][0]]
        assert (cursor.fetchone(), cursor.fetchmany(9), cursor.fetchall(), cursor.rowcount) == (None, [], [], 5)
        cursor.setinputsizes([1])
        cursor.setoutputsize(1)
        cursor.execute("SELECT COUNT(*) AS n FROM shop")
        assert (cursor.rownumber, cursor.rowcount, cursor.lastrowid) == (0, 1, None)
        assert cursor.connection is connection


def test_answers_without_rows_have_their_columns(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT region, COUNT(*) AS n FROM shop GROUP BY region HAVING COUNT(*) > 1000000")
    assert [column[0] for column in cursor.description] == ["region", "n", "n_low", "n_high"]
    assert (cursor.rowcount, cursor.fetchone(), cursor.fetchall()) == (0, None, [])
    answer = connection.database.sql("SELECT region, COUNT(*) AS n FROM shop GROUP BY region HAVING COUNT(*) > 1e6")
    assert answer.to_arrow().column_names == ["region", "n", "n_error", "n_low", "n_high"]


def test_undefined_estimates_are_null(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT AVG(visits) AS v, COUNT(*) AS n FROM clinic WHERE visits < 0")
    row = cursor.fetchone()
    assert row[0] is None
    assert not any(isinstance(value, float) and math.isnan(value) for value in row)
    assert row[3:] == (0.0, 0.0, 0.0)
    assert any("not defined" in note for note in cursor.notes)


def test_columns_keep_their_names(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute('SELECT shop.region, COUNT(*) FROM shop GROUP BY shop."region"')
    assert [column[0] for column in cursor.description] == ["region", "COUNT(*)", "COUNT(*)_low", "COUNT(*)_high"]
    cursor.execute("SELECT a.region, b.region, COUNT(*) AS n FROM shop a JOIN shop b USING (uid) GROUP BY 1, 2")
    assert [column[0] for column in cursor.description][:2] == ["a.region", "b.region"]


def test_explain_is_text(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute("EXPLAIN SELECT COUNT(*) AS n FROM shop WHERE age < ?", [30])
    assert [column[:2] for column in cursor.description] == [("explain", str)]
    lines = [line for (line,) in cursor]
    assert any("SELECT" in line for line in lines)
    assert any(line.startswith("predicted for 2,000 people") for line in lines)


@pytest.mark.parametrize(
    ("question", "kind", "code"),
    [
        ("SELECT FROM WHERE", dbapi.ProgrammingError, "not-readable"),
        ("SELECT COUNT(*) FROM nowhere", dbapi.ProgrammingError, "unknown-table"),
        ("SELECT COUNT(*) FROM shop WHERE nothing = 1", dbapi.ProgrammingError, "unknown-column"),
        ("SELECT COUNT(*) FROM shop; SELECT 1", dbapi.ProgrammingError, "several-statements"),
        ("SELECT age FROM shop", dbapi.ProgrammingError, "not-grouped"),
        ("SELECT MAX(age) FROM shop", dbapi.NotSupportedError, "unsupported-aggregate"),
        ("SELECT COUNT(*) FROM shop WHERE age < 9 AND region = 'east' AND income < 9", dbapi.NotSupportedError, None),
        ("INSERT INTO shop VALUES (1)", dbapi.NotSupportedError, "not-a-select"),
        ("DELETE FROM shop", dbapi.NotSupportedError, "not-a-select"),
        ("DROP TABLE shop", dbapi.NotSupportedError, "not-a-select"),
        ("CREATE TABLE t AS SELECT COUNT(*) FROM shop", dbapi.NotSupportedError, "not-a-select"),
        ("SET threads = 1", dbapi.NotSupportedError, "not-a-select"),
        ("EXPLAIN DELETE FROM shop", dbapi.NotSupportedError, "not-a-select"),
        (7, dbapi.ProgrammingError, "bad-option"),
    ],
)
def test_errors_keep_their_codes(
    connection: dbapi.Connection, question: str, kind: type[dbapi.Error], code: str | None
) -> None:
    cursor = connection.cursor().execute("SELECT COUNT(*) FROM shop")
    with pytest.raises(dbapi.Error) as caught:
        cursor.execute(question)
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, tc.TacitError)
    assert caught.value.code == caught.value.__cause__.code == (code or caught.value.code)
    assert str(caught.value) == str(caught.value.__cause__)
    assert str(caught.value).startswith(f"[{caught.value.code}] ")
    assert (cursor.description, cursor.rowcount) == (None, -1), "the answer before is gone"
    with pytest.raises(dbapi.ProgrammingError, match="no-answer"):
        cursor.fetchall()


def test_nothing_is_executed_many_times(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="read-only"):
        connection.cursor().executemany("SELECT COUNT(*) FROM shop WHERE age = ?", [[1], [2]])


def test_what_is_closed_stays_closed(path: Path) -> None:
    opened = dbapi.connect(path)
    cursor, other = opened.cursor(), opened.cursor()
    cursor.close()
    cursor.close()
    for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute("SELECT COUNT(*) FROM shop")):
        with pytest.raises(dbapi.InterfaceError, match="closed"):
            use()
    other.execute("SELECT COUNT(*) AS n FROM shop")
    opened.commit()
    opened.rollback()
    opened.close()
    opened.close()
    for use in (opened.cursor, opened.commit, opened.rollback, other.fetchall, lambda: other.execute("SELECT 1")):
        with pytest.raises(dbapi.InterfaceError, match="closed"):
            use()


def test_a_database_of_the_program_outlives_its_connections(path: Path, tmp_path: Path) -> None:
    copy = shutil.copy(path, tmp_path / "copy.tacit")
    database = tc.connect(copy)
    with dbapi.connect(database) as first, dbapi.connect(database) as second, dbapi.connect(copy) as third:
        assert first.database is second.database is database is not third.database
        assert third.cursor().execute("SELECT COUNT(*) AS n FROM shop").fetchone()[0] == 2_000
    assert database.sql("SELECT COUNT(*) AS n FROM shop")["n"].value == 2_000
    database.close()


def test_a_program_that_reads_a_file_is_told_so_when_it_writes(path: Path, connection: dbapi.Connection) -> None:
    with pytest.raises(tc.TacitError) as caught:
        tc.connect(path)
    assert caught.value.code == "open-to-read"


def test_a_database_in_memory_is_empty() -> None:
    for opened in (dbapi.connect(), dbapi.connect(":memory:")):
        with opened, pytest.raises(dbapi.ProgrammingError, match="unknown-table"):
            opened.cursor().execute("SELECT COUNT(*) FROM shop")


def test_opening_makes_no_file(tmp_path: Path) -> None:
    for missing in (tmp_path / "no.tacit", str(tmp_path / "no.tacit"), tmp_path):
        with pytest.raises(dbapi.OperationalError) as caught:
            dbapi.connect(missing)
        assert caught.value.code == "no-database"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text.tacit").write_text("not a database")
    with pytest.raises(dbapi.OperationalError) as caught:
        dbapi.connect(tmp_path / "text.tacit")
    assert caught.value.code == "unreadable-database"


def test_files_of_others_are_left_as_they_are(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "theirs.duckdb") as theirs:
        theirs.execute("CREATE TABLE shop (age INTEGER)")
    with dbapi.connect(tmp_path / "theirs.duckdb") as opened, pytest.raises(dbapi.Error, match="unknown-table"):
        opened.cursor().execute("SELECT COUNT(*) FROM shop")
    with duckdb.connect(tmp_path / "theirs.duckdb") as theirs:
        assert theirs.execute("SELECT table_name FROM information_schema.tables").fetchall() == [("shop",)]


def test_the_engine_refuses_to_write(path: Path) -> None:
    with dbapi.connect(path) as opened, pytest.raises(duckdb.Error, match="read-only"):
        opened.database.create(tc.Collection(tc.Schema([tc.Service("s", "uid", [tc.Ordinal("a", 0, 9)])]), epsilon=1.0))


def test_processes_read_one_file_together(path: Path, connection: dbapi.Connection) -> None:
    """Another process opens the file while this one holds it."""
    program = (
        "import sys; from tacit import dbapi\n"
        "print(dbapi.connect(sys.argv[1]).cursor().execute('SELECT COUNT(*) AS n FROM shop').fetchone()[0])"
    )
    assert connection.cursor().execute("SELECT COUNT(*) AS n FROM shop").fetchone()[0] == 2_000
    result = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert result.stdout == "2000.0\n", result.stderr


@pytest.mark.parametrize(
    ("option", "code"),
    [({"confidence": 2}, "bad-option"), ({"decoder": "magic"}, "unknown-name"), ({"engine": "abacus"}, "bad-option")],
)
def test_wrong_options_are_refused_at_once(path: Path, option: dict[str, object], code: str) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        dbapi.connect(path, **option)
    assert caught.value.code == code
