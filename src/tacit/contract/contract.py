"""The compiled contract: everything client, collector and analyst must agree on, with probabilities as integers.

``compile_contract`` is the only place where a budget becomes thresholds. Encoders, decoders, audits and clients in
other languages read the integers it computed. A contract is immutable, and `tacit.contract.wire` gives it its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.contract.budget import LEAST_EPSILON, exp_below
from tacit.contract.channels import Channel, CompiledView, active_attributes
from tacit.contract.layouts import (
    MAX_VIEWS,
    ROUNDED,
    Asked,
    Derived,
    Expected,
    Levels,
    Planning,
    View,
    derive,
    plan_channels,
)
from tacit.contract.layouts.calendar import calendar_of
from tacit.contract.oracles import Grr, Oracle, choose, oracle_named
from tacit.contract.panel import Panel
from tacit.contract.randomness import DRAW_BITS
from tacit.contract.schema import Ordinal, Schema, Service
from tacit.errors import LayoutError, UnknownNameError, UsageError

__all__ = [
    "MAX_CHANNELS",
    "MAX_DRAWS",
    "MAX_ENTRIES",
    "Channel",
    "CompiledView",
    "Contract",
    "ServiceContract",
    "compile_contract",
    "compile_service",
    "lay_out",
    "plan_service",
    "with_derived",
]

MAX_CHANNELS = 1_000
"""Maximum channels of a service: more do not fit in a contract, and leave too little budget for each."""

MAX_ENTRIES = 2**24
"""Maximum views times attributes of a contract, which an encoder keeps in memory."""

MAX_DRAWS = 1_000_000
"""Maximum draws of a person's reports to one service."""

MAX_CODE = 2**53
"""Codes are integers below this, which engines and JavaScript represent exactly."""


@dataclass(frozen=True)
class ServiceContract:
    """One service: its attributes' levels and its channels."""

    service: Service
    layout: str
    levels: tuple[Levels, ...]
    channels: tuple[Channel, ...]
    why: str = ""
    derived: tuple[Derived, ...] = ()
    """Attributes derived from others at random; their levels follow those of the sensitive ones."""

    @property
    def extras(self) -> int:
        """Cells in addition to those of records; baselines that round draw artificial rows instead."""
        return 0 if self.derived else self.service.extras

    @property
    def makes_rows_up(self) -> bool:
        """Whether people without a row report a random artificial one (double rounding)."""
        return bool(self.derived) and not self.service.one_to_one

    @property
    def dithered(self) -> tuple[int, ...]:
        """Sensitive attributes that use a draw for rounding, in order; these draws come first."""
        attributes = enumerate(self.service.sensitive)
        return tuple(i for i, attribute in attributes if isinstance(attribute, Ordinal) and attribute.dithered)

    @property
    def draws(self) -> int:
        """Draws that one report consumes, whatever its values."""
        made_up = len(self.service.sensitive) if self.makes_rows_up else 0
        for_values = len(self.dithered) + len(self.derived) + made_up
        return for_values + sum(channel.draws for channel in self.channels)

    @property
    def draws_per_person(self) -> int:
        """Draws of a person's reports: for each a place, if there may be several rows, and what it consumes."""
        return self.service.sends * (self.draws + (self.service.at_most is not None))


@dataclass(frozen=True)
class Contract:
    """Schema, budget and compiled channels of one round."""

    schema: Schema
    epsilon: Fraction
    mechanism: str
    oracle: str
    round: str
    bits: int
    services: tuple[ServiceContract, ...]
    tier: str = ""
    panel: Panel | None = None
    """The panel, in whose rounds people report in turns; None for a single round."""

    member: int = 0
    """Which round of the panel this is, from 1 on; 0 for the panel as a whole."""

    assigned: bool = False
    """Whether views, seeds and places follow from the collector's key and the person (`tacit.client.coin`)."""

    def __getitem__(self, name: str) -> ServiceContract:
        """Return a service by name, ignoring case."""
        for compiled in self.services:
            if compiled.service.name.lower() == name.lower():
                return compiled
        raise UnknownNameError("service", name, (compiled.service.name for compiled in self.services))

    def asks(self, person: int | str) -> bool:
        """Return whether a person is asked in this round; outside panels everybody is."""
        return self.panel is None or self.member in self.panel.rounds_of(person)

    @property
    def times(self) -> int:
        """How many times a person reports: once, except for a whole panel."""
        return self.panel.reports if self.panel and not self.member else 1

    @property
    def reports(self) -> int:
        """Reports that a person sends in a round, over all services."""
        return sum(compiled.service.sends for compiled in self.services)


