"""Sound contracts to lie about, and changes to their JSON."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable
from typing import Any

import tacit as tc
from tacit.contract.categories import keep_values

SPAN = 2**53
X, CITY = tc.Ordinal("x", 0, 5, fanout=2), tc.Categorical("city", ["a", "b", "c"])
OS = tc.Public("os")

Path_ = tuple[Any, ...]
"""Names and positions from the top of a contract down."""
Change = Callable[[Any], None]


def compiled(*attributes: Any, epsilon: str = "1", rows: dict[str, Any] | None = None, **options: Any) -> str:
    service = tc.Service("s", key="uid", attributes=list(attributes), **(rows or {}))
    return tc.Collection(tc.Schema([service]), epsilon, **options).to_json()


BASES = {
    "grr": compiled(CITY, mechanism="fc", oracle="grr"),
    "ss": compiled(X, mechanism="fc", oracle="ss"),
    "lh": compiled(X, CITY, mechanism="fc", oracle="lh"),
    "olh": compiled(X, mechanism="fc", oracle="olh"),
    "oue": compiled(CITY, mechanism="fc", oracle="oue"),
    "hio": compiled(X, CITY, mechanism="hio"),
    "sc": compiled(X, CITY, mechanism="sc"),
    "am": compiled(X, CITY, mechanism="am(1)"),
    "ft": compiled(X, CITY, mechanism="ft(2)"),
    "ahio": compiled(X, mechanism="ahio"),
    "null": compiled(tc.Ordinal("x", 0, 5, null=True), mechanism="hio"),
    "date": compiled(tc.Ordinal("day", datetime.date(2026, 1, 1), datetime.date(2026, 1, 7)), mechanism="hio"),
    "cells": compiled(tc.Ordinal("x", 0, 99, cells=5), mechanism="fc"),
    "decimal": compiled(tc.Ordinal("x", "0.5", "2.5", step="0.5"), mechanism="fc"),
    "public": compiled(CITY, OS, mechanism="fc"),
    "typed": compiled(CITY, tc.Public("os", values=["ios", "web"]), tc.Public("n", type=int), mechanism="fc"),
    "many": compiled(CITY, mechanism="fc", rows={"at_most": 3, "sends": 2}, epsilon="2"),
    "optional": compiled(CITY, mechanism="fc", rows={"optional": True}),
    "tier": compiled(CITY, mechanism="fc", tier="gold", round="2026-11"),
    "panel": compiled(CITY, mechanism="fc", epsilon="2", panel="2026", rounds=12, reports=2),
    "assigned": compiled(CITY, mechanism="fc", assigned=True),
    "runs": compiled(X, CITY, mechanism="partitions"),
    "null runs": compiled(tc.Ordinal("x", 0, 5, null=True), mechanism="partitions"),
    "ordered": compiled(tc.Categorical("size", list("abcdef"), ordered=True, fanout=2), mechanism="hio"),
    "dictionary": compiled(tc.Categorical("sku", dictionary=keep_values([f"v{i}" for i in range(40)])), mechanism="fc"),
    "calendar": compiled(tc.Date("day", "2026-01-20", "2026-04-05"), mechanism="partitions"),
    "two": tc.Collection(
        tc.Schema([tc.Service(name, key="uid", attributes=[CITY]) for name in ("a", "b")]), 2, mechanism="fc"
    ).to_json(),
    "third": tc.Collection(
        tc.Schema([tc.Service(name, key="uid", attributes=[CITY]) for name in ("a", "b", "c")]), 1, mechanism="fc"
    ).to_json(),
}

SERVICE: Path_ = ("services", 0)
FIRST: Path_ = (*SERVICE, "attributes", 0)
SECOND: Path_ = (*SERVICE, "attributes", 1)
LEVEL: Path_ = (*SERVICE, "levels", 0)
CHANNEL: Path_ = (*SERVICE, "channels", 0)
HASH: Path_ = (*CHANNEL, "otherwise")
VIEWS: Path_ = (*CHANNEL, "views")


def at(tree: Any, path: Path_) -> Any:
    for name in path:
        tree = tree[name]
    return tree


def put(path: Path_, value: Any) -> Change:
    """Set a member that is there, or append one."""

    def change(tree: Any) -> None:
        at(tree, path[:-1])[path[-1]] = copy.deepcopy(value)

    return change


def drop(path: Path_) -> Change:
    def change(tree: Any) -> None:
        del at(tree, path[:-1])[path[-1]]

    return change


def add(path: Path_, name: str, value: Any, *, after: str) -> Change:
    """Insert a member behind another one."""

    def change(tree: Any) -> None:
        owner = at(tree, path)
        items = [(key, owner[key]) for key in owner]
        place = [key for key, _ in items].index(after) + 1
        items.insert(place, (name, copy.deepcopy(value)))
        owner.clear()
        owner.update(items)

    return change


def insert(path: Path_, index: int, value: Any) -> Change:
    return lambda tree: at(tree, path).insert(index, copy.deepcopy(value))


def both(*changes: Change) -> Change:
    def change(tree: Any) -> None:
        for one in changes:
            one(tree)

    return change


def times(path: Path_, factor: float) -> Change:
    return lambda tree: put(path, int(at(tree, path) * factor))(tree)


def plus(path: Path_, number: int) -> Change:
    return lambda tree: put(path, at(tree, path) + number)(tree)


def entry(base: str) -> Path_:
    """Return the path of the one oracle that is found by the number of cells."""
    [domain] = json.loads(BASES[base])["services"][0]["channels"][0]["by_domain"]
    return (*CHANNEL, "by_domain", domain)


Lie = tuple[str, str, Change]
"""Rule, base, change."""

Wording = tuple[str, str, Callable[[str], str]]
"""Rule, base, change of the text."""
