"""Write the test vectors: fixed words in, codes out, for clients in any language. Run it to regenerate v1/ and v2/.

Each file holds a contract (its exact text and id), a service, records, the 32-bit words of all records in order, and
the codes, a list for each record with one code for each channel. ``many_*`` and ``optional`` hold people with a list of
rows each, and codes for each person, slot and channel. Words are SHA-256 in counter mode over the vector's
name, so that any language can make more; the last two records have the smallest and the largest draws. ``bad_*`` files
hold records that must be refused, with the error's code.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tacit as tc
from tacit.client import Interpreter
from tacit.client.coin import coin_of, secret_of
from tacit.client.interpreter import draw_of_words
from tacit.contract.categories import keep_values
from tacit.contract.oracles import ORACLES
from tacit.errors import RecordError

HERE = Path(__file__).parent / "v1"

Vector = dict[str, Any]

SMALL = [tc.Ordinal("age", 0, 6, fanout=3), tc.Categorical("state", ["CA", "NY", "WA"])]
WIDE = [tc.Ordinal("age", 0, 99), tc.Ordinal("hour", 0, 23), tc.Categorical("plan", ["free", "pro"], null=True)]
RICH = [
    tc.Ordinal("age", 0, 26, null=True, fanout=3),
    tc.Categorical("state", ["CA", "NY"], other="rest"),
    tc.Categorical("level", [10, 20, 30]),
    tc.Ordinal("spend", 0, 499, cells=17, outside="clamp"),
    tc.Ordinal("rate", "0.0", "2.5"),
    tc.Ordinal("band", 0, 99, cells=7, dither=False),
    tc.Ordinal("day", datetime.date(2026, 1, 1), datetime.date(2026, 3, 1)),
]

SMALL_RECORDS = [{"age": age, "state": state} for age in range(7) for state in ("CA", "NY", "WA")]
WIDE_RECORDS = [{"age": 13 * i % 100, "hour": 5 * i % 24, "plan": ["free", "pro", None][i % 3]} for i in range(24)]
RICH_RECORDS = [
    {
        "age": None if i % 5 == 0 else i % 27,
        "state": ["CA", "NY", "rest", "TX"][i % 4],
        "level": [10, 20, 30][i % 3],
        "spend": [0, 12.34, 499, -3, 1000, 250.5][i % 6],
        "rate": [0, 0.1, 0.3, 2.5][i % 4],
        "band": 17 * i % 100,
        "day": f"2026-0{1 + i % 2}-{1 + i:02}",
    }
    for i in range(24)
]

SHOWN_BY = {"grr": SMALL[1:], "ss": SMALL[:1]}
"""Attributes of vectors of oracles that are not meant for both."""

CASES: dict[str, tuple[list[Any], list[dict[str, Any]], dict[str, Any]]] = {
    **{
        f"oracle_{name}": (SHOWN_BY.get(name, SMALL), SMALL_RECORDS, {"mechanism": "fc", "oracle": name, "epsilon": 1})
        for name in ORACLES
    },
    "oracle_lh_large_g": (SMALL, SMALL_RECORDS, {"mechanism": "fc", "oracle": "lh", "epsilon": 4}),
    "layout_hio": (WIDE, WIDE_RECORDS, {"mechanism": "hio", "epsilon": 1}),
    "layout_hi": (SMALL, SMALL_RECORDS, {"mechanism": "hi", "epsilon": 2}),
    "layout_sc": (WIDE, WIDE_RECORDS, {"mechanism": "sc", "epsilon": 3}),
    "layout_fc": (WIDE, WIDE_RECORDS, {"mechanism": "fc", "epsilon": "0.7"}),
    "layout_am_1": (WIDE, WIDE_RECORDS, {"mechanism": "am(1)", "epsilon": 1}),
    "layout_am_2": (WIDE, WIDE_RECORDS, {"mechanism": "am(2)", "epsilon": 2}),
    "layout_pairs": (WIDE, WIDE_RECORDS, {"mechanism": "pairs", "epsilon": 1}),
    "layout_ft_2": (WIDE, WIDE_RECORDS, {"mechanism": "ft(2)", "epsilon": 1}),
    "values": (RICH, RICH_RECORDS, {"mechanism": "am(2)", "epsilon": 2}),
}

SKUS = [f"sku {i}, é" for i in range(60)]
LISTS = [
    tc.Date("day", "2026-01-20", "2026-05-05", null=True),
    tc.Categorical("size", ["XS", "S", "M", "L", "XL", "XXL"], ordered=True, fanout=2, null=True),
    tc.Categorical("sku", dictionary=keep_values(SKUS), other=SKUS[7]),
]
LIST_RECORDS = [
    {
        "day": None if i % 7 == 3 else f"2026-0{1 + i % 5}-{25 if i % 5 == 0 else 1 + i % 5:02}",
        "size": None if i % 8 == 5 else ["XS", "S", "M", "L", "XL", "XXL"][i % 6],
        "sku": "not listed" if i % 9 == 4 else SKUS[13 * i % 60],
    }
    for i in range(24)
]

ORDERS = [tc.Ordinal("amount", 0, 499, cells=17), tc.Categorical("item", ["a", "b", "c"])]
ORDER_ROWS = [[{"amount": 37 * (i + k) % 500, "item": "abc"[(i + k) % 3]} for k in range(i % 7)] for i in range(24)]
MANY: dict[str, tuple[dict[str, Any], list[list[dict[str, Any]]], dict[str, Any]]] = {
    "many_one_slot": ({"at_most": 4}, ORDER_ROWS, {"mechanism": "hio", "epsilon": 1}),
    "many_three_slots": ({"at_most": 4, "sends": 3}, ORDER_ROWS, {"mechanism": "pairs", "epsilon": 3}),
    "many_split": ({"at_most": 2, "sends": 2}, ORDER_ROWS, {"mechanism": "sc", "epsilon": 4}),
    "optional": ({"optional": True}, [rows[:1] for rows in ORDER_ROWS], {"mechanism": "hio", "epsilon": 1}),
}

GOOD = RICH_RECORDS[1]
BAD: dict[str, dict[str, Any]] = {
    "missing_value": {**GOOD, "state": None},
    "missing_column": {name: value for name, value in GOOD.items() if name != "age"},
    "outside_domain": {**GOOD, "age": 27},
    "between_steps": {**GOOD, "rate": 0.15},
    "unknown_category": {**GOOD, "level": 40},
    "text_for_number": {**GOOD, "age": "3"},
    "number_for_text": {**GOOD, "state": 3},
    "boolean_for_number": {**GOOD, "age": True},
    "beyond_64_bits": {**GOOD, "spend": 2**63},
    "number_for_date": {**GOOD, "day": 5},
}


def words(name: str, records: int, per_record: int) -> list[int]:
    """Return 32-bit words, big-endian, of SHA-256("name/0"), SHA-256("name/1"), …

    The last record but one has all words 0, the last one all words 2**32 - 1: draws at both ends of their range.
    """
    count = (records - 2) * per_record
    blocks = b"".join(hashlib.sha256(f"{name}/{i}".encode()).digest() for i in range(-(-count // 8)))
    middle = [int.from_bytes(blocks[4 * i : 4 * i + 4], "big") for i in range(count)]
    return middle + [0] * per_record + [2**32 - 1] * per_record


def with_dates(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with its ISO dates as dates, which JSON does not have."""
    day = record.get("day")
    return record | {"day": datetime.date.fromisoformat(day)} if isinstance(day, str) else record


