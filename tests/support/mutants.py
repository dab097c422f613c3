"""Lies about contracts: random changes to their JSON and text."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tacit.contract.files import read_attribute
from tacit.contract.layouts import Levels
from tacit.contract.rules import canonical_text
from tacit.contract.wire import _levels
from tacit.errors import TacitError

Tree = dict[str, Any]

STRANGE: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "s",
    -1,
    0,
    1,
    2,
    3,
    53,
    0.5,
    1.0,
    2**53,
    2**53 + 1,
    2**31,
    10**30,
    [],
    {},
    [[]],
]
STRANGE += [
    "1/3",
    "2/6",
    "1/4",
    "0.50",
    "31",
    "30",
    "0",
    "-1",
    "1e0",
    "9" * 40,
    "public",
    "categorical",
    "grr",
    "lh",
    "pair",
]
STRANGE += ["\u202e", "\x1b[31m", "a\nb", "x" * 201, "é", "\ud800", "code", "AGE", "int", "__proto__", "constructor"]

NAMES = [
    "x",
    "values",
    "type",
    "null",
    "public",
    "optional",
    "at_most",
    "sends",
    "derived",
    "tier",
    "why",
    "cells",
    "dither",
]
NAMES += [
    "other",
    "outside",
    "panel",
    "steps",
    "partitions",
    "ticks",
    "parities",
    "list",
    "0",
    "7",
    "__proto__",
    "multipliers",
]


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree that something can be put into."""
    names: Any = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for name in names:
        yield tree, name
        yield from places(tree[name])


def _delete(tree: Tree, rng: random.Random) -> None:
    owner, name = rng.choice(list(places(tree)))
    del owner[name]


def _strange(tree: Tree, rng: random.Random) -> None:
    owner, name = rng.choice(list(places(tree)))
    owner[name] = copy.deepcopy(rng.choice(STRANGE))


def _nudge(tree: Tree, rng: random.Random) -> None:
    numbers = [(owner, name) for owner, name in places(tree) if type(owner[name]) is int]
    owner, name = rng.choice(numbers)
    owner[name] += rng.choice([-2, -1, 1, 2, 1000])


