"""The bytes of a contract: JSON that people can review, programs can follow, and a hash can identify.

The text is canonical: the same contract always gives the same bytes, and its SHA-256 is the collection's id. Large
structures are formulas: a product of levels instead of its views, one entry per domain size instead of one per view.
`docs/wire.md` describes the format.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from tacit.contract.budget import MAX_EPSILON, decimal_text
from tacit.contract.contract import (
    MAX_CHANNELS,
    MAX_DRAWS,
    MAX_ENTRIES,
    Channel,
    Contract,
    ServiceContract,
    lay_out,
    with_derived,
)
from tacit.contract.files import attribute_data, read_attribute, service_data
from tacit.contract.layouts import MAX_VIEWS, MAX_WEIGHTS, Derived, Kind, Levels, View, parity_count, parity_views
from tacit.contract.oracles import STEPS, Oracle
from tacit.contract.panel import Panel
from tacit.contract.randomness import DRAW_BITS
from tacit.contract.rules import MAX_BYTES, canonical_text, is_label, parse, refuse
from tacit.contract.schema import Categorical, Ordinal, Schema, Service
from tacit.errors import LayoutError, SchemaError

__all__ = ["MAX_BYTES", "contract_id", "contract_text", "read_contract"]

MAX_PARTITIONS = 256
"""Maximum partitions of an attribute with offsets."""

BUDGET = re.compile(r"[0-9]{1,100}(\.[0-9]{1,100})?\Z|[0-9]{1,100}/[1-9][0-9]{0,99}\Z")
"""Maximum digits of a budget; longer fractions come from weights with many digits."""


def contract_text(contract: Contract) -> str:
    """Return the canonical JSON of a contract."""
    data: dict[str, Any] = {
        "tacit": 2 if contract.panel or contract.assigned or any(map(_is_second, contract.services)) else 1,
        "round": contract.round,
        **({"tier": contract.tier} if contract.tier else {}),
        **_panel(contract.panel),
        **({"assigned": True} if contract.assigned else {}),
        "epsilon": decimal_text(contract.epsilon),
        "mechanism": contract.mechanism,
        "oracle": contract.oracle,
        "draw_bits": contract.bits,
        "services": [_service(compiled) for compiled in contract.services],
    }
    text = canonical_text(data) or ""
    size = len(text.encode())
    budgets = [contract.epsilon, *(channel.epsilon for item in contract.services for channel in item.channels)]
    if not all(BUDGET.match(decimal_text(budget)) for budget in budgets):
        message = "A share of epsilon has more than 100 digits. Write epsilon and weights with fewer digits."
        raise LayoutError(message, code="epsilon-too-long")
    if size > MAX_BYTES:
        message = (
            f"The contract has {size} bytes; at most {MAX_BYTES}. Shorten the lists of categories, "
            "use a larger fanout or fewer attributes per service, or mechanism='am(1)'."
        )
        raise LayoutError(message, code="contract-too-large")
    return text


def _is_second(compiled: ServiceContract) -> bool:
    """Return whether a service needs version 2."""
    nested = all(map(operator.eq, map(Levels.of, compiled.service.sensitive), compiled.levels))
    categories = [attribute for attribute in compiled.service.sensitive if isinstance(attribute, Categorical)]
    other = any(category.ordered or category.dictionary is not None for category in categories)
    return compiled.service.typed or other or not nested or any(channel.weights for channel in compiled.channels)


def _panel(panel: Panel | None) -> dict[str, Any]:
    return dict(panel.options) if panel else {}


def contract_id(text: str) -> str:
    """Return the id of a contract: the SHA-256 of its bytes, in hexadecimal."""
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
        **({"derived": [[a.source, a.kind] for a in compiled.derived]} if compiled.derived else {}),
        "channels": [_channel(channel, compiled.levels) for channel in compiled.channels],
    }


def _levels(attribute: Ordinal | Categorical, levels: Levels) -> dict[str, Any]:
    """Return what a client needs to turn a value into a cell, as integers."""
    data: dict[str, Any] = {"widths": levels.widths}
    if levels != Levels.of(attribute):
        data["offsets"] = levels.offsets
    if levels.calendar:
        data["starts"] = levels.calendar
    if isinstance(attribute, Categorical):
        return {"count": len(attribute.values), **data}
    return {"ticks": attribute.ticks, "count": attribute.values, **data}


def _channel(channel: Channel, levels: Sequence[Levels]) -> dict[str, Any]:
    by_domain: dict[str, Any] = {}
    otherwise: dict[str, Any] | None = None
    for oracle in {id(view.oracle): view.oracle for view in channel.views}.values():  # views share them
        entry = {"oracle": oracle.name, **oracle.parameters}
        if not oracle.tables:
            by_domain[str(oracle.domain)] = entry
        elif otherwise is None:
            otherwise = entry
        else:
            for table in oracle.tables:
                otherwise[table] |= entry[table]
    return {
        "name": channel.name,
        "epsilon": decimal_text(channel.epsilon),
        "draws": channel.draws,
        "codes": channel.alphabet,
        "views": _views([view.levels for view in channel.views], len(levels), parities=channel.parities),
        **({"weights": list(channel.weights)} if channel.weights else {}),
        "by_domain": _ascending(by_domain),
        "otherwise": otherwise and {word: _ascending(numbers) for word, numbers in otherwise.items()},
    }


def _ascending(entries: Any) -> Any:
    """Return an object with numeric member names in ascending order; anything else unchanged."""
    return dict(sorted(entries.items(), key=lambda item: int(item[0]))) if isinstance(entries, dict) else entries


def _views(views: Sequence[View], attributes: int, *, parities: bool) -> dict[str, Any]:
    """Write views in the shortest form: parities, a product of levels, or a list."""
    if parities:
        return {"parities": max(sum(map(bool, view)) for view in views)}
    ranges = [sorted({view[i] for view in views}) for i in range(attributes)]
    is_product = math.prod(map(len, ranges)) == len(views)  # a list of pairs may span an enormous product
    if is_product and list(views) == list(itertools.product(*ranges)):
        return {"product": ranges}
    return {"list": [_sparse(view) for view in views]}


def _sparse(view: View) -> list[int]:
    """Write a view as attribute, level, attribute, level, … without the roots."""
    return [number for i, level in enumerate(view) if level for number in (i, level)]


def read_contract(text: str) -> Contract:
    """Return the contract of a JSON text that satisfies every rule of `docs/wire.md` except those of the audit."""
    data = parse(text)
    try:
        contract = _read(data)
    except SchemaError as cause:
        refuse(cause.code)
    except LayoutError as cause:
        refuse(cause.code)
    if contract_text(contract) != text:
        refuse("not-canonical")
    return contract


def _require(condition: object, rule: str) -> None:
    if not condition:
        refuse(rule)


def _label(text: str, *, empty: bool = True) -> str:
    _require(is_label(text) and (text or empty), "bad-label")
    return text


def _budget(text: str) -> Fraction:
    _require(BUDGET.match(text), "bad-epsilon")
    value = Fraction(text)
    _require(0 < value <= MAX_EPSILON and decimal_text(value) == text, "bad-epsilon")
    return value


@dataclass
class _Limits:
    """How many more views a contract may have."""

    views: int = MAX_VIEWS
    entries: int = MAX_ENTRIES

    def take(self, views: int, attributes: int) -> None:
        self.views -= views
        self.entries -= views * attributes
        _require(self.views >= 0 and self.entries >= 0, "too-many-views")


def _read(data: Mapping[str, Any]) -> Contract:
    # Generators give 53-bit draws: with a smaller span every draw would lie above the flips, and noise would be off.
    _require(data["draw_bits"] == DRAW_BITS, "draw-bits")
    round_name, tier = _label(data["round"]), _label(data.get("tier", "-"), empty=False)
    mechanism, oracle = _label(data["mechanism"]), _label(data["oracle"])
    _require("panel" not in data or (is_label(data["panel"]) and not round_name), "bad-panel")
    panel = Panel(data["panel"], data["rounds"], data["reports"]) if "panel" in data else None
    epsilon, limits = _budget(data["epsilon"]), _Limits()
    schema = Schema([_read_declaration(item) for item in data["services"]])
    pairs = zip(data["services"], schema.services, strict=True)
    services = tuple(_read_service(item, service, limits) for item, service in pairs)
    labels = (mechanism, oracle, round_name)
    assigned = "assigned" in data
    return Contract(
        schema, epsilon, *labels, DRAW_BITS, services, tier if "tier" in data else "", panel, assigned=assigned
    )


def _read_declaration(data: Mapping[str, Any]) -> Service:
    """Return a service's declaration, which must be in canonical form."""
    attributes = []
    for item in data["attributes"]:
        if item["kind"] == "categorical":
            _require(("values" in item) != ("dictionary" in item), "bad-option")
            listed = item.get("values", [item.get("other")])
            _require("other" not in item or item["other"] in listed, "bad-option")
        attributes.append(read_attribute(item))
        _require(attribute_data(attributes[-1]) == item, "bad-option")
    options = {word: data[word] for word in ("at_most", "sends", "optional") if word in data}
    return Service(data["name"], data["key"], attributes, **options)


