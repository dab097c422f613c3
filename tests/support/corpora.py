"""Schemas and tables for the corpus of questions: a shop with decimals, a hospital, and telemetry by the hour."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc

__all__ = ["EVENTS", "HOSPITAL", "STORE", "events_tables", "hospital_tables", "store_tables"]

Day = datetime.date

STORE = tc.Schema(
    [
        tc.Service(
            "users",
            key="user_id",
            attributes=[
                tc.Categorical("country", ["BR", "DE", "FR", "JP", "US"]),
                tc.Categorical("plan", ["free", "basic", "pro"], ordered=True),
                tc.Ordinal("age", 18, 25, null=True),
                tc.Date("signup_date", "2024-12-12", "2025-01-15"),
                tc.Boolean("newsletter"),
                tc.Public("platform", values=["android", "ios", "web"]),
                tc.Public("app_version", type="str"),
            ],
        ),
        tc.Service(
            "orders",
            key="user_id",
            attributes=[
                tc.Ordinal("amount", "0.00", "12.50", step="2.50"),
                tc.Categorical("category", ["Books", "Food", "Toys", "Home & Garden"]),
                tc.Date("ordered_on", "2024-12-22", "2025-01-08"),
                tc.Boolean("returned"),
                tc.Categorical("payment", ["card", "cash", "paypal"], null=True),
                tc.Ordinal("sku", 1, 4),
            ],
            at_most=3,
            sends=3,
        ),
        tc.Service(
            "reviews", key="user_id", attributes=[tc.Ordinal("stars", 1, 5), tc.Boolean("verified")], optional=True
        ),
    ]
)

HOSPITAL = tc.Schema(
    [
        tc.Service(
            "patients",
            key="pid",
            attributes=[
                tc.Categorical("sex", ["F", "M"]),
                tc.Ordinal("age", 0, 9),
                tc.Boolean("diabetic", null=True),
                tc.Ordinal("bmi", "15.0", "34.5", step="0.5"),
                tc.Categorical("icd", ["E11", "E11.9", "I10", "J45.9"], null=True),
                tc.Date("diagnosed", "2024-12-15", "2025-01-10", null=True),
                tc.Public("region", values=["north", "south", "east"], null=True),
                tc.Public("site", type="int"),
            ],
        ),
        tc.Service(
            "admissions",
            key="pid",
            attributes=[
                tc.Ordinal("los", 0, 9),
                tc.Categorical("ward", ["ER", "ICU", "GP"]),
                tc.Date("admitted", "2024-01-01", "2024-02-15"),
                tc.Boolean("died"),
            ],
            at_most=4,
            sends=4,
        ),
    ]
)

EVENTS = tc.Schema(
    [
        tc.Service(
            "events",
            key="device",
            attributes=[
                tc.Timestamp("ts", "2026-11-02T00", "2026-11-03T23", unit="hour"),
                tc.Categorical("os", ["linux", "mac", "windows"]),
                tc.Ordinal("latency_ms", 0, 19),
                tc.Ordinal("crashes", 0, 2),
                tc.Ordinal("battery", 0, 4, null=True),
                tc.Date("day", "2026-11-02", "2026-11-09"),
                tc.Categorical("status", [200, 301, 404, 500]),
                tc.Public("version", type="str"),
                tc.Public("seen", type="str"),
                tc.Public("build", type="int"),
                tc.Public("beta", type="bool"),
            ],
        ),
    ]
)


def _days(start: Day, steps: Sequence[int] | Any, mask: Any = None) -> pa.Array:
    return pa.array([start + datetime.timedelta(days=int(step)) for step in steps], mask=mask)


def store_tables() -> dict[str, pa.Table]:
    """Return users, their orders, and reviews by half of them."""
    draw = np.random.default_rng(11)
    count = 900
    owner = np.repeat(np.arange(count), draw.integers(0, 4, count))
    rows, reviewers = len(owner), np.flatnonzero(draw.random(count) < 0.5)
    users = {
        "user_id": np.arange(count),
        "country": draw.choice(["BR", "DE", "FR", "JP", "US"], count, p=[0.1, 0.2, 0.1, 0.2, 0.4]),
        "plan": draw.choice(["free", "basic", "pro"], count, p=[0.6, 0.3, 0.1]),
        "age": pa.array(draw.integers(18, 26, count), mask=draw.random(count) < 0.1),
        "signup_date": _days(Day(2024, 12, 12), draw.integers(0, 35, count)),
        "newsletter": draw.random(count) < 0.4,
        "platform": draw.choice(["android", "ios", "web"], count),
        "app_version": draw.choice(["1.9.0", "1.10.2", "2.0.0"], count),
    }
    orders = {
        "user_id": owner,
        "amount": draw.integers(0, 6, rows) * 2.5,
        "category": draw.choice(["Books", "Food", "Toys", "Home & Garden"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        "ordered_on": _days(Day(2024, 12, 22), draw.integers(0, 18, rows)),
        "returned": draw.random(rows) < 0.2,
        "payment": pa.array(draw.choice(["card", "cash", "paypal"], rows), mask=draw.random(rows) < 0.15),
        "sku": draw.integers(1, 5, rows),
    }
    reviews = {
        "user_id": reviewers,
        "stars": draw.integers(1, 6, len(reviewers)),
        "verified": draw.random(len(reviewers)) < 0.7,
    }
    return {"users": pa.table(users), "orders": pa.table(orders), "reviews": pa.table(reviews)}


def hospital_tables() -> dict[str, pa.Table]:
    """Return patients and their admissions."""
    draw = np.random.default_rng(12)
    count = 900
    owner = np.repeat(np.arange(count), draw.integers(0, 5, count))
    rows = len(owner)
    patients = {
        "pid": np.arange(count),
        "sex": draw.choice(["F", "M"], count),
        "age": draw.integers(0, 10, count),
        "diabetic": pa.array(draw.random(count) < 0.2, mask=draw.random(count) < 0.1),
        "bmi": 15 + draw.integers(0, 40, count) * 0.5,
        "icd": pa.array(draw.choice(["E11", "E11.9", "I10", "J45.9"], count), mask=draw.random(count) < 0.1),
        "diagnosed": _days(Day(2024, 12, 15), draw.integers(0, 27, count), draw.random(count) < 0.2),
        "region": pa.array(draw.choice(["north", "south", "east"], count), mask=draw.random(count) < 0.1),
        "site": draw.integers(1, 8, count),
    }
    admissions = {
        "pid": owner,
        "los": np.minimum(draw.exponential(3, rows).astype(int), 9),
        "ward": draw.choice(["ER", "ICU", "GP"], rows, p=[0.3, 0.1, 0.6]),
        "admitted": _days(Day(2024, 1, 1), draw.integers(0, 46, rows)),
        "died": draw.random(rows) < 0.05,
    }
    return {"patients": pa.table(patients), "admissions": pa.table(admissions)}


def events_tables() -> dict[str, pa.Table]:
    """Return one event of each device."""
    draw = np.random.default_rng(13)
    count = 2_000
    start = datetime.datetime.combine(Day(2026, 11, 2), datetime.time())
    events = {
        "device": np.arange(count),
        "ts": pa.array([start + datetime.timedelta(hours=int(hour)) for hour in draw.integers(0, 48, count)]),
        "os": draw.choice(["linux", "mac", "windows"], count, p=[0.2, 0.3, 0.5]),
        "latency_ms": np.minimum(draw.gamma(2, 4, count).astype(int), 19),
        "crashes": np.minimum(draw.poisson(0.5, count), 2),
        "battery": pa.array(draw.integers(0, 5, count), mask=draw.random(count) < 0.2),
        "day": _days(Day(2026, 11, 2), draw.integers(0, 8, count)),
        "status": draw.choice([200, 301, 404, 500], count, p=[0.8, 0.1, 0.07, 0.03]),
        "version": draw.choice(["v1", "v2", "v3"], count),
        "seen": pa.array([str(Day(2026, 11, 2 + int(day))) for day in draw.integers(0, 28, count)]),
        "build": draw.integers(100, 120, count),
        "beta": draw.random(count) < 0.1,
    }
    return {"events": pa.table(events)}
