"""Histograms of other tables, used for no choice of ours.

Each is a file, the rows taken, and for each column an expression and its number of values. Values are clamped to the
last one; rows with NULL are left out.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

import tacit as tc
from tacit.central.records import Records

__all__ = ["HELD", "held"]

PERSON, HOUSEHOLD = ("acs2024_person", "hid % 14 = 0"), ("acs2024_household", "hid % 7 = 0")
ADULT, CENSUS, TAXI, RETAIL = (
    (name, "true") for name in ("adult", "census_income_kdd", "nyc_green_taxi", "online_retail_line")
)

Column = tuple[str, int]

HELD: dict[str, tuple[tuple[str, str], list[Column]]] = {
    "acs wages": (PERSON, [("wagp / 50", 4096)]),
    "acs income": (PERSON, [("pincp / 25", 4096)]),
    "acs house value": (HOUSEHOLD, [("valp / 1000", 2048)]),
    "adult weight": (ADULT, [("fnlwgt / 100", 4096)]),
    "adult hours": (ADULT, [("hours_per_week", 100)]),
    "census hourly wage": (CENSUS, [("wage_per_hour", 4096)]),
    "census dividends": (CENSUS, [("dividends / 5", 4096)]),
    "taxi fare": (TAXI, [("fare_amount * 10", 2048)]),
    "taxi minute of day": (TAXI, [("60 * hour(pickup_time) + minute(pickup_time)", 1440)]),
    "retail price": (RETAIL, [("unit_price * 100", 4096)]),
    "acs age, hours": (PERSON, [("agep", 97), ("wkhp", 100)]),
    "acs age, wages": (PERSON, [("agep", 97), ("wagp / 1000", 256)]),
    "acs bedrooms, value": (HOUSEHOLD, [("bdsp", 20), ("valp / 5000", 256)]),
    "adult age, hours": (ADULT, [("age", 100), ("hours_per_week", 100)]),
    "census age, hourly wage": (CENSUS, [("age", 91), ("wage_per_hour / 16", 256)]),
    "census weeks, dividends": (CENSUS, [("weeks_worked", 53), ("dividends / 20", 256)]),
    "taxi from, to": (TAXI, [("pu_location_id", 266), ("do_location_id", 266)]),
    "taxi distance, fare": (TAXI, [("trip_distance * 5", 256), ("fare_amount * 2", 256)]),
    "taxi hour, fare": (TAXI, [("hour(pickup_time)", 24), ("fare_amount * 2", 256)]),
    "retail quantity, price": (RETAIL, [("quantity", 128), ("unit_price * 10", 256)]),
}


def held(folder: Path, name: str) -> Records:
    """Return a histogram as records."""
    (file, rows), columns = HELD[name]
    clamped = [f"least(greatest(floor({text}), 0), {size - 1})::BIGINT" for text, size in columns]
    known = " AND ".join(f"({text}) IS NOT NULL" for text, _ in columns)
    query = f"SELECT {', '.join(f'{text} AS c{i}' for i, text in enumerate(clamped))} FROM '{folder / file}.parquet'"
    table = duckdb.sql(f"{query} WHERE {rows} AND {known}").fetchnumpy()
    attributes = [tc.Ordinal(f"c{i}", 0, size - 1) for i, (_, size) in enumerate(columns)]
    return Records.read(
        {"uid": np.arange(len(table["c0"])), **table}, tc.Service("d", key="uid", attributes=attributes)
    )
