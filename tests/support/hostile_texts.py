"""Texts that are no questions, or hide something in one, and what a database does with each: it answers or refuses."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

import tacit as tc
from tacit.engines.duckdb import DuckDB
from tacit.sql.bind import bind
from tacit.sql.parse import parse, without_explain
from tacit.sql.tables import scope_of, tables_of

__all__ = ["SECONDS", "Spy", "answer_or_refuse", "hostile_texts", "spied"]

SECONDS = 5.0
"""Of the processor that one text may take."""

SCHEMA = tc.Schema(
    [
        tc.Service(
            "town",
            key="uid",
            attributes=[tc.Ordinal("age", 0, 9), tc.Categorical("kind", ["x", "y"], null=True), tc.Public("os")],
        )
    ]
)

WORDS = """
SELECT COUNT(*) SUM(age) AVG(age) STDDEV(age) FROM town WHERE age kind os = <> < > BETWEEN AND OR NOT IN ( ) , ; 'x' 'y'
'zz' 1 5 -3 1e309 0.5 NULL IS GROUP BY ORDER LIMIT * + - / UNION ALL JOIN USING (uid) CASE WHEN THEN END ATTACH COPY
read_csv('/etc/passwd') INSTALL SET PRAGMA DROP TABLE -- /* */ " ` $1 ? :: x.y \\ \0 ümlaut 🙂 DISTINCT OVER PARTITION
WINDOW EXISTS (SELECT LIKE 'a%' CAST(age AS TEXT) DATE '2026-01-01' TRUE FALSE
""".split()  # noqa: SIM905

TEMPLATES = (
    "SELECT {a} FROM town WHERE {c}",
    "SELECT kind, {a} FROM town WHERE {c} GROUP BY kind",
    "SELECT os, {a} AS x FROM town WHERE {c} AND os = {t} GROUP BY os",
    "SELECT {a} AS x, {a} FROM town WHERE ({c}) OR NOT ({c}) ORDER BY 1 LIMIT 3",
    "SELECT CASE WHEN {c} THEN {t} ELSE 'no' END AS b, {a} FROM town GROUP BY b HAVING {a} > 1",
    "SELECT width_bucket(age, 0, 10, 3), {a} FILTER (WHERE {c}) FROM town GROUP BY 1 ORDER BY {a}",
    "SELECT round, {a} FROM town a JOIN town b USING (uid) WHERE a.os <> {t} OR {c} GROUP BY round",
    "EXPLAIN SELECT {a} FROM town WHERE os = {t} OR {c}",
)


class Spy(DuckDB):
    """An engine that keeps its statements."""

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[str] = []

    def fetch(self, statement, parameters, uploads):  # type: ignore[no-untyped-def]
        """Record and run."""
        self.statements.append(statement)
        return super().fetch(statement, parameters, uploads)

    def count_column(self, statement, parameters):  # type: ignore[no-untyped-def]
        """Record and run."""
        self.statements.append(statement)
        return super().count_column(statement, parameters)


def spied() -> tuple[tc.Database, Spy]:
    """Return a database with 200 people, and its engine."""
    engine = Spy()
    database = tc.Database(engine)
    collection = tc.Collection(SCHEMA, 2.0)
    database.create(collection)
    columns = {"uid": range(200), "age": [1, 5] * 100, "kind": ["x", None] * 100, "os": ["a", "b"] * 100}
    database.load(collection.encode(town=columns))
    return database, engine


CANARY = "canary7391"


def hostile_texts(source: np.random.Generator, count: int) -> list[str]:
    """Return soups of words, mutated statements, and statements with canaries where constants stand."""
    conditions = [
        "age < 5",
        "kind = 'x'",
        "age BETWEEN 2 AND 7",
        "kind IS NULL",
        f"age = '{CANARY}'",
        f"kind = '{CANARY}'",
    ]
    aggregates = ["COUNT(*)", "SUM(age)", "AVG(age)", "STDDEV(age)", "SUM(age) / COUNT(*)", "MAX(age)"]
    made = []
    for number in range(count):
        if number % 4 == 0:
            made.append(" ".join(source.choice(WORDS, source.integers(1, 25))))
            continue
        picked = {"a": source.choice(aggregates), "c": source.choice(conditions), "t": f"'{CANARY}; DROP TABLE town'"}
        text = str(source.choice(TEMPLATES)).format(**picked)
        if number % 4 == 1:
            parts = text.split(" ")
            parts[source.integers(len(parts))] = str(source.choice(WORDS))
            text = " ".join(parts)
        made.append(text)
    return made


def answer_or_refuse(database: tc.Database, engine: Spy, texts: list[str]) -> Counter[str]:
    """Ask every text; return how many were read, bound, answered and refused.

    Anything but an answer or an error with a code fails; so does a slow one, or a statement with words of a text.
    """
    engine.statements.clear()
    seen: Counter[str] = Counter(texts=len(texts))
    for text in texts:
        started = time.process_time()
        try:
            question, _ = without_explain(text)
            statement = parse(question)
            seen["read"] += 1
            bind(statement, scope_of(tables_of(statement, question), SCHEMA, question))
            seen["bound"] += 1
            database.sql(text)
            seen["answered"] += 1
        except tc.TacitError as error:
            seen["refused"] += bool(error.code)
        except KeyError:  # a table that the schema does not have, when binding by hand
            try:
                database.sql(text)
            except tc.TacitError:
                seen["refused"] += 1
        assert time.process_time() - started < SECONDS, f"hangs: {text!r}"
    assert seen["answered"] + seen["refused"] == len(texts), seen
    for statement in engine.statements:
        assert CANARY not in statement
        assert "passwd" not in statement
    assert database.sql("SELECT COUNT(*) AS n FROM town")["n"].value == 200
    return seen
