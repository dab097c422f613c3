"""What clients get: the collector's answers in four columns, errors with SQLSTATE and place, sessions, cancelling."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from support.collectors import COLLECTION, reports_of
from support.wire import Place, Raw, fields, port_of
from tacit.errors import OverloadedError
from tacit.server.store import mover

GROUPS = "SELECT os, COUNT(*) AS n FROM users WHERE age > {} GROUP BY os ORDER BY os"


def expected(place: Place, text: str, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an answer; the engine's sums differ in the last bits from one time to the next."""
    answer = place.collector.query(text, **options)
    parts = [(label, (n.value, n.error, n.low, n.high)) for label, n in answer]
    return [(label, *(pytest.approx(part, rel=1e-9) for part in numbers)) for label, numbers in parts]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("prepare", [False, True])
def test_answers_are_the_collectors_own(place: Place, binary: bool, prepare: bool) -> None:
    with place.connect() as connection:
        cursor = connection.execute(GROUPS.format("%s"), [2], binary=binary, prepare=prepare)
        assert [column.name for column in cursor.description or ()] == ["os", "n", "n_error", "n_low", "n_high"]
        assert cursor.fetchall() == expected(place, GROUPS.format(2))


def test_what_a_question_lists_comes_first(place: Place) -> None:
    """Superset, Django and other tools read by position: a second measure must not be the error of the first."""
    text = "SELECT os, COUNT(*) AS n, AVG(age) AS m FROM users GROUP BY os ORDER BY os"
    rows = [
        (label, n.value, m.value, n.error, n.low, n.high, m.error, m.low, m.high)
        for label, n, m in place.collector.query(text)
    ]
    names = ["os", "n", "m", "n_error", "n_low", "n_high", "m_error", "m_low", "m_high"]
    with place.connect() as connection:
        for binary in (False, True):
            cursor = connection.execute(text, binary=binary)
            assert [column.name for column in cursor.description or ()] == names
            assert cursor.fetchall() == [(row[0], *(pytest.approx(cell, rel=1e-9) for cell in row[1:])) for row in rows]
        with connection.cursor().copy(f"COPY ({text}) TO STDOUT (FORMAT csv, HEADER)") as copied:
            assert b"".join(copied).splitlines()[0] == ",".join(names).encode()


def test_parts_of_a_mode_come_after_what_is_listed(place: Place) -> None:
    with place.connect() as connection:
        cursor = connection.execute("SELECT MODE(age) AS most, COUNT(*) AS n FROM users")
        names = [column.name for column in cursor.description or ()]
        assert names == ["most", "n", "most_could_be", "n_error", "n_low", "n_high"]
        assert cursor.fetchone()[1] == 400  # type: ignore[index]


def test_tools_that_take_no_other_columns_get_what_they_list(place: Place) -> None:
    """Metabase's own questions fail where there are more columns than it expects."""
    text = "SELECT os, COUNT(*) AS n FROM users WHERE age > %s GROUP BY os ORDER BY os"
    with place.connect(options="-c tacit.intervals=off") as connection:
        cursor = connection.execute(text, [2])
        assert [column.name for column in cursor.description or ()] == ["os", "n"]
        assert [row[0] for row in cursor] == ["a", "i"]
        connection.execute("SET tacit.intervals = on")
        assert len(connection.execute(text, [2]).description or ()) == 5


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "users"."os" AS "os", COUNT(*) AS "n" FROM "public"."users" WHERE "users"."age" > 2 GROUP BY 1',
        "SELECT public.users.os, count(*) AS n FROM tacit.public.users WHERE age > 2 GROUP BY 1",
        "SELECT os, COUNT(*) AS n FROM users WHERE age > 2 GROUP BY os LIMIT 1000;",
    ],
)
def test_spellings_of_tools(place: Place, text: str) -> None:
    with place.connect() as connection:
        assert sorted(connection.execute(text).fetchall()) == expected(place, GROUPS.format(2))


SHAPES = {
    "union": "SELECT os, COUNT(*) AS n FROM users WHERE age > {0} GROUP BY os "
    "UNION ALL SELECT NULL AS os, COUNT(*) AS n FROM users WHERE age > {0}",
    "rollup": "SELECT os, COUNT(*) AS n FROM users WHERE age > {0} GROUP BY ROLLUP (os)",
    "sets": "SELECT os, COUNT(*) AS n FROM users WHERE age > {0} GROUP BY GROUPING SETS ((os), ())",
    "with": "WITH some AS (SELECT os, COUNT(*) AS n FROM users WHERE age > {0} GROUP BY os) SELECT os, n FROM some",
}
"""Questions that become several, or another one, before they run."""