def _read_service(data: Mapping[str, Any], service: Service, limits: _Limits) -> ServiceContract:
    layout, why = _label(data["layout"]), _label(data.get("why", "-"), empty=False)
    _require(len(data["levels"]) == len(service.sensitive), "bad-levels")
    plain = tuple(map(_read_levels, data["levels"], service.sensitive))
    derived = tuple(_read_derived(item, service) for item in data.get("derived", ()))
    _require(len({attribute.kind for attribute in derived}) <= 1, "bad-derived")
    _require(len({attribute.source for attribute in derived}) == len(derived), "bad-derived")
    _require(len(data["channels"]) <= MAX_CHANNELS, "too-many-channels")
    levels = (*plain, *with_derived(service, derived)[len(plain) :])
    extras = 0 if derived else service.extras
    channels = tuple(_read_channel(item, levels, extras, limits) for item in data["channels"])
    compiled = ServiceContract(service, layout, levels, channels, why if "why" in data else "", derived)
    _require(compiled.draws_per_person <= MAX_DRAWS, "too-many-draws")
    return compiled


def _read_levels(data: Mapping[str, Any], attribute: Ordinal | Categorical) -> Levels:
    """Return an attribute's nested levels, or partitions in their canonical order."""
    levels = Levels.of(attribute)
    if "offsets" in data and attribute.fanout is not None:
        widths, offsets, starts = data["widths"], data["offsets"], data.get("starts", [])
        values = attribute.size - attribute.null
        _require(len(widths) == len(offsets) <= MAX_PARTITIONS - len(starts), "bad-levels")
        runs = list(zip(widths, offsets, strict=True))
        _require(all(0 <= offset < width <= values for width, offset in runs), "bad-levels")
        _require(runs == sorted(set(runs), key=lambda run: (-run[0], run[1])), "bad-levels")
        for coarser, finer in zip([[0], *starts], starts, strict=False):
            _require(finer[0] == 0 and finer == sorted(set(finer)) and finer[-1] < values, "bad-levels")
            _require(len(coarser) < len(finer) < values, "bad-levels")
        levels = Levels.of_runs(values, runs, null=attribute.null, calendar=map(tuple, starts))
        _require(runs[-1] == (1, 0) and len(levels) == len(starts) + len(runs) + 1, "bad-levels")
    _require(_levels(attribute, levels) == data, "bad-levels")
    return levels


