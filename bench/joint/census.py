"""ACS persons and households in place of the paper's PUMS-P and PUMS-H.

PUMS-P   all persons: age, marital status, usual weekly hours (0 for who does not work).
PUMS-H   the households of a state and their persons, joined on the household. The area of a household is its PUMA
         without the last two digits, which joins the PUMAs of a large county: the largest area stands for the city.
         Every household is there several times under as many keys, because a state's sample has only about 100,000
         persons, and the paper's tables have millions. Vacant units are households without persons. The state is one
         of two, declared as a number: AHIO rounds an attribute in every service.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

import tacit as tc
from bench.joint.worlds import KEY, World

__all__ = ["CITY", "GROUPS", "ILLINOIS", "INDIANA", "Households", "Persons"]

PERSONS, HOUSEHOLDS = "acs2024_person.parquet", "acs2024_household.parquet"
MOST = 10
INCOMES = 125
"""Buckets of income, 2,000 wide from 0; the last holds all above, "not applicable" and losses are 0."""

RACES = {1: "W", 2: "B", 6: "A", 7: "P", 8: "O", 9: "M"}
GROUPS = ("W", "B", "N", "A", "P", "O", "M")
"""White, Black, American Indian or Alaska Native, Asian, Pacific Islander, some other race, more than one."""

CITY = {18: 24, 17: 31}
"""The largest area of each state by FIPS code: 10 % of Indiana's persons, 30 % of those of Illinois."""


def _read(text: str) -> pa.Table:
    with duckdb.connect() as connection:
        return connection.sql(text).to_arrow_table()


@dataclass(frozen=True)
class Persons:
    """All persons, each with one row."""

    @property
    def name(self) -> str:
        """Short text for keys."""
        return "ACS persons"

    def build(self, folder: Path | None) -> World:
        """Read the table; rows are numbered."""
        table = _read(
            "SELECT row_number() OVER () - 1 AS uid, agep AS age, mar AS marst, COALESCE(wkhp, 0) AS uhrswork "
            f"FROM '{folder}/{PERSONS}'"
        )
        attributes = [
            tc.Ordinal("age", low=0, high=99),
            tc.Categorical("marst", values=[1, 2, 3, 4, 5]),
            tc.Ordinal("uhrswork", low=0, high=99),
        ]
        return World({"p": attributes}, {"p": table}, "p", table.num_rows)


@dataclass(frozen=True)
class Households:
    """The households of a state, and up to ten persons of each, all copied."""

    state: int
    label: str
    copies: int

    @property
    def name(self) -> str:
        """Short text for keys."""
        return f"ACS {self.label}"

    def build(self, folder: Path | None) -> World:
        """Read both tables and copy their households."""
        copied = f"hid * {self.copies} + k AS {KEY}"
        copies = f"CROSS JOIN range({self.copies}) AS copy(k) WHERE state = {self.state}"
        households = _read(
            f"SELECT {copied}, puma // 100 AS city, {int(self.state == 18)} AS state "
            f"FROM '{folder}/{HOUSEHOLDS}' {copies} ORDER BY 1"
        )
        race = " ".join(f"WHEN {code} THEN '{group}'" for code, group in RACES.items())
        persons = _read(
            f"SELECT {copied}, agep AS age, CASE sex WHEN 1 THEN 'm' ELSE 'f' END AS sex, "
            f"CASE rac1p {race} ELSE 'N' END AS race, "
            f"CAST(least(greatest(COALESCE(pincp, 0), 0) // 2000, {INCOMES - 1}) AS INTEGER) AS income "
            f"FROM '{folder}/{PERSONS}' {copies} AND sporder <= {MOST} ORDER BY 1"
        )
        areas = sorted(set(households.column("city").to_pylist()))
        attributes = {
            "households": [tc.Categorical("city", values=areas), tc.Ordinal("state", low=0, high=1)],
            "persons": [
                tc.Ordinal("age", low=0, high=124),
                tc.Ordinal("income", low=0, high=INCOMES - 1),
                tc.Categorical("sex", values=["f", "m"]),
                tc.Categorical("race", values=list(GROUPS)),
            ],
        }
        tables = {"households": households, "persons": persons}
        source = "households JOIN persons USING (uid)"
        return World(attributes, tables, source, households.num_rows, {"persons": MOST})


INDIANA, ILLINOIS = Households(18, "Indiana", copies=48), Households(17, "Illinois", copies=16)
"""The paper's Indiana has as many joined rows, 3.4 million; its Illinois 7.6 million, and here 2.1."""
