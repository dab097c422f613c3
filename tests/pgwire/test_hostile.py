"""Clients that speak badly, slowly, too much or not at all: the collector goes on for the others."""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from support.tiers import how_many
from support.wire import Place, Raw, fields
from tacit.adapters.pgwire import messages as wire
from tacit.adapters.pgwire.catalog.prepare import prepare
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.scram import Exchange, make_verifier
from tacit.adapters.pgwire.settings import PgSession
from tacit.adapters.pgwire.statements import ClientStatement, classify, split
from tacit.adapters.pgwire.values import decode
from tacit.errors import AccessError, TacitError, UsageError
from tacit.server.metrics import open_files
from tacit.sql.columns import Column, Shape

MESSAGES = how_many(3_000, 10_000, "hostile messages of the PostgreSQL protocol")
GOLDEN = json.loads((Path(__file__).parent / "golden" / "catalog.json").read_text())
GOOD = [
    b"Q\0\0\0\x0dSELECT 1\0",
    b"Q\0\0\0\x2aSELECT relname, oid FROM pg_class LIMIT 3\0"[:43],
    b"P\0\0\0\x10\0SELECT 1\0\0\0",
    b"P\0\0\0\x1ea\0SELECT $1::int4\0\0\1\0\0\0\x17\0\0\0\0",
    b"B\0\0\0\x0c\0\0\0\0\0\0\0\0",
    b"B\0\0\0\x15\0a\0\0\1\0\1\0\1\0\0\0\4\0\0\0\5\0\0",
    b"D\0\0\0\6S\0",
    b"D\0\0\0\6P\0",
    b"E\0\0\0\x09\0\0\0\0\0",
    b"C\0\0\0\6S\0",
    b"S\0\0\0\4",
    b"H\0\0\0\4",
    b"d\0\0\0\5x",
    b"p\0\0\0\x0bSCRAM-\0",
    b"F\0\0\0\4",
]


def mutated(content: bytes, source: np.random.Generator) -> bytes:
    """Return a message with a few bytes changed, removed, repeated or added."""
    made = bytearray(content)
    for _ in range(int(source.integers(0, 4))):
        place = int(source.integers(0, len(made) + 1))
        kind = int(source.integers(0, 4))
        if kind == 0 and place < len(made):
            made[place] = int(source.integers(0, 256))
        elif kind == 1:
            del made[place : place + int(source.integers(1, 4))]
        elif kind == 2:
            made[place:place] = source.bytes(int(source.integers(1, 5)))
        else:
            made[place:place] = made[: int(source.integers(0, 8))]
    return bytes(made)


def test_thousands_of_hostile_messages(open_place: Place, source: np.random.Generator) -> None:
    """Random and mutated messages, many in a row on each connection; afterwards nothing is left of them."""
    with open_place.connect("me") as first:
        first.execute("SELECT 1")
    before, sent, connections = open_files() or 0, 0, 0
    while sent < MESSAGES:
        connections += 1
        with Raw(open_place.port, seconds=5) as client, suppress(OSError):
            client.start(user="me")
            client.until("Z")
            client.socket.settimeout(0.2)
            for _ in range(int(source.integers(1, 60))):
                chosen = GOOD[int(source.integers(0, len(GOOD)))]
                client.send(mutated(chosen, source) if source.random() < 0.9 else source.bytes(40))
                sent += 1
            client.message(b"S")
            client.message(b"X")
            with suppress(TimeoutError):
                while client.socket.recv(65_536):
                    pass
    assert connections > MESSAGES // 60
    with open_place.connect("me") as connection:
        assert connection.execute("SELECT COUNT(*) AS n FROM users").fetchone()[0] == 400  # type: ignore[index]
    deadline = time.monotonic() + 20
    while (open_files() or 0) > before + 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (open_files() or 0) <= before + 2


def test_hostile_first_messages(place: Place, source: np.random.Generator) -> None:
    parameters = b"user\0analyst\0database\0x\0\0"
    good = struct.pack("!ii", len(parameters) + 8, 196_608) + parameters
    for number in range(300):
        with Raw(place.port, seconds=5) as client, suppress(OSError):
            client.send(mutated(good, source) if number % 3 else source.bytes(int(source.integers(0, 60))))
            client.socket.settimeout(0.01)
            with suppress(TimeoutError):
                client.take(1)
    with place.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "read",
    [
        wire.read_startup,
        wire.read_parse,
        wire.read_bind,
        wire.read_describe,
        wire.read_execute,
        wire.read_sasl_first,
        wire.read_text,
    ],
)
def test_any_bytes_are_read_or_refused(read: Any, source: np.random.Generator) -> None:
    good = [message[5:] for message in GOOD]
    refused = 0
    for number in range(5000):
        content = mutated(good[number % len(good)], source) if number % 2 else source.bytes(number % 50)
        try:
            read(content)
        except wire.ProtocolError:
            refused += 1
    assert refused > 0
    assert refused < 5000 or read is wire.read_startup  # whose messages have no letter in front


