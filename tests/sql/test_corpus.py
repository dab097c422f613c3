"""What analysts ask: shapes of TPC-H, ClickBench and BI tools, over our schemas.

A line is a question, which must equal DuckDB on the raw rows through a channel that hides nothing; after ``!code`` it
is refused by that code, with a sentence that says what to do.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.corpora import EVENTS, HOSPITAL, STORE, events_tables, hospital_tables, store_tables
from support.tiers import how_many
from support.wire import described_otherwise
from tacit.errors import TacitError
from tacit.estimate.estimate import Estimate
from tacit.testing import identity_collection, reveal

CORPUS = Path(__file__).parent / "corpus"
HALVES = how_many(1, 2, "halves of the corpus that are asked")
LEAST, ANSWERED = 1_000, 0.8

SHOP = tc.Schema(
    [
        tc.Service(
            "customers",
            key="uid",
            attributes=[
                tc.Categorical("segment", ["BUILDING", "HOUSEHOLD", "MACHINERY"]),
                tc.Categorical("nation", ["CHINA", "FRANCE", "JAPAN", "KENYA"]),
                tc.Ordinal("balance", 0, 24),
            ],
        ),
        tc.Service(
            "orders",
            key="uid",
            attributes=[
                tc.Categorical("status", ["F", "O", "P"]),
                tc.Categorical("priority", ["HIGH", "LOW", "URGENT"]),
                tc.Ordinal("quantity", 1, 9),
                tc.Ordinal("discount", 0, 4),
                tc.Ordinal("shipped", datetime.date(2026, 1, 1), datetime.date(2026, 2, 28)),
                tc.Categorical("item", [1, 2, 3, 4]),
            ],
            at_most=3,
            sends=3,
        ),
    ]
)
WEB = tc.Schema(
    [
        tc.Service(
            "hits",
            key="uid",
            attributes=[
                tc.Categorical("os", ["android", "ios", "linux", "windows"]),
                tc.Categorical("engine", ["bing", "google", "yahoo"], null=True),
                tc.Categorical("region", ["EU", "US"]),
                tc.Ordinal("width", 0, 19),
                tc.Ordinal("duration", 0, 39),
                tc.Public("channel_name", type="str"),
                tc.Public("visits_before", type="int"),
            ],
        )
    ]
)
PEOPLE_SCHEMA = tc.Schema(
    [
        tc.Service(
            "adults",
            key="uid",
            attributes=[
                tc.Ordinal("age", 18, 80),
                tc.Ordinal("income", 0, 30),
                tc.Categorical("sex", ["F", "M"]),
                tc.Categorical("job", ["clerk", "doctor", "farmer", "teacher"], null=True),
                tc.Ordinal("hired", datetime.date(2025, 1, 1), datetime.date(2025, 12, 31), step=7),
            ],
        )
    ]
)
CLINIC = tc.Schema(
    [
        tc.Service(
            "patients",
            key="pid",
            attributes=[
                tc.Ordinal("age", 0, 99),
                tc.Categorical("blood", ["A", "B", "AB", "O"], null=True),
                tc.Boolean("smoker"),
                tc.Public("city", values=["Oslo", "Rome", "Lima"]),
            ],
        ),
        tc.Service(
            "visits",
            key="pid",
            attributes=[tc.Ordinal("cost", 0, 49), tc.Categorical("ward", ["ER", "ICU", "GP"])],
            at_most=4,
            sends=4,
        ),
        tc.Service(
            "insurance",
            key="pid",
            attributes=[tc.Categorical("plan", ["basic", "gold"]), tc.Ordinal("premium", 0, 19)],
            optional=True,
        ),
    ]
)
PRODUCTS = pa.table(
    {
        "item": [1, 2, 3, 4],
        "brand": ["B1", "B2", "B2", "B3"],
        "price": [3.0, 5.0, 7.0, 20.0],
        "category": ["PROMO STEEL", "PLAIN TIN", "PROMO TIN", "PLAIN STEEL"],
    }
)


def _days(start: datetime.date, steps: np.ndarray, step: int = 1) -> pa.Array:
    return pa.array([start + datetime.timedelta(days=step * int(n)) for n in steps])


def _shop() -> dict[str, pa.Table]:
    draw = np.random.default_rng(1)
    count = 800
    owner = np.repeat(np.arange(count), draw.integers(0, 4, count))
    rows = len(owner)
    customers = {
        "uid": np.arange(count),
        "segment": draw.choice(["BUILDING", "HOUSEHOLD", "MACHINERY"], count),
        "nation": draw.choice(["CHINA", "FRANCE", "JAPAN", "KENYA"], count, p=[0.4, 0.3, 0.2, 0.1]),
        "balance": draw.integers(0, 25, count),
    }
    orders = {
        "uid": owner,
        "status": draw.choice(["F", "O", "P"], rows, p=[0.5, 0.3, 0.2]),
        "priority": draw.choice(["HIGH", "LOW", "URGENT"], rows),
        "quantity": np.minimum(1 + draw.poisson(3, rows), 9),
        "discount": draw.integers(0, 5, rows),
        "shipped": _days(datetime.date(2026, 1, 1), draw.integers(0, 59, rows)),
        "item": draw.choice([1, 2, 3, 4], rows, p=[0.4, 0.3, 0.2, 0.1]),
    }
    return {"customers": pa.table(customers), "orders": pa.table(orders)}


def _web() -> dict[str, pa.Table]:
    draw = np.random.default_rng(2)
    count = 2_001
    return {
        "hits": pa.table(
            {
                "uid": np.arange(count),
                "os": draw.choice(["android", "ios", "linux", "windows"], count, p=[0.4, 0.3, 0.1, 0.2]),
                "engine": pa.array(draw.choice(["bing", "google", "yahoo"], count), mask=draw.random(count) < 0.3),
                "region": draw.choice(["EU", "US"], count, p=[0.6, 0.4]),
                "width": np.minimum(draw.poisson(9, count), 19),
                "duration": np.minimum(draw.exponential(9, count).astype(int), 39),
                "channel_name": draw.choice(["ads", "mail", "search"], count, p=[0.5, 0.3, 0.2]),
                "visits_before": draw.integers(0, 6, count),
            }
        )
    }


def _people() -> dict[str, pa.Table]:
    draw = np.random.default_rng(3)
    count = 1_500
    return {
        "adults": pa.table(
            {
                "uid": np.arange(count),
                "age": draw.integers(18, 81, count),
                "income": np.minimum(draw.gamma(2, 5, count).astype(int), 30),
                "sex": draw.choice(["F", "M"], count),
                "job": pa.array(
                    draw.choice(["clerk", "doctor", "farmer", "teacher"], count, p=[0.4, 0.1, 0.2, 0.3]),
                    mask=draw.random(count) < 0.1,
                ),
                "hired": _days(datetime.date(2025, 1, 1), draw.integers(0, 53, count), 7),
            }
        )
    }


def _clinic() -> dict[str, pa.Table]:
    draw = np.random.default_rng(5)
    count = 900
    patient = np.repeat(np.arange(count), draw.integers(0, 5, count))
    rows, insured = len(patient), np.flatnonzero(draw.random(count) < 0.6)
    return {
        "patients": pa.table(
            {
                "pid": np.arange(count),
                "age": np.minimum(draw.gamma(4, 10, count).astype(int), 99),
                "blood": pa.array(draw.choice(["A", "B", "AB", "O"], count), mask=draw.random(count) < 0.2),
                "smoker": draw.random(count) < 0.3,
                "city": draw.choice(["Oslo", "Rome", "Lima"], count, p=[0.5, 0.3, 0.2]),
            }
        ),
        "visits": pa.table(
            {
                "pid": patient,
                "cost": draw.integers(0, 50, rows),
                "ward": draw.choice(["ER", "ICU", "GP"], rows),
            }
        ),
        "insurance": pa.table(
            {
                "pid": insured,
                "plan": draw.choice(["basic", "gold"], len(insured)),
                "premium": draw.integers(0, 20, len(insured)),
            }
        ),
    }


SCHEMAS = {
    "store": (STORE, store_tables),
    "hospital": (HOSPITAL, hospital_tables),
    "events": (EVENTS, events_tables),
    "shop": (SHOP, _shop),
    "web": (WEB, _web),
    "people": (PEOPLE_SCHEMA, _people),
    "clinic": (CLINIC, _clinic),
}


@pytest.fixture(scope="module", params=SCHEMAS)
def asked(request: pytest.FixtureRequest) -> tuple[str, tc.Database, duckdb.DuckDBPyConnection]:
    schema, tables = SCHEMAS[request.param]
    collection = identity_collection(schema)
    database, connection = tc.connect(), duckdb.connect()
    database.create(collection)
    made = tables()
    database.load(reveal(collection, **made))
    for name, table in made.items():
        connection.register(name, table)
        connection.execute(f"CREATE TABLE main.copy_of_{name} AS FROM {name}")
        connection.unregister(name)
        connection.execute(f"ALTER TABLE main.copy_of_{name} RENAME TO {name}")
    key = {"shop": "item", "store": "sku"}.get(request.param)
    if key is not None:
        products = PRODUCTS.rename_columns([key, *PRODUCTS.column_names[1:]]).slice(0, 4 - (key == "sku"))
        database.dimension("products", products, key=key)
        connection.register("products", products)
    connection.execute("CREATE SCHEMA public")
    for name in made:
        connection.execute(f"CREATE VIEW public.{name} AS FROM main.{name}")
    return request.param, database, connection


def lines(name: str) -> list[str]:
    text = (CORPUS / f"{name}.sql").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("--")]


def plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return float(value) if isinstance(value, Decimal) else value


def is_near(cell: Any, truth: Any) -> bool:
    value = cell.value if isinstance(cell, Estimate) else cell
    if truth is None or isinstance(value, str | datetime.date | None):
        return value == truth or (isinstance(value, float) and (math.isnan(value) or abs(value) < 1e-6))
    return abs(value - float(truth)) <= 1e-7 * max(1.0, abs(float(truth)))


def wrong(database: tc.Database, connection: duckdb.DuckDBPyConnection, line: str) -> str:
    """Return what is wrong with the answer to a line; empty if nothing is."""
    if line.startswith("!"):
        code, _, question = line[1:].partition(" ")
        try:
            database.sql(question)
        except TacitError as refusal:
            return "" if refusal.code == code and len(refusal.message) > 20 else f"refused by {refusal.code}"
        return "not refused"
    question, _, mark = line.partition(" --")
    answer = database.sql(question)
    if told := described_otherwise(database, question, answer):
        return told
    if mark:
        return ""
    truth = connection.execute(question)
    if [column[0] for column in truth.description] != list(answer.columns):
        return f"columns {answer.columns} instead of {[column[0] for column in truth.description]}"
    keys = [i for i, name in enumerate(answer.columns) if name not in answer.estimates]
    cells = [i for i in range(len(answer.columns)) if i not in keys]
    expected = {tuple(plain(row[i]) for i in keys): [row[i] for i in cells] for row in truth.fetchall()}
    for row in answer.rows:
        values = expected.pop(tuple(plain(row[i]) for i in keys), None)
        own = [row[i] for i in cells]
        if values is None:  # a group that nobody is in
            if any(not is_near(cell, None) for cell in own):
                return f"an extra row {row}"
        elif not all(is_near(cell, value) for cell, value in zip(own, values, strict=True)):
            return f"{own} instead of {values}"
    return f"missing {expected}" if expected else ""


def test_every_line_is_answered_as_duckdb_does_or_refused_by_its_code(
    asked: tuple[str, tc.Database, duckdb.DuckDBPyConnection],
) -> None:
    name, database, connection = asked
    found = {}
    for line in (line for i, line in enumerate(lines(name)) if i % 2 < HALVES):
        try:
            problem = wrong(database, connection, line)
        except TacitError as refusal:
            problem = f"refused: {refusal.code}: {refusal.message}"
        except duckdb.Error as refusal:
            problem = f"no question for DuckDB: {refusal}"
        if problem:
            found[line] = problem
    assert not found, "\n".join(f"{line}\n    {problem}" for line, problem in found.items())


def test_the_corpus_is_large_and_mostly_answered() -> None:
    every = [line for name in SCHEMAS for line in lines(name)]
    assert len(every) == len(set(every)) >= LEAST
    assert sum(not line.startswith("!") for line in every) >= ANSWERED * len(every)


def test_the_comparison_can_fail(asked: tuple[str, tc.Database, duckdb.DuckDBPyConnection]) -> None:
    name, database, connection = asked
    table = {"shop": "orders", "web": "hits", "people": "adults", "clinic": "visits"}.get(name)
    table = table or {"store": "orders", "hospital": "admissions", "events": "events"}[name]
    connection.execute(f"CREATE TABLE broken AS FROM {table} LIMIT 5")

    class Broken:
        def execute(self, question: str) -> duckdb.DuckDBPyConnection:
            return connection.execute(question.replace(f"FROM {table}", "FROM broken"))

    assert wrong(database, Broken(), f"SELECT COUNT(*) AS n FROM {table}")  # type: ignore[arg-type]
    assert wrong(database, connection, f"!unknown-table SELECT COUNT(*) AS n FROM {table}") == "not refused"
    other = database.sql(f"SELECT COUNT(*) AS m FROM {table}")
    assert described_otherwise(database, f"SELECT COUNT(*) AS n FROM {table}", other)
