"""The bytes of a contract: JSON that people can review, programs in any language can follow, and hashes can name.

The text is canonical: the same contract always gives the same bytes, and its SHA-256 is the collection's id. Large
structures are formulas: a product of levels instead of its views, one entry per domain size instead of one per view.
`docs/wire.md` describes the format.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from tacit.contract import Channel, Contract, ServiceContract, lay_out, with_derived
from tacit.errors import ContractError, LayoutError, TacitError
from tacit.layouts import MAX_VIEWS, Derived, Kind, Levels, View, parity_count, parity_views
from tacit.oracles import LinearHash, Oracle, oracle_named
from tacit.oracles.linear_hash import digits_for
from tacit.plain import read_schema, service_data
from tacit.privacy import decimal_text, parse_epsilon
from tacit.randomness import DRAW_BITS
from tacit.schema import Categorical, Ordinal, Schema, Service

__all__ = ["MAX_BYTES", "VERSIONS", "contract_id", "contract_text", "read_contract"]

VERSIONS = (1, 2)
"""Versions of the wire format. A contract has the lowest one that can say what it says."""

MAX_BYTES = 256 * 1024
"""Size of a contract: every client downloads it."""

PRETTY_DEPTH = 4
"""Nesting that gets a line of its own; deeper structures stay on one line."""


def _dump(value: Any, depth: int = 0) -> str:
    """Write canonical JSON, a line per item down to ``PRETTY_DEPTH``."""
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, dict) and value and depth < PRETTY_DEPTH:
        items = [f"{json.dumps(k, ensure_ascii=False)}: {_dump(v, depth + 1)}" for k, v in value.items()]
        return "{" + pad + ("," + pad).join(items) + "\n" + " " * depth + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict) and depth < PRETTY_DEPTH:
        return "[" + pad + ("," + pad).join(_dump(item, depth + 1) for item in value) + "\n" + " " * depth + "]"
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def contract_text(contract: Contract) -> str:
    """Return the canonical JSON of a contract."""
    data: dict[str, Any] = {
        "tacit": 2 if any(service.typed for service in contract.schema.services) else 1,
        "round": contract.round,
        **({"tier": contract.tier} if contract.tier else {}),
        "epsilon": decimal_text(contract.epsilon),
        "mechanism": contract.mechanism,
        "oracle": contract.oracle,
        "draw_bits": contract.bits,
        "services": [_service(compiled) for compiled in contract.services],
    }
    text = _dump(data) + "\n"
    size = len(text.encode())
    if size > MAX_BYTES:
        message = (
            f"The contract has {size} bytes; at most {MAX_BYTES}. Shorten the lists of categories, "
            "or use a larger fanout or fewer attributes per service."
        )
        raise LayoutError(message, code="contract-too-large")
    return text


def contract_id(text: str) -> str:
    """Return the name of a contract: the SHA-256 of its bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _service(compiled: ServiceContract) -> dict[str, Any]:
    data = service_data(compiled.service)
    why = {"why": compiled.why} if compiled.why else {}
    return data | {
        "layout": compiled.layout,
        **why,
        "levels": [
            _levels(attribute, levels)
            for attribute, levels in zip(compiled.service.sensitive, compiled.levels, strict=False)
        ],
        **({"derived": [[one.source, one.kind] for one in compiled.derived]} if compiled.derived else {}),
        "channels": [_channel(channel, compiled.levels) for channel in compiled.channels],
    }


def _levels(attribute: Ordinal | Categorical, levels: Levels) -> dict[str, Any]:
    """Return what a client needs to turn a value into a cell, as integers."""
    if isinstance(attribute, Categorical):
        return {"count": len(attribute.values), "widths": levels.widths}
    return {"ticks": attribute.ticks, "count": attribute.values, "widths": levels.widths}