BuildOracle = Callable[[Sequence[int]], Oracle]


def lay_out(
    levels: Sequence[Levels], views: Sequence[View], build: BuildOracle, extras: int, *, parities: bool
) -> tuple[CompiledView, ...]:
    """Assign every view its oracle and its range of codes.

    Extra cells (none, skip) come after those of a view's first active attribute, at cell 0 of the others.
    """
    compiled, offset = [], 0
    for view in views:
        sizes = [2] if parities else [levels[i][view[i]].cells for i in active_attributes(view)]
        sizes[0] += extras
        if math.prod(sizes) >= MAX_CODE:
            raise _codes_too_large(len(views), math.prod(sizes))
        oracle = build(sizes)
        compiled.append(CompiledView(view, oracle, offset, parities))
        offset += oracle.alphabet
    if offset > MAX_CODE:
        raise _codes_too_large(len(views), offset)
    return tuple(compiled)


def _codes_too_large(views: int, codes: int) -> LayoutError:
    message = (
        f"The codes of {views} views need {codes.bit_length()} bits; 53 fit. "
        "Views of so many fine attributes at once cannot be reported."
    )
    return LayoutError(message, code="codes-too-large")


def _oracle_builder(name: str, epsilon: Fraction, bits: int, *, frugal: bool) -> BuildOracle:
    """Return a function from cell counts to the oracle of a view; equal views share one object."""
    bound = exp_below(epsilon)
    fixed = None if name == "auto" else oracle_named(name)
    built: dict[tuple[int, ...], Oracle] = {}

    def build(sizes: Sequence[int]) -> Oracle:
        key = tuple(sizes)
        if key not in built:
            domain = math.prod(key)  # with one cell there is nothing to perturb
            build_oracle = Grr.build if domain == 1 else fixed or choose(domain, bound, bits, frugal=frugal)
            built[key] = build_oracle(key, bound, bits)
        return built[key]

    return build


def compile_contract(
    schema: Schema,
    epsilon: Fraction,
    *,
    mechanism: str,
    oracle: str,
    round_name: str,
    bits: int = DRAW_BITS,
    choose_layout: Callable[[Service, Expected], ServiceContract] | None = None,
    weights: Mapping[str, Fraction] | None = None,
    tier: str = "",
    users: int | None = None,
    asked: Mapping[str, tuple[Asked, ...]] | None = None,
    panel: Panel | None = None,
    assigned: bool = False,
) -> Contract:
    """Turn a budget into integers: split it over reports and channels, choose oracles, lay out codes.

    Every report has an equal share of epsilon, times the ``weights`` of its service. ``choose_layout`` compiles one
    service with its share of the budget, where the mechanism leaves the layout open.
    """
    weight = {service.name: Fraction((weights or {}).get(service.name, 1)) for service in schema.services}
    total = sum(weight[service.name] * service.sends for service in schema.services) * (panel.reports if panel else 1)
    budget = {name: epsilon * share / total for name, share in weight.items()}
    if (least := min(budget.values())) < LEAST_EPSILON:
        message = (
            f"A report has epsilon {float(least):.2g}, its share of {float(epsilon):.2g}; it must be at least "
            f"{float(LEAST_EPSILON)} to estimate anything. Raise epsilon, or let people send fewer reports."
        )
        raise UsageError(message, code="epsilon-out-of-range")
    if not isinstance(mechanism, str):
        message = f"mechanism is a {type(mechanism).__name__}; pass its name, such as 'hio'."
        raise LayoutError(message, code="unknown-mechanism")
    expected = {
        service.name: Expected(budget[service.name], users, (asked or {}).get(service.name, ()))
        for service in schema.services
    }
    compiled = tuple(
        choose_layout(service, expected[service.name])
        if choose_layout
        else compile_service(service, expected[service.name], mechanism, oracle, bits)
        for service in schema.services
    )
    views = sum(len(channel.views) for service in compiled for channel in service.channels)
    if views > MAX_VIEWS:
        message = f"{views} views over all services; at most {MAX_VIEWS}. Use fewer attributes or larger fanouts."
        raise LayoutError(message, code="too-many-views")
    entries = sum(len(service.levels) * len(channel.views) for service in compiled for channel in service.channels)
    if entries > MAX_ENTRIES:
        message = f"Views times attributes are {entries}; at most {MAX_ENTRIES}. Use fewer attributes or views."
        raise LayoutError(message, code="too-many-views")
    if any(service.draws_per_person > MAX_DRAWS for service in compiled):
        message = f"A person's reports to a service would take more than {MAX_DRAWS} draws. Lower sends, or use hio."
        raise LayoutError(message, code="too-many-draws")
    return Contract(schema, epsilon, mechanism, oracle, round_name, bits, compiled, tier, panel, assigned=assigned)