@pytest.mark.parametrize("shape", SHAPES)
def test_prepared_statements_of_every_shape(place: Place, shape: str) -> None:
    text = SHAPES[shape]
    rows = expected(place, text.format(2))
    with place.connect() as connection:
        for binary in (False, True):
            cursor = connection.execute(text.replace("{0}", "%s"), [2] * text.count("{0}"), binary=binary)
            assert cursor.fetchall() == rows
            assert [column.name for column in cursor.description or ()] == ["os", "n", "n_error", "n_low", "n_high"]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_described_before_its_values_are_known(open_place: Place, shape: str) -> None:
    """As asyncpg and pgjdbc do it."""
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.message(b"P", b"\0" + SHAPES[shape].format("$1").encode() + b"\0\0\0")
        client.message(b"D", b"S\0")
        client.message(b"S")
        replies = dict(client.until("Z"))
    assert set(replies) == {"1", "t", "T", "Z"}
    assert (replies["t"][:2], replies["T"][:2]) == (b"\0\1", b"\0\5")


def test_parts_of_a_union_need_the_same_columns(place: Place) -> None:
    text = "SELECT os, COUNT(*) AS n FROM users GROUP BY os UNION ALL SELECT COUNT(*) AS n FROM users"
    with place.connect() as connection, pytest.raises(psycopg.Error, match="need the same columns"):
        connection.execute(text)


def test_parameters_have_the_types_of_their_columns(place: Place) -> None:
    with place.connect() as connection:
        for value in ("2", 2):  # as text without a type, and as a number
            found = connection.execute("SELECT COUNT(*) AS n FROM users WHERE age > %s AND os = %s", [value, "i"])
            assert (
                found.fetchone()[0]
                == place.collector.query(  # type: ignore[index]
                    "SELECT COUNT(*) AS n FROM users WHERE age > 2 AND os = 'i'"
                )["n"].value
            )
        twice = "SELECT COUNT(*) AS n FROM users WHERE os = %(o)s OR (os = %(o)s AND age > %(a)s::INTEGER)"
        assert connection.execute(twice, {"o": "i", "a": 3}).fetchone()[0] == 200  # type: ignore[index]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SELECT COUNT(*) AS n FROM users WHERE age > %s", ["much"])


def test_undefined_is_null_and_unbounded_is_infinite(place: Place) -> None:
    text = "SELECT AVG(age) AS m FROM users WHERE age > 20"
    with place.connect() as connection:
        assert connection.execute(text).fetchone() == (None, None, None, None)
        answer = place.collector.query(
            "SELECT AVG(pay) AS m FROM users JOIN orders USING (uid) WHERE age = 3 AND pay = 4"
        )
        found = connection.execute(
            "SELECT AVG(pay) AS m FROM users JOIN orders USING (uid) WHERE age = 3 AND pay = 4", binary=True
        ).fetchone()
        assert found is not None
        assert found[2:] == pytest.approx((answer["m"].low, answer["m"].high), rel=1e-9)


def test_notes_are_notices(place: Place) -> None:
    text = "SELECT SUM(pay) AS s FROM orders"
    with place.connect() as connection:
        notes: list[str] = []
        connection.add_notice_handler(lambda notice: notes.append(notice.message_primary or ""))
        connection.execute(text)
    assert notes == list(place.collector.query(text).notes)
    assert notes