def _scale(tree: Tree, rng: random.Random) -> None:
    numbers = [(owner, name) for owner, name in places(tree) if type(owner[name]) is int]
    owner, name = rng.choice(numbers)
    owner[name] = rng.choice([owner[name] * 2, owner[name] // 2, -owner[name], owner[name] * 3 // 2])


def _copy(tree: Tree, rng: random.Random) -> None:
    every = list(places(tree))
    (owner, name), (other, place) = rng.choice(every), rng.choice(every)
    owner[name] = copy.deepcopy(other[place])


def _add(tree: Tree, rng: random.Random) -> None:
    owner = rng.choice([tree, *(owner[name] for owner, name in places(tree) if isinstance(owner[name], dict))])
    owner[rng.choice(NAMES)] = copy.deepcopy(rng.choice(STRANGE))


def _insert(tree: Tree, rng: random.Random) -> None:
    """Add a member at the place where the table may have it."""
    owner = rng.choice([tree, *(owner[name] for owner, name in places(tree) if isinstance(owner[name], dict))])
    items = list(owner.items())
    items.insert(rng.randrange(len(items) + 1), (rng.choice(NAMES), copy.deepcopy(rng.choice(STRANGE))))
    owner.clear()
    owner.update(items)


def _reorder(tree: Tree, rng: random.Random) -> None:
    owners = [tree, *(owner[name] for owner, name in places(tree) if isinstance(owner[name], dict | list))]
    owner = rng.choice([one for one in owners if len(one) > 1])
    if isinstance(owner, list):
        rng.shuffle(owner)
        return
    items = list(owner.items())
    rng.shuffle(items)
    owner.clear()
    owner.update(items)


def _repeat(tree: Tree, rng: random.Random) -> None:
    lists = [owner[name] for owner, name in places(tree) if isinstance(owner[name], list) and owner[name]]
    chosen = rng.choice(lists)
    chosen.insert(rng.randrange(len(chosen) + 1), copy.deepcopy(rng.choice(chosen)))


def _lie_public(tree: Tree, rng: random.Random) -> None:
    """List an attribute a second time as public, or add a public column where there must be none."""
    chosen = rng.choice(tree["services"])
    name = rng.choice([rng.choice(chosen["attributes"])["name"], chosen["key"], "fresh"])
    name = rng.choice([name, name.upper()])
    chosen["attributes"].insert(rng.randrange(len(chosen["attributes"]) + 1), {"name": name, "kind": "public"})


def _lie_kind(tree: Tree, rng: random.Random) -> None:
    """Make a sensitive attribute public, its levels left or taken out."""
    chosen = rng.choice(tree["services"])
    index = rng.randrange(len(chosen["attributes"]))
    chosen["attributes"][index] = {"name": chosen["attributes"][index]["name"], "kind": "public"}
    if rng.random() < 0.5 and index < len(chosen["levels"]):
        del chosen["levels"][index]


def _lie_budget(tree: Tree, rng: random.Random) -> None:
    budgets = [tree, *(channel for one in tree["services"] for channel in one["channels"])]
    rng.choice(budgets)["epsilon"] = rng.choice(
        ["0.5", "0.99", "1", "1.01", "2", "3", "30", "1/3", "2/3", "7/3", "30.1", "29.9"]
    )


def _lie_rows(tree: Tree, rng: random.Random) -> None:
    """Change how many rows people may have, with the members in their places."""
    chosen = rng.choice(tree["services"])
    rest = {name: value for name, value in chosen.items() if name not in ("at_most", "sends", "optional")}
    rows = rng.choice(
        [
            {},
            {"optional": True},
            {"at_most": 1, "sends": 1},
            {"at_most": 3, "sends": rng.randrange(5)},
            {"at_most": 1001, "sends": 1},
        ]
    )
    head = {"name": rest.pop("name", "s"), "key": rest.pop("key", "uid")}
    chosen.clear()
    chosen.update(head | rows | rest)


def _lie_flip(tree: Tree, rng: random.Random) -> None:
    """Change a threshold a little, which may stay sound."""
    words = ("flip", "inside", "outside", "one", "zero")
    found = [(owner, name) for owner, name in places(tree) if name in words and type(owner[name]) is int]
    owner, name = rng.choice(found)
    owner[name] = rng.choice(
        [0, 2**52, 2**53, owner[name] + 1, owner[name] - 1, int(owner[name] * rng.uniform(0.9, 1.2))]
    )


def _rename(tree: Tree, rng: random.Random) -> None:
    """Change a label or a name, which may stay sound."""
    words = ("name", "key", "round", "layout", "mechanism", "oracle", "why", "tier")
    found = [(owner, name) for owner, name in places(tree) if name in words and isinstance(owner[name], str)]
    owner, name = rng.choice(found)
    owner[name] = rng.choice(["a", "b", "c", "uid", "Ünïcode", "people", "x" * 63, "x" * 64, "", "A b", "x", "X", "s"])


def _split(tree: Tree, rng: random.Random) -> None:
    """Double a channel or a service: what leaves is reported again."""
    chosen = rng.choice(tree["services"])
    if rng.random() < 0.5:
        chosen["channels"].append(copy.deepcopy(rng.choice(chosen["channels"])))
    else:
        tree["services"].append(copy.deepcopy(chosen) | {"name": rng.choice(["again", chosen["name"]])})


def _channel(tree: Tree, rng: random.Random) -> Tree:
    chosen: Tree = rng.choice(rng.choice(tree["services"])["channels"])
    return chosen


def _lie_views(tree: Tree, rng: random.Random) -> None:
    """Write views in another form, name others, or far too many."""
    chosen = rng.choice(tree["services"])
    count = len(chosen["levels"]) + len(chosen.get("derived", []))
    tops = [len(level["widths"]) for level in chosen["levels"]] + [1] * len(chosen.get("derived", []))
    every = [range(top + 1) for top in tops]
    listed = [[n for i, level in enumerate(view) if level for n in (i, level)] for view in itertools.product(*every)]
    rng.choice(chosen["channels"])["views"] = rng.choice(
        [
            {"parities": rng.randrange(4)},
            {"product": [list(levels) for levels in every]},
            {"product": [[rng.randrange(top + 2)] for top in tops]},
            {"product": [[0, 1]] * count},
            {"product": [[0, 0]] * count},
            {"list": listed},
            {"list": listed[1:] or listed},
            {"list": [[], [0, 1]]},
            {"list": [[0, 1, 0, 1]]},
            {"list": [[count - 1, 1]]},
            {"list": [[0]]},
        ]
    )


def _lie_oracle(tree: Tree, rng: random.Random) -> None:
    """Put another oracle, or one that is never used."""
    channel = _channel(tree, rng)
    domains = channel["by_domain"]
    flip = int(2**53 / rng.choice([2.5, 3, 4, 5, 8, 40]))
    entry: Tree = rng.choice(
        [
            {"oracle": "grr", "flip": flip},
            {"oracle": "ss", "w": rng.randrange(5), "inside": flip, "outside": flip // 3},
            {"oracle": "ss", "w": 2**52, "inside": 1, "outside": 0},
            {"oracle": "olh", "g": rng.choice([0, 1, 2, 3, 4, 2**21, 2**21 - 1]), "flip": flip},
            {"oracle": "oue", "one": 2**52, "zero": flip},
            {"oracle": "lh", "g": 3, "flip": flip, "multipliers": {"1": 1, "2": 5}},
        ]
    )
    if rng.random() < 0.3:
        channel["otherwise"] = rng.choice([None, entry])
    else:
        domains[rng.choice([*domains, "1", "2", "6", "01", "9999999999", "x"])] = entry


def _lie_hash(tree: Tree, rng: random.Random) -> None:
    """Change the numbers of a linear hash."""
    hashes = [channel["otherwise"] for one in tree["services"] for channel in one["channels"] if channel["otherwise"]]
    chosen = rng.choice(hashes)
    if rng.random() < 0.5:
        chosen["g"] = rng.choice([-1, 0, 1, 2, 3, 4, 5, 7, 9, 11, 2**20 - 3, 2**20, 2**20 + 7, 2**53])
    else:
        chosen["multipliers"][rng.choice([*chosen["multipliers"], "0", "1", "9"])] = rng.choice([0, 1, 2, 3, 5, 2**40])


def _lie_domain(tree: Tree, rng: random.Random) -> None:
    """Change what an attribute declares, its levels left as they are or following from it."""
    chosen = rng.choice(tree["services"])
    attribute = rng.choice(chosen["attributes"])
    name, value = rng.choice(
        [
            ("low", rng.choice([0, 1, -5, "0.5", "-0.5", "1.0", 2**53, "2026-01-02", "2026-02-30", "0000-01-01"])),
            ("high", rng.choice([0, 9, 5, 4, 2**31, 2**53 - 1, "2.5", "99.9", "2026-01-10", "9999-12-31"])),
            ("step", rng.choice([0, 1, 2, 3, -1, "0.1", "0.25", "0.10", 2**53])),
            ("fanout", rng.choice([0, 1, 2, 3, 64, 65])),
            ("cells", rng.choice([1, 2, 3, 5, 7, 1_000_001])),
            ("values", rng.choice([["a", "a"], ["a", 1], [1, 2], [2**53], ["a", "b", "c"], ["a\0"], []])),
            ("other", rng.choice(["NY", "CA", 10])),
            ("type", rng.choice(["int", "str", "text", "float", "bool"])),
        ]
    )
    if name in attribute or rng.random() < 0.2:
        attribute[name] = value
    if rng.random() < 0.7:
        sensitive = [read_attribute(item) for item in chosen["attributes"] if item["kind"] != "public"]
        chosen["levels"] = [_levels(one, Levels.of(one)) for one in sensitive]  # type: ignore[arg-type]


CHANGES: list[Callable[[Tree, random.Random], None]] = [
    _delete,
    _strange,
    _nudge,
    _scale,
    _copy,
    _add,
    _insert,
    _reorder,
    _repeat,
    _lie_public,
    _lie_kind,
    _lie_budget,
    _lie_rows,
    _lie_flip,
    _rename,
    _split,
    _lie_views,
    _lie_oracle,
    _lie_hash,
    _lie_domain,
]


def _cross(tree: Tree, other: Tree, rng: random.Random) -> None:
    """Put a part of another contract where a part of the same name was."""
    parts = [(owner, name) for owner, name in places(other) if isinstance(name, str)]
    owner, name = rng.choice(parts)
    same = [(mine, place) for mine, place in places(tree) if place == name]
    if same:
        mine, place = rng.choice(same)
        mine[place] = copy.deepcopy(owner[name])


def _as_text(tree: Tree, rng: random.Random) -> str:
    """Write a tree: mostly canonically, so that later rules are reached."""
    if rng.random() < 0.95:
        try:
            written = canonical_text(tree)
        except ValueError:
            written = None
        if written is not None:
            return written
    return json.dumps(tree, indent=rng.choice([None, None, 1]))


def _touch(text: str, rng: random.Random) -> str:
    """Change the text itself."""
    place = rng.randrange(len(text))
    digits = [i for i, letter in enumerate(text) if letter.isdigit()]
    spot = rng.choice(digits) if digits else place
    return rng.choice(
        [
            text[:place] + text[place + 1 :],
            text[:place] + rng.choice('0 "{}[],:.e-\\\n\x00é٣') + text[place:],
            text[: spot + 1] + rng.choice([".0", "e0", "0", "٣"]) + text[spot + 1 :],
            text[:spot] + rng.choice(["0", "-", "+", "1"]) + text[spot:],
            text.replace('"flip"', '"flip": 1, "flip"', 1),
            text + rng.choice([" ", "\n", "x"]),
            text.replace('"kind"', '"k\\u0069nd"', 1),
        ]
    )


def mutant(texts: list[str], rng: random.Random) -> str:
    """Return a contract with one to three changes."""
    text = rng.choice(texts)
    if rng.random() < 0.04:
        return _touch(text, rng)
    tree = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            if rng.random() < 0.1:
                _cross(tree, json.loads(rng.choice(texts)), rng)
            else:
                rng.choice(CHANGES)(tree, rng)
        except (IndexError, KeyError, TypeError, AttributeError, ValueError, TacitError):
            continue  # an earlier change took away what this one needs
    return _as_text(tree, rng)
