"""Questions about the database, notes on what could be, and limits of what subqueries expand to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.contract.randomness import insecure_rng
from tacit.errors import TacitError

SCHEMA = tc.Schema(
    [
        tc.Service(
            "s",
            key="uid",
            attributes=[
                tc.Ordinal("age", 0, 15),
                tc.Categorical("city", ["Lima", "Oslo", "Rome", "Wien"], null=True),
                tc.Ordinal("spend", 0, 1_000, cells=10),
                tc.Public("shop", type="str"),
            ],
        )
    ]
)


@pytest.fixture(scope="module")
def database() -> tc.Database:
    draw = np.random.default_rng(4)
    count = 30_000
    table = pa.table(
        {
            "uid": np.arange(count),
            "age": draw.integers(0, 16, count),
            "city": draw.choice(["Lima", "Oslo", "Rome", "Wien"], count, p=[0.5, 0.24, 0.23, 0.03]),
            "spend": draw.integers(0, 1_001, count),
            "shop": draw.choice(["a", "b"], count),
        }
    )
    collection = tc.Collection(SCHEMA, epsilon=3.0)
    made = tc.connect()
    made.create(collection)
    made.load(collection.encode(s=table, rng=insecure_rng(6)))
    made.dimension("places", pa.table({"city": ["Lima", "Oslo"], "since": [2020, 2021]}), key="city")
    return made


def test_the_database_describes_itself(database: tc.Database) -> None:
    assert database.sql("SELECT 1 AS one").rows == [(1,)]
    assert database.sql("select 2 + 3 * 4 AS n, 'x' AS letter, 1.5 AS half").rows == [(14, "x", 1.5)]
    assert [row[0] for row in database.sql("SHOW TABLES")] == ["s", "places"]
    described = database.sql("DESCRIBE s")
    assert ("age", "bigint", "NO", "sensitive") in described.rows
    assert ("shop", "text", "YES", "public") in described.rows
    asked = database.sql(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 's' "
        "AND column_name LIKE '%e%' ORDER BY column_name"
    )
    assert [row[0] for row in asked] == ["age", "spend", "tier"]
    assert len(database.sql("SELECT * FROM information_schema.tables")) == 2
    for question in (
        "DESCRIBE nothing",
        "SELECT * FROM information_schema.views",
        "SELECT x FROM information_schema.tables",
    ):
        with pytest.raises(TacitError):
            database.sql(question)


def test_the_first_rows_come_with_those_that_could_be(database: tc.Database) -> None:
    question = "SELECT city, COUNT(*) AS n FROM s GROUP BY city ORDER BY n DESC LIMIT"
    first, second = ([note for note in database.sql(f"{question} {k}").notes if "first" in note] for k in (1, 2))
    assert first == ["with 0.95 confidence no other rows are among the first 1"]
    assert second == ["with 0.95 confidence the first 2 are among these 3: Lima; Oslo; Rome"]


def test_lists_of_declared_values_say_what_they_are(database: tc.Database) -> None:
    answer = database.sql("SELECT DISTINCT city FROM s ORDER BY city")
    assert [row[0] for row in answer] == ["Lima", "Oslo", "Rome", "Wien", None]
    assert any("declared" in note for note in answer.notes)


def test_functions_of_coarser_cells_are_refused(database: tc.Database) -> None:
    for question in ("SELECT COUNT(*) FROM s WHERE spend * 2 > 100", "SELECT SUM(sqrt(spend)) FROM s"):
        with pytest.raises(TacitError) as caught:
            database.sql(question)
        assert caught.value.code == "cuts-a-bin"


def test_intervals_go_through_functions_of_estimates(database: tc.Database) -> None:
    answer = database.sql(
        "SELECT AVG(age) AS a, ROUND(AVG(age), 1) AS r, ABS(-AVG(age)) AS p, DP_INTERVAL_LOW(a) AS low, "
        "DP_INTERVAL_HIGH(a) AS high, GREATEST(AVG(age), 100) AS g FROM s WHERE city = 'Oslo'"
    )
    a = answer["a"]
    assert (answer["low"].value, answer["high"].value) == (a.low, a.high)
    assert answer["low"].error == 0
    assert answer["r"].value == round(a.value, 1)
    assert answer["r"].low <= a.low + 0.05
    assert answer["r"].high >= a.high - 0.05
    assert answer["r"].error > a.error
    assert (answer["p"].low, answer["p"].high) == pytest.approx((a.low, a.high))
    assert (answer["g"].value, answer["g"].low, answer["g"].high) == (100, 100, 100)


def test_shares_add_up_and_have_errors(database: tc.Database) -> None:
    shares = database.sql("SELECT city, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM s GROUP BY city")["share"]
    assert sum(one.value for one in shares) == pytest.approx(1)
    assert all(one.error > 0 for one in shares)


def test_subqueries_do_not_explode(database: tc.Database) -> None:
    doubled = ", ".join(f"t{i} AS (SELECT x + x AS x FROM t{i - 1})" for i in range(1, 40))
    with pytest.raises(TacitError) as caught:
        database.sql(f"WITH t0 AS (SELECT age AS x FROM s), {doubled} SELECT SUM(x) FROM t39")
    assert caught.value.code == "too-many-terms"


def test_unions_have_columns_alike(database: tc.Database) -> None:
    answer = database.sql(
        "SELECT COUNT(*) AS n FROM s UNION ALL SELECT COUNT(*) AS n FROM s WHERE age < 8", confidence=0.5
    )
    assert len(answer) == 2
    assert answer["n"][1].confidence == 0.5
    assert answer.privacy is not None
    with pytest.raises(TacitError) as caught:
        database.sql("SELECT COUNT(*) AS n FROM s UNION ALL SELECT city FROM s GROUP BY city")
    assert caught.value.code == "unsupported-union"


def test_sets_of_groups_take_parameters_and_one_order(database: tc.Database) -> None:
    question = (
        "SELECT city, shop, COUNT(*) AS n FROM s WHERE age < ? GROUP BY ROLLUP (city, shop) ORDER BY n DESC LIMIT ?"
    )
    answer = database.sql(question, [8, 3])
    assert len(answer) == 3
    assert answer.rows[0][:2] == (None, None)
    assert answer.rows[0][2].value >= answer.rows[1][2].value >= answer.rows[2][2].value
    together = database.sql("SELECT city, COUNT(*) AS n FROM s GROUP BY CUBE (city)").rows
    assert sum(row[1].value for row in together[:-1]) == pytest.approx(together[-1][1].value)
    with pytest.raises(TacitError, match="at most 16"):
        database.sql("SELECT COUNT(*) AS n FROM s GROUP BY CUBE (city, age, spend, shop, age + 1)")


def test_ranks_are_of_the_rows_that_having_leaves(database: tc.Database) -> None:
    question = "SELECT city, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS place FROM s GROUP BY city"
    rows = database.sql(question).rows
    assert [row[2] for row in sorted(rows, key=lambda row: -row[1].value)] == [1, 2, 3, 4, 5]
    assert database.sql(question).estimates == ("n",)
    first = database.sql(f"{question} HAVING city <> 'Lima' QUALIFY place = 1")
    assert first["city"] in ("Oslo", "Rome")
    assert any("sorted by noisy estimates" in note for note in first.notes)
    with pytest.raises(TacitError, match="needs an order"):
        database.sql("SELECT city, RANK() OVER () AS place FROM s GROUP BY city")


def test_running_totals_follow_the_labels_order(database: tc.Database) -> None:
    running = database.sql("SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) AS n FROM s GROUP BY age ORDER BY age")["n"]
    plain = database.sql("SELECT COUNT(*) AS n FROM s WHERE age <= 7")["n"]
    assert running[7].value == pytest.approx(plain.value)
    assert running[7].error == pytest.approx(plain.error, rel=0.05)
    assert running[-1].value == pytest.approx(30_000)


def test_patterns_are_checked_before_anything_runs(database: tc.Database) -> None:
    for pattern in ("(", "a{5000}", "x" * 201):
        with pytest.raises(TacitError, match="not a supported function"):
            database.sql("SELECT COUNT(*) AS n FROM s WHERE city ~ ?", [pattern])
    slow = database.sql("SELECT COUNT(*) AS n FROM s WHERE regexp_matches(city, '(a*)*(a*)*b')")["n"]
    assert slow.value == 0


def test_subqueries_in_select_are_about_the_same_tables(database: tc.Database) -> None:
    share = database.sql("SELECT COUNT(*) / (SELECT COUNT(*) FROM s) AS share FROM s WHERE city = 'Lima'")["share"]
    assert share.value == pytest.approx(0.5, abs=5 * share.error)
    for question in (
        "SELECT COUNT(*) / (SELECT COUNT(*) FROM places) AS share FROM s",
        "SELECT shop, COUNT(*) / (SELECT COUNT(*) FROM s) AS share FROM s GROUP BY shop",
        "SELECT COUNT(*) / (SELECT COUNT(*) FROM s GROUP BY city) AS share FROM s",
    ):
        with pytest.raises(TacitError) as caught:
            database.sql(question)
        assert caught.value.code == "unsupported-subquery"


def test_the_caret_is_under_the_function_and_names_are_guessed(database: tc.Database) -> None:
    with pytest.raises(TacitError) as caught:
        database.sql("SELECT MAX(age) AS m FROM s")
    assert str(caught.value).endswith("~~~~~~~~")
    assert "QUANTILE(age, 0.99)" in str(caught.value)
    with pytest.raises(TacitError, match="Did you mean 'spend'"):
        database.sql("SELECT AVG(spent) AS m FROM s")
