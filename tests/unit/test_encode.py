"""Tables in, reports out: every kind of table, every kind of bad input, nothing private in any message."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.contract.randomness import SystemRng, insecure_rng
from tacit.datasets import town, town_schema
from tacit.encode import bulk
from tacit.encode.values import reader_of
from tacit.errors import RandomnessError, RecordError, TacitError, UnknownNameError, UsageError

USERS = tc.Schema(
    [
        tc.Service(
            "users",
            key="uid",
            attributes=[tc.Ordinal("age", 0, 124), tc.Categorical("state", ["CA", "NY", "WA"]), tc.Public("os")],
        )
    ]
)
COLLECTION = tc.Collection(USERS, 1.0)
COLUMNS: dict[str, list[Any]] = {
    "uid": [7, 8, 9],
    "age": [30, 41, 52],
    "state": ["CA", "NY", "WA"],
    "os": ["a", "b", "a"],
}


def encode(**changes: Any) -> pa.Table:
    return COLLECTION.encode(users={**COLUMNS, **changes}, rng=insecure_rng(1))["users"]


def test_every_kind_of_table_gives_the_same_reports(tmp_path: Path) -> None:
    arrow = pa.table(COLUMNS)
    pa.parquet.write_table(arrow, tmp_path / "t.parquet")
    pa.csv.write_csv(arrow, tmp_path / "t.csv")
    sources = {
        "arrow": arrow,
        "batch": arrow.to_batches()[0],
        "reader": arrow.to_reader(),
        "columns": COLUMNS,
        "rows": arrow.to_pylist(),
        "numpy": {name: np.array(values) for name, values in COLUMNS.items()},
        "pandas": pd.DataFrame(COLUMNS),
        "pandas categorical": pd.DataFrame(COLUMNS).astype({"state": "category"}),
        "polars": pl.DataFrame(COLUMNS),
        "duckdb": duckdb.connect().from_arrow(arrow),
        "parquet": tmp_path / "t.parquet",
        "csv": str(tmp_path / "t.csv"),
        "chunks": pa.concat_tables([arrow.slice(0, 1), arrow.slice(1, 2)]),
        "other order": arrow.select(["os", "state", "uid", "age"]),
    }
    codes = {name: COLLECTION.encode(users=source, rng=insecure_rng(1))["users"] for name, source in sources.items()}
    for name, table in codes.items():
        assert table["code"].to_pylist() == codes["arrow"]["code"].to_pylist(), name
        assert table.column_names == ["uid", "slot", "channel", "code", "os"]
        assert table["uid"].to_pylist() == [7, 8, 9]
        assert table["os"].to_pylist() == ["a", "b", "a"]


def test_texts_of_polars_may_be_null() -> None:
    """They arrive as views, of which Arrow cannot select."""
    service = tc.Service("t", key="uid", attributes=[tc.Categorical("plan", ["a", "b"], null=True)])
    rows = tc.Service("rows", key="uid", attributes=[tc.Categorical("item", ["k", "l"])], at_most=2, sends=1)
    collection = tc.Collection(tc.Schema([service, rows]), 1.0)
    columns = {"t": {"uid": ["x", "y"], "plan": ["a", None]}, "rows": {"uid": ["x", "x"], "item": ["k", "l"]}}
    [plain, frames] = (
        collection.encode({name: make(table) for name, table in columns.items()}, rng=insecure_rng(1))
        for make in (pa.table, pl.DataFrame)
    )
    for name in columns:
        assert frames[name].to_pydict() == plain[name].to_pydict()


def test_one_record_is_a_table_of_one_row() -> None:
    record = {"uid": 7, "age": 30, "state": "CA", "os": "a"}
    one = COLLECTION.encode(users=record, rng=insecure_rng(1))["users"]
    assert one["code"].to_pylist() == encode()["code"].to_pylist()[:1]


def test_chunks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, source: np.random.Generator) -> None:
    tables = town(5_000)
    collection = tc.Collection(town_schema(), 2.0)
    whole = collection.encode(**tables, rng=insecure_rng(3))
    monkeypatch.setattr(bulk, "CHUNK", 617)
    monkeypatch.setattr(bulk, "ROWS_PER_VIEW", 1)
    pieces = collection.encode(**tables, rng=insecure_rng(3))
    assert all(whole[name].equals(pieces[name]) for name in whole)


def test_codes_lie_in_their_alphabet_and_channels_in_order() -> None:
    collection = tc.Collection(USERS, 1.0, mechanism="sc")
    table = collection.encode(users=COLUMNS)["users"]
    channels = collection.contract["users"].channels
    assert table["channel"].to_pylist() == [i for i in range(len(channels)) for _ in range(3)]
    for index, channel in enumerate(channels):
        codes = [row["code"] for row in table.to_pylist() if row["channel"] == index]
        assert all(0 <= code < channel.alphabet for code in codes)
    assert set(table["slot"].to_pylist()) == {0}


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    COLLECTION.encode(users=COLUMNS, progress=lambda done, rows: seen.append((done, rows)))
    assert seen[-1] == (3, 3)


CANARY = 987_654_321
TEXT_CANARY = "c0ffee-canary"

BAD: list[tuple[str, dict[str, Any]]] = [
    ("missing-value", {"age": [30, None, 52]}),
    ("missing-value", {"state": ["CA", None, "WA"]}),
    ("missing-value", {"age": pa.nulls(3)}),
    ("not-finite", {"age": pa.array([30.0, float("nan"), 52.0])}),
    ("not-finite", {"age": [30.0, float("inf"), 52.0]}),
    ("outside-domain", {"age": [30, 125, 52]}),
    ("outside-domain", {"age": [30, -1, 52]}),
    ("outside-domain", {"age": [30, CANARY, 52]}),
    ("outside-domain", {"age": [30, 2**63 - 1, 52]}),
    ("outside-domain", {"age": pa.array([30, 2**63, 52], pa.uint64())}),
    ("outside-domain", {"age": [30, -(2**63), 52]}),
    ("between-steps", {"age": [30.0, 30.5, 52.0]}),
    ("wrong-type", {"age": ["30", TEXT_CANARY, "52"]}),
    ("wrong-type", {"age": [True, False, True]}),
    ("wrong-type", {"age": [datetime.date(2026, 1, 1)] * 3}),
    ("wrong-type", {"age": [[1], [2], [3]]}),
    ("unreadable-table", {"age": [30, TEXT_CANARY, 52]}),
    ("unreadable-table", {"age": [30, 2**64, 52]}),
    ("unknown-category", {"state": ["CA", TEXT_CANARY, "WA"]}),
    ("wrong-type", {"state": [1, 2, CANARY]}),
    ("unreadable-table", {"state": ["CA", "\ud800", "WA"]}),
    ("missing-key", {"uid": [7, None, 9]}),
    ("duplicate-key", {"uid": [7, CANARY, CANARY]}),
    ("duplicate-key", {"uid": [7, 2**60 + CANARY, 2**60 + CANARY]}),
    ("duplicate-key", {"uid": ["a", TEXT_CANARY, TEXT_CANARY]}),
    ("wrong-type", {"uid": [7.0, 8.0, 9.0]}),
    ("wrong-type", {"uid": pa.array([7, 8, 2**63], pa.uint64())}),
    ("wrong-type", {"os": [[1], [2], [3]]}),
    ("unknown-column", {"extra": [1, 2, 3]}),
    ("unreadable-table", {"age": [30, 41]}),
    ("empty-table", {name: pa.array([], pa.int64()) for name in COLUMNS}),
]


@pytest.mark.parametrize(("code", "changes"), BAD)
def test_bad_input_gets_its_named_error_and_shows_no_value(code: str, changes: dict[str, Any]) -> None:
    with pytest.raises(TacitError) as caught:
        encode(**changes)
    error = caught.value
    assert error.code == code
    assert error.__cause__ is None
    assert error.__context__ is None, "the native error would show values in a traceback"
    for private in (str(CANARY), TEXT_CANARY, str(2**63), "52", "41"):
        assert private not in str(error).replace("0..124", "")


def test_missing_columns_and_tables_are_named() -> None:
    columns = {name: values for name, values in COLUMNS.items() if name != "age"}
    with pytest.raises(RecordError) as column:
        COLLECTION.encode(users=columns)
    assert (column.value.code, column.value.column) == ("missing-column", "age")
    with pytest.raises(RecordError) as table:
        COLLECTION.encode()
    assert table.value.code == "missing-table"
    with pytest.raises(UnknownNameError):
        COLLECTION.encode(users=COLUMNS, user=COLUMNS)
    for source in (object(), 5, [1, 2]):
        with pytest.raises(RecordError) as unreadable:
            COLLECTION.encode(users=source)
        assert unreadable.value.code == "unreadable-table"
    with pytest.raises(RecordError):
        COLLECTION.encode(users="people.xlsx")
    with pytest.raises(RecordError):
        COLLECTION.encode(users="absent.parquet")


def test_errors_say_where_without_saying_what() -> None:
    with pytest.raises(RecordError) as caught:
        encode(age=[30, 200, 300])
    assert (caught.value.service, caught.value.column, caught.value.rows, caught.value.first_row) == (
        "users",
        "age",
        2,
        1,
    )


def test_nothing_is_drawn_before_everything_is_valid() -> None:
    class Watched:
        sequential, asked = True, 0

        def draws(self, count: int) -> np.ndarray:
            self.asked += count
            return np.zeros(count, dtype=np.uint64)

    rng = Watched()
    two = tc.Collection(town_schema(), 2.0)
    tables = town(100)
    broken = tables["clinic"].set_column(1, "visits", pa.array([-1.5] * 100))
    with pytest.raises(RecordError):
        two.encode(shop=tables["shop"], clinic=broken.set_column(2, "smoker", pa.array(["maybe"] * 100)), rng=rng)
    assert rng.asked == 0


def test_a_query_that_fails_while_it_is_read_shows_nothing() -> None:
    relation = duckdb.connect().sql(
        f"SELECT 1 AS uid, CAST(v AS INT) AS age, 'CA' AS state, 'a' AS os FROM (VALUES ('{TEXT_CANARY}')) t(v)"
    )
    for source in (relation, f"people.{TEXT_CANARY}", {**COLUMNS, "age": [{TEXT_CANARY: 1}] * 3}):
        with pytest.raises(RecordError) as caught:
            COLLECTION.encode(users=source)
        assert TEXT_CANARY not in str(caught.value)
        assert caught.value.__context__ is None


def test_every_record_consumes_its_own_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reused words would show as repeated draws: all rows, chunks and channels together ask for exactly enough."""

    class Counted(SystemRng):
        seen: ClassVar[list[np.ndarray]] = []

        def draws(self, count: int) -> np.ndarray:
            self.seen.append(super().draws(count))
            return self.seen[-1]

    monkeypatch.setattr(bulk, "CHUNK", 64)
    monkeypatch.setattr(bulk, "ROWS_PER_VIEW", 1)
    collection = tc.Collection(town_schema(), 2.0, mechanism="sc")
    collection.encode(**town(150), rng=Counted())
    used = np.concatenate(Counted.seen)
    assert len(used) == 150 * sum(service.draws for service in collection.contract.services)
    assert len(np.unique(used)) == len(used)  # 4,000 draws of 53 bits: a chance repeat has probability below 1e-9