def _channel(channel: Channel, levels: Sequence[Levels]) -> dict[str, Any]:
    views = [view.levels for view in channel.views]
    ranges = [sorted({view[i] for view in views}) for i in range(len(levels))]
    whole = math.prod(map(len, ranges)) == len(views)  # a list of pairs may span an astronomic product
    product = not channel.parities and whole and views == list(itertools.product(*ranges))
    shown: dict[str, Any] = {"product": ranges} if product else {}
    if channel.parities:
        shown = {"parities": max(sum(map(bool, view)) for view in views)}
    by_domain: dict[str, Any] = {}
    hashed: dict[str, Any] | None = None
    for view in channel.views:
        oracle = view.oracle
        if isinstance(oracle, LinearHash):
            hashed = hashed or {"oracle": oracle.name, "g": oracle.g, "flip": oracle.flip, "multipliers": {}}
            by_digits = zip(oracle.digits, oracle.multipliers, strict=True)
            hashed["multipliers"] |= {str(digits): factor for digits, factor in by_digits}
        else:
            by_domain[str(oracle.domain)] = {"oracle": oracle.name, **oracle.parameters}
    if hashed:
        hashed["multipliers"] = dict(sorted(hashed["multipliers"].items(), key=lambda item: int(item[0])))
    return {
        "name": channel.name,
        "epsilon": decimal_text(channel.epsilon),
        "draws": channel.draws,
        "codes": channel.alphabet,
        "views": shown or {"list": [_sparse(view) for view in views]},
        "by_domain": dict(sorted(by_domain.items(), key=lambda item: int(item[0]))),
        "otherwise": hashed,
    }


def _sparse(view: View) -> list[int]:
    """Write a view as attribute, level, attribute, level, … without the roots."""
    return [number for i, level in enumerate(view) if level for number in (i, level)]