def _read_derived(item: tuple[int, Any], service: Service) -> Derived:
    source, kind = item
    _require(0 <= source < len(service.sensitive) and kind in get_args(Kind), "bad-derived")
    _require((kind == "pair") != service.one_to_one, "bad-derived")
    attribute = service.sensitive[source]
    _require(isinstance(attribute, Ordinal) and attribute.size > 1 and not attribute.null, "bad-derived")
    return Derived(source, kind)


def _read_channel(data: Mapping[str, Any], levels: Sequence[Levels], extras: int, limits: _Limits) -> Channel:
    name, epsilon = _label(data["name"]), _budget(data["epsilon"])
    parities = "parities" in data["views"]
    _require(not (parities and extras), "bad-views")
    views = _read_views(data["views"], levels, limits)
    _require(_views(views, len(levels), parities=parities) == data["views"], "bad-views")
    weights = tuple(data.get("weights", ()))
    if weights:
        total = sum(weights)
        _require(len(weights) == len(views) and min(weights) >= 1, "bad-weights")
        _require(total <= MAX_WEIGHTS and total & (total - 1) == 0, "bad-weights")
    oracles = _Oracles(data["by_domain"], data["otherwise"])
    channel = Channel(name, epsilon, lay_out(levels, views, oracles.build, extras, parities=parities), weights)
    _require(data["draws"] == channel.draws, "bad-draws")
    _require(data["codes"] == channel.alphabet, "bad-codes")
    written = _channel(channel, levels)
    same = all(_order(written[word]) == _order(data[word]) for word in ("by_domain", "otherwise"))
    _require(same, "unused-entry")
    return channel