@pytest.mark.parametrize(
    "kind", ["bool", "int4", "int8", "float8", "numeric", "date", "timestamp", "text", "_int4", "_text", "oid"]
)
def test_any_value_is_read_or_refused(kind: str, source: np.random.Generator) -> None:
    refused = 0
    for number in range(2000):
        try:
            decode(source.bytes(number % 30), kind, number // 30 % 2)  # as text, and as bytes
        except UsageError:
            refused += 1
    assert refused > 0
    assert refused < 2000 or kind in ("_int4", "_text", "date", "timestamp")  # random bytes are hardly ever one


def test_any_proof_is_refused(source: np.random.Generator) -> None:
    verifier = make_verifier("analyst", "key")
    for _ in range(2000):
        exchange = Exchange("analyst", [(verifier, "owner")])
        first = mutated(b"n,,n=,r=abcdefghijkl", source)
        with pytest.raises(AccessError):  # noqa: PT012  either message may be refused
            exchange.challenge(first)
            exchange.verify(mutated(b"c=biws,r=abc,p=" + b"A" * 43 + b"=", source))


def test_mutated_questions_to_the_catalog_are_answered_or_refused(source: np.random.Generator) -> None:
    """Words of recorded questions are removed, swapped and repeated: nothing but our own errors comes of it."""
    shape = Shape("users", "service", (Column("uid", "text", "key", nullable=False),))
    catalog = PgCatalog([shape], "me", "db", PgSession("me").values)
    answered = 0
    texts = [asked["sql"] for asked in GOLDEN if len(asked["sql"]) < 2500]
    for _ in range(1500):
        words = texts[int(source.integers(0, len(texts)))].split(" ")
        for _ in range(int(source.integers(1, 4))):
            one, other = (int(place) for place in source.integers(0, len(words), 2))
            words[one], words[other] = words[other], words[one]
            if len(words) > 3 and source.random() < 0.5:
                del words[one : one + 1]
        with suppress(TacitError):
            for part, offset in split(" ".join(words) or " "):
                statement: ClientStatement = classify(part, offset, {"users"})
                if statement.node is not None:
                    prepare(statement.node, catalog, (), ()).run()
                    answered += 1
    assert answered > 50


@pytest.mark.parametrize("length", [0, 3, -1, 1 << 20, (1 << 31) - 1, -(1 << 31)])
def test_lengths_are_checked_before_anything_is_read(open_place: Place, length: int) -> None:
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.send(b"Q" + struct.pack("!i", length + (4 if length == 1 << 20 else 0)))
        kind, content = client.read()
        assert (kind, fields(content)["C"]) == ("E", "54000")
        assert client.read() == ("", b"")


def test_fifty_who_come_at_once_are_all_let_in(open_place: Place) -> None:
    """As a pool does on a busy machine, where nobody is known before everybody has knocked."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Raw(open_place.port)) for _ in range(50)]
        for client in clients:
            client.start(user="me")
        assert [client.until("Z")[-1][0] for client in clients] == ["Z"] * 50


def test_fifty_connections(place: Place) -> None:
    answers: list[Any] = []

    def ask(number: int) -> None:
        with place.connect() as connection:
            for age in (number % 5, 3):
                found = connection.execute("SELECT COUNT(*) AS n FROM users WHERE age > %s", [age]).fetchone()
                answers.append((age, found))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(answers) == 100
    counts = [found[0] for age, found in answers if age == 3]
    assert counts == pytest.approx([counts[0]] * len(counts), rel=1e-9)


def test_one_connection_too_many_is_told_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.server.postgres.MOST_CONNECTIONS", 2)
    refused = pytest.raises(psycopg.OperationalError, match="too many connections")
    with connect_when_free(place), connect_when_free(place), refused:
        place.connect()
    with connect_when_free(place) as connection:
        connection.execute("SELECT 1")


def connect_when_free(place: Place) -> psycopg.Connection[Any]:
    """Return a connection as soon as the server has noticed that earlier ones ended."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return place.connect()
        except psycopg.OperationalError as refusal:
            if "too many connections" not in str(refusal) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def test_half_a_message_does_not_wait_for_ever(open_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.adapters.pgwire.connection.MESSAGE_SECONDS", 0.3)
    with Raw(open_place.port) as client:
        client.start(user="me")
        client.until("Z")
        client.send(b"Q\0\0\0\x20SELECT")
        assert client.read() == ("", b"")


def test_who_does_not_read_is_given_up(open_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.adapters.pgwire.sending.WRITE_SECONDS", 0.5)
    with Raw(open_place.port, seconds=30) as client:
        client.start(user="me")
        client.until("Z")
        both, deadline = open_files() or 0, time.monotonic() + 60
        client.message(b"Q", b"SELECT '" + b"x" * 30_000 + b"' FROM generate_series(1, 1000)\0")
        while (open_files() or 0) >= both and time.monotonic() < deadline:
            time.sleep(0.05)
        received = 0
        with suppress(ConnectionError):
            while piece := client.socket.recv(1 << 20):
                received += len(piece)
    assert 0 < received < 20_000_000  # what fitted into buffers of 30,000,000, then the end


def test_a_question_ends_when_its_client_has_left(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, interrupted = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        from tacit.engines.deadline import interruptible

        begun.set()
        with interruptible(interrupted.set):
            interrupted.wait(60)
        return None

    monkeypatch.setattr(place.collector, "query", slow)
    connection = place.connect()
    connection.pgconn.send_query(b"SELECT COUNT(*) FROM users")
    while connection.pgconn.flush():
        time.sleep(0.01)
    assert begun.wait(60)
    os.close(os.dup(connection.fileno()))
    connection.close()
    assert interrupted.wait(60)
