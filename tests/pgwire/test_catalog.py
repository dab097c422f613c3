"""Questions of real tools to the catalog, recorded, and expressions whose values PostgreSQL 15 gave.

`golden/catalog.json` holds what psql 15, psycopg 3, psycopg2, asyncpg, SQLAlchemy 2 (three drivers), pandas, pgjdbc 42,
node-postgres 8 and Superset's database model asked a PostgreSQL 15.18 with the tables of this collector; the answers
are ours. Where ``as_postgresql`` is true they are PostgreSQL's, too, to the letter; where not, they differ in what the
two differ in: comments, privileges, sizes, versions, and what PostgreSQL has and this has not.
`golden/facts.json` has what drizzle-kit, and Grafana, Metabase and DBeaver, which do not run here, ask for: relations,
columns, functions and conditions, in our own words; ``source`` says where they were seen, or that they were not.
`golden/expressions.json` is PostgreSQL's own: an expression, and the type, value and name of its column.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from tacit.adapters.pgwire.catalog.facts import oid_of_type
from tacit.adapters.pgwire.catalog.prepare import prepare
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.settings import PgSession
from tacit.adapters.pgwire.statements import classify, split
from tacit.adapters.pgwire.values import encode
from tacit.errors import OverloadedError, TacitError
from tacit.sql.columns import Column, Shape

GOLDEN = Path(__file__).parent / "golden"
ASKED = json.loads((GOLDEN / "catalog.json").read_text())
FACTS = json.loads((GOLDEN / "facts.json").read_text())
EXPRESSIONS = json.loads((GOLDEN / "expressions.json").read_text())
TOOLS = {
    *("psql", "psycopg", "asyncpg", "sqlalchemy-psycopg", "sqlalchemy-psycopg2", "sqlalchemy-asyncpg", "pandas"),
    *("pgjdbc", "node-postgres", "superset"),
}


def service(name: str, attribute: Column) -> Shape:
    labels = [Column(label, "text", "label", nullable=False) for label in ("round", "tier")]
    os = [Column("os", "text", "public", nullable=True)] if name == "users" else []
    return Shape(name, "service", (Column("uid", "text", "key", nullable=False), attribute, *os, *labels))


SHAPES = [
    service("orders", Column("pay", "bigint", "sensitive", nullable=False)),
    service("users", Column("age", "bigint", "sensitive", nullable=False)),
]


@pytest.fixture(scope="module")
def catalog() -> PgCatalog:
    return PgCatalog(SHAPES, "analyst", "tacit", PgSession("analyst").values)


def ask(catalog: PgCatalog, text: str) -> tuple[list[list[Any]], list[list[str | None]]]:
    """Return the columns and the rows of a question as a client sees them."""
    [(part, offset)] = split(text)
    statement = classify(part, offset, {"users", "orders"})
    assert statement.kind == "catalog"
    assert statement.node is not None
    prepared = prepare(statement.node, catalog, (), ())
    columns = [[name, oid_of_type(kind) or 25] for name, kind in zip(prepared.names, prepared.types, strict=True)]
    cells = [[encode(*cell, 0) for cell in zip(row, prepared.types, strict=True)] for row in prepared.run().rows]
    return columns, [[None if cell is None else cell.decode() for cell in row] for row in cells]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked["tools"][0])
def test_questions_of_tools(catalog: PgCatalog, asked: dict[str, Any]) -> None:
    columns, rows = ask(catalog, asked["sql"])
    assert columns == asked["columns"]
    assert len(rows) == asked["count"]
    assert rows[: len(asked["rows"])] == asked["rows"]


@pytest.mark.parametrize("asked", FACTS, ids=lambda asked: asked["tool"])
def test_what_other_tools_ask_for_is_there(catalog: PgCatalog, asked: dict[str, Any]) -> None:
    columns, rows = ask(catalog, asked["sql"])
    assert [name for name, _ in columns] == asked["columns"]
    assert len(rows) == asked["count"]
    assert rows[: len(asked["rows"])] == asked["rows"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 / 2", "-3"),
        ("7 / -2", "-3"),
        ("7.0 / 2", "3.5"),
        ("format('%s %I %L %%', 1, 'A b', 'it''s')", "1 \"A b\" 'it''s' %"),
        ("format('%s|%L', NULL, NULL)", "|NULL"),
        ("parse_ident('\"A.b\".C')", "{A.b,c}"),
    ],
)
def test_functions_of_other_tools(catalog: PgCatalog, text: str, value: str) -> None:
    assert ask(catalog, f"SELECT {text}")[1] == [[value]]


def test_using_a_column_that_one_side_lacks_is_refused(catalog: PgCatalog) -> None:
    with pytest.raises(TacitError, match="one side of the join has no such column"):
        ask(catalog, "SELECT 1 FROM pg_class JOIN pg_namespace USING (relname)")


def test_dividing_by_nothing_is_refused(catalog: PgCatalog) -> None:
    with pytest.raises(TacitError, match="divided by 0"):
        ask(catalog, "SELECT 1 / 0")


def test_eight_tools_and_more_are_recorded() -> None:
    assert {tool for asked in ASKED for tool in asked["tools"]} >= TOOLS
    assert sum(asked["as_postgresql"] for asked in ASKED) >= 95


@pytest.mark.parametrize(("expression", "oid", "value", "name"), EXPRESSIONS, ids=[one[0] for one in EXPRESSIONS])
def test_expressions_have_postgresqls_values(
    catalog: PgCatalog, expression: str, oid: int, value: str | None, name: str
) -> None:
    assert ask(catalog, f"SELECT {expression}") == ([[name, oid]], [[value]])


HOSTILE = [
    "SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d",
    "SELECT * FROM pg_type a, pg_type b, pg_type c ORDER BY 1",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT * FROM t",
    "WITH RECURSIVE t(x) AS (SELECT 'ab' UNION ALL SELECT x || x FROM t) SELECT * FROM t",
    "WITH RECURSIVE t(x) AS (SELECT ARRAY[1] UNION ALL SELECT x || x FROM t) SELECT * FROM t",
    "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000000000) b",
    "SELECT array_to_string(ARRAY(SELECT x FROM generate_series(1, 99999) x), repeat('x', 9999))",
    "SELECT array_to_string(ARRAY(SELECT x FROM generate_series(1, 99999) x), '" + "x" * 9999 + "')",
    "SELECT replace('" + "a" * 9999 + "', 'a', '" + "b" * 9999 + "')",
    "SELECT '" + "a" * 9999 + "' LIKE '" + "%a" * 4999 + "b'",
    "SELECT '" + "a" * 200 + "' ~ '^(a+)+$'",
    "SELECT typname ~ '.*.*.*.*x' FROM pg_type",
    "SELECT '" + "a" * 9999 + "' ~ 'a*a*b'",
    "SELECT (SELECT count(*) FROM pg_type b WHERE b.typname > a.typname) FROM pg_type a, pg_type c",
    "SELECT 1" + " + 1" * 8000,
    "SELECT " + "NOT " * 5000 + "true",
    "SELECT " + "(" * 200 + "1" + ")" * 200,
    "SELECT " + "ARRAY[" * 40 + "1" + "]" * 40,
    "SELECT 9" + "9" * 5000,
    "SELECT " + " * ".join(["999999999999999999"] * 500),
    "SELECT x EXCEPT SELECT y FROM generate_series(1, 99999) x, generate_series(1, 99999) y",
    "SELECT string_agg(x::text, '" + "y" * 9999 + "') FROM generate_series(1, 99999) x",
    "SELECT 1 % 0",
    "SELECT $999999999",
    "SELECT lower(1, 2, 3)",
    "SELECT unnest(5)",
    "SELECT (1).x.y.z",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:40])
def test_hostile_questions_end_soon(catalog: PgCatalog, text: str) -> None:
    start = time.process_time()
    with suppress(TacitError, AssertionError):
        ask(catalog, text)
    assert time.process_time() - start < 15


def test_the_budget_is_what_stops_them(catalog: PgCatalog) -> None:
    node = sqlglot.parse_one("SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d", dialect="postgres")
    with pytest.raises(OverloadedError, match="too much work"):
        prepare(node, catalog, (), ()).run()


def test_dimensions_are_views() -> None:
    shape = Shape("products", "dimension", (Column("id", "bigint", "public", nullable=False),))
    catalog = PgCatalog([shape], "me", "db", {})
    assert ask(catalog, "SELECT table_name, table_type FROM information_schema.tables")[1] == [["products", "VIEW"]]
    assert ask(catalog, "SELECT relkind FROM pg_class")[1] == [["v"]]
