"""Lies in a contract's text, and in the members of its objects and their types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vectors.forge import (
    BASES,
    CHANNEL,
    FIRST,
    HASH,
    LEVEL,
    SERVICE,
    VIEWS,
    Change,
    Lie,
    Path_,
    Wording,
    add,
    at,
    drop,
    entry,
    put,
)


def texts() -> Iterator[Wording]:
    """Yield lies in the text itself."""
    number = '"draw_bits": 53'
    for literal in ("53.0", "5.3e1", "53e0", "053", "+53", "0x35", "5_3", "٥٣"):
        rule = "not-canonical" if literal in ("53.0", "5.3e1", "53e0") else "not-json"
        yield rule, "grr", lambda text, own=literal: text.replace(number, f'"draw_bits": {own}')
    for literal in ("1.0", "1e0", "10e-1"):
        yield "not-canonical", "grr", lambda text, own=literal: text.replace('"tacit": 1', f'"tacit": {own}')
    for literal in ("-0", "9007199254740993", "1" * 18, "1" * 5000, "1e400", "-9007199254740993"):
        yield "not-canonical", "lh", lambda text, own=literal: text.replace('"flip": ', f'"flip": {own}, "old": ')
    yield "not-json", "grr", lambda text: text[: len(text) // 2]
    yield "not-json", "grr", lambda _: ""
    yield "not-json", "grr", lambda text: "\ufeff" + text
    yield "not-json", "grr", lambda text: text + "x"
    yield "not-json", "grr", lambda text: text.replace("53", "NaN")
    yield "not-json", "grr", lambda text: text.replace("53", "Infinity")
    yield "not-json", "grr", lambda text: text.replace("53", "-Infinity")
    yield "not-json", "grr", lambda text: text.replace("53", "undefined")
    yield "not-json", "grr", lambda text: text.replace('"s"', "'s'")
    yield "not-json", "grr", lambda text: text.replace('"s"', '"s\n"')
    yield "not-json", "grr", lambda text: text.replace('"services"', '// comment\n "services"')
    yield "not-json", "grr", lambda text: text.replace("\n}", ",\n}")
    yield "not-json", "grr", lambda text: text.replace('"round": ""', '"round": ' + "[" * 17 + "]" * 17)
    yield "not-json", "grr", lambda text: text.replace('"round": ""', '"round": ' + "[" * 9000 + "]" * 9000)
    yield "version", "grr", lambda _: "[]\n"
    yield "version", "grr", lambda _: "null\n"
    yield "version", "grr", lambda _: '"tacit"\n'
    yield "version", "grr", lambda _: "{}\n"
    for literal in ("0", "3", "-1", "1.5", "true", '"1"', "null", "[1]", "[]"):
        yield "version", "grr", lambda text, own=literal: text.replace('"tacit": 1', f'"tacit": {own}')
    yield "not-canonical", "grr", lambda text: text + "\n"
    yield "not-canonical", "grr", lambda text: text.rstrip()
    yield "not-canonical", "grr", lambda text: " " + text
    yield "not-canonical", "grr", lambda text: text.replace("\n", "\r\n")
    yield "not-canonical", "grr", lambda text: json.dumps(json.loads(text))
    yield "not-canonical", "grr", lambda text: json.dumps(json.loads(text), indent=1) + "\n"
    yield "not-canonical", "grr", lambda text: json.dumps(json.loads(text), separators=(",", ":"))
    yield "not-canonical", "grr", lambda text: text.replace('"kind"', '"k\\u0069nd"')
    yield "not-canonical", "grr", lambda text: text.replace('"a"', '"\\/"')
    yield "not-canonical", "grr", lambda text: text.replace('"a"', '"\\u00e9"')
    yield "not-canonical", "grr", lambda text: text.replace('"a"', '"\\ud800"')
    yield "not-canonical", "grr", lambda text: text.replace('"a"', '"\\ud83d\\ude00"')
    yield "not-canonical", "grr", lambda text: text.replace('"tacit": 1', '"tacit": 1,\n "tacit": 1')
    yield "not-canonical", "grr", lambda text: text.replace('"flip": ', '"flip": 0, "flip": ')
    yield (
        "not-canonical",
        "public",
        lambda text: text.replace('"kind": "public"', '"kind": "categorical", "kind": "public"'),
    )


def members() -> Iterator[Lie]:
    """Yield members that are unknown, missing, out of order or of another type."""
    for path in ((), SERVICE, FIRST, LEVEL, CHANNEL, VIEWS, entry("grr")):
        yield "unknown-member", "grr", put((*path, "more"), 1)
        yield "unknown-member", "grr", put((*path, "steps"), 1)
        yield "unknown-member", "grr", put((*path, "__proto__"), 1)
        yield "unknown-member", "grr", put((*path, "7"), 1)
    optional = {"tier", "why", "at_most", "sends", "optional", "derived", "null", "other", "cells", "dither", "outside"}
    for base, path in (("grr", ()), ("grr", SERVICE), ("hio", FIRST), ("grr", LEVEL), ("grr", CHANNEL)):
        for name in at(json.loads(BASES[base]), path):
            if name in {*optional, "ticks", "tacit", "kind"}:
                continue
            yield "missing-member", base, drop((*path, name))
            wrong: Any = {} if name not in ("views", "by_domain", "otherwise") else []
            yield "wrong-type", base, put((*path, name), wrong)
            if name not in ("low", "high", "step"):
                yield "wrong-type", base, put((*path, name), True)
    yield "missing-member", "lh", drop((*HASH, "flip"))
    yield "missing-member", "lh", drop((*HASH, "multipliers"))
    yield "missing-member", "ss", drop((*entry("ss"), "w"))
    yield "missing-member", "oue", drop((*entry("oue"), "zero"))
    yield "missing-member", "many", drop((*SERVICE, "sends"))
    yield "missing-member", "many", drop((*SERVICE, "at_most"))
    yield "missing-member", "cells", drop((*FIRST, "dither"))
    yield "missing-member", "cells", drop((*FIRST, "cells"))
    yield "missing-member", "grr", add(SERVICE, "sends", 1, after="key")
    for name in ("round", "epsilon", "draw_bits"):
        yield "not-canonical", "grr", _move((), name)
    for name in ("name", "key", "levels"):
        yield "not-canonical", "grr", _move(SERVICE, name)
    yield "not-canonical", "grr", _move(FIRST, "name")
    yield "not-canonical", "lh", _move(HASH, "g")


def types() -> Iterator[Lie]:
    """Yield kinds and types that no member has."""
    for kind in ("numeric", "Public", "", "constructor", "toString", "boolean", "timestamp", 1, None, ["public"]):
        yield "unknown-kind", "grr", put((*FIRST, "kind"), kind)
    yield "unknown-kind", "grr", drop((*FIRST, "kind"))
    for kind in ("none", "GRR", "", "lh", "hasOwnProperty", 1, None):
        yield "unknown-kind", "grr", put((*entry("grr"), "oracle"), kind)
    yield "unknown-kind", "lh", put((*HASH, "oracle"), "grr")
    yield "unknown-kind", "lh", put((*HASH, "oracle"), "olh")
    for path in ((*SERVICE, "attributes"), (*SERVICE, "levels"), (*SERVICE, "channels"), ("services",)):
        yield "empty", "grr", put(path, [])
        yield "wrong-type", "grr", put((*path, 0), 1)
        yield "wrong-type", "grr", put((*path, 0), None)
    yield "empty", "grr", put((*FIRST, "values"), [])
    yield "empty", "ahio", put((*SERVICE, "derived"), [])
    yield "empty", "hio", put((*VIEWS, "product"), [])
    yield "empty", "hio", put((*VIEWS, "product", 0), [])
    yield "empty", "am", put((*VIEWS, "list"), [])
    for value in (None, 1, "1", {}, [1], [["a"]], [[True]]):
        yield "wrong-type", "hio", put((*VIEWS, "product"), value)
    for value in (False, None, 1, "true"):
        yield "wrong-type", "optional", put((*SERVICE, "optional"), value)
        yield "wrong-type", "null", put((*FIRST, "null"), value)
    yield "wrong-type", "cells", add(FIRST, "outside", "refuse", after="dither")
    yield "wrong-type", "cells", put((*FIRST, "dither"), 1)
    for value in ([0], [0, "round", 1], ["0", "round"], [0, 1], {"0": "round"}, [True, "round"]):
        yield "wrong-type", "ahio", put((*SERVICE, "derived", 0), value)


def spellings() -> Iterator[Lie]:
    """Yield numbers and dates that are written in another way, and tables that are none."""
    for value in (
        "6",
        "1.0",
        "01.5",
        ".5",
        "1.",
        "1e3",
        "1/2",
        "0.50",
        "+0.5",
        "-0",
        " 0.5",
        "٠.5",
        "0." + "1" * 41,
        None,
    ):
        yield "wrong-type", "decimal", put((*FIRST, "low"), value)
    for value in (
        "2026-1-1",
        "20260101",
        "2026-02-30",
        "2026-13-01",
        "0000-01-01",
        "2026-W01-1",
        0,
        "2026-01-01T00:00",
    ):
        yield "wrong-type", "date", put((*FIRST, "low"), value)
    yield "wrong-type", "date", put((*FIRST, "step"), "0.5")
    yield "wrong-type", "lh", put((*HASH, "multipliers"), [1, 2])
    yield "wrong-type", "lh", put((*HASH, "multipliers", "1"), "1")
    yield "wrong-type", "grr", put((*CHANNEL, "otherwise"), False)


def _move(path: Path_, name: str) -> Change:
    """Move a member to the end."""

    def change(tree: Any) -> None:
        owner = at(tree, path)
        owner[name] = owner.pop(name)

    return change
