"""Real people of the UCI Adult data, on domains small enough to enumerate every record."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa

import tacit as tc

SAMPLE = Path(__file__).parents[1] / "data" / "adult_sample.parquet"

SCHEMA = tc.Schema(
    [
        tc.Service(
            "adult",
            key="uid",
            attributes=[
                tc.Ordinal("age", 1, 9, fanout=3),
                tc.Categorical("work", ["private", "public", "self"], null=True),
                tc.Ordinal("edu", 0, 3, fanout=2),
                tc.Ordinal("hours", 0, 2, fanout=3),
                tc.Public("sex"),
                tc.Public("loss"),
            ],
        )
    ]
)


@cache
def adult_table() -> pa.Table:
    """Return the sample: age in decades, work in three kinds or NULL, schooling and hours in steps."""
    return duckdb.sql(
        f"""SELECT uid, CAST(age // 10 AS BIGINT) AS age,
        CASE WHEN workclass LIKE '%gov' THEN 'public' WHEN workclass LIKE 'Self%' THEN 'self'
             WHEN workclass IS NOT NULL THEN 'private' END AS work,
        CAST(CASE WHEN education_num < 9 THEN 0 WHEN education_num = 9 THEN 1 WHEN education_num < 13 THEN 2 ELSE 3 END
             AS BIGINT) AS edu,
        CAST(CASE WHEN hours_per_week < 35 THEN 0 WHEN hours_per_week <= 45 THEN 1 ELSE 2 END AS BIGINT) AS hours,
        sex, CASE WHEN occupation IS NOT NULL THEN capital_loss // 100 END AS loss
        FROM '{SAMPLE}' ORDER BY uid"""
    ).to_arrow_table()
