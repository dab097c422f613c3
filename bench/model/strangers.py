"""Populations for questions of every kind: services, public columns, people and budget of each.

They were written before the model was asked about them, to find what other populations do not show: heaped ages,
top-coded salaries, seasons, towns, questionnaires, long tails, functions of two attributes, joined services, first
digits, gaps, parities and sparse domains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit as tc

__all__ = ["STRANGERS", "Stranger"]

Source = np.random.Generator
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Stranger:
    """A population: people, budget, attributes of each service, and how their columns are drawn."""

    people: int
    epsilon: float
    services: Mapping[str, list[Any]]
    draw: Callable[[int, Source], Columns]

    @property
    def attributes(self) -> list[Any]:
        """All attributes, those of the first service first."""
        return [attribute for own in self.services.values() for attribute in own]

    def schema(self) -> tc.Schema:
        """Return the services; each person has one row in each."""
        return tc.Schema([tc.Service(name, key="uid", attributes=list(own)) for name, own in self.services.items()])

    def tables(self, seed: int) -> dict[str, Columns]:
        """Draw the rows of all services."""
        columns = self.draw(self.people, np.random.default_rng(seed))
        keys = {"uid": np.arange(self.people)}
        return {name: keys | {one.name: columns[one.name] for one in own} for name, own in self.services.items()}


def _codes(name: str, size: int) -> tc.Categorical:
    return tc.Categorical(name, values=list(range(size)))


def _whole(values: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.clip(np.round(values), low, high).astype(np.int64)


def _picked(source: Source, people: int, weights: np.ndarray) -> np.ndarray:
    return source.choice(len(weights), people, p=weights / weights.sum())


def _within(source: Source, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a category for each person, whose chances are those of the person's row."""
    ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[rows]
    return np.minimum((source.random(len(rows))[:, None] > ends).sum(axis=1), weights.shape[1] - 1)


