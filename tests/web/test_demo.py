"""The served demo: tiers to choose from, people to play, and the truth beside every estimate."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.demos import demo_served
from support.tiers import keeping


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with demo_served() as address, httpx.Client(base_url=address, timeout=60, trust_env=False) as made:
        yield made


def test_the_demo_knows_the_truth_of_its_own_questions(client: httpx.Client) -> None:
    demo = client.get("/demo").json()
    assert demo["demo"] is True
    assert demo["loaded"]["shop"] == 2_000
    assert len(demo["questions"]) == 5
    for question in demo["questions"]:
        asked = {"tacit": 1, "sql": question["sql"]}
        exact = client.post("/demo/exact", json=asked).json()
        estimated = client.post("/v1/query", json=asked).json()
        assert len(exact["rows"]) == len(estimated["rows"]) >= 1
        assert exact["columns"][-1] in estimated["rows"][0]


def test_visitors_choose_among_tiers_of_one_round(client: httpx.Client) -> None:
    listed = client.get("/v1/collections").json()["collections"]
    assert {one["tier"]: one["epsilon"] for one in listed} == {"careful": 2, "standard": 4, "open": 6}
    assert {one["round"] for one in listed} == {"demo"}


def test_sample_people_fit_the_contract_and_are_nobody_else(client: httpx.Client) -> None:
    demo = client.get("/demo").json()
    services = client.get("/v1/collections").json()["collections"][0]["services"]
    for person in demo["people"]:
        assert sorted(person["rows"]) == sorted(services)
        known = {"tacit": 1, "sql": f"SELECT COUNT(*) AS n FROM shop WHERE uid = '{person['person']}'"}
        assert client.post("/demo/exact", json=known).json()["rows"] == [[0]]


ENDS = [signal.SIGINT, signal.SIGHUP]


@pytest.mark.parametrize("how", keeping(ENDS[:1], ENDS, "ways to end a demo; Ctrl-C stays"))
def test_on_a_terminal_it_serves_until_ctrl_c_or_until_it_is_closed(how: signal.Signals, tmp_path: Path) -> None:
    """Without a terminal it prints and ends: `test_cli` looks at that."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "tacit.cli", "demo", "--people", "500", "--port", "0", "--no-open"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    with os.fdopen(ours, "rb") as screen:
        address = next(line.split()[-1].decode() for line in screen if line.startswith(b"listening on "))
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), trust_env=False) as client:
            assert client.get(f"{address}/me", timeout=60).status_code == 200
        assert list(tmp_path.iterdir())
        process.send_signal(how)
        assert process.wait(60) == 0
    assert not list(tmp_path.iterdir()), "it deletes everything"
