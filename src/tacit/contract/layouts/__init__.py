"""Mechanisms as layouts: which views are reported, and with which share of the budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Expected, Layout, NumberedLayout, PlannedLayout, View
from tacit.contract.layouts.calm import calm
from tacit.contract.layouts.fourier import bits_of, ft, parity_count, parity_views
from tacit.contract.layouts.levels import Level, Levels
from tacit.contract.layouts.marginals import am, fc, mg, mg_of
from tacit.contract.layouts.pairs import pairs
from tacit.contract.layouts.product import hi, hio
from tacit.contract.layouts.resolution import levels_for, told
from tacit.contract.layouts.rounded import ROUNDED, Derived, Kind, derive, plan_rounded
from tacit.contract.layouts.split import em, sc
from tacit.contract.layouts.tables import tables
from tacit.errors import LayoutError, UnknownNameError

__all__ = [
    "CANDIDATES",
    "LAYOUTS",
    "MAX_VIEWS",
    "NUMBERED",
    "PLANNED",
    "ROUNDED",
    "ChannelPlan",
    "Derived",
    "Expected",
    "Kind",
    "Layout",
    "Level",
    "Levels",
    "View",
    "bits_of",
    "derive",
    "parity_count",
    "parity_views",
    "plan_channels",
    "told",
]

LAYOUTS: dict[str, Layout] = {"hio": hio, "hi": hi, "sc": sc, "em": em, "fc": fc, "mg": mg, "pairs": pairs}

NUMBERED: dict[str, NumberedLayout] = {"am": am, "ft": ft, "mg": mg_of}

PLANNED: dict[str, PlannedLayout] = {"calm": calm, "tables": tables}

CANDIDATES = ("hio", "pairs", "fc")
"""What ``mechanism="auto"`` chooses from, by predicted error."""

_MECHANISM = re.compile(r"([a-z]+)(?:\((\d{1,3})\))?\Z")


def plan_channels(
    mechanism: str, levels: Sequence[Levels], expected: Expected, derived: Mapping[int, Levels] | None = None
) -> list[ChannelPlan]:
    """Return the channels of a mechanism such as ``"hio"`` or ``"am(2)"`` for one service.

    ``derived`` are the levels of derived attributes by their sources, for mechanisms that have any.
    """
    if mechanism in ROUNDED:
        return plan_rounded(mechanism, levels, derived or {})
    parsed = _MECHANISM.match(mechanism)
    name, number = (parsed[1], parsed[2]) if parsed else (mechanism, None)
    if mechanism == "pairs":
        return pairs(levels, levels_for(levels, expected))
    if name in LAYOUTS and number is None:
        return LAYOUTS[name](levels)
    if name in NUMBERED and number is not None:
        return NUMBERED[name](levels, int(number))
    if name in PLANNED and number is not None:
        return PLANNED[name](levels, int(number), expected)
    if name in LAYOUTS or name in NUMBERED or name in PLANNED:
        example = name if name in LAYOUTS else f"{name}(2)"
        message = f"{mechanism!r} has a number where none belongs, or lacks one. Write mechanism={example!r}."
        raise LayoutError(message, code="mechanism-number")
    raise UnknownNameError(
        "mechanism", name, ["auto", *LAYOUTS, *ROUNDED, *(f"{word}(2)" for word in (*NUMBERED, *PLANNED))]
    )