def test_nothing_is_left_out_where_nobody_may_see_the_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk reports stay in the inbox: HTTP answers with a note, this protocol with an error."""
    count = "SELECT COUNT(*) AS n FROM users"
    with port_of(tmp_path) as place, place.connect() as connection:
        before = connection.execute(count).fetchone()
        monkeypatch.setattr(mover, "has_room", lambda _: False)
        place.collector.accept(COLLECTION.id, reports_of(5_000, 7)).result()
        assert "wait to be moved" in str(place.collector.query(count).notes)
        with pytest.raises(psycopg.errors.DiskFull):
            connection.execute(count)
        connection.rollback()
        monkeypatch.undo()
        after = connection.execute(count).fetchone()
    assert (before, after) == ((before[0], 0, *before[2:]), (before[0] + 7, 0, before[2] + 7, before[3] + 7))


@pytest.mark.parametrize(
    ("text", "state", "word"),
    [
        ("SELECT COUNT(*) FROM users WHERE agee = 1", "42703", "agee"),
        ("SELECT age FROM users", "42803", "age"),
        ("SELECT COUNT(*) FROM nobody", "42P01", "nobody"),
        ("SELECT COUNT(* FROM users", "42601", None),
        ("SELECT MAX(age) FROM users", "0A000", None),
        ("SELECT 1; SELECT COUNT(*) FROM public.nobody", "42P01", "nobody"),
        ("DELETE FROM users", "25006", "DELETE"),
        ("COPY users TO STDOUT", "25006", "COPY"),
        ("CREATE TABLE x (a int)", "25006", "CREATE"),
        ("SELECT * FROM pg_class, users", "0A000", None),
        ("SELECT pg_read_file('/etc/passwd')", "42883", None),
        ("SELECT nothing FROM pg_class", "42703", None),
        ("SELECT 'x'::nothing", "42704", None),
        ("SHOW nothing", "42704", None),
        ("SET client_encoding = latin1", "22023", None),
        ("SET TRANSACTION READ WRITE", "25006", None),
    ],
)
def test_errors_have_a_state_and_a_place(place: Place, text: str, state: str, word: str | None) -> None:
    with place.connect() as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(text)
    assert refused.value.sqlstate == state
    position = refused.value.diag.statement_position
    if word is not None:
        assert position is not None
        assert text[int(position) - 1 :].startswith(word)


def test_transactions(place: Place) -> None:
    with place.connect() as connection:
        connection.autocommit = False
        connection.execute("SELECT 1")
        assert connection.info.transaction_status.name == "INTRANS"
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nothing FROM users")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with connection.transaction(), connection.transaction():
            assert connection.execute("SELECT 2").fetchone() == (2,)
        connection.commit()
        assert connection.info.transaction_status.name == "IDLE"


def test_settings_choose_how_questions_are_answered(place: Place) -> None:
    with place.connect(options="-c tacit.confidence=0.5") as connection:
        half = connection.execute(GROUPS.format(2)).fetchall()
        assert half == expected(place, GROUPS.format(2), confidence=0.5)
        connection.execute("SET tacit.consistent = on")
        connection.execute("SET tacit.confidence TO '0.8'")
        text = "SELECT age, COUNT(*) AS n FROM users GROUP BY age"
        options = {"confidence": 0.8, "consistent": True}
        assert connection.execute(text).fetchall() == expected(place, text, **options)
        assert connection.execute("SHOW tacit.confidence").fetchone() == ("0.8",)
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SET tacit.confidence = 7")


def test_portals_stop_and_go_on(open_place: Place) -> None:
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.message(b"P", b"\0SELECT age, COUNT(*) AS n FROM users GROUP BY age\0\0\0")
        client.message(b"B", b"\0\0\0\0\0\0\0\0")
        client.message(b"E", b"\0\0\0\0\4")
        client.message(b"E", b"\0\0\0\0\4")
        client.message(b"E", b"\0\0\0\0\0")
        client.message(b"S")
        kinds = "".join(kind for kind, _ in client.until("Z"))
    assert kinds == "12" + "D" * 4 + "s" + "D" * 4 + "s" + "D" * 2 + "CZ"


def test_rows_of_few_portals_are_kept(open_place: Place) -> None:
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.message(b"P", b"\0SELECT x FROM generate_series(1, 3) x\0\0\0")
        for number in range(9):
            name = f"p{number}".encode()
            client.message(b"B", name + b"\0\0\0\0\0\0\0\0")
            client.message(b"E", name + b"\0\0\0\0\1")
        client.message(b"S")
        found = client.until("Z")
    assert "".join(kind for kind, _ in found) == "1" + "2Ds" * 8 + "2EZ"
    assert fields(found[-2][1])["C"] == "53400"


def test_the_catalog_shows_settings_as_they_are_now(place: Place) -> None:
    text = "SELECT setting FROM pg_settings WHERE name = 'tacit.confidence'"
    with place.connect() as connection:
        assert connection.execute(text).fetchone() == ("0.95",)
        connection.execute("SET tacit.confidence = 0.7")
        assert connection.execute(text).fetchone() == ("0.7",)
        connection.execute("DISCARD ALL")
        assert connection.execute(text).fetchone() == ("0.95",)


def test_after_an_error_messages_are_skipped_until_sync(open_place: Place) -> None:
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.message(b"P", b"\0SELECT nothing FROM users\0\0\0")
        client.message(b"B", b"\0\0\0\0\0\0\0\0")
        client.message(b"E", b"\0\0\0\0\0")
        client.message(b"S")
        client.message(b"Q", b"SELECT 1\0")
        kinds = [kind for kind, _ in (*client.until("Z"), *client.until("Z"))]
    assert kinds == ["E", "Z", "T", "D", "C", "Z"]


def test_questions_are_logged_and_limited(tmp_path: Any) -> None:
    with port_of(tmp_path, questions_per_minute=3.0) as place:
        before = sum('"question"' in line for line in place.collector.log.lines())
        with place.connect() as connection:
            connection.execute("SELECT COUNT(*) FROM users")
            connection.execute("SELECT COUNT(*) FROM orders")
            with pytest.raises(psycopg.Error) as refused:
                connection.execute("SELECT COUNT(*) FROM users")
        assert refused.value.sqlstate == "53400"
        logged = [line for line in place.collector.log.lines() if '"question"' in line]
        assert len(logged) == before + 2
        assert "analyst" in logged[-1]


def test_cancel(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is interrupted by its client, and by nobody with other numbers."""
    begun, ended = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        begun.set()
        ended.wait(60)
        message = "It was not interrupted."
        raise OverloadedError(message)

    monkeypatch.setattr(place.collector, "query", slow)
    with place.connect() as connection:
        found: list[Any] = []

        def ask() -> None:
            try:
                connection.execute("SELECT COUNT(*) FROM users")
            except psycopg.Error as error:
                found.append((error.sqlstate, time.monotonic()))

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(60)
        with Raw(place.port) as stranger:
            pid = connection.info.backend_pid.to_bytes(4, "big")
            stranger.send((16).to_bytes(4, "big") + (80_877_102).to_bytes(4, "big") + pid + b"none")
            assert stranger.read() == ("", b"")
        time.sleep(0.3)
        assert found == []
        start = time.monotonic()
        connection.cancel_safe(timeout=30)
        asking.join(60)
        ended.set()
        assert [state for state, _ in found] == ["57014"]
        assert found[0][1] - start < 30  # it was not waited for: that would take a minute
        monkeypatch.undo()
        assert connection.execute("SELECT COUNT(*) AS n FROM users").fetchone()[0] == 400  # type: ignore[index]


