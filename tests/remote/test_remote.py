"""A collector over HTTP answers as its database does, number for number; its errors are the same errors."""

from __future__ import annotations

import datetime
import json
import math
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import tacit as tc
from support.collectors import COLLECTION
from tacit.adapters.remote.answers import (
    ABOUT,
    answer_from_stream,
    stream_of_answer,
    stream_of_table,
    table_from_stream,
)
from tacit.adapters.remote.database import RemoteDatabase
from tacit.contract.readers import Privacy, central_loss, no_claim
from tacit.errors import AccessError, BindError, EngineError, UnknownNameError, UnsupportedSqlError, UsageError
from tacit.estimate.answer import Answer
from tacit.estimate.estimate import Estimate

COUNT = "SELECT COUNT(*) AS n FROM users"
QUESTIONS = [
    ("SELECT COUNT(*) AS n, AVG(age) AS mean FROM users WHERE age >= 3", {}),
    ("SELECT os, age, COUNT(*) AS n FROM users GROUP BY os, age ORDER BY n DESC LIMIT 7", {}),
    ("SELECT SUM(pay) AS pay FROM users JOIN orders USING (uid) WHERE age < 5", {"confidence": 0.8}),
    ("SELECT AVG(pay) AS pay FROM users JOIN orders USING (uid) WHERE age = 3 AND pay > 3", {}),
    ("SELECT age, COUNT(*) AS n FROM users GROUP BY age", {"consistent": True}),
    ("SELECT age, COUNT(*) AS n FROM users GROUP BY age", {"simultaneous": True, "decoder": "cover"}),
    ("SELECT COUNT(*) AS n FROM users WHERE age >= ? AND os = ?", {"parameters": [Decimal("2.0"), "i"]}),
    ("EXPLAIN SELECT COUNT(*) AS n FROM users", {}),
]
ONE = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3)])]), 1)
PARTS = ("value", "error", "low", "high", "n", "freedom", "confidence", "max_shift_per_1pct")


def assert_same(one: Answer, other: Answer) -> None:
    assert (one.columns, one.estimates, one.notes) == (other.columns, other.estimates, other.notes)
    assert str(one) == str(other)
    for mine, yours in zip(one, other, strict=True):
        for a, b in zip(mine, yours, strict=True):
            if isinstance(a, Estimate):
                pairs = [(getattr(a, part), getattr(b, part)) for part in PARTS]
                assert all(p == pytest.approx(q, rel=1e-9, nan_ok=True) for p, q in pairs), (
                    pairs
                )  # sums in another order
            else:
                assert (type(a), a) == (type(b), b)


@pytest.mark.parametrize(("text", "options"), QUESTIONS)
def test_answers_are_those_of_the_collector(place: Any, remote: RemoteDatabase, text: str, options: Any) -> None:
    assert_same(remote.sql(text, **options), place.collector.query(text, **options))