def compile_service(
    service: Service, expected: Expected, layout: str, oracle: str, bits: int = DRAW_BITS, *, hint: bool = True
) -> ServiceContract:
    """Compile one service in one layout, for the budget per report and the expected use; errors have a hint."""
    planning = plan_service(service, expected, bits)
    try:
        derived = derive(layout, service)
        levels, channels, why = _compile_channels(_with_sources(planning, service, derived), layout, oracle)
    except LayoutError as refusal:
        fitting = _what_fits(planning, layout, oracle) if hint else ""
        raise LayoutError(f"{service.name}: {refusal.message}{fitting}", code=refusal.code) from None
    return ServiceContract(service, layout, levels, channels, why, derived)


def plan_service(service: Service, expected: Expected, bits: int = DRAW_BITS) -> Planning:
    """Return the input of a layout for a service."""
    plain = tuple(Levels.of(attribute) for attribute in service.sensitive)
    ordered = tuple(attribute.ordered for attribute in service.sensitive)
    calendars = tuple(calendar_of(attribute) for attribute in service.sensitive)
    return Planning(plain, expected, extras=service.extras, ordered=ordered, calendars=calendars, bits=bits)


def _with_sources(planning: Planning, service: Service, derived: Sequence[Derived]) -> Planning:
    """Return the planning of a service with derived attributes, if it has any."""
    if not derived:
        return planning
    levels = with_derived(service, derived)[len(planning.levels) :]
    sources = [attribute.source for attribute in derived]
    return replace(planning, derived=dict(zip(sources, levels, strict=True)), extras=0)


def with_derived(service: Service, derived: Sequence[Derived]) -> tuple[Levels, ...]:
    """Return the levels of a service's sensitive attributes, then of the derived ones."""
    plain = tuple(Levels.of(attribute) for attribute in service.sensitive)
    fanouts = [getattr(attribute, "fanout", 2) for attribute in service.sensitive]
    return (*plain, *(attribute.levels(plain[attribute.source], fanouts[attribute.source]) for attribute in derived))


def _compile_channels(
    planning: Planning, layout: str, oracle: str
) -> tuple[tuple[Levels, ...], tuple[Channel, ...], str]:
    """Return the levels that views name, those of derived attributes last, the channels, and why these."""
    levels = (*planning.levels, *planning.derived.values())
    epsilon, bits, extras = planning.expected.epsilon, planning.bits, planning.extras
    plans = plan_channels(layout, planning)
    if len(plans) > MAX_CHANNELS:
        message = f"{layout} makes {len(plans)} channels; at most {MAX_CHANNELS}."
        raise LayoutError(message, code="too-many-channels")
    if extras and any(plan.parities for plan in plans):
        message = f"{layout} reports parities, which people without a row do not have. Use hio, or am(2)."
        raise LayoutError(message, code="layout-out-of-range")
    channels = []
    for plan in plans:
        name = "grr" if plan.parities else oracle
        build = _oracle_builder(name, epsilon * plan.share, bits, frugal=bool(plan.weights))
        shown = plan.views if plan.weights else _with_root(plan.views, extras)
        levels = plan.levels or levels
        views = lay_out(levels, shown, build, extras, parities=plan.parities)
        channels.append(Channel(plan.name, epsilon * plan.share, views, plan.weights))
    return levels, tuple(channels), "; ".join(plan.why for plan in plans if plan.why)


def _with_root(views: tuple[View, ...], extras: int) -> tuple[View, ...]:
    """Return the views of a channel; if some have attributes at the root, add one with all at the root.

    With extra cells the number of rows is not known: somebody must report whether there is one.
    """
    root = (0,) * len(views[0])
    needed = extras and len(views) > 1 and root not in views and any(0 in view for view in views)
    return (*views, root) if needed else views


def _what_fits(planning: Planning, layout: str, oracle: str) -> str:
    """Try layouts and oracles; return a sentence that names those that fit."""

    def fits(mechanism: str) -> bool:
        try:
            _compile_channels(planning, mechanism, "auto")
        except LayoutError:
            return False
        return True

    if oracle != "auto" and layout not in ROUNDED and fits(layout):
        return " With oracle='auto' this layout fits."
    fitting = [name for name in ("hio", "pairs", "am(2)", "am(1)", "sc") if name != layout and fits(name)]
    return f" These mechanisms would fit: {', '.join(fitting)}." if fitting else ""
