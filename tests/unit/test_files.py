"""Files that people have: other separators, signs, encodings and names; and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit as tc
from tacit.answers.forecast.likely import likely_questions
from tacit.errors import RecordError, SchemaError
from tacit.tables.files import read_file
from tacit.tables.naming import with_allowed_names

ROWS = range(30)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("semicolons.csv", "id;price;city\n" + "".join(f"{i};{i},5;Köln\n" for i in ROWS)),
        ("tabs.tsv", "id\tprice\tcity\n" + "".join(f"{i}\t{i}.5\tKöln\n" for i in ROWS)),
        ("bars.csv", "id|price|city\n" + "".join(f"{i}|{i}.5|Köln\n" for i in ROWS)),
        ("commas.csv", "id,price,city\n" + "".join(f'{i},{i}.5,"Köln"\n' for i in ROWS)),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_csv_files_are_read_however_they_are_written(name: str, data: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data.encode(encoding))
    table = read_file("t", tmp_path / name)
    assert table.column_names == ["id", "price", "city"]
    assert table["price"].to_pylist() == [i + 0.5 for i in ROWS]
    assert set(table["city"].to_pylist()) == {"Köln"}


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", "", "the file is empty"),
        ("a.jsonl", "", "the file is empty"),
        ("a.csv", "id,age\n1,5\n2,canary,7\n", "line 3 has 3 fields, the first line 2"),
        ("a.jsonl", '{"a": 1}\n{"a": "canary\n', "a JSON object"),
        ("a.parquet", "canary", "not Parquet"),
        ("a.xlsx", "canary", "none of .parquet, .csv, .tsv"),
    ],
)
def test_files_that_cannot_be_read_say_where_and_quote_nothing(name: str, data: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(data, encoding="utf-8")
    with pytest.raises(RecordError) as refused:
        read_file("t", tmp_path / name)
    assert refused.value.code == "unreadable-table"
    assert said in str(refused.value)
    assert "canary" not in str(refused.value)


def test_columns_of_one_name_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age,Age\n1,2,3\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="called 'age'"):
        with_allowed_names(read_file("t", tmp_path / "a.csv"))


def test_likely_questions_quote_words_of_sql() -> None:
    attributes = [tc.Ordinal("select", 0, 9), tc.Categorical("when", ["a", "b"]), tc.Ordinal("age", 0, 9)]
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=attributes)]), 1)
    questions = likely_questions(collection.schema)
    assert 'SELECT AVG("select") AS average FROM t' in questions
    assert any("AVG(age)" in one for one in questions)
    for question in questions:
        assert collection.predict(question, users=1_000).rows
