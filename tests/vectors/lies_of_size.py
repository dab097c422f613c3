"""Contracts that would take for ever to follow, or all of the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vectors.forge import CHANNEL, FIRST, HASH, SERVICE, VIEWS, Change, Lie, at, both, put


def limits() -> Iterator[Lie]:
    """Yield contracts that would take for ever, or all of the memory."""
    half = {"name": "x", "kind": "ordinal", "low": 0, "high": 1, "step": 1, "fanout": 2}
    flag = {"ticks": 2, "count": 2, "widths": [1]}

    def wide(attributes: int, views: Any) -> Change:
        return both(
            put((*SERVICE, "attributes"), [half | {"name": f"x{i}"} for i in range(attributes)]),
            put((*SERVICE, "levels"), [flag] * attributes),
            put(VIEWS, views),
        )

    yield "too-many-views", "hio", wide(17, {"product": [[0, 1]] * 17})
    yield "too-many-views", "hio", wide(200, {"product": [[0, 1]] * 200})
    yield "too-many-views", "hio", wide(400, {"product": [[0, 1]] * 16 + [[0]] * 384})
    yield "too-many-views", "ft", wide(60, {"parities": 60})
    yield "too-many-views", "ft", wide(480, {"parities": 2})
    yield "codes-too-large", "hio", wide(53, {"product": [[1]] * 53})
    yield "codes-too-large", "hio", wide(400, {"product": [[1]] * 400})
    fine = half | {"high": 999_999}
    level = {"ticks": 10**6, "count": 10**6, "widths": [2**k for k in range(19, -1, -1)]}
    deep: Change = both(
        put((*SERVICE, "attributes"), [fine | {"name": f"x{i}"} for i in range(2)]),
        put((*SERVICE, "levels"), [level] * 2),
        put(VIEWS, {"product": [[20], [20]]}),
    )
    tall = {"oracle": "ss", "w": 5 * 10**11, "inside": 1, "outside": 0}
    yield "bad-subset", "hio", both(deep, put((*CHANNEL, "by_domain"), {str(10**12): tall}))
    bits = {"oracle": "oue", "one": 1, "zero": 1}
    yield "bad-bits", "hio", both(deep, put((*CHANNEL, "by_domain"), {str(10**12): bits}))
    hashed = {"oracle": "lh", "g": 2**20 - 3, "flip": 1, "multipliers": {"1": 1}}
    for count in (3, 4):
        few = wide(count, {"product": [[1]] * count})
        yield "codes-too-large", "hio", both(few, put((*CHANNEL, "by_domain"), {}), put(HASH, hashed))
    yield "bad-option", "ahio", both(put((*FIRST, "fanout"), 1), put((*SERVICE, "derived", 0), [0, "embed"]))
    yield "too-many-draws", "oue", _greedy
    yield "not-for-clients", "ahio", put((*SERVICE, "derived", 0, 1), "pair")


def _greedy(tree: Any) -> None:
    """Send a thousand reports of a thousand channels."""
    service = at(tree, SERVICE)
    rest = {name: service.pop(name) for name in list(service) if name not in ("name", "key")}
    service.update({"at_most": 1000, "sends": 1000} | rest)
    channel = service["channels"][0]
    [own] = channel["by_domain"].values()
    channel.update({"by_domain": {"5": own}, "draws": 7, "codes": 32})
    service["channels"] = [channel] * 150