def test_sqlalchemys_own_dialect_and_pandas(place: Place) -> None:
    where = {"host": "127.0.0.1", "port": place.port, "database": "tacit"}
    url = sa.URL.create("postgresql+psycopg", username="analyst", password=place.made["analyst"], **where)
    engine = sa.create_engine(url, connect_args={"sslmode": "disable"})
    found = sa.inspect(engine)
    assert (found.get_schema_names(), found.get_table_names()) == (
        ["information_schema", "public"],
        ["orders", "users"],
    )
    users = sa.Table("users", sa.MetaData(), autoload_with=engine)
    assert [str(column.type) for column in users.columns] == ["TEXT", "BIGINT", "TEXT", "TEXT", "TEXT"]
    assert users.c.age.comment == "sensitive: every answer about it is an estimate"
    asked = sa.select(users.c.os, sa.func.count().label("n")).where(users.c.age > 2).group_by(users.c.os).order_by("os")
    frame = pd.read_sql(asked, engine)
    assert list(frame.itertuples(index=False, name=None)) == expected(place, GROUPS.format(2))
    engine.dispose()


def test_errors_of_ours_are_not_shown(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        message = "secret words"
        raise KeyError(message)

    monkeypatch.setattr(place.collector, "query", broken)
    with place.connect() as connection:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT COUNT(*) FROM users")
        assert refused.value.sqlstate == "XX000"
        assert "secret" not in str(refused.value)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_protocol_3_2_is_answered_with_3_0(open_place: Place) -> None:
    with Raw(open_place.port) as client:
        text = b"user\0me\0_pq_.x\0" + b"1\0\0"
        client.send((len(text) + 8).to_bytes(4, "big") + (196_610).to_bytes(4, "big") + text)
        kinds = [kind for kind, _ in client.until("Z")]
    assert kinds[:2] == ["v", "R"]


def test_the_first_message_of_another_protocol_ends_it(open_place: Place) -> None:
    with Raw(open_place.port) as client:
        client.send(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        kind, content = client.read()
        assert (kind, fields(content)["C"]) == ("E", "08P01")