def test_watermark_and_plan_come_along(remote: RemoteDatabase, place: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM users WHERE age = 4"
    found = remote.sql(text)
    assert found.watermark == place.collector.query(text).watermark
    assert found.explain().splitlines()[0] == place.collector.query(text).explain().splitlines()[0]


def test_both_guarantees_come_along(remote: RemoteDatabase, place: Any) -> None:
    asked, here = remote.sql(COUNT).privacy, place.collector.query(COUNT).privacy
    assert asked == here
    assert asked.central.reason
    assert "Against the collector: at most" in remote.sql(COUNT).explain()
    about = json.loads(remote.synthesize(5, service="users").schema.metadata[ABOUT])
    assert Privacy.from_data(about["privacy"]) == here


def test_guarantees_survive_as_data() -> None:
    for central in (central_loss(ONE.contract, ONE.audit().ratio, people=10**6), no_claim("so it is.")):
        for local in (1.5, math.inf):
            for keyed in (False, True):
                privacy = Privacy(local, replace(central, keyed=keyed))
                assert Privacy.from_data(json.loads(json.dumps(privacy.to_data()))) == privacy


@pytest.mark.parametrize("member", ["delta", "clone_share"])
@pytest.mark.parametrize("text", ["1e99999", "1E-99999", "0x1", "inf", 7, None, "1/0", "9" * 5000])
def test_no_collector_makes_its_readers_compute_for_ever(member: str, text: object) -> None:
    """A short text with an exponent is a number of any length; 1e999999999 took all memory."""
    answer = Answer(["a"], [[1]]).with_privacy(lambda: Privacy(1.5, no_claim("so it is.")))
    table = table_from_stream(stream_of_answer(answer))
    about = json.loads(table.schema.metadata[ABOUT])
    about["privacy"]["central"][member] = text
    forged = stream_of_table(table.replace_schema_metadata({ABOUT: json.dumps(about)}))
    with pytest.raises(EngineError, match="not-a-collector"):
        answer_from_stream(forged)


def test_values_that_json_has_not_survive() -> None:
    ends = [(0.5, 2.0), (-math.inf, math.inf), (math.nan, math.nan)]
    rows = [
        (datetime.date(2026, 1, 1), Estimate(1.0, math.nan, 5, 0.9, 3.5, interval=interval, shift=lambda: math.inf))
        for interval in ends
    ]
    answer = Answer(["day", "x"], rows, notes=["a note"], estimates=["x"])
    assert_same(answer_from_stream(stream_of_answer(answer)), answer)
    empty = Answer(["g", "x"], [], estimates=["x"])
    assert answer_from_stream(stream_of_answer(empty)).to_arrow().column_names == [
        "g",
        "x",
        "x_error",
        "x_low",
        "x_high",
    ]


def test_marginals(place: Any, remote: RemoteDatabase) -> None:
    found, expected = remote.marginal(["age"]), place.collector.database.marginal(["age"])
    assert_same(found, expected)
    assert (found.names, found.labels, found.counts.tolist()) == (
        expected.names,
        expected.labels,
        expected.counts.tolist(),
    )
    assert found.plot() == expected.plot()


def test_synthetic_rows(place: Any, remote: RemoteDatabase) -> None:
    found = remote.synthesize(50, seed=3, service="users")
    assert isinstance(found, pa.Table)
    assert found.equals(place.collector.database.synthesize(50, seed=3, service="users"))


def test_predictions_are_made_here_from_the_contract(remote: RemoteDatabase) -> None:
    text = "SELECT AVG(age) AS mean FROM users WHERE age > 2"
    assert_same(remote.predict(text, users=1000), COLLECTION.predict(text, users=1000))
    assert_same(remote.predict(text), COLLECTION.predict(text, users=400))
    assert remote.predict(text, error=0.1) == COLLECTION.predict(text, error=0.1)
    with pytest.raises(BindError, match="unknown-column"):
        remote.predict("SELECT AVG(agee) AS mean FROM users", users=10)


def test_audits_are_made_here_from_the_contract(remote: RemoteDatabase) -> None:
    assert [one.id for one in remote.collections] == [COLLECTION.id]
    assert remote.audit().worst_loss == COLLECTION.audit().worst_loss
    with pytest.raises(UnknownNameError):
        remote.audit("0" * 64)


def test_tables(place: Any, remote: RemoteDatabase) -> None:
    assert remote.tables() == place.collector.database.tables()
    assert [(c.name, c.type, c.role) for c in remote.tables()[1].columns][:3] == [
        ("uid", "text", "key"),
        ("age", "bigint", "sensitive"),
        ("os", "text", "public"),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("SELECT COUNT(*) FROM users WHERE agee = 1", BindError, "unknown-column"),
        ("SELECT age FROM users", BindError, "not-grouped"),
        ("DELETE FROM users", UnsupportedSqlError, "not-a-select"),
        ("SELECT COUNT(*) FROM nobody", UnknownNameError, "unknown-table"),
    ],
)
def test_errors_are_the_same(place: Any, remote: RemoteDatabase, text: str, kind: type, code: str) -> None:
    with pytest.raises(kind) as there:
        remote.sql(text)
    with pytest.raises(kind) as here:
        place.collector.query(text)
    assert str(there.value) == str(here.value)
    assert there.value.code == code


