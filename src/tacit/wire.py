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
from fractions import Fraction
from typing import Any

from tacit.contract import Channel, Contract, ServiceContract, lay_out
from tacit.errors import ContractError, LayoutError, TacitError
from tacit.layouts import MAX_VIEWS, Levels, View
from tacit.oracles import LinearHash, Oracle, oracle_named
from tacit.oracles.linear_hash import digits_for
from tacit.plain import read_schema, service_data
from tacit.privacy import decimal_text, parse_epsilon
from tacit.randomness import DRAW_BITS
from tacit.schema import Categorical, Ordinal, Schema

__all__ = ["MAX_BYTES", "VERSION", "contract_id", "contract_text", "read_contract"]

VERSION = 1
"""Version of the wire format; any change of meaning raises it."""

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
        "tacit": VERSION,
        "round": contract.round,
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
    return data | {
        "layout": compiled.layout,
        "levels": [
            _levels(attribute, levels)
            for attribute, levels in zip(compiled.service.sensitive, compiled.levels, strict=True)
        ],
        "channels": [_channel(channel, compiled.levels) for channel in compiled.channels],
    }


def _levels(attribute: Ordinal | Categorical, levels: Levels) -> dict[str, Any]:
    """Return what a client needs to turn a value into a cell, as integers."""
    if isinstance(attribute, Categorical):
        return {"values": len(attribute.values), "widths": levels.widths}
    return {"ticks": attribute.ticks, "values": attribute.values, "widths": levels.widths}


def _channel(channel: Channel, levels: Sequence[Levels]) -> dict[str, Any]:
    views = [view.levels for view in channel.views]
    ranges = [sorted({view[i] for view in views}) for i in range(len(levels))]
    whole = math.prod(map(len, ranges)) == len(views)  # a list of pairs may span an astronomic product
    product = whole and views == list(itertools.product(*ranges))
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
        "views": {"product": ranges} if product else {"list": [_sparse(view) for view in views]},
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
        data = json.loads(text)
    except (ValueError, RecursionError):
        message = "The contract is not JSON. Fetch it again."
        raise ContractError(message, code="contract-not-json") from None
    if not isinstance(data, dict) or data.get("tacit") != VERSION:
        message = f"This is not a contract of version {VERSION}. Use a version of tacit that made it."
        raise ContractError(message, code="contract-version")
    try:
        contract = _read(data)
        if contract_text(contract) != _dump(data) + "\n":
            message = "The contract has settings that do not follow from each other. Fetch it again."
            raise ContractError(message, code="contract-damaged")
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        message = "The contract is damaged: a setting is missing or of the wrong kind. Fetch it again."
        raise ContractError(message, code="contract-damaged") from None
    return contract


def _read(data: Mapping[str, Any]) -> Contract:
    words = ("name", "key", "at_most", "sends", "optional", "attributes")
    schema = read_schema([{w: item[w] for w in words if w in item} for item in data["services"]])
    bits = data["draw_bits"]
    if type(bits) is not int or not 1 <= bits <= DRAW_BITS:
        message = f"The contract's draws have {bits!r} bits; 1 to {DRAW_BITS} are possible."
        raise ContractError(message, code="contract-damaged")
    services = tuple(_read_service(item, schema, i, bits) for i, item in enumerate(data["services"]))
    epsilon, mechanism, round_name = parse_epsilon(data["epsilon"]), data["mechanism"], data["round"]
    return Contract(schema, epsilon, mechanism, data["oracle"], round_name, bits, services)


def _read_service(data: Mapping[str, Any], schema: Schema, index: int, bits: int) -> ServiceContract:
    service = schema.services[index]
    levels = tuple(Levels.of(attribute) for attribute in service.sensitive)
    channels = tuple(_read_channel(item, levels, bits) for item in data["channels"])
    return ServiceContract(service, data["layout"], levels, channels)


def _read_channel(data: Mapping[str, Any], levels: Sequence[Levels], bits: int) -> Channel:
    views = _read_views(data["views"], len(levels))
    by_domain, otherwise = data["by_domain"], data["otherwise"]

    def build(sizes: Sequence[int]) -> Oracle:
        entry = dict(by_domain.get(str(math.prod(sizes)), otherwise))
        kind = oracle_named(entry.pop("oracle"))
        if kind is LinearHash:
            factors = entry.pop("multipliers")
            entry["multipliers"] = tuple(factors[str(digits_for(size, entry["g"]))] for size in sizes)
        return kind(tuple(sizes), bits, **entry)

    return Channel(data["name"], Fraction(data["epsilon"]), lay_out(levels, views, build))


def _read_views(data: Mapping[str, Any], attributes: int) -> list[View]:
    if "product" in data:
        ranges: list[list[int]] = data["product"]
        count = math.prod(map(len, ranges))
        if count > MAX_VIEWS:
            message = f"The contract has {count} views; at most {MAX_VIEWS}."
            raise ContractError(message, code="contract-damaged")
        return list(itertools.product(*ranges))
    views: list[View] = []
    for sparse in data["list"]:
        view = [0] * attributes
        for attribute, level in zip(sparse[::2], sparse[1::2], strict=True):
            view[attribute] = level
        views.append(tuple(view))
    return views