def test_chunks_shrink_where_records_take_many_draws() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal(f"a{i}", 0, 624) for i in range(3)])])
    compiled = tc.Collection(schema, 1.0, mechanism="hi").contract["s"]
    table = pa.table({"uid": [1], "a0": [1], "a1": [1], "a2": [1]})
    assert bulk._Encoder(compiled, table).chunk * compiled.draws <= bulk.DRAWS


def test_sources_that_draw_beyond_53_bits_are_refused() -> None:
    class Wide:
        sequential = True

        def draws(self, count: int) -> np.ndarray:
            return np.full(count, 2**63, dtype=np.uint64)

    with pytest.raises(RandomnessError):
        COLLECTION.encode(users=COLUMNS, rng=Wide())
    with pytest.raises(UsageError):
        COLLECTION.encode(users=COLUMNS, rng=7)  # type: ignore[arg-type]


def test_large_epsilons_encode_in_little_memory() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal(name, 0, 999) for name in "ab"])])
    for epsilon in (8, 10, 12):
        out = tc.Collection(schema, epsilon, mechanism="fc").encode(s={"uid": [1, 2], "a": [3, 4], "b": [5, 999]})
        assert out["s"].num_rows == 2


def two_services(one: list[Any], two: list[Any], people: list[Any] | None = None) -> dict[str, pa.Table]:
    schema = tc.Schema([tc.Service(name, key="uid", attributes=[tc.Ordinal("n", 0, 9)]) for name in ("one", "two")])
    tables = {"one": {"uid": one, "n": [1] * len(one)}, "two": {"uid": two, "n": [1] * len(two)}}
    return tc.Collection(schema, 1.0).encode(people=people, **tables)