@pytest.mark.parametrize(
    "call",
    [
        lambda db: db.sql(7),
        lambda db: db.sql("SELECT COUNT(*) FROM users", confidence=2),
        lambda db: db.sql("SELECT COUNT(*) FROM users WHERE age = ?", "3"),
        lambda db: db.sql("SELECT COUNT(*) FROM users WHERE age = ?", [object()]),
        lambda db: db.synthesize(10**9),
        lambda db: db.synthesize(5, seed=-1),
        lambda db: db.marginal([]),
        lambda db: db.marginal(["age"], service=3),
    ],
)
def test_wrong_arguments_are_refused(remote: RemoteDatabase, call: Any) -> None:
    with pytest.raises(UsageError):
        call(remote)


def test_keys_are_needed_and_never_shown(place: Any) -> None:
    for key, code in ((None, "unknown-key"), ("tacit_live_wrong", "unknown-key"), (place.ingest, "wrong-scope")):
        remote = RemoteDatabase(place.address, key=key)
        with pytest.raises(AccessError) as refused:
            remote.sql("SELECT COUNT(*) FROM users")
        assert refused.value.code == code
        assert not key or (key not in str(refused.value) and key not in repr(remote))
    with pytest.raises(AccessError):
        RemoteDatabase(place.address, key="two\r\nlines: 1")


def test_keys_come_from_the_environment_or_a_file(place: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(f"{place.query}\n")
    text = "SELECT COUNT(*) AS n FROM users"
    assert tc.connect(place.address, key_file=file).sql(text)["n"].value == 400
    monkeypatch.setenv("TACIT_KEY_FILE", str(file))
    assert tc.connect(place.address).sql(text)["n"].value == 400
    monkeypatch.setenv("TACIT_KEY", place.query)
    monkeypatch.setenv("TACIT_KEY_FILE", str(tmp_path / "none"))
    assert tc.connect(place.address.replace("http", "tacit")).sql(text)["n"].value == 400
    with pytest.raises(UsageError, match="not both"):
        tc.connect(place.address, key="a", key_file=file)
    with pytest.raises(UsageError, match="for collectors"):
        tc.connect("shop.tacit", key="a")
    monkeypatch.delenv("TACIT_KEY")
    with pytest.raises(UsageError, match="cannot be read"):
        tc.connect(place.address)


@pytest.mark.parametrize(
    "address",
    ["http://reports.example", "https://", "https://k:secret@reports.example", "https://host?key=1", "https://a:b"],
)
def test_wrong_addresses_are_refused(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        tc.connect(address)
    assert "secret" not in str(refused.value)


def test_an_answer_that_was_cut_off_is_no_answer_with_fewer_rows() -> None:
    """An Arrow stream that ends after its schema is a table without rows."""
    whole = stream_of_answer(Answer(["a"], [[1], [2]]))
    ends = [end for end in range(len(whole)) if is_readable(whole[:end])]
    assert any(len(answer_from_stream(whole[:end]).rows) == 0 for end in ends), "some beginnings can be read"
    for end in (*ends, len(whole)):
        with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
            sent = pool.submit(respond, listening, whole[:end], len(whole))
            database = tc.connect(f"http://127.0.0.1:{listening.getsockname()[1]}")
            if end == len(whole):
                assert len(database.sql("SELECT 1").rows) == 2
            else:
                with pytest.raises(EngineError) as refused:
                    database.sql("SELECT 1")
                assert refused.value.code == "no-collector"
            sent.result()


def is_readable(content: bytes) -> bool:
    try:
        answer_from_stream(content)
    except EngineError:
        return False
    return True


def respond(listening: socket.socket, content: bytes, stated: int) -> None:
    """Answer one request, with a length that may be more than what is sent."""
    connection, _ = listening.accept()
    with connection, connection.makefile("rb") as file:
        length = 0
        while (line := file.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        file.read(length)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {stated}\r\n\r\n".encode() + content)


def test_what_is_no_collector_is_said_so() -> None:
    with pytest.raises(EngineError) as refused:
        tc.connect("http://127.0.0.1:1").sql("SELECT 1")
    assert refused.value.code == "no-collector"
    for content in (b"", b"{}", b"ARROW1", stream_of_answer(Answer(["a"], [[1]]))[:-20]):
        with pytest.raises(EngineError, match="not-a-collector"):
            answer_from_stream(content)
    with pytest.raises(EngineError, match="not-a-collector"):
        table_from_stream(b"<html>")
