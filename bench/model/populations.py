"""Populations that are smooth, rough, dependent in one way or another; some are kept for testing alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import tacit as tc

__all__ = ["HELD_OUT", "JOINED", "POPULATIONS", "attributes_of"]

Columns = dict[str, np.ndarray]
Make = Callable[[int, np.random.Generator, Path], Columns]

SIZE = 64

HELD_OUT = frozenset({"acs", "retail", "and", "comb", "checkerboard", "seasonal", "pareto"})
"""Populations on which nothing was tuned."""


def _clip(values: np.ndarray, size: int = SIZE) -> np.ndarray:
    return np.clip(np.floor(values), 0, size - 1).astype(np.int64)


def _sample(data: Path, file: str, columns: str, people: int, source: np.random.Generator) -> Columns:
    table = duckdb.sql(f"SELECT {columns} FROM '{data / file}'").fetchnumpy()
    made = {name: np.ma.filled(own, 0).astype(np.int64) for name, own in table.items()}
    rows = source.integers(0, len(next(iter(made.values()))), people)
    return {name: own[rows] for name, own in made.items()}


def smooth(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Two correlated bells, and one of two modes."""
    z = source.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], people)
    two = np.where(source.random(people) < 0.5, source.normal(15, 3, people), source.normal(45, 5, people))
    return {"x": _clip((z[:, 0] + 3) * 10.7), "y": _clip((z[:, 1] + 3) * 10.7), "two": _clip(two)}


def spiky(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Twelve points of a square have four fifths of the people; and a Zipf distribution."""
    places = np.random.default_rng(4).integers(0, SIZE, (12, 2))
    which = source.choice(12, people, p=np.arange(12, 0, -1) / 78)
    x, y = (np.where(source.random(people) < 0.1, source.integers(0, SIZE, people), places[which, k]) for k in (0, 1))
    weights = np.arange(1, SIZE + 1) ** -1.2
    return {"x": x, "y": y, "zipf": source.choice(SIZE, people, p=weights / weights.sum())}


def permuted(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Smooth shares whose values were permuted, and a second attribute that depends on the first."""
    x = (3 * _clip(np.abs(source.normal(0, 18, people))) + 7) % SIZE
    return {"x": x, "y": (x * 5 + source.integers(0, 9, people)) % SIZE}


def function(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Y is a function of x."""
    x = source.integers(0, SIZE, people)
    return {"x": x, "y": _clip(32 + 28 * np.sin(x / 8))}


def moons(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Two half circles around each other."""
    angle, upper = source.random(people) * np.pi, source.random(people) < 0.5
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle)) + source.normal(0, 0.1, people)
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) + source.normal(0, 0.1, people)
    return {"x": _clip((x + 1.3) * 17), "y": _clip((y + 0.8) * 30)}


def zero_inflated(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Most have 0, the others a lognormal amount that is cut off at the top, or a round number."""
    amount = _clip(np.exp(source.normal(2.8, 0.8, people)))
    amount = np.where(source.random(people) < 0.3, amount // 10 * 10, amount)
    return {"x": np.where(source.random(people) < 0.6, 0, amount), "y": _clip(source.gamma(2, 8, people))}


def exclusive_or(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Of four bits the third is the exclusive-or of two, nearly always."""
    bits = {name: source.integers(0, 2, people) for name in "abcd"}
    return bits | {"c": bits["a"] ^ bits["b"] ^ (source.random(people) < 0.05)}


def conjunction(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Of four bits the third is the conjunction of two."""
    bits = {name: source.integers(0, 2, people) for name in "abcd"}
    return bits | {"c": bits["a"] & bits["b"]}


def census(people: int, source: np.random.Generator, data: Path) -> Columns:
    """Age, weeks worked, industry and occupation."""
    columns = "age, least(weeks_worked, 52) AS weeks, industry_code AS industry, occupation_code AS occupation"
    return _sample(data, "census_income_kdd.parquet", columns, people, source)


def acs(people: int, source: np.random.Generator, data: Path) -> Columns:
    """Age, hours, schooling and state of origin of adults in the American Community Survey."""
    columns = "agep AS age, coalesce(wkhp, 0) AS hours, coalesce(schl, 0) AS school, mar AS marital"
    return _sample(data, "acs2024_person.parquet", columns, people, source)


def joined_smooth(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Two correlated bells, in two services."""
    z = source.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], people)
    return {"x": _clip((z[:, 0] + 3) * 10.7), "y": _clip((z[:, 1] + 3) * 10.7)}


