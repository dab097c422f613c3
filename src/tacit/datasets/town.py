"""An invented town: what its people tell a shop, and what they tell a clinic.

The shop knows age, region and yearly income; the clinic knows visits and smoking. Income rises and falls with age,
visits rise with age and with smoking, so there is something to find. Nobody in it exists.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tacit.contract.schema import Categorical, Ordinal, Public, Schema, Service

__all__ = ["town", "town_schema"]

REGIONS = ("north", "east", "south", "west", "islands")


def town_schema() -> Schema:
    """Return the schema of the town's two services."""
    return Schema(
        [
            Service(
                "shop",
                key="uid",
                attributes=[
                    Ordinal("age", low=0, high=99),
                    Categorical("region", values=REGIONS),
                    Ordinal("income", low=0, high=200_000, cells=64, fanout=4, outside="clamp"),
                    Public("device"),
                ],
            ),
            Service(
                "clinic",
                key="uid",
                attributes=[
                    Ordinal("visits", low=0, high=24, outside="clamp"),
                    Categorical("smoker", values=["no", "yes"], null=True),
                ],
            ),
        ]
    )


def town(people: int = 20_000, *, seed: int = 1) -> dict[str, pa.Table]:
    """Return the town's raw tables, one for each service; the seed determines the people, not their reports.

    Examples
    --------
    >>> tables = town(100)
    >>> sorted(tables), tables["shop"].num_rows
    (['clinic', 'shop'], 100)
    """
    source = np.random.default_rng(seed)
    age = np.clip(source.gamma(4.0, 11.0, people), 0, 99).astype(np.int64)
    region = source.choice(len(REGIONS), people, p=[0.34, 0.27, 0.21, 0.14, 0.04])
    working = np.clip((age - 16) / 10, 0, 1) * np.clip((80 - age) / 20, 0.3, 1)
    income = np.round(source.lognormal(10.3, 0.6, people) * working * (1 + 0.1 * (region == 0)))
    smoker = source.random(people) < np.where((age > 17) & (age < 70), 0.22, 0.05)
    silent = source.random(people) < 0.06
    visits = source.poisson(1 + age / 25 + 2 * smoker)
    uid = np.arange(1, people + 1)
    shop = {
        "uid": uid,
        "age": age,
        "region": np.array(REGIONS)[region],
        "income": income,
        "device": np.array(["android", "ios", "web"])[source.choice(3, people, p=[0.5, 0.3, 0.2])],
    }
    answers = pa.array(np.where(smoker, "yes", "no"), mask=silent)
    return {"shop": pa.table(shop), "clinic": pa.table({"uid": uid, "visits": visits, "smoker": answers})}