@pytest.mark.parametrize("keys", [[1, 2, 3], ["a", "b", "c"]])
def test_everybody_reports_to_every_service(keys: list[Any]) -> None:
    assert two_services(keys, keys[::-1])["two"].num_rows == 3
    assert two_services(keys, keys, people=keys)["two"].num_rows == 3
    for one, two, people in [
        (keys, keys[:2], None),
        (keys[:2], keys, None),
        (keys, [*keys[:2], keys[0] * 50], None),
        (keys, keys, keys[:2]),
        (keys[:2], keys[:2], keys),
        (keys, keys, [*keys[:2], keys[0] * 50]),
    ]:
        with pytest.raises(RecordError) as caught:
            two_services(one, two, people)
        assert caught.value.code == "people-differ"


def test_keys_have_one_type() -> None:
    with pytest.raises(RecordError):
        two_services([1, 2], ["1", "2"])
    for people in (["1", 2], ["1", "2"], [1.5, 2.0], [], [1, 1], [None, 1], 5, ["\ud800"], [TEXT_CANARY]):
        with pytest.raises(RecordError) as caught:
            two_services([1, 2], [1, 2], people=people)  # type: ignore[arg-type]
        assert caught.value.__context__ is None
        assert TEXT_CANARY not in str(caught.value)


