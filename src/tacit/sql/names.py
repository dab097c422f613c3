"""Names of the columns that statements compute: each begins with a digit, as no column of a schema does."""

from __future__ import annotations

__all__ = [
    "PEOPLE",
    "PERSON",
    "channel",
    "code",
    "contributions",
    "factor",
    "group",
    "guard",
    "measure",
    "power",
    "product",
    "source",
    "total",
]

PEOPLE = "0n"
"""Column of a rollup: how many people a row stands for. Stored databases contain it."""

PERSON = "0person"
"""The key of a person."""


def source(number: int) -> str:
    """Return the alias of a service's table."""
    return f"s{number}"


def contributions(number: int) -> str:
    """Return the name of the uploaded table with the factors' values at each code of a service."""
    return f"contributions{number}"


def group(place: int) -> str:
    """Return the column of a public grouping key."""
    return f"0group{place}"


def channel(number: int) -> str:
    """Return the column with the channel of a service's report."""
    return f"0channel{number}"


def code(number: int) -> str:
    """Return the column with the code of a service's report."""
    return f"0code{number}"


def guard(place: int) -> str:
    """Return the column that is 1 where a public condition holds, else 0."""
    return f"0guard{place}"


def power(place: int) -> str:
    """Return the column with a public number that totals multiply by."""
    return f"0public{place}"


def factor(number: int, place: int) -> str:
    """Return the column with one factor of a person's reports to a service."""
    return f"0factor{number}_{place}"


def product(number: int, left: int, right: int) -> str:
    """Return the column with the product of two factors, summed over a person's reports to a service."""
    return f"0product{number}_{left}_{right}"


def measure(place: int) -> str:
    """Return the column with a person's contribution to a total."""
    return f"0measure{place}"


def total(place: int) -> str:
    """Return the column of a sum; 0 is the number of people."""
    return f"0sum{place}"