def read_contract(text: str) -> Contract:
    """Return the contract of a JSON text; its integers are taken as they are, for audits to judge."""
    if len(text) > MAX_BYTES:
        message = f"The contract has more than {MAX_BYTES} characters. It is not a contract of this version."
        raise ContractError(message, code="contract-too-large")
    try:
        data = json.loads(text, object_pairs_hook=_distinct_words)
    except (ValueError, RecursionError):
        message = "The contract is not JSON, or names a setting twice. Fetch it again."
        raise ContractError(message, code="contract-not-json") from None
    if not isinstance(data, dict) or data.get("tacit") not in VERSIONS:
        message = "This is not a contract of version 1 or 2. Use a version of tacit that made it."
        raise ContractError(message, code="contract-version")
    try:
        contract = _read(data)
        if contract_text(contract) != _dump(data) + "\n":
            message = "The contract has settings that do not follow from each other. Fetch it again."
            raise ContractError(message, code="contract-damaged")
    except ContractError:
        raise
    except (TacitError, KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as cause:
        message = (
            f"The contract is damaged: a setting is missing or impossible ({type(cause).__name__}). Fetch it again."
        )
        raise ContractError(message, code="contract-damaged") from None
    return contract


def _distinct_words(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({word for word, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _require(condition: object, what: str) -> None:
    if not condition:
        message = f"The contract is damaged: {what}. Fetch it again."
        raise ContractError(message, code="contract-damaged")


def _is_label(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 200 and value.isprintable()


def _read(data: Mapping[str, Any]) -> Contract:
    words = ("name", "key", "at_most", "sends", "optional", "attributes")
    schema = read_schema([{w: item[w] for w in words if w in item} for item in data["services"]])
    # Generators give 53-bit draws: with a smaller span every draw would lie above the flips, and noise would be off.
    _require(data["draw_bits"] == DRAW_BITS, f"draws have {DRAW_BITS} bits")
    labels = [data["round"], data["mechanism"], data["oracle"], data.get("tier", "")]
    _require(all(_is_label(label) for label in labels), "round, mechanism, oracle and tier are short texts")
    left = MAX_VIEWS
    services = []
    for i, item in enumerate(data["services"]):
        service = _read_service(item, schema, i, left)
        left -= sum(len(channel.views) for channel in service.channels)
        services.append(service)
    round_name, mechanism, oracle, tier = labels
    epsilon = parse_epsilon(data["epsilon"])
    return Contract(schema, epsilon, mechanism, oracle, round_name, DRAW_BITS, tuple(services), tier)


def _read_service(data: Mapping[str, Any], schema: Schema, index: int, most_views: int) -> ServiceContract:
    service = schema.services[index]
    derived = tuple(_derived(item, service) for item in data.get("derived", ()))
    _require(len({one.kind for one in derived}) <= 1, "derived attributes are of one kind")
    _require(len({one.source for one in derived}) == len(derived), "an attribute is derived twice")
    levels = with_derived(service, derived)
    why = data.get("why", "")
    _require(_is_label(data["layout"]) and _is_label(why), "a layout and its reason are short texts")
    channels: list[Channel] = []
    for item in data["channels"]:
        channels.append(_read_channel(item, levels, most_views, 0 if derived else service.extras))
        most_views -= len(channels[-1].views)
    _require(channels, "a service has no channel")
    return ServiceContract(service, data["layout"], levels, tuple(channels), why, derived)


def _derived(item: list[Any], service: Service) -> Derived:
    source, kind = item
    known = type(source) is int and 0 <= source < len(service.sensitive) and kind in get_args(Kind)
    _require(known and (kind == "pair") != service.one_to_one, "a derived attribute is not possible")
    attribute = service.sensitive[source]
    _require(isinstance(attribute, Ordinal) and attribute.size > 1 and not attribute.null, "it cannot be rounded")
    return Derived(source, kind)


def _read_channel(data: Mapping[str, Any], levels: Sequence[Levels], most_views: int, extras: int) -> Channel:
    _require(_is_label(data["name"]), "a channel's name is a short text")
    parities = "parities" in data["views"]
    read = _read_parities if parities else _read_views
    views = read(data["views"], levels, most_views)
    by_domain, otherwise = data["by_domain"], data["otherwise"]

    def build(sizes: Sequence[int]) -> Oracle:
        entry = dict(by_domain.get(str(math.prod(sizes)), otherwise))
        kind = oracle_named(entry.pop("oracle"))
        if kind is LinearHash:
            factors, g = entry.pop("multipliers"), entry["g"]
            _require(type(g) is int and g > 1, "g is not a prime in range")
            entry["multipliers"] = tuple(factors[str(digits_for(size, g))] for size in sizes)
        oracle = kind(tuple(sizes), DRAW_BITS, **entry)
        _require(not oracle.flaw(), oracle.flaw())
        return oracle

    _require(not (parities and extras), "parities are of services with one row per person")
    compiled = lay_out(levels, views, build, extras, parities=parities)
    return Channel(data["name"], parse_epsilon(data["epsilon"]), compiled)


def _read_views(data: Mapping[str, Any], levels: Sequence[Levels], most: int) -> list[View]:
    views: list[View]
    if "product" in data:
        ranges: list[list[int]] = data["product"]
        _require(len(ranges) == len(levels), "a view has one level for each attribute")
        _require(math.prod(map(len, ranges)) <= most, f"there are more than {MAX_VIEWS} views")
        views = list(itertools.product(*ranges))
    else:
        _require(len(data["list"]) <= most, f"there are more than {MAX_VIEWS} views")
        views = [_dense(sparse, len(levels)) for sparse in data["list"]]
    _require(views, "a channel has no view")
    for view in views:
        possible = all(type(j) is int and 0 <= j < len(own) for j, own in zip(view, levels, strict=True))
        _require(possible, "a view names a level that does not exist")
    return views


def _read_parities(data: Mapping[str, Any], levels: Sequence[Levels], most: int) -> list[View]:
    order, sizes = data["parities"], [own.size for own in levels]
    _require(type(order) is int and 1 <= order <= len(levels), "parities are of one attribute or more")
    _require(0 < parity_count(sizes, order) <= most, f"there are more than {MAX_VIEWS} views")
    return parity_views(sizes, order)


def _dense(sparse: list[int], attributes: int) -> View:
    view = [0] * attributes
    for attribute, level in zip(sparse[::2], sparse[1::2], strict=True):
        _require(type(attribute) is int and 0 <= attribute < attributes, "a view names an unknown attribute")
        view[attribute] = level
    return tuple(view)
