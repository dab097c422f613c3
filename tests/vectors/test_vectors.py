"""The committed vectors hold for both encoders, and regenerate to the last byte."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.client import Interpreter
from tacit.client.coin import coin_of, secret_of
from tacit.client.interpreter import draw_of_words
from tacit.client.panel import assigned_rounds, turn_of
from tacit.client.public import takes
from tacit.contract.randomness import ReplayRng
from tacit.encode.assigned import Assignment
from tacit.errors import RecordError
from vectors.make import (
    ASSIGNED,
    BAD,
    CASES,
    HERE,
    MANY,
    TYPED,
    interpreter_of,
    many,
    text,
    vectors,
    vectors_2,
    with_dates,
    words,
)

FILES = sorted(HERE.glob("*.json"))
VERSION_2 = HERE.parent / "v2"
RUNS = sorted(VERSION_2.glob("partitions*.json"))
MANY_FILES = [path for path in [*FILES, *RUNS] if path.stem.startswith(("many_", "optional", "partitions_many"))]
GOOD_FILES = [path for path in [*FILES, *RUNS] if not path.name.startswith("bad_") and path not in MANY_FILES]
BAD_FILES = [path for path in FILES if path.name.startswith("bad_")]


def load(path: Path) -> tuple[dict[str, Any], tc.Collection]:
    vector = json.loads(path.read_text())
    collection = tc.Collection.from_json(vector["contract"])
    assert collection.id == vector["id"]
    return vector, collection


@pytest.mark.parametrize("path", GOOD_FILES, ids=lambda path: path.stem)
def test_both_encoders_reproduce_the_codes(path: Path) -> None:
    vector, collection = load(path)
    records = [with_dates(record) for record in vector["records"]]
    interpreter = interpreter_of(vector["contract"], vector.get("lists", {}))
    per_record = interpreter.draws("s")
    assert vector["words"] == words(path.stem, len(records), 2 * per_record)
    draws = [draw_of_words(*pair) for pair in zip(vector["words"][::2], vector["words"][1::2], strict=True)]
    single = [
        interpreter.encode("s", record, draws[i * per_record : (i + 1) * per_record])
        for i, record in enumerate(records)
    ]
    assert single == vector["codes"]
    table = {"uid": list(range(len(records)))} | {name: pa.array([r[name] for r in records]) for name in records[0]}
    out = collection.encode(s=table, rng=ReplayRng(vector["words"]))["s"]
    assert np.array(out["code"]).reshape(-1, len(records)).T.tolist() == vector["codes"]


@pytest.mark.parametrize("path", MANY_FILES, ids=lambda path: path.stem)
def test_both_encoders_reproduce_the_codes_of_people_with_any_number_of_rows(path: Path) -> None:
    vector, collection = load(path)
    interpreter, people = Interpreter(vector["contract"]), vector["people"]
    count = interpreter.draws("s")
    assert vector["words"] == words(path.stem, len(people), 2 * count)
    draws = [draw_of_words(*pair) for pair in zip(vector["words"][::2], vector["words"][1::2], strict=True)]
    assert many(interpreter, people, draws) == vector["codes"]
    for i, rows in enumerate(people):  # the bulk encoder draws all places first, so people are compared one by one
        own = vector["words"][2 * count * i : 2 * count * (i + 1)]
        columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
        table = pa.table({"uid": pa.array([7] * len(rows), pa.int64()), **columns})
        out = collection.encode(s=table, people=[7], rng=ReplayRng(own))["s"]
        by_slot = sorted(zip(out["slot"].to_pylist(), out["channel"].to_pylist(), out["code"].to_pylist(), strict=True))
        assert [code for _, _, code in by_slot] == [code for slot in vector["codes"][i] for code in slot]


TYPES = {"amount": pa.int64(), "item": pa.string()}


@pytest.mark.parametrize("path", BAD_FILES, ids=lambda path: path.stem)
def test_bad_records_are_refused_by_the_stated_code(path: Path) -> None:
    vector, collection = load(path)
    interpreter = Interpreter(vector["contract"])
    record = with_dates(vector["record"])
    with pytest.raises(RecordError) as single:
        interpreter.encode("s", record, [0] * interpreter.draws("s"))
    assert single.value.code == vector["error"]
    with pytest.raises(RecordError) as bulk:
        collection.encode(s={"uid": 1, **record})
    assert bulk.value.code in (vector["error"], "unreadable-table")


def test_vectors_regenerate_to_the_last_byte() -> None:
    made = {name: text(vector) for name, vector in vectors()}
    assert made == {path.name: path.read_text() for path in FILES}
    assert len(made) == len(CASES) + len(MANY) + len(BAD)
    assert isinstance(with_dates({"day": "2026-01-02"})["day"], datetime.date)


def test_version_2_regenerates_to_the_last_byte_and_is_encoded_like_version_1() -> None:
    made = {name: text(vector) for name, vector in vectors_2()}
    assert made == {path.name: path.read_text() for path in sorted(VERSION_2.glob("*.json"))}
    vector, _ = load(VERSION_2 / "typed.json")
    interpreter, draws = Interpreter(vector["contract"]), iter(vector["words"])
    own = [draw_of_words(first, second) for first, second in zip(draws, draws, strict=True)]
    count = interpreter.draws("s")
    codes = [interpreter.encode("s", row, own[i * count :][:count]) for i, row in enumerate(vector["records"])]
    assert codes == vector["codes"]


def test_package_and_client_take_the_same_public_values() -> None:
    vector, collection = load(VERSION_2 / "public.json")
    declared = {column["name"]: column for column in json.loads(vector["contract"])["services"][0]["attributes"]}
    for column in collection.schema["s"].public:
        for accepted, values in ((True, vector["takes"]), (False, vector["refuses"])):
            assert [column.accepts(value) for value in values[column.name]] == [accepted] * len(values[column.name])
            assert [takes(declared[column.name], value) for value in values[column.name]] == [accepted] * len(
                values[column.name]
            )
    assert len(vector["takes"]) == len(TYPED) - 2


@pytest.mark.parametrize("name", ASSIGNED)
def test_a_coin_assigns_the_same_views_in_every_program(name: str) -> None:
    vector, collection = load(VERSION_2 / f"{name}.json")
    interpreter, key = Interpreter(vector["contract"]), vector["key"]
    assert interpreter.is_assigned
    count = interpreter.draws("s")
    types = {
        one.name: pa.string() if isinstance(one, tc.Categorical) else pa.int64()
        for one in collection.schema["s"].sensitive
    }
    for i, (person, coin) in enumerate(vector["people"]):
        rows, words_of_one = vector["rows"][i], vector["words"][2 * count * i : 2 * count * (i + 1)]
        assert coin_of(secret_of(key, collection.id), person) == coin == Assignment(key, collection.id).coin(person)
        draws = [draw_of_words(*pair) for pair in zip(words_of_one[::2], words_of_one[1::2], strict=True)]
        assert interpreter.encode_rows("s", rows, interpreter.assign("s", coin, draws)) == vector["codes"][i]
        columns = {word: pa.array([row[word] for row in rows], kind) for word, kind in types.items()}
        table = pa.table({"uid": pa.array([person] * len(rows), pa.array([person]).type), **columns})
        people = None if collection.schema["s"].one_to_one else [person]
        out = collection.encode(s=table, people=people, key=key, rng=ReplayRng(words_of_one))["s"]
        by_slot = sorted(zip(out["slot"].to_pylist(), out["channel"].to_pylist(), out["code"].to_pylist(), strict=True))
        assert [code for _, _, code in by_slot] == [code for slot in vector["codes"][i] for code in slot]


@pytest.mark.parametrize("name", ["panel", "panel_of_three"])
def test_panels_ask_the_same_people_in_every_program(name: str) -> None:
    vector, collection = load(VERSION_2 / f"{name}.json")
    data = json.loads(vector["contract"])
    for person, rounds in vector["people"]:
        assert list(assigned_rounds(data["panel"], data["rounds"], data["reports"], person)) == rounds
    for number, (identity, label) in vector["rounds"].items():
        part = collection.round(int(number))
        assert (part.id, part.contract.round) == (identity, label)
        turn = turn_of(data, vector["contract"], int(number))
        assert turn is not None
        assert (turn.id, turn.label) == (identity, label)