def _heaped(people: int, source: Source) -> Columns:
    true = np.where(source.random(people) < 0.25, 100 * source.beta(1, 6, people), 100 * source.beta(3, 3, people))
    step = source.choice([1, 5, 10], people, p=[0.5, 0.3, 0.2])
    age = _whole(np.round(true / step) * step, 0, 99)
    regions = source.dirichlet(np.full(7, 1.5), 10)
    return {
        "age": age,
        "sex": (source.random(people) < 0.52).astype(int),
        "region": _within(source, regions, age // 10),
    }


def _salaries(people: int, source: Source) -> Columns:
    grade = _picked(source, people, np.array([5.0, 9, 14, 12, 8, 4, 2, 0.5]))
    part = source.random(people) < 0.3 - 0.03 * grade
    salary = np.exp(source.normal(3.1 + 0.28 * grade, 0.18, people)) * np.where(part, 0.55, 1)
    salary = np.where(source.random(people) < 0.4, np.round(salary / 10) * 10, salary)
    return {
        "salary": _whole(salary, 0, 150),
        "grade": grade + 1,
        "contract": np.where(part, "part", "full"),
    }


def _weeks(people: int, source: Source) -> Columns:
    weeks = np.arange(53)
    weights = 1 + 0.9 * np.cos(2 * np.pi * (weeks - 3) / 52) + 3.0 * (weeks == 26) + 0.3 * source.random(53)
    weights[52] = 0.05
    week = _picked(source, people, weights)
    wards = source.dirichlet(np.full(9, 0.7), 4)
    return {
        "week": week + 1,
        "weekday": _picked(source, people, np.array([1.4, 1.2, 1.1, 1.1, 1.2, 0.5, 0.4])) + 1,
        "ward": _within(source, wards, np.minimum(week // 13, 3)),
    }


def _towns(people: int, source: Source) -> Columns:
    places, size = source.random((7, 2)) * 120, source.gamma(0.8, 1, 7) + 0.05
    town = _picked(source, people, size)
    near = places[town] + source.normal(0, 1, (people, 2)) * (1.2 + 5 * (town % 2))[:, None]
    away = source.random(people) < 0.07
    near[away] = source.random((int(away.sum()), 2)) * 127
    kinds = source.dirichlet(np.full(3, 1.0), 7)
    return {
        "east": _whole(near[:, 0], 0, 127),
        "north": _whole(near[:, 1], 0, 127),
        "kind": _within(source, kinds, town),
    }


def _questionnaire(people: int, source: Source) -> Columns:
    mood, doubt = source.normal(size=people), source.normal(size=people)
    items = {}
    for k, (a, b) in enumerate([(1.2, 0.1), (1.0, -0.2), (-0.9, 0.4), (0.2, 1.1), (0.1, 0.9)]):
        lean = a * mood + b * doubt + source.normal(0, 0.8, people)
        items[f"q{k + 1}"] = np.digitize(lean, [-1.6, -0.5, 0.4, 1.4]) + 1
    lazy = source.random(people) < 0.08  # everything in the middle
    return {name: np.where(lazy, 3, own) for name, own in items.items()}


def _products(people: int, source: Source) -> Columns:
    weights = np.arange(1, 201) ** -1.5
    weights[source.permutation(200)[:80]] = 0.0
    code = source.permutation(200)[_picked(source, people, weights)]
    middle = source.gamma(2, 12, 200)
    price = np.floor(source.gamma(6, middle[code] / 6)) + np.where(source.random(people) < 0.5, 0, 1)
    web = source.random(people) < 0.2 + 0.6 * (code % 3 == 0)
    return {"product": code, "price": _whole(price, 0, 99), "seller": np.where(web, "web", "shop")}


def _derived(people: int, source: Source) -> Columns:
    x, y = _picked(source, people, np.arange(16, 0, -1.0)), source.integers(0, 16, people)
    return {"x": x, "y": y, "z": (3 * x + 5 * y) % 32}


def _devices(people: int, source: Source) -> Columns:
    system = _picked(source, people, np.array([50.0, 35, 12, 3]))
    minutes = np.select(
        [system == 0, system == 1, system == 2],
        [source.gamma(2, 20, people), source.normal(150, 12, people), source.integers(0, 240, people)],
        np.full(people, 60),
    )
    apps = source.dirichlet(np.full(6, 0.6), 4)
    names = np.array(["android", "ios", "windows", "other"])
    return {"minutes": _whole(minutes, 0, 239), "app": _within(source, apps, system), "system": names[system]}


def _orders(people: int, source: Source) -> Columns:
    age = _whole(18 + 72 * source.beta(1.6, 2.6, people), 18, 90)
    keen = source.gamma(1.2, 1, people) * np.where(age < 40, 1.5, 0.8)
    count = np.minimum(source.poisson(4 * keen), 40)
    spend = np.where(count == 0, 0, np.minimum(source.gamma(2, 4, people) * np.sqrt(count), 99))
    return {"age": age, "club": np.digitize(keen, [1.0, 3.0]), "orders": count, "spend": _whole(spend, 0, 99)}


def _digits(people: int, source: Source) -> Columns:
    number = 10 ** source.random(people)
    made_up = source.random(people) < 0.15
    first = np.where(made_up, source.integers(1, 10, people), np.floor(number).astype(int))
    second = np.where(made_up, source.choice([0, 5], people), np.floor(number * 10 % 10).astype(int))
    return {"first": first, "second": second, "flag": (made_up & (source.random(people) < 0.7)).astype(int)}


def _gap(people: int, source: Source) -> Columns:
    low = source.random(people) < 0.65
    x = np.where(low, np.minimum(source.gamma(4, 9, people), 95), source.normal(200, 9, people))
    return {
        "x": _whole(x, 0, 255),
        "y": _whole(40 * np.sqrt(np.maximum(x, 0) / 255) + source.normal(0, 2, people), 0, 47),
    }


def _parity(people: int, source: Source) -> Columns:
    x = _whole(source.normal(30, 11, people), 0, 63)
    x = np.where((x % 2 == 1) & (source.random(people) < 0.8), x - 1, x)
    return {"x": x, "bit": np.where(source.random(people) < 0.9, x // 2 % 2, 1 - x // 2 % 2)}


def _two_visits(people: int, source: Source) -> Columns:
    severity = np.minimum(source.geometric(0.35, people) - 1, 10)
    wards, plans = source.dirichlet(np.full(5, 1.0), 11), source.dirichlet(np.full(4, 1.0), 11)
    return {"severity": severity, "ward": _within(source, wards, severity), "plan": _within(source, plans, severity)}


def _few(people: int, source: Source) -> Columns:
    four = _picked(source, people, np.array([0.7, 0.2, 0.08, 0.02]))
    return {"four": four, "five": _within(source, source.dirichlet(np.full(5, 2.0), 4), four)}


def _sparse(people: int, source: Source) -> Columns:
    amount = np.where(source.random(people) < 0.02, source.integers(0, 1000, people), source.gamma(2.5, 9, people))
    return {"amount": _whole(amount, 0, 999), "paid": (source.random(people) < 0.97).astype(int)}


def _chain(people: int, source: Source) -> Columns:
    made = {"k2": (source.random(people) < 0.4).astype(int)}
    for size in range(3, 8):
        shares = source.dirichlet(np.full(size, 0.6), size - 1)
        made[f"k{size}"] = _within(source, shares, made[f"k{size - 1}"])
    return made


STRANGERS = {
    "heaped ages": Stranger(
        20_000, 1.0, {"t": [tc.Ordinal("age", 0, 99), _codes("sex", 2), _codes("region", 7)]}, _heaped
    ),
    "salaries": Stranger(
        100_000, 2.0, {"t": [tc.Ordinal("salary", 0, 150), tc.Ordinal("grade", 1, 8), tc.Public("contract")]}, _salaries
    ),
    "weeks": Stranger(
        50_000, 0.5, {"t": [tc.Ordinal("week", 1, 53), tc.Ordinal("weekday", 1, 7), _codes("ward", 9)]}, _weeks
    ),
    "towns": Stranger(
        200_000, 1.5, {"t": [tc.Ordinal("east", 0, 127), tc.Ordinal("north", 0, 127), _codes("kind", 3)]}, _towns
    ),
    "questionnaire": Stranger(5_000, 3.0, {"t": [tc.Ordinal(f"q{k}", 1, 5) for k in range(1, 6)]}, _questionnaire),
    "products": Stranger(
        300_000, 0.8, {"t": [_codes("product", 200), tc.Ordinal("price", 0, 99), tc.Public("seller")]}, _products
    ),
    "derived": Stranger(60_000, 4.0, {"t": [_codes("x", 16), _codes("y", 16), _codes("z", 32)]}, _derived),
    "devices": Stranger(
        80_000, 1.0, {"t": [tc.Ordinal("minutes", 0, 239), _codes("app", 6), tc.Public("system")]}, _devices
    ),
    "orders": Stranger(
        120_000,
        2.0,
        {
            "a": [tc.Ordinal("age", 18, 90), _codes("club", 3)],
            "b": [tc.Ordinal("orders", 0, 40), tc.Ordinal("spend", 0, 99)],
        },
        _orders,
    ),
    "digits": Stranger(
        3_000, 2.0, {"t": [tc.Ordinal("first", 1, 9), tc.Ordinal("second", 0, 9), _codes("flag", 2)]}, _digits
    ),
    "gap": Stranger(40_000, 0.3, {"t": [tc.Ordinal("x", 0, 255), tc.Ordinal("y", 0, 47)]}, _gap),
    "parity": Stranger(500_000, 0.6, {"t": [tc.Ordinal("x", 0, 63), _codes("bit", 2)]}, _parity),
    "two visits": Stranger(
        30_000, 4.0, {"a": [tc.Ordinal("severity", 0, 10), _codes("ward", 5)], "b": [_codes("plan", 4)]}, _two_visits
    ),
    "few": Stranger(10_000, 1.0, {"t": [_codes("four", 4), _codes("five", 5)]}, _few),
    "sparse": Stranger(30_000, 1.0, {"t": [tc.Ordinal("amount", 0, 999), _codes("paid", 2)]}, _sparse),
    "chain": Stranger(150_000, 3.0, {"t": [_codes(f"k{size}", size) for size in range(2, 8)]}, _chain),
}
"""All populations by name."""
