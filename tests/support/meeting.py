"""A thousand people in two services, half of them through each client, and a collector that restarts in the middle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from support.collectors import Serving
from tacit.client import connect

PEOPLE = 1_000
COLLECTION = tc.Collection(
    tc.Schema(
        [
            tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("os")]),
            tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=2, sends=2),
        ]
    ),
    24.0,
)
QUESTION = "SELECT COUNT(*) AS n FROM users JOIN orders USING (uid) WHERE age < 9 AND pay >= 1"

Z = 6.11
"""Standard errors of a two-sided false alarm of 1e-9, for an estimate from a thousand people, which is normal enough.

Clients draw from the operating system, so every run is new. A lost half is 12 standard errors or more away."""


def made_people(source: np.random.Generator) -> list[dict[str, Any]]:
    """Return everybody's rows in both services."""
    return [
        {
            "person": f"u-{number}" if number % 3 else number,
            "users": {"age": int(source.integers(10)), "os": "ios" if number % 2 else "web"},
            "orders": [{"pay": int(pay)} for pay in source.integers(0, 5, source.integers(0, 3))],
        }
        for number in range(PEOPLE)
    ]


def truth(people: list[dict[str, Any]]) -> int:
    return sum(one["users"]["age"] < 9 and row["pay"] >= 1 for one in people for row in one["orders"])


def through_python(people: list[dict[str, Any]], address: str, wallet: Path, collection: str = COLLECTION.id) -> int:
    """Hand people over and deliver; return how many reports arrived."""
    client = connect(address, collection=collection, store=wallet, cap=24, every=0)
    for one in people:
        me = client.person(one["person"])
        me.record("users", one["users"])
        me.rows("orders", one["orders"])
    delivered = client.flush(seconds=60)
    assert (delivered.rejected, delivered.pending, delivered.problem) == (0, 0, "")
    client.close()
    return delivered.sent


def assert_assigned_views_are_followed(built: Path, folder: Path, source: np.random.Generator) -> None:
    """Both clients fetch coins from one collector and follow them: it refuses nothing."""
    assigned = tc.Collection(COLLECTION.schema, 24.0, assigned=True)
    people = made_people(source)[:60]
    serving = Serving(folder, collection=assigned)
    program = Path(__file__).parents[1] / "clients" / "half.mjs"
    try:
        done = subprocess.run(
            ["node", str(program), str(built / "tacit.js"), serving.address, assigned.id, "24"],
            input="\n".join(map(json.dumps, people[::2])),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[-1]) == {"sent": 90, "rejected": 0, "pending": 0}
        assert through_python(people[1::2], serving.address, folder / "wallet.db", assigned.id) == 90
    finally:
        serving.end()


def assert_two_clients_meet(built: Path, folder: Path, source: np.random.Generator) -> None:
    """Both clients deliver to one process, which ends and starts again meanwhile; one join covers the truth."""
    people = made_people(source)
    mine, theirs = people[::2], people[1::2]
    serving = Serving(folder, collection=COLLECTION)
    port = serving.address.rpartition(":")[2]
    program = Path(__file__).parents[1] / "clients" / "half.mjs"
    node = subprocess.Popen(
        ["node", str(program), str(built / "tacit.js"), serving.address, COLLECTION.id, "24"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write("\n".join(map(json.dumps, theirs)))
        node.stdin.close()
        sent = through_python(mine[:250], serving.address, folder / "wallet.db")
        assert node.stdout.readline() == "half\n"
        assert serving.end() == 0  # in the middle of the other half's deliveries
        serving = Serving(folder, collection=COLLECTION, options=("--port", port))
        sent += through_python(mine[250:], serving.address, folder / "wallet.db")
        total = json.loads(node.stdout.readline())
        assert node.wait(60) == 0
        assert (sent, total) == (3 * len(mine), {"sent": 3 * len(theirs), "rejected": 0, "pending": 0})
        with serving.client() as client:
            asked = [QUESTION, "SELECT COUNT(*) AS n FROM users WHERE os = 'ios'"]
            [joined, shown] = [
                client.post("/v1/query", json={"tacit": 1, "sql": sql}).json()["rows"][0] for sql in asked
            ]
        assert shown["n"] == PEOPLE / 2
        true = truth(people)
        assert abs(joined["n"] - true) <= Z * joined["n_error"]
        assert abs(joined["n"] - truth(mine)) > Z * joined["n_error"], "a lost half would not be noticed: raise epsilon"
        assert abs(joined["n"] - truth(theirs)) > Z * joined["n_error"]
    finally:
        node.kill()
        node.wait()
        node.stdout.close()
        serving.end()
