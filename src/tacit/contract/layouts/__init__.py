"""Mechanisms as layouts: which views are reported, and with what share of the budget."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from tacit.contract.layouts.base import MAX_VIEWS, MAX_WEIGHTS, Asked, ChannelPlan, Expected, Layout, Planning, View
from tacit.contract.layouts.calm import calm
from tacit.contract.layouts.fourier import bits_of, ft, parity_count, parity_views
from tacit.contract.layouts.levels import Level, Levels
from tacit.contract.layouts.marginals import am, fc, mg, mg_of
from tacit.contract.layouts.pairs import pairs
from tacit.contract.layouts.partitions import partitions
from tacit.contract.layouts.product import hi, hio
from tacit.contract.layouts.rounded import ROUNDED, Derived, Kind, derive, plan_rounded
from tacit.contract.layouts.shifted import LARGEST
from tacit.contract.layouts.split import em, sc
from tacit.contract.layouts.tables import tables
from tacit.errors import LayoutError, UnknownNameError

__all__ = [
    "CANDIDATES",
    "LARGEST",
    "LAYOUTS",
    "MAX_VIEWS",
    "MAX_WEIGHTS",
    "ROUNDED",
    "Asked",
    "ChannelPlan",
    "Derived",
    "Expected",
    "Kind",
    "Layout",
    "Level",
    "Levels",
    "Planning",
    "View",
    "bits_of",
    "derive",
    "parity_count",
    "parity_views",
    "plan_channels",
]

LAYOUTS: dict[str, Layout] = {
    "hio": hio,
    "hi": hi,
    "sc": sc,
    "em": em,
    "fc": fc,
    "mg": mg,
    "pairs": pairs,
    "partitions": partitions,
    **{name: partial(plan_rounded, name) for name in ROUNDED},
    "am(k)": am,
    "ft(k)": ft,
    "mg(k)": mg_of,
    "calm(k)": calm,
    "tables(k)": tables,
}
"""All layouts by name, with ``(k)`` for a number."""

CANDIDATES = ("partitions", "hio", "fc", "pairs")
"""What ``mechanism="auto"`` chooses from, by predicted error; the last one only if the first does not fit."""

_MECHANISM = re.compile(r"([a-z]+)(?:\((\d{1,3})\))?\Z")


def plan_channels(mechanism: str, planning: Planning) -> list[ChannelPlan]:
    """Return the channels of a mechanism such as ``"hio"`` or ``"am(2)"`` for one service."""
    parsed = _MECHANISM.match(mechanism)
    name, number = (parsed[1], parsed[2]) if parsed else (mechanism, None)
    layout = LAYOUTS.get(name if number is None else f"{name}(k)")
    if layout is not None:
        return layout(replace(planning, number=int(number or 0)))
    if name in LAYOUTS or f"{name}(k)" in LAYOUTS:
        example = name if name in LAYOUTS else f"{name}(2)"
        message = f"{mechanism!r} has a number it does not take, or lacks one. Write mechanism={example!r}."
        raise LayoutError(message, code="mechanism-number")
    raise UnknownNameError("mechanism", name, ["auto", *(layout.replace("(k)", "(2)") for layout in LAYOUTS)])
