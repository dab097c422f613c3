"""Ordered categories, levels by the calendar, and long lists of values that contracts name by their hash."""

from __future__ import annotations

import datetime
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.collectors import collector_here, served_here
from tacit.client import Interpreter, connect
from tacit.contract import categories
from tacit.contract.layouts import calendar
from tacit.errors import SchemaError, TacitError
from tacit.server.app import make_app
from tacit.server.keys import Keys
from tacit.testing import identity_collection, reveal

SIZES = ["XS", "S", "M", "L", "XL", "XXL", "3XL"]
SIZE = tc.Categorical("size", SIZES, ordered=True, null=True)
DAY = tc.Date("day", "2025-11-20", "2026-12-31")
PEOPLE = 4_001


def _table(count: int) -> pa.Table:
    draw = np.random.default_rng(3)
    start = datetime.date(2025, 11, 20)
    sizes = draw.choice(SIZES, count, p=[0.05, 0.2, 0.3, 0.2, 0.15, 0.05, 0.05])
    days = [start + datetime.timedelta(days=int(day)) for day in draw.integers(0, 407, count)]
    return pa.table({"uid": np.arange(count), "size": pa.array(sizes, mask=draw.random(count) < 0.1), "day": days})


def _schema(*attributes: Any) -> tc.Schema:
    return tc.Schema([tc.Service("s", key="uid", attributes=list(attributes))])


@pytest.fixture(scope="module")
def exact() -> tc.Database:
    collection = identity_collection(_schema(SIZE, DAY))
    database = tc.connect()
    database.create(collection)
    database.load(reveal(collection, s=_table(PEOPLE)))
    return database


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n FROM s WHERE size >= 'L'",
        "SELECT COUNT(*) AS n FROM s WHERE size < 'M'",
        "SELECT COUNT(*) AS n FROM s WHERE NOT size <= 'XL'",
        "SELECT COUNT(*) AS n FROM s WHERE size BETWEEN 'S' AND 'XL'",
        "SELECT COUNT_IF(size > 'XXL') AS n FROM s",
        "SELECT size, COUNT(*) AS n FROM s WHERE size IS NOT NULL GROUP BY size ORDER BY size DESC",
        "SELECT size, COUNT(*) AS n FROM s WHERE size > 'S' GROUP BY size ORDER BY size LIMIT 3",
        "SELECT size, SUM(COUNT(*)) OVER (ORDER BY size) AS n FROM s WHERE size > 'XS' GROUP BY size ORDER BY size",
        "SELECT size, LAG(COUNT(*), 1, 0) OVER (ORDER BY size) AS n FROM s WHERE size > 'S' GROUP BY 1 ORDER BY 1",
        "SELECT size, COUNT(*) AS n FROM s GROUP BY size HAVING size >= 'L' AND COUNT(*) > 3 ORDER BY size",
        "SELECT SUM((size > 'L')::INT) AS n, SUM(IF(size BETWEEN 'S' AND 'L', 1, 0)) AS m FROM s",
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY size) AS m FROM s",
        "SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY size) AS m FROM s WHERE day < DATE '2026-06-01'",
        "SELECT year(day) AS y, quarter(day) AS q, COUNT(*) AS n FROM s GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM s GROUP BY 1 ORDER BY 1",
    ],
)
def test_ordered_categories_and_months_are_those_of_an_enum(exact: tc.Database, question: str) -> None:
    with duckdb.connect() as raw:
        raw.execute(f"CREATE TYPE sizes AS ENUM {tuple(SIZES)}")
        raw.register("rows", _table(PEOPLE))
        raw.execute("CREATE TABLE s AS SELECT uid, size::sizes AS size, day FROM rows")
        typed = re.sub("('[SMLX3]+')", r"\1::sizes", question)  # DuckDB compares an enum with a text as text
        wanted = [[str(cell) for cell in row] for row in raw.execute(typed).fetchall()]
    answer = exact.sql(question)
    columns = len(wanted[0])
    found = [[getattr(cell, "value", cell) for cell in row[:columns]] for row in answer.rows]
    found = [[str(round(cell) if isinstance(cell, float) else cell) for cell in row] for row in found]
    assert [[cell.removesuffix(" 00:00:00") for cell in row] for row in wanted] == found


def test_an_ordered_category_may_be_missing_behind_a_left_join() -> None:
    everybody = tc.Service("p", key="uid", attributes=[tc.Ordinal("age", 0, 9)])
    some = tc.Service("s", key="uid", attributes=[tc.Categorical("size", SIZES, ordered=True)], optional=True)
    collection = identity_collection(tc.Schema([everybody, some]))
    sizes = pa.table({"uid": [0, 1, 2], "size": ["XL", "S", "3XL"]})
    with closing(tc.connect()) as database:
        database.create(collection)
        database.load(reveal(collection, p=pa.table({"uid": range(8), "age": range(8)}), s=sizes))
        answer = database.sql(
            "SELECT size >= 'XL' AS large, COUNT(*) AS n FROM p LEFT JOIN s USING (uid) GROUP BY large"
        )
    assert {row[0]: round(row[1].value) for row in answer.rows} == {False: 1, True: 2, None: 5}


