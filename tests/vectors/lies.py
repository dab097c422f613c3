"""Write contracts that lie, by kind of lie, each with the rule of `docs/wire.md` that it breaks first.

Run it to regenerate ``lies/``. Package, Python client and TypeScript client must name the rule. The rules are written
here by hand. ``pad`` is a number of spaces to append. A file is a list of ``{"name", "rule", "contract"}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tacit.contract.rules import RESERVED, canonical_text
from vectors.forge import (
    BASES,
    CHANNEL,
    FIRST,
    HASH,
    LEVEL,
    SECOND,
    SERVICE,
    SPAN,
    VIEWS,
    Lie,
    Path_,
    add,
    at,
    both,
    drop,
    entry,
    insert,
    plus,
    put,
    times,
)
from vectors.lies_of_form import members, spellings, texts, types
from vectors.lies_of_lists import lists
from vectors.lies_of_runs import runs
from vectors.lies_of_size import limits

HERE = Path(__file__).parent / "lies"


def declarations() -> Iterator[Lie]:
    """Yield labels, budgets and names that are not allowed."""
    for value in (0, 52, 54, 32, SPAN):
        yield "draw-bits", "grr", put(("draw_bits",), value)
    for value in ("x" * 201, "a\nb", "\x1b[31m", "\x00", "\x7f", "\x9f", "\u2028", "\u202e", "\u2066", "é" * 201):
        for path in (("round",), ("mechanism",), ("oracle",), (*SERVICE, "layout"), (*CHANNEL, "name")):
            yield "bad-label", "grr", put(path, value)
    yield "bad-label", "tier", put(("tier",), "")
    yield "bad-label", "grr", add(SERVICE, "why", "", after="layout")
    for path in (("epsilon",), (*CHANNEL, "epsilon")):
        for value in (
            "0",
            "-1",
            "30.1",
            "31",
            "1/0",
            "0/3",
            "1/2",
            "2/6",
            "4/2",
            "1.0",
            "01",
            "1e0",
            "",
            "x",
            " 1",
            "1 ",
            "½",
        ):
            yield "bad-epsilon", "grr", put(path, value)
        yield "bad-epsilon", "grr", put(path, "9" * 101)
        yield "bad-epsilon", "grr", put(path, "1/" + "3" * 101)
        yield "bad-epsilon", "grr", put(path, "0." + "1" * 101)
        yield "bad-epsilon", "grr", put(path, "100/3")
    for path in ((*SERVICE, "name"), (*SERVICE, "key"), (*FIRST, "name")):
        for value in ("", "1a", "a b", "naïve", "a-b", "a" * 64, 'a"', "a\n", "a.b"):
            yield "bad-name", "grr", put(path, value)
        for value in ("slot", "CODE", "People", "tier", "round", "self", "channel"):
            yield "reserved-name", "grr", put(path, value)


def domains() -> Iterator[Lie]:
    """Yield names that occur twice, and options, bounds and levels that are not possible."""
    yield "duplicate-name", "two", put(("services", 1, "name"), "a")
    yield "duplicate-name", "two", put(("services", 1, "name"), "A")
    yield "duplicate-name", "grr", put((*SERVICE, "key"), "city")
    yield "duplicate-name", "grr", put((*SERVICE, "key"), "CITY")
    yield "duplicate-name", "hio", put((*SECOND, "name"), "x")
    yield "duplicate-name", "hio", put((*SECOND, "name"), "X")
    yield "duplicate-name", "grr", put((*FIRST, "values"), ["a", "a", "b"])
    for values in (["a", 1, "b"], [1, "a"], [SPAN, 1, 2], [-SPAN, 1, 2]):
        yield "bad-option", "grr", put((*FIRST, "values"), values)
    for other in ("d", "A", "", 0):
        yield "bad-option", "grr", add(FIRST, "other", other, after="values")
    for value in (-1, 0, 1, 65, SPAN):
        yield "bad-option", "hio", put((*FIRST, "fanout"), value)
        yield "bad-option", "ahio", put((*FIRST, "fanout"), value)
    for value in (-1, 0, 1, 9902, 10**6):
        yield "bad-option", "cells", put((*FIRST, "cells"), value)
    for value in (SPAN, -SPAN):
        yield "bad-bound", "hio", put((*FIRST, "low"), value)
        yield "bad-bound", "hio", put((*FIRST, "high"), value)
    yield "bad-bound", "hio", put((*FIRST, "step"), SPAN)
    yield "bad-bound", "decimal", put((*FIRST, "high"), "9999999999999999.5")
    for value in (0, -1, "-0.5"):
        yield "bad-bound", "hio", put((*FIRST, "step"), value)
    yield "bad-bound", "date", put((*FIRST, "step"), 0)
    yield "empty-domain", "hio", put((*FIRST, "high"), -1)
    yield "empty-domain", "date", put((*FIRST, "high"), "2025-12-31")
    yield "empty-domain", "decimal", put((*FIRST, "high"), "0.4")
    for value in (2, 3, 4, "0.3"):
        yield "uneven-step", "hio", put((*FIRST, "step"), value)
    yield "uneven-step", "date", put((*FIRST, "step"), 4)
    yield "uneven-step", "decimal", put((*FIRST, "high"), "2.4")
    yield "domain-too-large", "hio", put((*FIRST, "high"), 2**31)
    yield "domain-too-large", "hio", put((*FIRST, "high"), 10**6)
    yield "domain-too-large", "decimal", put((*FIRST, "step"), "0." + "0" * 30 + "1")
    many = [{"name": f"p{i}", "kind": "public"} for i in range(500)]
    yield "domain-too-large", "grr", lambda tree: at(tree, (*SERVICE, "attributes")).extend(many)
    yield "bad-levels", "hio", put((*LEVEL, "count"), 5)
    yield "bad-levels", "hio", put((*LEVEL, "ticks"), 7)
    yield "bad-levels", "hio", drop((*LEVEL, "ticks"))
    yield (
        "bad-levels",
        "grr",
        both(drop((*LEVEL, "widths")), drop((*LEVEL, "count")), put(LEVEL, {"ticks": 3, "count": 3, "widths": [1]})),
    )
    for widths in ([], [1], [4, 2], [2, 1], [4, 2, 1, 1], [8, 4, 2, 1], [4, 2, 0], [4, 2, -1], [1, 2, 4], [4, 3, 1]):
        yield "bad-levels", "hio", put((*LEVEL, "widths"), widths)
    yield "bad-levels", "hio", drop((*SERVICE, "levels", 1))
    yield "bad-levels", "hio", insert((*SERVICE, "levels"), 0, {"count": 3, "widths": [1]})
    yield "bad-levels", "grr", put((*FIRST, "values"), ["a", "b", "c", "d"])
    yield "bad-levels", "hio", put((*FIRST, "fanout"), 3)
    yield "bad-levels", "cells", put((*FIRST, "cells"), 6)


def public() -> Iterator[Lie]:
    """Yield what would let values leave as they are, or show who has rows."""
    for base in ("grr", "hio", "cells", "null", "decimal", "typed"):
        name = at(json.loads(BASES[base]), FIRST)["name"]
        for spelled in (name, name.upper()):
            yield "duplicate-name", base, insert((*SERVICE, "attributes"), 0, {"name": spelled, "kind": "public"})
            yield "duplicate-name", base, insert((*SERVICE, "attributes"), 9, {"name": spelled, "kind": "public"})
    for base in ("grr", "hio", "public"):
        yield "duplicate-name", base, insert((*SERVICE, "attributes"), 0, {"name": "UID", "kind": "public"})
    yield "duplicate-name", "public", insert((*SERVICE, "attributes"), 0, {"name": "os", "kind": "public"})
    for base in ("many", "optional"):
        for place in (0, 9):
            yield "public-not-possible", base, insert((*SERVICE, "attributes"), place, {"name": "os", "kind": "public"})
    rows = {"at_most": 3, "sends": 1}
    yield "public-not-possible", "public", add(SERVICE, "optional", True, after="key")
    yield (
        "public-not-possible",
        "public",
        both(*(add(SERVICE, name, rows[name], after="key") for name in ("sends", "at_most"))),
    )
    yield "empty-domain", "grr", put(FIRST, {"name": "city", "kind": "public"})
    yield "bad-levels", "hio", put(FIRST, {"name": "x", "kind": "public"})
    yield "bad-levels", "hio", put(SECOND, {"name": "city", "kind": "public"})
    yield "bad-levels", "public", put(SECOND, {"name": "os", "kind": "categorical", "values": ["a"]})
    yield "unknown-member", "public", put((*SECOND, "values"), ["ios"])
    yield "unknown-member", "public", put((*SECOND, "type"), "int")
    yield "unknown-member", "public", put((*SECOND, "null"), True)
    for value in ((0, 1), (1, 0), (2, 3), (1001, 1), (-1, 1), (3, 4), (SPAN, 1)):
        yield "bad-option", "many", both(put((*SERVICE, "at_most"), value[0]), put((*SERVICE, "sends"), value[1]))
    yield "bad-option", "many", add(SERVICE, "optional", True, after="sends")


def version_2() -> Iterator[Lie]:
    """Yield lies of contracts with typed public columns."""
    typed: Path_ = SECOND
    yield (
        "version",
        "typed",
        both(*(put((*SERVICE, "attributes", i), {"name": f"p{i}", "kind": "public"}) for i in (1, 2))),
    )
    for base in ("grr", "hio", "public", "many"):
        yield "version", base, put(("tacit",), 2)
    yield "unknown-member", "typed", put(("tacit",), 1)
    for value in ("integer", "text", "", "Int", "float64", "date"):
        yield "bad-option", "typed", put((*SERVICE, "attributes", 2, "type"), value)
    for value in (["a", 1], [SPAN], ["a\0"]):
        yield "bad-option", "typed", put((*typed, "values"), value)
    yield "duplicate-name", "typed", put((*typed, "values"), ["a", "a"])
    yield "empty", "typed", put((*typed, "values"), [])
    yield "bad-option", "typed", put((*typed, "type"), "str")
    yield "bad-option", "typed", put((*SERVICE, "attributes", 1), {"name": "os", "kind": "public", "null": True})
    for value in (True, None, {}, []):
        yield "wrong-type", "typed", put((*typed, "values"), [value])
        yield "wrong-type", "typed", put((*SERVICE, "attributes", 2, "type"), value)
    yield "wrong-type", "typed", put((*typed, "null"), False)
    for name in RESERVED:
        top = [] if name in ("panel", "rounds", "reports", "assigned") else [()]
        first = [] if name in ("dictionary", "size") else [FIRST]
        for path in (*top, SERVICE, *first, typed, CHANNEL):
            yield "reserved", "typed", put((*path, name), 1)
    for kind in ("boolean", "timestamp"):
        yield "reserved", "typed", put((*FIRST, "kind"), kind)


def assigned() -> Iterator[Lie]:
    """Yield contracts that say in a wrong way, or in a wrong place, that views are assigned."""
    for value in (False, 1, "true", None, [], {}):
        yield "wrong-type", "assigned", put(("assigned",), value)
    yield "version", "assigned", drop(("assigned",))
    yield "unknown-member", "assigned", put(("tacit",), 1)
    yield "unknown-member", "grr", add((), "assigned", True, after="round")
    for after in ("tacit", "epsilon", "services"):
        yield "not-canonical", "assigned", both(drop(("assigned",)), add((), "assigned", True, after=after))
    yield "over-total", "assigned", put(("epsilon",), "0.5")


def panels() -> Iterator[Lie]:
    """Yield panels that cannot be, and panels that cost more than they say."""
    for name in ("panel", "rounds", "reports"):
        yield "missing-member", "panel", drop((name,))
        yield "wrong-type", "panel", put((name,), None)
        yield "wrong-type", "panel", put((name,), 1 if name == "panel" else "2")
    yield "wrong-type", "panel", put(("rounds",), True)
    for value in ("", "a\nb", "\u202e", "x" * 201):
        yield "bad-panel", "panel", put(("panel",), value)
    for value in (-1, 0, 1, 1_001, SPAN):
        yield "bad-panel", "panel", put(("rounds",), value)
    for value in (-1, 0, 13, SPAN):
        yield "bad-panel", "panel", put(("reports",), value)
    yield "bad-panel", "panel", put(("round",), "one")
    yield "over-total", "panel", put(("reports",), 3)
    yield "unknown-member", "panel", put(("tacit",), 1)
    yield "not-canonical", "panel", both(drop(("panel",)), put(("panel",), "2026"))


def views() -> Iterator[Lie]:
    """Yield derived attributes and views that do not belong to what is declared."""
    for value in ([1, "round"], [-1, "round"], [0, "up"], [0, ""]):
        yield "bad-derived", "ahio", put((*SERVICE, "derived", 0), value)
    yield "bad-derived", "ahio", insert((*SERVICE, "derived"), 0, [0, "round"])
    yield "bad-derived", "ahio", insert((*SERVICE, "derived"), 0, [0, "embed"])
    for base in ("grr", "null", "many", "optional"):
        yield "bad-derived", base, add(SERVICE, "derived", [[0, "round"]], after="levels")
    for value in (-1, 2, 5):
        yield "bad-views", "hio", put((*VIEWS, "product", 1), [0, value])
    for value in ([0, 0], [1, 0], [-1, 0]):
        yield "bad-views", "hio", put((*VIEWS, "product", 0), value)
    yield "bad-views", "hio", drop((*VIEWS, "product", 0))
    yield "bad-views", "hio", insert((*VIEWS, "product"), 0, [0])
    yield "bad-views", "hio", put((*VIEWS, "list"), [[0, 1]])
    yield "bad-views", "hio", put((*VIEWS, "parities"), 1)
    yield "bad-views", "hio", put(VIEWS, {})
    for view in ([0], [0, 0], [0, 9], [0, -1], [2, 1], [-1, 1], [1, 1, 0, 1], [0, 1, 0, 2], [0, 1, 1]):
        yield "bad-views", "am", put((*VIEWS, "list", 0), view)
    yield "bad-views", "grr", put(VIEWS, {"list": [[0, 1]]})
    yield "bad-views", "hio", put(VIEWS, {"list": [[], [1, 1], [0, 1], [0, 1, 1, 1]]})
    for value in (0, -1, 3, SPAN):
        yield "bad-views", "ft", put((*VIEWS, "parities"), value)
    for base in ("many", "optional"):
        yield "bad-views", base, put(VIEWS, {"parities": 1})


def entries() -> Iterator[Lie]:
    """Yield tables of oracles, draws, codes and channels that do not belong to the views."""
    yield "no-oracle", "grr", put((*CHANNEL, "by_domain"), {})
    yield "no-oracle", "lh", put(HASH, None)
    yield "unused-entry", "grr", put((*CHANNEL, "by_domain", "4"), {"oracle": "grr", "flip": 1})
    for name in ("03", "x", "-3", "3.0", "99999999999", " 3"):
        yield "unused-entry", "grr", put((*CHANNEL, "by_domain", name), {"oracle": "grr", "flip": 1})
    yield "unused-entry", "grr", put(HASH, {"oracle": "lh", "g": 3, "flip": 1, "multipliers": {}})
    yield "unused-entry", "lh", put((*HASH, "multipliers", "7"), 1)
    for value in (-1, 0, 2, 4, SPAN):
        yield "bad-draws", "grr", put((*CHANNEL, "draws"), value)
    for value in (3, 4, 6):
        yield "bad-draws", "oue", put((*CHANNEL, "draws"), value)
    for base in ("grr", "ss", "lh", "olh", "oue", "hio", "ft"):
        for change in (-1, 1):
            yield "bad-codes", base, plus((*CHANNEL, "codes"), change)
    channels = 1001
    yield (
        "too-many-channels",
        "grr",
        lambda tree: put((*SERVICE, "channels"), at(tree, (*SERVICE, "channels")) * channels)(tree),
    )


def oracles() -> Iterator[Lie]:
    """Yield integers that are no channel, or one that tells too much."""
    for base, path in (("grr", entry("grr")), ("lh", HASH), ("olh", entry("olh"))):
        for value in (-1, SPAN, -SPAN, SPAN - 1):
            yield "bad-flip", base, put((*path, "flip"), value)
    three: Path_ = (*entry("grr"), "flip")
    yield "bad-flip", "grr", put(three, SPAN // 2 + 1)
    for value in (-1, 0, 1, 4, 9, 2**20, 2**20 + 7, SPAN):
        yield "bad-g", "lh", put((*HASH, "g"), value)
    for value in (-1, 0, 1, 2**21, SPAN):
        yield "bad-g", "olh", put((*entry("olh"), "g"), value)
    for value in (0, -1, 3, 6, SPAN):
        yield "bad-multiplier", "lh", put((*HASH, "multipliers", "1"), value)
    yield "bad-multiplier", "lh", put((*HASH, "multipliers"), {})
    yield "bad-multiplier", "lh", drop((*HASH, "multipliers", "2"))
    for value in (-1, 0, 6, 7, SPAN):
        yield "bad-subset", "ss", put((*entry("ss"), "w"), value)
    for name in ("inside", "outside"):
        for value in (-1, SPAN, SPAN - 1):
            yield "bad-subset", "ss", put((*entry("ss"), name), value)
    for name in ("one", "zero"):
        yield "bad-bits", "oue", put((*entry("oue"), name), -1)
    yield "bad-subset", "grr", put(entry("grr"), {"oracle": "ss", "w": 2, "inside": SPAN // 2 + 1, "outside": 0})
    for base, path in (("grr", (*entry("grr"), "flip")), ("lh", (*HASH, "flip")), ("olh", (*entry("olh"), "flip"))):
        yield "over-budget", base, plus(path, -1)
        yield "over-budget", base, times(path, 0.9)
        yield "over-budget", base, put(path, 0)
    yield "over-budget", "ss", times((*entry("ss"), "outside"), 0.99)
    yield "over-budget", "ss", put((*entry("ss"), "outside"), 0)
    yield "over-budget", "oue", plus((*entry("oue"), "zero"), -1)
    yield "over-budget", "oue", times((*entry("oue"), "one"), 1.001)
    yield "over-budget", "oue", put((*entry("oue"), "zero"), 0)
    yield "over-budget", "oue", put((*entry("oue"), "one"), SPAN)
    yield "lie-likelier", "grr", put(three, SPAN // 3 + 1)
    yield "lie-likelier", "grr", put(three, SPAN // 2)
    yield "lie-likelier", "lh", put((*HASH, "flip"), SPAN // 3 + 1)
    yield "lie-likelier", "ss", both(put((*entry("ss"), "inside"), 1), put((*entry("ss"), "outside"), 2))
    yield "lie-likelier", "ss", both(put((*entry("ss"), "inside"), 0), put((*entry("ss"), "outside"), 0))
    yield "lie-likelier", "oue", both(put((*entry("oue"), "one"), 5), put((*entry("oue"), "zero"), 5))
    yield "lie-likelier", "oue", both(put((*entry("oue"), "one"), 0), put((*entry("oue"), "zero"), 0))


def budgets() -> Iterator[Lie]:
    """Yield budgets that do not cover what is told."""
    for value in ("0.99", "0.5", "2/3", "0." + "9" * 60):
        yield "over-total", "grr", put(("epsilon",), value)
    for value in ("0.99", "0.5", "2/3", "0.999999999999"):
        yield "over-budget", "grr", put((*CHANNEL, "epsilon"), value)
    for value in ("1.01", "2", "30", "4/3"):
        yield "over-total", "grr", put((*CHANNEL, "epsilon"), value)
        yield "over-total", "hio", put((*CHANNEL, "epsilon"), value)
        yield "over-total", "sc", put((*CHANNEL, "epsilon"), value)
        yield "over-total", "many", put((*CHANNEL, "epsilon"), value)
    yield "over-total", "two", put(("epsilon",), "1.99")
    yield "over-total", "third", put(("epsilon",), "0." + "9" * 40)
    yield "over-total", "many", put((*SERVICE, "sends"), 3)
    for base in ("grr", "sc", "many", "two"):
        yield "over-total", base, lambda tree: at(tree, SERVICE)["channels"].append(at(tree, CHANNEL))
        yield "over-total", base, lambda tree: tree["services"].append(at(tree, SERVICE) | {"name": "again"})


KINDS: dict[str, Callable[[], Iterator[Lie]]] = {
    "members": members,
    "types": types,
    "spellings": spellings,
    "declarations": declarations,
    "domains": domains,
    "public": public,
    "version_2": version_2,
    "panels": panels,
    "assigned": assigned,
    "runs": runs,
    "lists": lists,
    "views": views,
    "entries": entries,
    "oracles": oracles,
    "budgets": budgets,
    "limits": limits,
}


def lies() -> dict[str, list[dict[str, Any]]]:
    """Return all lies by kind."""
    found: dict[str, list[dict[str, Any]]] = {"text": []}
    found["text"].append({"name": "too-large 0", "rule": "too-large", "contract": BASES["grr"], "pad": 262_144})
    for rule, base, reword in texts():
        found["text"].append({"name": f"{rule} {len(found['text'])}", "rule": rule, "contract": reword(BASES[base])})
    for kind, make in KINDS.items():
        found[kind] = []
        for rule, base, change in make():
            tree = json.loads(BASES[base])
            change(tree)
            text = canonical_text(tree)
            assert text is not None
            assert text != BASES[base], (kind, rule, base)
            found[kind].append({"name": f"{rule} {len(found[kind])}", "rule": rule, "contract": text})
    return found


def files() -> dict[str, str]:
    """Return the content of every file."""
    return {f"{kind}.json": json.dumps(found, indent=1) + "\n" for kind, found in lies().items()}


if __name__ == "__main__":
    for name, text in files().items():
        (HERE / name).write_text(text)
