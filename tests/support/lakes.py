"""A lake of two services, the questions that its tests ask, and what they answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import tacit as tc
from tacit.engines.lake.engine import Lake

USERS = tc.Service(
    "users", key="uid", attributes=[tc.Ordinal("age", 0, 24), tc.Public("os", values=["i", "a"]), tc.Public("w")]
)
ORDERS = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Ordinal("pay", 0, 9)])
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 4.0, mechanism="hio", round="r")
QUESTIONS = [
    "SELECT COUNT(*) AS x FROM users",
    "SELECT os, AVG(age) AS x FROM users GROUP BY os",
    "SELECT COUNT(*) AS x FROM users WHERE w > 4 AND age < 9",
    "SELECT SUM(pay) AS x FROM users JOIN orders USING (uid) WHERE age > 3",
]
COUNTED = "SELECT COUNT(*) AS x FROM users WHERE age < 9"
"""It is answered from counts of codes."""


def reports_of(first: int, count: int) -> dict[str, pa.Table]:
    keys = np.arange(first, first + count)
    users = {"uid": keys, "age": keys * 7 % 25, "os": np.where(keys % 3, "i", "a"), "w": keys % 11}
    return COLLECTION.encode(users=users, orders={"uid": keys[::2], "pay": keys[::2] % 10}, rng=tc.insecure_rng(first))


def lake_with(folder: Path, *batches: tuple[int, int]) -> tc.Database:
    database = tc.connect(f"{folder}/")
    database.create(COLLECTION)
    for first, count in batches:
        database.load(reports_of(first, count))
    return database


def answers(database: tc.Database) -> list[list[tuple[float, float]]]:
    rows = [database.sql(question).rows for question in QUESTIONS]
    return [[(row[-1].value, row[-1].error) for row in some] for some in rows]


def engine_of(folder: Path) -> Lake:
    return Lake(folder)