def joined_gaps(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Two lognormal numbers, one of them in steps of four, in two services."""
    z = source.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], people)
    return {"x": _clip(np.exp(z[:, 0]) * 8) // 4 * 4, "y": _clip(np.exp(0.7 * z[:, 1]) * 9)}


def retail(people: int, source: np.random.Generator, data: Path) -> Columns:
    """Quantity, price and hour of lines of an online shop."""
    columns = "least(greatest(quantity, 0), 63) AS quantity, least(greatest(unit_price, 0), 63) AS price"
    return _sample(data, "online_retail_line.parquet", columns, people, source)


def comb(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Every fourth value only, under a bell; and a number that is heaped at multiples of five and ten."""
    x = _clip(source.normal(32, 12, people)) // 4 * 4
    amount = source.gamma(3, 8, people)
    step = source.choice([1, 5, 10], people, p=[0.4, 0.35, 0.25])
    return {"x": x, "heaped": _clip(np.round(amount / step) * step)}


def hole(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Two modes with nobody between them; and an income that is cut off where a fifth of the people are."""
    x = np.where(source.random(people) < 0.3, source.normal(10, 3, people), 40 + source.gamma(2, 4, people))
    return {"x": _clip(np.where((x > 18) & (x < 40), 8, x)), "top": _clip(np.exp(source.normal(3.3, 1, people)))}


def laplace(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """A sharp peak with long tails, and another one whose place depends on the first."""
    x = source.laplace(32, 2.5, people)
    return {"x": _clip(x), "y": _clip(source.laplace(10 + x / 2, 4, people))}


def band(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """A narrow band around the diagonal, and the same turned around."""
    x = source.integers(0, SIZE, people)
    return {"x": x, "y": _clip(x + source.integers(-3, 4, people)), "z": _clip(63 - x + source.integers(-2, 3, people))}


def checkerboard(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Squares of eight by eight, of which every second one is empty: both attributes are even."""
    x, y = source.integers(0, SIZE, people), source.integers(0, SIZE // 2, people)
    return {"x": x, "y": y // 8 * 16 + y % 8 + 8 * (x // 8 % 2)}


def pareto(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """A power law, and its rank among other things."""
    x = source.pareto(1.1, people) * 2
    return {"x": _clip(x), "y": _clip(10 * np.log1p(x) + source.normal(8, 3, people))}


def seasonal(people: int, source: np.random.Generator, data: Path) -> Columns:  # noqa: ARG001
    """Weeks of a year with two seasons, a holiday and a week without anybody; and the hour of the day."""
    weeks = np.arange(52)
    weights = 1.2 + np.sin(2 * np.pi * weeks / 52) + 0.8 * np.cos(4 * np.pi * weeks / 52)
    weights = np.maximum(weights, 0.0)
    weights[[30, 51]] = 0.0, 6.0
    hours = 0.2 + np.exp(-(((np.arange(24) - 9) / 2) ** 2)) + np.exp(-(((np.arange(24) - 18) / 3) ** 2))
    return {
        "week": source.choice(52, people, p=weights / weights.sum()),
        "hour": source.choice(24, people, p=hours / hours.sum()),
    }


POPULATIONS: dict[str, Make] = {
    "smooth": smooth,
    "spiky": spiky,
    "permuted": permuted,
    "function": function,
    "moons": moons,
    "zero-inflated": zero_inflated,
    "xor": exclusive_or,
    "and": conjunction,
    "census": census,
    "acs": acs,
    "retail": retail,
    "laplace": laplace,
    "hole": hole,
    "band": band,
    "comb": comb,
    "checkerboard": checkerboard,
    "pareto": pareto,
    "seasonal": seasonal,
    "joined, smooth": joined_smooth,
    "joined, gaps": joined_gaps,
}

JOINED = frozenset({"joined, smooth", "joined, gaps"})
"""Populations whose columns are in a service each, with half of the budget."""


def attributes_of(columns: Columns) -> list[Any]:
    """Return the attributes of columns: codes and bits are categories, other numbers are in order."""
    made: list[Any] = []
    for name, own in columns.items():
        size = int(own.max()) + 1
        listed = name in ("industry", "occupation", "marital") or size <= 2
        made.append(tc.Categorical(name, values=list(range(size))) if listed else tc.Ordinal(name, 0, max(1, size - 1)))
    return made