def collection_of(
    attributes: list[Any], epsilon: Any, *, shape: dict[str, Any] | None = None, **options: Any
) -> tc.Collection:
    """Return a collection of one service."""
    service = tc.Service("s", key="uid", attributes=attributes, **(shape or {}))
    return tc.Collection(tc.Schema([service]), epsilon, **options)


def vectors() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every vector with its file name."""
    for name, (attributes, all_records, options) in CASES.items():
        collection = collection_of(attributes, **options)
        interpreter = Interpreter(collection.to_json())
        needed = [attribute.name for attribute in attributes]
        records = [{column: record[column] for column in needed} for record in all_records]
        per_record = interpreter.draws("s")
        stream = words(name, len(records), 2 * per_record)
        draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
        codes = [
            interpreter.encode("s", with_dates(record), draws[i * per_record : (i + 1) * per_record])
            for i, record in enumerate(records)
        ]
        yield f"{name}.json", _head(collection) | {"records": records, "words": stream, "codes": codes}
    for name, (shape, people, options) in MANY.items():
        collection = collection_of(ORDERS, shape=shape, **options)
        interpreter = Interpreter(collection.to_json())
        stream = words(name, len(people), 2 * interpreter.draws("s"))
        draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
        yield (
            f"{name}.json",
            _head(collection) | {"people": people, "words": stream, "codes": many(interpreter, people, draws)},
        )
    collection = collection_of(RICH, 2, mechanism="am(2)")
    interpreter = Interpreter(collection.to_json())
    for name, record in BAD.items():
        try:
            interpreter.encode("s", with_dates(record), [0] * interpreter.draws("s"))
        except RecordError as refusal:
            yield f"bad_{name}.json", _head(collection) | {"record": record, "error": refusal.code}


TYPED = [
    *SMALL,
    tc.Public("os", values=["ios", "web"]),
    tc.Public("size", values=[1, 2, 300], null=True),
    tc.Public("n", type=int),
    tc.Public("rate", type=float, null=True),
    tc.Public("name", type=str),
    tc.Public("paid", type=bool),
    tc.Public("free"),
]

SHOWN = ["ios", "IOS", "", "a\0", 1, 2, 300, 3, -1, 0, 0.5, 1e300, 2**53 - 1, True, False, None, [], {}, ["ios"]]


def vectors_2() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the vectors of version 2: codes beside typed public columns, and which values each column takes."""
    collection = collection_of(TYPED, 1, mechanism="hio")
    interpreter = Interpreter(collection.to_json())
    count = interpreter.draws("s")
    stream = words("typed", len(SMALL_RECORDS), 2 * count)
    draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
    codes = [interpreter.encode("s", row, draws[i * count : (i + 1) * count]) for i, row in enumerate(SMALL_RECORDS)]
    head = _head(collection) | {"version": 2}
    yield "typed.json", head | {"records": SMALL_RECORDS, "words": stream, "codes": codes}
    columns = [column for column in TYPED if isinstance(column, tc.Public)]
    taken = {column.name: [value for value in SHOWN if column.accepts(value)] for column in columns}
    refused = {column.name: [value for value in SHOWN if not column.accepts(value)] for column in columns}
    yield "public.json", head | {"takes": taken, "refuses": refused}
    for name, (attributes, records, options) in PARTITIONS.items():
        yield f"{name}.json", _partitions(name, attributes, records, options)
    for name, rounds, reports in (("panel", 52, 1), ("panel_of_three", 12, 3)):
        panel = collection_of(SMALL[1:], 3, mechanism="fc", panel=f"{name} é", rounds=rounds, reports=reports)
        assert panel.panel is not None
        people = ["ada", "42", "Zoë", 42, -1, 2**53 - 1, *(f"u{i}" for i in range(20))]
        asked = [[person, panel.panel.rounds_of(person)] for person in people]
        ids = {str(one.contract.member): [one.id, one.contract.round] for one in panel.parts[:3]}
        yield f"{name}.json", _head(panel) | {"version": 2, "people": asked, "rounds": ids}

    for name, (attributes, all_rows, options) in ASSIGNED.items():
        yield f"{name}.json", _assigned(name, attributes, all_rows, options)


