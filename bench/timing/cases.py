"""Pairs of records whose encoding should take the same time, for every kind of secret that could show in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import tacit as tc

__all__ = ["CASES", "Case"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A contract of one service, "s", and two classes of records; `answers` bounds each class's answer draws."""

    name: str
    contract: str
    left: Rows
    right: Rows
    answers: tuple[tuple[int, int], tuple[int, int]] | None = None


def contract_of(*attributes: Any, mechanism: str = "auto", oracle: str = "auto", **service: Any) -> str:
    """Return the contract of one service with these attributes."""
    schema = tc.Schema([tc.Service("s", key="uid", attributes=list(attributes), **service)])
    return tc.Collection(schema, epsilon=2.0, mechanism=mechanism, oracle=oracle).to_json()


def one(name: str, attribute: Any, left: Any, right: Any, **options: Any) -> Case:
    """Return a case of one attribute x with two values."""
    return Case(name, contract_of(attribute, **options), [{"x": left}], [{"x": right}])


WORDS = [f"v{number:03d}" for number in range(1000)]
CELLS = tc.Ordinal("x", 0, 8)


def kept_or_lied() -> Case:
    """Return a case in which the draws tell the truth in one class and a lie in the other."""
    contract = contract_of(tc.Ordinal("x", 0, 3), mechanism="sc", oracle="grr")
    [channel] = json.loads(contract)["services"][0]["channels"]
    limit = 3 * channel["by_domain"]["4"]["flip"] if "4" in channel["by_domain"] else 3 * channel["otherwise"]["flip"]
    return Case("grr: truth or lie", contract, [{"x": 2}], [{"x": 2}], ((limit, 2**53), (0, limit)))


def rows(count: int) -> Rows:
    """Return so many rows of the service with many rows."""
    return [{"x": 17 * number % 100, "c": "Books"} for number in range(count)]


MANY = contract_of(
    tc.Ordinal("x", 0, 99), tc.Categorical("c", ["Sports", "Books", "Food"]), at_most=10, sends=2, mechanism="hio"
)
OPTIONAL = contract_of(tc.Ordinal("x", 0, 99), optional=True)

CASES = [
    one("control: the same record twice", tc.Ordinal("x", 0, 124), 77, 77),
    one("category: first or last of 1,000", tc.Categorical("x", WORDS), WORDS[0], WORDS[-1]),
    one("category: listed or other", tc.Categorical("x", WORDS, other="v000"), WORDS[500], "w999"),
    one("category: a short or a long text", tc.Categorical("x", ["a", "b" * 60]), "a", "b" * 60),
    one("category or NULL", tc.Categorical("x", WORDS, null=True), WORDS[500], None),
    one("number or NULL", tc.Ordinal("x", 0, 124, null=True), 77, None),
    one("number: lowest or highest of 125", tc.Ordinal("x", 0, 124), 0, 124),
    one("number: lowest or highest of 100,000", tc.Ordinal("x", 0, 99_999), 0, 99_999),
    one("number: inside or clamped", tc.Ordinal("x", 0, 99, outside="clamp"), 50, 5_000_000),
    one("number: dithered, lowest or highest", tc.Ordinal("x", 0, 200_000, cells=100), 0, 200_000),
    one("number: in steps of 0.1, lowest or highest", tc.Ordinal("x", "0.0", "49.9"), 0.0, 49.9),
    Case("rows: none or one", MANY, rows(0), rows(1)),
    Case("rows: one or ten", MANY, rows(1), rows(10)),
    Case("optional: a row or none", OPTIONAL, [{"x": 50}], []),
    kept_or_lied(),
    *(
        one(f"{oracle}: lowest or highest cell", CELLS, 0, 8, mechanism="sc", oracle=oracle)
        for oracle in ("grr", "ss", "lh", "olh", "oue")
    ),
]
