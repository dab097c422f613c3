"""Whenever an app is killed, nothing is charged without a report that waits or was sent, and no report is free."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION
from support.tiers import how_many
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet

CHILD = """
import os, signal, sys
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet

store, contract, collection, first, stop = sys.argv[1:]
wallet = Wallet(store)
left = int(stop)

def count(_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

client = Client(Transport("http://127.0.0.1:1"), wallet, collection, open(contract).read(), "", 6, 0)
print("started", flush=True)
if left:
    wallet._file.set_trace_callback(count)  # called before each statement
for number in range(int(first), int(first) + (1 if left else 1_000_000)):
    client.person(number).record("users", {"age": number % 10, "os": "ios"})
    client.person(number).rows("orders", [{"pay": 1}] * (number % 4))
"""

REPORTS = {"users": 1, "orders": 2}
KILLS = how_many(2, 100, "kills of an app at random moments")
RECORDS = 25 * KILLS


def start(folder: Path, first: int, stop: int) -> subprocess.Popen[str]:
    contract = folder / "contract.json"
    contract.write_text(COLLECTION.to_json())
    words = [sys.executable, "-c", CHILD, str(folder / "w.db"), str(contract), COLLECTION.id, str(first), str(stop)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def assert_whole(store: Path) -> int:
    """Require that every charge has all of its reports, ready to leave, and the other way round; return the charges."""
    with sqlite3.connect(store) as file:
        charged = dict.fromkeys(file.execute("SELECT person, service FROM entries").fetchall(), 0)
        for person, service, status in file.execute("SELECT person, service, status FROM reports").fetchall():
            assert status == "waiting", "charged, and never sent"
            charged[person, service] += 1
    file.close()
    assert all(count == REPORTS[service] for (_, service), count in charged.items())
    return len(charged)


def test_a_kill_at_every_statement_leaves_nothing_charged_and_unsent(tmp_path: Path) -> None:
    killed = 0
    for stop in range(1, 100):
        process = start(tmp_path, stop, stop)
        process.communicate(timeout=60)
        if (tmp_path / "w.db").exists():
            assert_whole(tmp_path / "w.db")
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        killed += 1
    assert process.returncode == 0, "the last one was not killed"
    assert killed >= 15, "statements of two claims"


def test_kills_at_random_moments_leave_nothing_charged_and_unsent(tmp_path: Path) -> None:
    """The parent kills at a moment that nothing in the child depends on."""
    source, kills, found = random.Random(16), 0, 0
    while kills < KILLS or found < RECORDS:
        process = start(tmp_path, kills * 1_000_000, 0)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(source.uniform(0.05, 0.6))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        process.stdout.close()
        found, kills = assert_whole(tmp_path / "w.db"), kills + 1
    print(f"{kills} kills, {found} records")


@pytest.fixture
def old_wallet(tmp_path: Path) -> Path:
    """Lend a wallet as the first release wrote it, after a crash between charge and release."""
    store = tmp_path / "old.db"
    file = sqlite3.connect(store)
    file.executescript(
        """
        CREATE TABLE entries (collection TEXT, person TEXT, service TEXT, round TEXT, epsilon TEXT,
          PRIMARY KEY (collection, person, service)) WITHOUT ROWID;
        CREATE TABLE reports (number INTEGER PRIMARY KEY, collection TEXT, person TEXT, service TEXT,
          slot INTEGER, body TEXT, status TEXT, code TEXT, UNIQUE (collection, person, service, slot));
        CREATE INDEX waiting ON reports (collection, number) WHERE status = 'waiting';
        CREATE TABLE forgotten (collection TEXT, person TEXT, told INTEGER, PRIMARY KEY (collection, person));
        CREATE TABLE contracts (collection TEXT PRIMARY KEY, contract TEXT);
        """
    )
    low = tc.Collection(COLLECTION.schema, 1.0, round="r", tier="low")
    file.execute("INSERT INTO contracts VALUES (?, ?)", (low.id, low.to_json()))
    file.execute("INSERT INTO entries VALUES (?, '\"ada\"', 'users', 'r', '1/3')", (low.id,))
    body = '{"person":"ada","service":"users","slot":0,"codes":[0],"public":{"os":"ios"}}'
    row = (low.id, body)
    file.execute("INSERT INTO reports VALUES (1, ?, '\"ada\"', 'users', 0, ?, 'held', NULL)", row)
    file.commit()
    file.close()
    return store


def test_what_an_older_wallet_holds_is_sent(old_wallet: Path) -> None:
    low, high = (tc.Collection(COLLECTION.schema, e, round="r", tier=t) for e, t in ((1.0, "low"), (2.0, "high")))

    def client(made: tc.Collection) -> Client:
        transport = Transport("http://127.0.0.1:1")
        return Client(transport, Wallet(old_wallet), made.id, made.to_json(), "", Fraction(6), 0)

    first = client(low)
    assert first.flush(seconds=0).pending == 1, "held for ever before"
    assert first.wallet.spent("ada") == Fraction(1, 3)
    first.close()
    again = client(high)
    assert again.wallet.counts(low.id) == {"waiting": 1}
    with pytest.raises(tc.TacitError) as caught:
        again.person("ada").rows("orders", [])
    assert caught.value.code == "other-tier", "the tier of what was drawn before is known from its contract"
    again.close()


def test_a_preview_is_held_over_restarts_and_released_in_one_step(tmp_path: Path) -> None:
    for _ in range(2):
        client = Client(
            Transport("http://127.0.0.1:1"), Wallet(tmp_path / "w.db"), COLLECTION.id, COLLECTION.to_json(), "", 6, 0
        )
        client.person("ada").preview("users", {"age": 3, "os": "ios"})
        assert client.wallet.counts(COLLECTION.id) == {"held": 1}
        client.close()
    client = Client(
        Transport("http://127.0.0.1:1"), Wallet(tmp_path / "w.db"), COLLECTION.id, COLLECTION.to_json(), "", 6, 0
    )
    assert client.person("ada").record("users", {"age": 3, "os": "ios"}).statuses == ("waiting",)
    client.close()
