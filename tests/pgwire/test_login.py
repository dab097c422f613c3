"""Who is let in: SCRAM with the collector's keys, TLS where there is a certificate, and nothing before that."""

from __future__ import annotations

import logging
import struct
import time
from pathlib import Path

import psycopg
import pytest

from support.wire import TLS, Place, Raw, fields, port_of
from tacit.adapters.pgwire.scram import Exchange, make_verifier
from tacit.errors import AccessError
from tacit.server.keys import Keys

COUNT = "SELECT COUNT(*) AS n FROM users"


def state_of(refused: pytest.ExceptionInfo[psycopg.OperationalError]) -> str:
    """Return what a refused login says."""
    return str(refused.value)


def test_a_key_lets_its_name_in(place: Place) -> None:
    with place.connect() as connection:
        assert connection.execute(COUNT).fetchone() == (400.0, 0.0, 400.0, 400.0)
        assert connection.info.parameter_status("default_transaction_read_only") == "on"


@pytest.mark.parametrize(
    ("name", "key", "code"),
    [
        ("analyst", "tacit_live_wrong", "unknown-key"),
        ("nobody", "tacit_live_wrong", "unknown-key"),
        ("shop", None, "wrong-scope"),
    ],
)
def test_others_are_refused(place: Place, name: str, key: str | None, code: str) -> None:
    with pytest.raises(psycopg.OperationalError) as refused:
        place.connect(name, password=key or place.made[name])
    assert code in state_of(refused)
    assert place.made["analyst"] not in state_of(refused)


def test_a_key_of_another_name_is_refused(place: Place) -> None:
    with pytest.raises(psycopg.OperationalError):
        place.connect("shop", password=place.made["analyst"])


def test_names_without_keys_look_like_others(place: Place) -> None:
    """What the collector answers before a proof is alike for a name that has a key and one that has none."""
    answers = []
    for name in ("analyst", "nobody"):
        with Raw(place.port) as client:
            client.start(user=name)
            assert client.read()[0] == "R"
            first = b"n,,n=,r=abcdefgh"
            client.message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
            kind, content = client.read()
            answers.append((kind, content[:4], [part[:1] for part in content[4:].split(b",")], len(content)))
            assert kind == "R"
    assert answers[0] == answers[1]


def test_two_keys_are_good_while_they_are_exchanged_and_revoked_ones_end_sessions(tmp_path: Path) -> None:
    with port_of(tmp_path) as place:
        second = place.keys.create("analyst", ["query"])
        with place.connect() as old, place.connect(password=second) as new:
            old.execute(COUNT)
            digest = str(place.keys.list_keys(place.made["analyst"])[0]["digest"])
            place.keys.revoke(digest)
            with pytest.raises(psycopg.Error, match="unknown-key"):
                old.execute(COUNT)
            with pytest.raises(psycopg.Error, match="unknown-key"):
                old.execute("SELECT 1")
            assert new.execute(COUNT).fetchone()[0] == 400  # type: ignore[index]
        with pytest.raises(psycopg.OperationalError):
            place.connect()


def test_the_file_of_keys_holds_no_key(place: Place) -> None:
    text = (place.collector.folder / "keys.json").read_text()
    assert place.made["analyst"] not in text
    assert make_verifier("analyst", place.made["analyst"]) in text
    assert all("scram" not in row and "secret" not in row for row in place.keys.list_keys())


def test_keys_of_earlier_versions_open_http_alone(tmp_path: Path) -> None:
    with port_of(tmp_path) as place:
        path = place.collector.folder / "keys.json"
        verifier = make_verifier("analyst", place.made["analyst"])
        path.write_text(path.read_text().replace(f'"scram": "{verifier}"', '"scram": ""'))
        assert Keys(path).without_verifiers() == {"analyst"}
        assert place.keys.check(place.made["analyst"], ["query"]).name == "analyst"
        with pytest.raises(psycopg.OperationalError, match="unknown-key"):
            place.connect()


def test_without_keys_this_machine_is_let_in(open_place: Place) -> None:
    with open_place.connect("anybody") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("anybody",)


def test_tls(tmp_path: Path) -> None:
    with port_of(tmp_path, with_tls=True) as place:
        trusted = {"sslmode": "verify-full", "sslrootcert": str(TLS / "localhost.pem")}
        with place.connect(**trusted) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute(COUNT).fetchone()[0] == 400  # type: ignore[index]
        with pytest.raises(psycopg.OperationalError, match="needs TLS"):
            place.connect(sslmode="disable")
        with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
            place.connect(sslmode="verify-full", sslrootcert=str(TLS / "good.pem"))


def test_bytes_before_tls_are_refused(tmp_path: Path) -> None:
    """What somebody in between sends along with the request must not be read as if it came through TLS."""
    with port_of(tmp_path, with_tls=True) as place, Raw(place.port) as client:
        text = b"user\0analyst\0\0"
        client.send(struct.pack("!ii", 8, 80_877_103) + struct.pack("!ii", len(text) + 8, 196_608) + text)
        kind, content = client.read()
        assert (kind, fields(content)["C"]) == ("E", "08P01")
        assert client.read() == ("", b"")


@pytest.mark.parametrize("first", [b"Q", b"P", b"X", b"S", b"d"])
def test_nothing_is_answered_before_a_login(place: Place, first: bytes) -> None:
    with Raw(place.port) as client:
        client.start(user="analyst")
        assert client.read()[0] == "R"
        client.message(first, b"SELECT 1\0")
        kind, content = client.read()
        assert (kind, fields(content)["S"]) == ("E", "FATAL")
        assert client.read() == ("", b"")


@pytest.mark.parametrize(
    "said",
    [b"", b"n,,", b"n,,n=x", b"p=tls-server-end-point,,n=,r=abc", b"y", b"n,,n=,r=", b"n,,m=1,n=,r=abc", b"\xff" * 20],
)
def test_damaged_proofs_are_refused(said: bytes) -> None:
    exchange = Exchange("analyst", [(make_verifier("analyst", "key"), "owner")])
    with pytest.raises(AccessError):
        exchange.challenge(said)


def test_damaged_last_messages_are_refused() -> None:
    for last in (b"", b"c=biws", b"c=biws,r=x,p=", b"c=biws,r=x,p=!!!!", b"c=biws,r=x,p=" + b"A" * 44, b"x" * 2000):
        exchange = Exchange("analyst", [(make_verifier("analyst", "key"), "owner")])
        exchange.challenge(b"n,,n=,r=abcdefgh")
        with pytest.raises(AccessError):
            exchange.verify(last)


def test_slow_logins_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.adapters.pgwire.connection.LOGIN_SECONDS", 0.5)
    start = time.monotonic()
    with Raw(place.port) as silent, Raw(place.port) as slow:
        slow.start(user="analyst")
        assert slow.read()[0] == "R"
        assert silent.read() == ("", b"")
        assert slow.read() == ("", b"")
    assert time.monotonic() - start < 10


def test_many_half_open_connections_do_not_keep_others_out(place: Place) -> None:
    waiting = [Raw(place.port) for _ in range(60)]
    try:
        time.sleep(0.2)
        with place.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        for one in waiting:
            one.socket.close()


def test_no_log_line_holds_a_key(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), place.connect() as connection:
        connection.execute(COUNT)
        with pytest.raises(psycopg.OperationalError):
            place.connect(password="tacit_live_" + "x" * 43)
    assert place.made["analyst"] not in caplog.text
    assert "tacit_live_x" not in caplog.text
