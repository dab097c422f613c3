"""An invented market town: what its people tell a shop and a clinic, and what they order, none or a few times.

Income rises and falls with age, visits rise with age and with smoking, and people from the islands order more books, so
there is something to find. Nobody in it exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tacit.contract.schema import Categorical, Ordinal, Public, Schema, Service
from tacit.datasets.town import town

__all__ = ["SAMPLE_PEOPLE", "market", "market_schema"]

AREAS = ("north", "south", "islands")
GOODS = ("food", "books", "sports")
MOST_ORDERS = 2
"""Orders per person that count; a report is about one of them, or about having fewer."""

SAMPLE_PEOPLE: tuple[dict[str, Any], ...] = (
    {
        "name": "Ada, 34, north, smokes",
        "shop": [{"age": 34, "income": 41_000, "area": "north", "device": "ios"}],
        "clinic": [{"visits": 3, "smoker": "yes"}],
        "orders": [{"amount": 64, "goods": "sports"}],
    },
    {
        "name": "Bram, 71, islands, reads",
        "shop": [{"age": 71, "income": 18_500, "area": "islands", "device": "web"}],
        "clinic": [{"visits": 6, "smoker": "no"}],
        "orders": [{"amount": 22, "goods": "books"}, {"amount": 31, "goods": "books"}],
    },
    {
        "name": "Chen, 19, south, orders nothing",
        "shop": [{"age": 19, "income": 7_200, "area": "south", "device": "android"}],
        "clinic": [{"visits": 0, "smoker": "no"}],
        "orders": [],
    },
    {
        "name": "Dita, 52, north, earns well",
        "shop": [{"age": 52, "income": 98_000, "area": "north", "device": "ios"}],
        "clinic": [{"visits": 2, "smoker": "no"}],
        "orders": [{"amount": 140, "goods": "food"}, {"amount": 75, "goods": "food"}],
    },
)
"""People to try in the demo: what is on their devices. `market` does not generate them."""


def market_schema() -> Schema:
    """Return the schema of the town's three services."""
    age = Ordinal("age", low=0, high=99, fanout=10)
    income = Ordinal("income", low=0, high=120_000, cells=9, fanout=9, outside="clamp")
    visits = Ordinal("visits", low=0, high=9, fanout=10, outside="clamp")
    amount = Ordinal("amount", low=0, high=160, cells=9, fanout=9, outside="clamp")
    area = Categorical("area", values=AREAS)
    smoker, goods = Categorical("smoker", values=["no", "yes"]), Categorical("goods", values=GOODS)
    return Schema(
        [
            Service("shop", key="uid", attributes=[age, income, area, Public("device")]),
            Service("clinic", key="uid", attributes=[visits, smoker]),
            Service("orders", key="uid", at_most=MOST_ORDERS, attributes=[amount, goods]),
        ]
    )


def market(people: int = 100_000, *, seed: int = 1) -> dict[str, pa.Table]:
    """Return the raw tables, one for each service; the seed determines the people, not their reports.

    Examples
    --------
    >>> tables = market(100)
    >>> sorted(tables), tables["shop"]["uid"][0].as_py()
    (['clinic', 'orders', 'shop'], 'u-0')
    """
    tables = town(people, seed=seed)
    source = np.random.default_rng([seed, 1])
    age = np.asarray(tables["shop"]["age"])
    income = np.minimum(np.asarray(tables["shop"]["income"]), 120_000)
    area = source.choice(3, people, p=[0.5, 0.3, 0.2])
    smoker = source.random(people) < np.where((age > 17) & (age < 70), 0.35, 0.1)
    visits = np.minimum(source.poisson(0.5 + age / 20 + 2 * smoker), 9)
    buys = np.minimum(source.poisson(0.8 + income / 40_000), MOST_ORDERS)
    buyer = np.repeat(np.arange(people), buys)
    likes = np.array([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.2, 0.7, 0.1]]).cumsum(axis=1)
    goods = (source.random(len(buyer))[:, None] > likes[area[buyer]]).sum(axis=1)
    amount = np.minimum(np.round(source.gamma(3.0, 10 + income[buyer] / 5_000)), 160)
    uid = np.char.add("u-", np.arange(people).astype(str))  # text, as clients send it
    shop = {"uid": uid, "age": age, "income": income, "area": np.array(AREAS)[area], "device": tables["shop"]["device"]}
    clinic = {"uid": uid, "visits": visits, "smoker": np.where(smoker, "yes", "no")}
    orders = {"uid": uid[buyer], "amount": amount, "goods": np.array(GOODS)[goods]}
    return {"shop": pa.table(shop), "clinic": pa.table(clinic), "orders": pa.table(orders)}