ASSIGNED: dict[str, tuple[list[Any], list[list[dict[str, Any]]], dict[str, Any]]] = {
    "assigned": (WIDE, [[record] for record in WIDE_RECORDS], {"epsilon": 1, "mechanism": "hio"}),
    "assigned_split": (SMALL, [[record] for record in SMALL_RECORDS], {"epsilon": 3, "mechanism": "sc"}),
    "assigned_many": (ORDERS, ORDER_ROWS, {"epsilon": 4, "shape": {"at_most": 4, "sends": 3}}),
}
PEOPLE = ["ada", "42", "Zoë", 42, -1, 2**53 - 1, "x" * 200]


def _assigned(name: str, attributes: list[Any], rows: list[list[dict[str, Any]]], options: dict[str, Any]) -> Vector:
    """Return a vector with a key, the coins of people, and their codes from free draws whose views are replaced."""
    collection = _stored(name, attributes, {"mechanism": "partitions", **options, "assigned": True})
    interpreter = Interpreter(collection.to_json())
    people = [PEOPLE[i] if i < len(PEOPLE) else f"u{i}" for i in range(len(rows))]
    key, count = hashlib.sha256(name.encode()).hexdigest(), interpreter.draws("s")
    stream = words(name, len(rows), 2 * count)
    draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
    coins = [coin_of(secret_of(key, collection.id), person) for person in people]
    codes = [
        interpreter.encode_rows("s", own, interpreter.assign("s", coins[i], draws[i * count : (i + 1) * count]))
        for i, own in enumerate(rows)
    ]
    said = {"key": key, "people": [[*pair] for pair in zip(people, coins, strict=True)], "rows": rows}
    return _head(collection) | {"version": 2} | said | {"words": stream, "codes": codes}