def _order(entries: Any) -> list[Any]:
    """Return the names of an oracle's entries and multipliers, in order."""
    return [list(entries or ()), list((entries or {}).get("multipliers", ()))]


class _Oracles:
    """The oracles of a channel, by the number of cells of a view."""

    def __init__(self, by_domain: Mapping[str, Any], otherwise: Mapping[str, Any] | None) -> None:
        self._by_domain, self._otherwise = by_domain, otherwise
        self._built: dict[tuple[int, ...], Oracle] = {}

    def build(self, sizes: Sequence[int]) -> Oracle:
        key = tuple(sizes)
        if key not in self._built:
            self._built[key] = self._build(key)
        return self._built[key]

    def _build(self, sizes: tuple[int, ...]) -> Oracle:
        entry = self._by_domain.get(str(math.prod(sizes)), self._otherwise)
        if entry is None:
            refuse("no-oracle")
        parameters = {word: number for word, number in entry.items() if word != "oracle"}
        oracle = STEPS[entry["oracle"]].read(sizes, DRAW_BITS, parameters)
        _require(not oracle.flaw(), oracle.flaw())
        return oracle


def _read_views(data: Mapping[str, Any], levels: Sequence[Levels], limits: _Limits) -> list[View]:
    _require(len(data) == 1, "bad-views")
    count = len(levels)
    if "product" in data:
        ranges: list[list[int]] = data["product"]
        _require(len(ranges) == count, "bad-views")
        for level, chosen in zip(levels, ranges, strict=True):
            _require(chosen == sorted(set(chosen)) and chosen[0] >= 0 and chosen[-1] < len(level), "bad-views")
        limits.take(math.prod(map(len, ranges)), count)
        return list(itertools.product(*ranges))
    if "parities" in data:
        order, sizes = data["parities"], [level.size for level in levels]
        _require(1 <= order <= sum(size > 1 for size in sizes), "bad-views")
        limits.take(parity_count(sizes, order), count)
        return parity_views(sizes, order)
    for sparse in data["list"]:
        _require(_names_levels(sparse, levels), "bad-views")
    limits.take(len(data["list"]), count)
    return [_dense(sparse, count) for sparse in data["list"]]


def _names_levels(sparse: Sequence[int], levels: Sequence[Levels]) -> bool:
    """Return whether a view is attribute, level, attribute, level, …, in order and without roots."""
    attributes, depths = sparse[::2], sparse[1::2]
    if len(attributes) != len(depths) or sorted(set(attributes)) != attributes:
        return False
    pairs = zip(attributes, depths, strict=True)
    return all(0 <= i < len(levels) and 1 <= depth < len(levels[i]) for i, depth in pairs)


def _dense(sparse: Sequence[int], attributes: int) -> View:
    view = [0] * attributes
    for attribute, level in zip(sparse[::2], sparse[1::2], strict=True):
        view[attribute] = level
    return tuple(view)
