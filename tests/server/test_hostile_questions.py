# ruff: noqa: E501
"""S5: no question is our mistake: whatever is too deep, too long or too large is refused by a 400 with a code."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.collectors import COLLECTION, collector_here, reports_of, served_here
from support.tiers import how_many
from tacit.server.app import make_app
from tacit.server.keys import Keys

QUESTIONS = how_many(50, 3_000, "questions that are too deep, too long or too large")
SIZES = (1, 3, 9, 60, 130, 400, 1_500, 4_000)

Make = Callable[[int], str]


def many(text: str, between: str) -> Make:
    return lambda n: between.join([text] * n)


def around(before: str, inside: str, after: str = "") -> Make:
    return lambda n: before * n + inside + after * n


VALUES: list[Make] = [
    many("age", "*"), many("age", "+"), many("(age+1)", "*"), many("os", "*"), many("(os+age)", "*"), many("1e99", "*"),
    many("age", "/"), many("age", "%"), many("age", "^"), many("age", "||"), around("- ", "age"), around("~", "age"),
    around("@ ", "age"), around("(", "age", ")"), around("[", "age", "]"), around("{'a':", "1", "}"), around("abs(", "age", ")"),
    around("CASE WHEN age=1 THEN ", "1", " END"), around("CASE ", "age", " END"), around("x -> ", "1"),
    lambda n: "age" + "::INT" * n, lambda n: "age" + "[1]" * n, lambda n: "age" + "->'x'" * n, lambda n: "age*" + "9" * n,
    lambda n: f"age*1e{n}", lambda n: f"age*1e-{n}", lambda n: "CASE " + "WHEN age=1 THEN 2 " * n + "END",
    lambda n: "CASE " + "".join(f"WHEN os='{i}' AND age={i % 9} THEN {i} " for i in range(n)) + "END",
]  # fmt: skip
CONDITIONS: list[Make] = [
    around("NOT ", "age=1"), many("age>1", " AND "), many("os='i'", " OR "), many("age<os", " AND "), many("age", "="),
    many("(age=1 OR os=2)", " AND "), many("(age=1 AND os='i')", " OR "), around("age BETWEEN 1 AND ", "5"),
    lambda n: f"age IN ({','.join(map(str, range(n)))})", lambda n: f"os NOT IN ({','.join(map(str, range(n)))})",
    lambda n: "age < " + "9" * n, lambda n: "os < " + "9" * n, lambda n: f"os < 1e{n}", lambda n: f"os = '{'x' * n}'",
    lambda n: "age" + " IS NULL" * n, lambda n: f"age < DATE '{'9' * n}-01-01'", lambda n: "age = " + "'" * n,
    lambda n: f"age < INTERVAL '{'9' * n}' DAY", lambda n: f"age = ${'9' * n}", lambda n: f"age IN ({','.join('?' * n)})",
    lambda n: ".".join(["users"] * n) + " = 1", lambda n: "os" + " COLLATE x" * n + " = 'x'",
]  # fmt: skip
WHOLE: list[Make] = [
    lambda n: f"SELECT {','.join(['SUM(age)'] * n)} FROM users",
    lambda n: f"SELECT {','.join(f'AVG(age*{i})' for i in range(n))} FROM users",
    lambda n: f"SELECT {'+'.join(['SUM(age)'] * n)} FROM users",
    lambda n: f"SELECT {'/'.join(['SUM(age)'] * n)} FROM users",
    lambda n: f"SELECT COUNT(*) FROM users GROUP BY {','.join(['age', 'os'] * n)}",
    lambda n: f"SELECT os, COUNT(*) FROM users GROUP BY os ORDER BY {','.join(['COUNT(*)'] * n)} LIMIT {'9' * n}",
    lambda n: f"SELECT os, COUNT(*) FROM users GROUP BY os HAVING {' AND '.join(['COUNT(*) > 1'] * n)}",
    lambda n: f"SELECT width_bucket(age, 0, 1e-{n}, {'9' * n}) AS g, COUNT(*) FROM users GROUP BY g",
    lambda n: f"SELECT width_bucket(age, 0, 0.{'0' * n}1, 10) AS g, COUNT(*) FROM users GROUP BY g",
    lambda n: "SELECT COUNT(*) FROM users " + " ".join(f"JOIN orders o{i} USING (uid)" for i in range(n)),
    lambda n: "SELECT COUNT(*) FROM " + ",".join(f"users u{i}" for i in range(n)),
    many("SELECT COUNT(*) FROM users", " UNION ALL "), many("SELECT COUNT(*) FROM users", "; "),
    lambda n: "WITH " + ",".join(f"x{i} AS (SELECT 1)" for i in range(n)) + " SELECT COUNT(*) FROM users",
    lambda n: f"SELECT COUNT(*) AS {'x' * n} FROM users", lambda n: f"SELECT COUNT(*) FROM {'x' * n}",
    lambda n: "SELECT " + "/*" * n + " COUNT(*) FROM users", lambda n: f"SELECT APPROX_TOP_K(age, {n}000000) FROM users",
    lambda n: f"SELECT QUANTILE(age, 0.{'9' * n}) FROM users", lambda n: "SELECT " + "(" * n + "COUNT(*) FROM users",
    lambda n: f"SELECT {','.join(['*'] * n)} FROM users", lambda n: "SELECT" + " " * n, lambda n: "\x00" * n, lambda n: "🙂" * n,
    lambda n: f"SELECT SUM(age) OVER (PARTITION BY {','.join(['age'] * n)}) FROM users",
    lambda n: f"SELECT COUNT(*) FROM read_csv('{'/etc/passwd' * n}')", lambda n: f"ATTACH '{'x' * n}' AS y",
]  # fmt: skip


def question(chance: random.Random) -> str:
    """Return one question: a part that grows, alone, in an aggregate, or in a condition; sometimes two of them."""
    size = chance.choice(SIZES)
    kind = chance.randrange(4)
    if kind == 0:
        return chance.choice(WHOLE)(size)
    value = f"{chance.choice(('SUM', 'AVG', 'COUNT', 'STDDEV', 'MEDIAN'))}({chance.choice(VALUES)(size if kind != 2 else 1)})"
    condition = chance.choice(CONDITIONS)(size if kind != 1 else 1)
    tail = chance.choice(("", " GROUP BY os", " HAVING COUNT(*) > 3"))
    return f"SELECT {value} AS x FROM users WHERE {condition}{tail}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("store")
    with collector_here(folder) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 50)).result()
        with served_here(make_app(collector, Keys(folder / "keys.json"))) as made:
            yield made


def test_no_question_is_our_mistake(client: httpx.Client) -> None:
    chance, seen = random.Random(20261116), Counter[str]()
    for _ in range(QUESTIONS):
        text = question(chance)
        answer = client.post("/v1/query", json={"tacit": 1, "sql": text})
        word = "answered" if answer.status_code == 200 else str(answer.json()["code"])
        assert answer.status_code in (200, 400, 413), (answer.status_code, word, text[:300])
        seen[word] += 1
    assert sum(seen.values()) == QUESTIONS
    assert len(seen) > 5, seen
    print(dict(seen.most_common()))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"SELECT SUM({'*'.join(['age'] * 4_000)}) FROM users", "too-deep"),
        (f"SELECT SUM({'*'.join(['age'] * 9)}) FROM users", "too-many-factors"),
        (f"SELECT SUM({'+'.join(['age'] * 1_000)}) FROM users", "too-deep"),
        (f"SELECT {','.join(['SUM(age)'] * 65)} FROM users", "too-many-aggregates"),
        (f"SELECT SUM(CASE {'WHEN age=1 THEN 1 ' * 65} END) FROM users", "too-many-cases"),
        (f"SELECT COUNT(*) FROM users {'JOIN orders USING (uid) ' * 9}", "too-many-joins"),
        ("SELECT SUM(age*1e99*1e99) FROM users", "number-too-large"),
        ("SELECT width_bucket(age, 0, 1e5, 10) AS g, COUNT(*) FROM users GROUP BY g", "unsupported-group"),
    ],
)
def test_each_limit_has_a_code(client: httpx.Client, text: str, code: str) -> None:
    answer = client.post("/v1/query", json={"tacit": 1, "sql": text})
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert client.post("/v1/draft", json={"tacit": 1, "sql": text}).status_code == 200