PARTITIONS: dict[str, tuple[list[Any], list[Any], dict[str, Any]]] = {
    "partitions": (WIDE, WIDE_RECORDS, {"epsilon": 1}),
    "partitions_values": (RICH, RICH_RECORDS, {"epsilon": 2}),
    "partitions_many": (ORDERS, ORDER_ROWS, {"epsilon": 2, "shape": {"at_most": 4, "sends": 2}}),
    "partitions_lists": (LISTS, LIST_RECORDS, {"epsilon": 2}),
}


def _stored(name: str, attributes: list[Any], options: dict[str, Any]) -> tc.Collection:
    """Return the collection of a vector that is stored, or compile it."""
    stored = HERE.parent / "v2" / f"{name}.json"
    if stored.exists():
        return tc.Collection.from_json(json.loads(stored.read_text())["contract"])
    return collection_of(attributes, **options)


def _partitions(name: str, attributes: list[Any], records: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return a vector of partitions with weights; the contract stays the one that is stored.

    Weights are found with floating-point numbers, and another machine may round a few of them differently.
    """
    collection = _stored(name, attributes, {"mechanism": "partitions", **options})
    lists = {one.dictionary.sha256: list(one.values) for one in attributes if getattr(one, "dictionary", None)}
    interpreter = interpreter_of(collection.to_json(), lists)
    count = interpreter.draws("s")
    stream = words(name, len(records), 2 * count)
    draws = [draw_of_words(*pair) for pair in zip(stream[::2], stream[1::2], strict=True)]
    if isinstance(records[0], list):
        said = {"people": records, "words": stream, "codes": many(interpreter, records, draws)}
    else:
        own = [{attribute.name: record[attribute.name] for attribute in attributes} for record in records]
        codes = [
            interpreter.encode("s", with_dates(row), draws[i * count : (i + 1) * count]) for i, row in enumerate(own)
        ]
        said = {"records": own, "words": stream, "codes": codes}
    return _head(collection) | {"version": 2} | ({"lists": lists} if lists else {}) | said


def interpreter_of(contract: str, lists: dict[str, list[str]]) -> Interpreter:
    """Return an interpreter that has its dictionaries, by their SHA-256."""
    interpreter = Interpreter(contract)
    for values in lists.values():
        interpreter.load_dictionary("".join(f"{value}\n" for value in values).encode())
    return interpreter


def many(interpreter: Interpreter, people: list[list[dict[str, Any]]], draws: list[int]) -> list[list[list[int]]]:
    """Return the codes of people with any number of rows: a list for each person, slot and channel."""
    count = interpreter.draws("s")
    return [interpreter.encode_rows("s", rows, draws[i * count : (i + 1) * count]) for i, rows in enumerate(people)]


def _head(collection: tc.Collection) -> dict[str, Any]:
    return {"version": 1, "contract": collection.to_json(), "id": collection.id, "service": "s"}


def text(vector: dict[str, Any]) -> str:
    """Return a vector's bytes: a line for each setting."""
    return "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in vector.items()) + "\n}\n"


if __name__ == "__main__":
    for file_name, vector in vectors():
        (HERE / file_name).write_text(text(vector))
    for file_name, vector in vectors_2():
        (HERE.parent / "v2" / file_name).write_text(text(vector))