def test_the_order_is_part_of_the_contract_and_bounds_what_can_be_asked(exact: tc.Database) -> None:
    ordered = tc.Collection(_schema(SIZE), 2)
    assert json.loads(ordered.to_json())["tacit"] == 2
    assert tc.Collection.from_json(ordered.to_json()).schema == ordered.schema
    plain = tc.Collection(_schema(tc.Categorical("size", SIZES)), 2)
    assert "fanout" not in plain.to_json()
    with pytest.raises(TacitError, match=r"ordered=True"):
        plain.predict("SELECT COUNT(*) AS n FROM s WHERE size > 'M'", users=100)
    with pytest.raises(TacitError, match=r"no value 'XXXL'.*Did you mean"):
        exact.sql("SELECT COUNT(*) AS n FROM s WHERE size > 'XXXL'")
    with pytest.raises(SchemaError, match="catch-all has no place in an order"):
        tc.Categorical("size", SIZES, ordered=True, other="M")
    with pytest.raises(SchemaError, match="fanout is for ordered values"):
        tc.Categorical("size", SIZES, fanout=3)


def test_months_are_sharp_because_they_are_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predicted standard errors of a month: 1.5 times smaller than with runs alone, 2.5 if months were asked for."""
    month = "SELECT COUNT(*) AS n FROM s WHERE day BETWEEN '2026-03-01' AND '2026-03-31'"
    asked = ["SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM s GROUP BY 1"]
    options: list[dict[str, Any]] = [{}, {"questions": asked}]

    def errors() -> list[float]:
        made = [tc.Collection(_schema(DAY), 1, **own) for own in options]
        return [float(one.predict(month, users=10_000)["n"].error) for one in made]

    dated = errors()
    monkeypatch.setattr("tacit.contract.contract.calendar_of", lambda _: ())
    plain = errors()
    assert dated[0] * 1.5 < plain[0]
    assert dated[1] * 2.5 < plain[1]


def test_answers_from_calendar_levels_are_unbiased(seed: int) -> None:
    """13 months and 5 quarters of 20,000 people; a false alarm has probability below 1e-9."""
    table = _table(20_000)
    collection = tc.Collection(_schema(DAY, SIZE), 2)
    assert collection.contract["s"].levels[0].calendar
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=table, rng=tc.insecure_rng(seed)))
    days = np.array(table["day"].to_pylist(), dtype="datetime64[D]")
    for unit, numpy_unit in (("month", "datetime64[M]"), ("year", "datetime64[Y]")):
        rows = database.sql(f"SELECT date_trunc('{unit}', day) AS m, COUNT(*) AS n FROM s GROUP BY 1").rows
        truth = dict(zip(*np.unique(days.astype(numpy_unit), return_counts=True), strict=True))
        far = [abs(n.value - truth[np.datetime64(m).astype(numpy_unit)]) / n.error for m, n in rows]
        assert len(far) == len(truth)
        assert max(far) < 7


def test_calendars_follow_the_declared_days() -> None:
    assert calendar.calendar_of(tc.Date("d", "2026-02-27", "2026-03-02")) == ((0, 2),)
    assert calendar.calendar_of(tc.Date("d", "2026-02-01", "2026-02-28")) == ()
    assert calendar.calendar_of(tc.Date("d", "2026-01-01", "2026-12-31", unit="week")) == ()
    months = tc.Date("m", "2025-11-01", "2026-12-31", unit="month")
    assert calendar.calendar_of(months) == ((0, 2), (0, 2, 5, 8, 11))
    hours = tc.Timestamp("h", "2026-11-30T20", "2026-12-02T03", unit="hour")
    assert calendar.calendar_of(hours) == ((0, 4), (0, 4, 28))
    days = tc.Date("d", "2015-01-01", "2026-12-31")  # too many for overlapping runs: years, quarters, days are nested
    long = tc.Collection(_schema(days), 1, mechanism="partitions")
    assert 12 in [len(one) for one in long.contract["s"].levels[0].calendar]
    assert tc.Collection.from_json(long.to_json()).audit().ok


@pytest.fixture
def skus(tmp_path: Path) -> Path:
    path = tmp_path / "skus.txt"
    path.write_text("".join(f"sku-{i:05}\n" for i in range(100_000)), encoding="utf-8")
    return path


def test_a_hundred_thousand_strings_leave_the_contract_small(
    skus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    collection = tc.Collection(_schema(tc.Categorical("sku", dictionary=skus, other="sku-99999")), 4)
    text = collection.to_json()
    assert len(text) < 4_000
    draw = np.random.default_rng(4)
    values = [f"sku-{i:05}" for i in np.minimum(draw.zipf(1.6, 600), 99_999)]
    table = pa.table({"uid": np.arange(600), "sku": values})
    with closing(tc.connect(tmp_path / "x.duckdb")) as database:
        database.create(collection)
        database.load(collection.encode(s=table, rng=tc.insecure_rng(seed)))
    monkeypatch.setattr(categories, "_loaded", {})  # as another process
    other = tc.Collection.from_json(text)
    with pytest.raises(SchemaError, match=r"tc\.load_dictionary") as missing:
        other.encode(s=table)
    assert missing.value.code == "dictionary-missing"
    with closing(tc.connect(tmp_path / "x.duckdb")) as database:  # has the values beside the reports
        found = database.sql("SELECT COUNT(*) AS n FROM s WHERE sku = 'sku-00001'")["n"]
        assert abs(found.value - values.count("sku-00001")) < 7 * found.error
        begin = database.sql("SELECT COUNT(*) AS n FROM s WHERE sku LIKE 'sku-0000%'")["n"]
        assert abs(begin.value - sum(one.startswith("sku-0000") for one in values)) < 7 * begin.error
        with pytest.raises(TacitError, match="at most 10,000 groups"):
            database.sql("SELECT sku, COUNT(*) AS n FROM s GROUP BY sku")
    assert tc.load_dictionary(skus).sha256 in text


def test_clients_load_the_file_that_the_contract_names_and_no_other(skus: Path, tmp_path: Path) -> None:
    collection = tc.Collection(_schema(tc.Categorical("sku", dictionary=skus)), 4)
    [sha256] = Interpreter(collection.to_json()).dictionaries
    with (
        collector_here(tmp_path / "store", collection) as running,
        served_here(make_app(running, Keys(tmp_path / "keys.json"))) as http,
    ):
        assert http.get(f"/v1/dictionaries/{sha256}").content == skus.read_bytes()
        assert http.get(f"/v1/dictionaries/{'0' * 64}").json()["code"] == "unknown-dictionary"
        client = connect(str(http.base_url), collection=collection.id, store=tmp_path / "wallet.db", every=0)
        client.person("ada").record("s", {"sku": "sku-00007"})
        assert client.flush().sent == 1
        client.close()
    interpreter = Interpreter(collection.to_json())
    for other in (skus.read_bytes()[:-10], skus.read_bytes().replace(b"sku-00003", b"sku-aaaaa")):
        with pytest.raises(SchemaError) as refused:
            interpreter.load_dictionary(other)
        assert refused.value.code == "dictionary-differs"
    with pytest.raises(SchemaError, match="not loaded"):
        interpreter.encode("s", {"sku": "sku-00007"}, [0] * interpreter.draws("s"))


@pytest.mark.parametrize("data", [b"", b"a\nb", b"a\r\nb\r\n", b"a\na\n", b"a\n\nb\n", b"\xff\n", b"\xef\xbb\xbfa\n"])
def test_files_without_clear_lines_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_bytes(data)
    with pytest.raises(SchemaError, match="value on each line") as refused:
        tc.Categorical("x", dictionary=tmp_path / "list.txt")
    assert refused.value.code == "bad-dictionary"


def test_collection_files_name_dictionaries_beside_them(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("tea\ncoffee\n", encoding="utf-8")
    (tmp_path / "c.toml").write_text(
        'epsilon = 1\n[[services]]\nname = "s"\nkey = "uid"\nattributes = [\n'
        ' {name = "drink", dictionary = "list.txt"}, {name = "size", values = ["S", "M"], ordered = true}]\n',
        encoding="utf-8",
    )
    collection = tc.Collection.from_file(tmp_path / "c.toml")
    assert list(collection.schema["s"].sensitive[0].values) == ["tea", "coffee"]  # type: ignore[arg-type]
    assert collection.schema["s"].sensitive[1].ordered


def test_whether_a_contract_is_valid_does_not_depend_on_loaded_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("tea\ncoffee\nother\n", encoding="utf-8")
    drink = tc.Categorical("drink", dictionary=tmp_path / "list.txt", other="other")
    text = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[drink])]), 1).to_json()
    forged = text.replace('"other": "other"', '"other": "juice"')
    assert forged != text
    unread = tc.Collection.from_json(forged)  # clients, which have not read the file yet, accept it as well
    for drinks in (["tea"], ["water"]):
        with pytest.raises(SchemaError) as caught:
            unread.encode(s={"uid": [1], "drink": drinks})
        assert caught.value.code == "bad-dictionary"
