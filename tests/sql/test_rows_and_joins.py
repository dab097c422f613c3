"""One-to-many services and joins: exact means over all draws, and equality with SQL on the raw tables."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.people import drawn_places, possible_people, slot_row
from support.tiers import how_many, keeping
from tacit.errors import UnanswerableError
from tacit.estimate.decoder import Decoder
from tacit.estimate.estimate import Estimate
from tacit.estimate.functional import Functional
from tacit.testing import identity_collection, reveal

ITEM = tc.Ordinal("item", 0, 4, fanout=2)


def orders(**shape: int) -> tc.Service:
    return tc.Service("orders", key="uid", attributes=[ITEM], **shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "layout", keeping(["hi", "partitions"], ["hio", "hi", "sc", "fc", "pairs", "partitions"], "layouts of rows")
)
@pytest.mark.parametrize("decoder", keeping(["blue"], ["blue", "cover", "rdc"], "decoders of rows"))
@pytest.mark.parametrize("shape", [{"at_most": 3}, {"at_most": 3, "sends": 2}, {"at_most": 1}])
def test_means_over_all_draws_are_totals_of_rows(layout: str, decoder: str, shape: dict[str, int]) -> None:
    """E[sum over slots of c] = sum over rows of f, for everybody; of more than at_most rows, that many count."""
    service = tc.Collection(tc.Schema([orders(**shape)]), 1.5, mechanism=layout).contract["orders"]
    reader = Decoder(service, decoder)  # type: ignore[arg-type]
    sizes, extras = (5, 1 + service.service.extras), service.service.extras
    scale = service.service.rows_at_most / service.service.sends
    rows_only = Functional.of(sizes, 1, [scale] + [0.0] * extras)
    for vector in ([1.0] * 5, [0.0, 1.0, 1.0, 0.0, 0.0], [3.0, 1.0, 4.0, 1.0, 5.0]):
        decoded = reader.decode(Functional.of(sizes, 0, vector) * rows_only)
        [(coefficient, [factor])] = decoded.products
        values = {c: coefficient * reading.contributions() for c, reading in factor.readings.items()}
        for rows in possible_people(5, service.service.rows_at_most)[:: 3 if extras == 2 else 1]:
            mean = 0.0
            for places, chance in drawn_places(service, len(rows)):
                for place in places:
                    slot = coefficient * factor.constant
                    for c, channel in enumerate(service.channels):
                        if c in values:
                            slot += float(
                                np.dot([float(p) for p in slot_row(service, channel, rows, place)], values[c])
                            )
                    mean += float(chance) * slot
            truth = sum(vector[row[0]] for row in rows) * min(1.0, service.service.rows_at_most / max(1, len(rows)))
            assert mean == pytest.approx(truth, abs=1e-9)


def test_people_who_have_rows_are_counted_without_bias() -> None:
    service = tc.Collection(tc.Schema([orders(at_most=3, sends=2)]), 1.5).contract["orders"]
    factor = Decoder(service).decode(Functional.of((5, 3), 1, [0.5, 0.0, 0.5])).products[0][1][0]
    values = factor.readings[0].contributions()
    for rows in possible_people(5, 3)[::5]:
        mean = 0.0
        for places, chance in drawn_places(service, len(rows)):
            codes = [slot_row(service, service.channels[0], rows, place) for place in places]
            mean += float(chance) * sum(factor.constant + float(np.dot(np.array(p, float), values)) for p in codes)
        assert mean == pytest.approx(float(bool(rows)), abs=1e-9)


def test_products_of_several_slots_are_refused() -> None:
    attributes = [ITEM, tc.Categorical("kind", ["x", "y"])]
    schema = tc.Schema([tc.Service("orders", key="uid", at_most=3, sends=2, attributes=attributes)])
    service = tc.Collection(schema, 2.0, mechanism="sc").contract["orders"]
    both = Functional.of((5, 2, 3), 0, [1, 0, 0, 0, 0]) * Functional.of((5, 2, 3), 1, [1, 0])
    with pytest.raises(UnanswerableError):
        Decoder(service).decode(both * Functional.of((5, 2, 3), 2, [1.5, 0, 0]))


# --- equality with the raw tables

SCHEMA = tc.Schema(
    [
        tc.Service(
            "users",
            key="uid",
            attributes=[tc.Ordinal("age", 0, 9), tc.Categorical("kind", ["x", "y"], null=True), tc.Public("os")],
        ),
        tc.Service(
            "orders",
            key="uid",
            at_most=4,
            sends=4,
            attributes=[tc.Ordinal("amount", 0, 19), tc.Categorical("item", ["a", "b", "c"])],
        ),
        tc.Service("card", key="owner", optional=True, attributes=[tc.Ordinal("points", 0, 5)]),
    ]
)


def raw_tables(people: int = 600) -> dict[str, pa.Table]:
    source = np.random.default_rng(3)
    owner = np.repeat(np.arange(people), source.integers(0, 5, people))
    holders = np.flatnonzero(source.random(people) < 0.6)
    return {
        "users": pa.table(
            {
                "uid": np.arange(people),
                "age": source.integers(0, 10, people),
                "kind": pa.array(source.choice(["x", "y"], people), mask=source.random(people) < 0.1),
                "os": source.choice(["i", "a"], people),
            }
        ),
        "orders": pa.table(
            {
                "uid": owner,
                "amount": np.minimum(source.poisson(6, len(owner)), 19),
                "item": source.choice(["a", "b", "c"], len(owner), p=[0.5, 0.3, 0.2]),
            }
        ),
        "card": pa.table({"owner": holders, "points": source.integers(0, 6, len(holders))}),
    }


FROM = [
    "orders",
    "card",
    "users JOIN orders USING (uid)",
    "orders o JOIN users u ON o.uid = u.uid",
    "users JOIN card ON users.uid = card.owner",
    "users JOIN orders USING (uid) JOIN card ON card.owner = users.uid",
]
ABOUT = {
    "users": (["age < 5", "kind = 'x'", "os = 'i'", "kind IS NULL"], ["SUM(age)"], ["kind", "os"]),
    "orders": (["amount > 4", "item IN ('a', 'c')", "NOT item = 'b'"], ["SUM(amount)", "AVG(amount)"], ["item"]),
    "card": (["points BETWEEN 1 AND 4", "points <> 2"], ["SUM(points)", "STDDEV(points)"], ["points"]),
}


def join_questions(source: np.random.Generator, count: int) -> list[str]:
    """Return questions over all joins with conditions, measures and groups of any side."""
    made = []
    for _ in range(count):
        tables = str(source.choice(FROM))
        names = [name for name in ABOUT if name in tables]
        leaves = [leaf for name in names for leaf in ABOUT[name][0]]
        sums = ["COUNT(*)", *(s for name in names for s in ABOUT[name][1])]
        if len(names) > 1:
            sums += ["SUM(age * amount)"] if "orders" in names else ["SUM(age * points)"]
        chosen = source.choice(leaves, 3)
        where = f"{chosen[0]} {source.choice(['AND', 'OR'])} ({chosen[1]} {source.choice(['AND', 'OR'])} {chosen[2]})"
        group = str(source.choice([g for name in names for g in ABOUT[name][2]])) if source.random() < 0.5 else ""
        columns = ", ".join(
            [*([group] if group else []), f"{source.choice(sums)} AS x0", f"{source.choice(sums)} AS x1"]
        )
        made.append(f"SELECT {columns} FROM {tables} WHERE {where}{f' GROUP BY {group}' if group else ''}")
    return made


def test_generated_joins_equal_sql_on_the_raw_tables() -> None:
    collection = identity_collection(SCHEMA)
    database, raw = tc.connect(), raw_tables()
    database.create(collection)
    database.load(reveal(collection, **raw))
    connection = duckdb.connect()
    for name, table in raw.items():
        connection.register(name, table)
    for question in join_questions(np.random.default_rng(8), how_many(20, 150, "generated joins on raw rows")):
        width = int("GROUP BY" in question)
        truth = {row[:width]: row[width:] for row in connection.execute(question).fetchall()}
        for row in database.sql(question):
            expected = truth.get(row[:width], (0, 0))
            for cell, value in zip(row[width:], expected, strict=True):
                undefined = value is None or row[:width] not in truth
                same = math.isnan(cell.value) or abs(cell.value) < 1e-6 if undefined else None
                assert same if undefined else cell.value == pytest.approx(float(value), abs=1e-6), question


def test_people_are_counted_once() -> None:
    collection = identity_collection(SCHEMA)
    database, raw = tc.connect(), raw_tables()
    database.create(collection)
    database.load(reveal(collection, **raw))
    connection = duckdb.connect()
    for name, table in raw.items():
        connection.register(name, table)
    for question in (
        "SELECT COUNT(DISTINCT uid) AS n FROM orders",
        "SELECT COUNT(DISTINCT users.uid) AS n FROM orders JOIN users USING (uid) WHERE age < 3",
        "SELECT COUNT(DISTINCT owner) AS n FROM card WHERE points > 2",
        "SELECT COUNT(DISTINCT uid) AS n FROM users WHERE age > 4",
    ):
        [(truth,)] = connection.execute(question).fetchall()
        assert database.sql(question)["n"].value == pytest.approx(truth)
    for question in (
        "SELECT COUNT(DISTINCT uid) FROM orders WHERE amount > 3",
        "SELECT item, COUNT(DISTINCT uid) FROM orders GROUP BY item",
        "SELECT COUNT(DISTINCT amount) FROM orders",
    ):
        with pytest.raises(tc.TacitError) as caught:
            database.sql(question)
        assert caught.value.code == "count-distinct"
    with pytest.raises(tc.TacitError) as caught:
        database.sql("SELECT COUNT(*) FROM users FULL JOIN card ON owner = uid")
    assert caught.value.code == "unsupported-join"
    joined = database.sql("SELECT COUNT(*) AS n FROM orders LEFT JOIN users USING (uid)")
    assert any("not reported to all joined" in note for note in joined.notes), "such people would be missing silently"
    assert any("at most 4 rows" in note for note in database.sql("SELECT COUNT(*) AS n FROM orders").notes)
    assert isinstance(database.sql("SELECT COUNT(*) AS n FROM orders")["n"], Estimate)


PRODUCTS = pa.table(
    {
        "item": ["a", "b", "z"],
        "price": [10, 25, 99],
        "shelf": pa.array(["low", None, "high"]),
        "weight": pa.array([0.5, float("nan"), 2.0]),
    }
)
STAR = [
    "SELECT COUNT(*) AS x FROM orders JOIN products USING (item)",
    "SELECT SUM(price) AS x, AVG(price) AS y FROM orders JOIN products USING (item) WHERE amount > 5",
    "SELECT COUNT(*) AS x FROM orders o JOIN products p ON o.item = p.item WHERE p.price < 20 OR p.shelf = 'high'",
    "SELECT SUM(amount * price) AS x FROM orders JOIN products USING (item) JOIN users USING (uid) WHERE age < 5",
    "SELECT shelf, COUNT(*) AS x FROM orders JOIN products USING (item) GROUP BY shelf",
    "SELECT COUNT(*) AS x FROM orders JOIN products ON products.item = orders.item WHERE shelf IS NULL AND price <> 3",
    "SELECT CASE WHEN price > 20 THEN 'dear' ELSE 'cheap' END AS c, SUM(amount) AS x "
    "FROM orders JOIN products USING (item) GROUP BY c",
]


def test_public_dimensions_are_pushed_down_onto_the_foreign_key(tmp_path: Path) -> None:
    collection = identity_collection(SCHEMA)
    raw = raw_tables()
    database = tc.connect(tmp_path / "shop.tacit")
    database.create(collection)
    database.load(reveal(collection, **raw))
    database.dimension("products", PRODUCTS, key="item")
    database.close()
    database = tc.connect(tmp_path / "shop.tacit")  # it is kept
    connection = duckdb.connect()
    for name, table in (raw | {"products": PRODUCTS}).items():
        connection.register(name, table)
    for question in STAR:
        width = int("GROUP BY" in question)
        truth = {row[:width]: row[width:] for row in connection.execute(question).fetchall()}
        found = {row[:width]: row[width:] for row in database.sql(question)}
        for group, values in truth.items():
            assert [cell.value for cell in found.pop(group)] == pytest.approx([float(v) for v in values]), question
        assert all(abs(cell.value) < 1e-6 for cells in found.values() for cell in cells)
    database.close()


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("unsupported-join", "SELECT COUNT(*) FROM orders JOIN products ON orders.amount = products.price"),
        ("unsupported-join", "SELECT COUNT(*) FROM users JOIN products ON users.os = products.item"),
        ("unknown-table", "SELECT COUNT(*) FROM products"),
        ("not-a-number", "SELECT SUM(shelf) FROM orders JOIN products USING (item)"),
        ("wrong-constant", "SELECT COUNT(*) FROM orders JOIN products USING (item) WHERE price = 'x'"),
        ("unknown-column", "SELECT COUNT(*) FROM orders JOIN products USING (item) WHERE products.colour = 'red'"),
    ],
)
def test_dimensions_are_for_foreign_keys(code: str, question: str) -> None:
    collection = identity_collection(SCHEMA)
    database = tc.connect()
    database.create(collection)
    database.load(reveal(collection, **raw_tables(50)))
    database.dimension("products", PRODUCTS, key="item")
    with pytest.raises(tc.TacitError) as caught:
        database.sql(question)
    assert caught.value.code == code
    for name, table, key in (("users", PRODUCTS, "item"), ("p", PRODUCTS, "no"), ("p", pa.table({"k": [1, 1]}), "k")):
        with pytest.raises(tc.TacitError):
            database.dimension(name, table, key=key)


def test_explanations_and_sums_of_questions_about_several_services() -> None:
    collection = tc.Collection(SCHEMA, 4.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**raw_tables()))
    lines = database.sql("EXPLAIN SELECT COUNT(*) AS n FROM orders WHERE amount > 3")["explain"]
    assert any("rows of orders" in line for line in lines)
    assert not any("no predicted error" in line for line in lines)
    first = database.sql("SELECT COUNT(*) AS n FROM users WHERE age < 5")["n"]
    second = database.sql("SELECT COUNT(*) AS n FROM orders")["n"]
    assert (first + second).error == pytest.approx(math.hypot(first.error, second.error))