def indices(attribute: tc.Ordinal | tc.Categorical, values: Any) -> list[int]:
    """Return value indices as the encoder reads them, rounding draws at zero."""
    reader = reader_of("s", attribute)
    draws = np.zeros(len(values), dtype=np.uint64) if isinstance(attribute, tc.Ordinal) and attribute.dithered else None
    return reader.values(*reader.positions(pa.array(values), 0), draws).tolist()


def test_ordinals_of_integers_decimals_and_dates() -> None:
    assert indices(tc.Ordinal("a", -5, 5), [-5, 0, 5]) == [0, 5, 10]
    assert indices(tc.Ordinal("a", -5, 5), pa.array([-5, 5], pa.int8())) == [0, 10]
    assert indices(tc.Ordinal("a", 0, 300, outside="clamp"), pa.array([-5, 100], pa.int8())) == [0, 100]
    assert indices(tc.Ordinal("a", 0, 1, step="0.1"), [0.0, 0.3, 1.0]) == [0, 3, 10]
    assert indices(tc.Ordinal("a", 0, 1, step="0.1"), [Decimal("0.3"), Decimal("0.7")]) == [3, 7]
    assert indices(tc.Ordinal("a", 0, 100, step=5), [0, 15, 100]) == [0, 3, 20]
    days = [datetime.date(2026, 1, 2), datetime.date(2026, 1, 31)]
    dates = tc.Ordinal("d", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
    assert indices(dates, days) == [1, 30]
    assert indices(dates, pa.array(days).cast(pa.timestamp("us"))) == [1, 30]
    assert indices(dates, pa.array(days).cast(pa.date64())) == [1, 30]
    noon = pa.array([datetime.datetime(2026, 1, 2, 3, 4)])
    zoned = pa.array([datetime.datetime(2026, 1, 2)], pa.timestamp("s", "Europe/Berlin"))
    for times in (
        noon,
        noon.cast(pa.int64()).cast(pa.timestamp("us")),
        zoned,
        pa.array([10**15 + 1]).cast(pa.date64()),
    ):
        with pytest.raises(RecordError) as refused:
            indices(dates, times)
        assert refused.value.code == "wrong-type"
        assert refused.value.__context__ is None
    for high in ("0.8", "0.7", "1.1", "2.3"):  # the bound itself is inside, whatever its double
        steps = tc.Ordinal("a", "0.1", high, step="0.1")
        assert indices(steps, [0.1, float(high)]) == [0, steps.ticks - 1]


def test_outside_values_are_clamped_where_declared() -> None:
    clamped = tc.Ordinal("a", 0, 9, outside="clamp")
    assert indices(clamped, [-(2**63), -1, 10, 2**63 - 1]) == [0, 0, 9, 9]
    assert indices(clamped, pa.array([2**64 - 1], pa.uint64())) == [9]
    assert indices(clamped, [-1e300, 1e300, 4.0]) == [0, 9, 4]
    with pytest.raises(RecordError):
        indices(clamped, [float("inf")])


def test_null_is_the_last_index_and_never_dropped() -> None:
    assert indices(tc.Ordinal("a", 0, 9, null=True), [None, 3]) == [10, 3]
    assert indices(tc.Ordinal("a", 5, 9, null=True), pa.nulls(2)) == [5, 5]
    assert indices(tc.Ordinal("a", 0.5, 9.5, null=True, step=1), [1.5, None, 2.5]) == [1, 10, 2]
    assert indices(tc.Ordinal("a", -7, -5, null=True), [None, -5]) == [3, 2]
    assert indices(tc.Ordinal("a", 5, 9.5, null=True, cells=3, dither=False), [None, 9.5]) == [3, 2]
    assert indices(tc.Categorical("c", ["x", "y"], null=True), [None, "y"]) == [2, 1]
    assert indices(tc.Categorical("c", ["x", "y"], null=True), pa.nulls(1)) == [2]


def test_categories_of_text_and_numbers_with_a_catch_all() -> None:
    assert indices(tc.Categorical("c", ["x", "y"], other="rest"), ["y", "zebra", "rest"]) == [1, 2, 2]
    assert indices(tc.Categorical("c", ["rest", "y"], other="rest"), ["zebra"]) == [0]
    assert indices(tc.Categorical("c", [10, 20]), pa.array([20, 10], pa.int16())) == [1, 0]
    assert indices(tc.Categorical("c", [10, 20]), [20.0, 10.0]) == [1, 0]
    assert indices(tc.Categorical("c", [10, 20], other=0), [5]) == [2]
    with pytest.raises(RecordError):
        indices(tc.Categorical("c", [10, 20]), [10.5])


def test_bins_are_equal_and_dithering_rounds_between_representatives() -> None:
    bins = tc.Ordinal("a", 0, 499, cells=125, dither=False, step=1)
    assert indices(bins, list(range(500))) == [value // 4 for value in range(500)]
    dither = tc.Ordinal("a", 0, 100, cells=11, step=1)
    assert indices(dither, [0, 10, 100]) == [0, 1, 10]  # representatives stay
    assert indices(dither, [9, 91]) == [1, 10]  # draw 0 rounds up whatever is above its representative


def test_dithering_is_unbiased_to_the_last_draw() -> None:
    reader = reader_of("s", tc.Ordinal("a", 0, 10, cells=4, step=1))
    for tick in range(11):
        draws = np.arange(10, dtype=np.uint64)  # every remainder of the span once
        cells = reader.values(np.full(10, tick), None, draws)
        assert cells.sum() * 10 == tick * 3 * 10  # representatives are 10/3 apart: the mean is the tick, exactly


def test_tables_may_be_one_mapping() -> None:
    """A service called like an argument can only be passed so; anything but a mapping is refused by its kind."""
    service = tc.Service("key", key="uid", attributes=[tc.Ordinal("age", 0, 5)])
    collection = tc.Collection(tc.Schema([service]), epsilon=1)
    assert collection.encode({"key": {"uid": [1, 2], "age": [3, 4]}})["key"].num_rows == 2
    with pytest.raises(tc.TacitError) as caught:
        collection.encode([1, 2])  # type: ignore[arg-type]
    assert caught.value.code == "bad-option"
