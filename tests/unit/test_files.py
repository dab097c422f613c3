"""Files that people have: other separators, signs, encodings and names; and files that are none."""

from __future__ import annotations

import gzip
from datetime import date
from pathlib import Path

import pyarrow as pa
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
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_csv_files_are_read_however_they_are_written(name: str, data: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data.encode(encoding))
    table = read_file("t", tmp_path / name)
    assert table.column_names == ["id", "price", "city"]
    assert table["price"].to_pylist() == [i + 0.5 for i in ROWS]
    assert set(table["city"].to_pylist()) == {"Köln"}


def test_files_of_two_encodings_are_refused_with_a_line_of_each(tmp_path: Path) -> None:
    rows = [f"{i},Köln\n" for i in ROWS]
    data = b"id,city\n" + "".join(rows[:20]).encode() + "".join(rows[20:]).encode("cp1252")
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(RecordError, match="line 2 is UTF-8, and line 22 is not") as caught:
        read_file("t", tmp_path / "t.csv")
    assert "Köln" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "separator", "values"),
    [
        (["581,66", "1.268,64", "12.001.430,93"], ";", [581.66, 1268.64, 12001430.93]),
        (["1.268,64", "12.001.430,93"], ";", [1268.64, 12001430.93]),
        (["-1,268.64", "7", ""], ",", [-1268.64, 7.0, None]),
        (["1,268", "12,001,430"], ",", [1268, 12001430]),
        ([*[""] * 150, "1,268.5"], ",", [*[None] * 150, 1268.5]),
        (["1,268", "12,00,430"], ",", None),
        (["9,999,999,999,999,999,999,999", "1"], ",", None),
        (["09.12.2026", "1.2.2026", ""], ";", [date(2026, 12, 9), date(2026, 2, 1), None]),
        (["31.02.2026", "01.02.2026"], ";", None),
        (["28/03/2026", "04/05/2026"], ",", [date(2026, 3, 28), date(2026, 5, 4)]),
        (["03/28/2026", "04/05/2026"], ",", [date(2026, 3, 28), date(2026, 4, 5)]),
        (["03/08/2026", "04/05/2026"], ",", None),  # either
        (["28/03/2026", "03/28/2026"], ",", None),
        (["2026/3/28", "2026/04/05"], ",", [date(2026, 3, 28), date(2026, 4, 5)]),
    ],
)
def test_numbers_and_dates_of_spreadsheets_are_read(
    texts: list[str], separator: str, values: list[object] | None, tmp_path: Path
) -> None:
    lines = [f'{i}{separator}"{text}"' for i, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("\n".join([f"id{separator}x", *lines]))
    column = read_file("t", tmp_path / "t.csv").column("x")
    expected = [text or None for text in texts] if values is None else values
    assert [str(value) for value in column.to_pylist()] == [str(value) for value in expected]


@pytest.mark.parametrize("first", [0, 9_000], ids=["at once", "late"])
def test_quoted_lines_are_read_from_files_of_several_blocks(first: int, tmp_path: Path) -> None:
    lines = [f'{i};"one{" " if i < first else chr(10)}two";{i % 7}' for i in range(150_000)]
    (tmp_path / "t.csv").write_text("\n".join(["id;note;x", *lines]))
    table = read_file("t", tmp_path / "t.csv")
    assert table.num_rows == 150_000
    assert table["note"].to_pylist()[first:] == ["one\ntwo"] * (150_000 - first)


def test_columns_of_records_are_columns_of_their_own(tmp_path: Path) -> None:
    lines = [f'{{"uid": {i}, "device": {{"os": "{"ab"[i % 2]}", "at": {{"x": {i % 5}}}}}}}' for i in range(200)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    schema = tc.Schema.from_table(events=tmp_path / "t.jsonl")
    assert [attribute.name for attribute in schema["events"].attributes] == ["device_os", "device_at_x"]
    collection = tc.Collection(schema, epsilon=4)
    assert collection.encode(**collection.prepare(events=tmp_path / "t.jsonl"))["events"].num_rows == 200


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


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_compressed_files_are_read(suffix: str, tmp_path: Path) -> None:
    text = "id;city\n1;Köln\n" if suffix == "csv" else '{"id": 1, "city": "Köln"}\n'
    path = tmp_path / f"people.{suffix}.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_file("people", path).to_pylist() == [{"id": 1, "city": "Köln"}]
    path.write_bytes(gzip.compress(text.encode())[:20])
    with pytest.raises(RecordError, match="Compress it again"):
        read_file("people", path)


def test_files_without_column_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("1,17,3.5\n2,18,4.5\n")
    with pytest.raises(RecordError, match="numbers instead of column names"):
        read_file("people", tmp_path / "people.csv")


def test_columns_of_other_scripts_are_numbered() -> None:
    table = pa.table({"ид": [1], "age": [2], "年齢": [3]})
    assert with_allowed_names(table).column_names == ["column_1", "age", "column_3"]
