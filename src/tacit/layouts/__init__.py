"""Mechanisms as layouts: which views are reported, and with which share of the budget."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.errors import LayoutError, UnknownNameError
from tacit.layouts.base import MAX_VIEWS, ChannelPlan, Layout, View
from tacit.layouts.levels import Level, Levels
from tacit.layouts.marginals import am, fc
from tacit.layouts.product import hi, hio
from tacit.layouts.split import sc

__all__ = ["LAYOUTS", "MAX_VIEWS", "ChannelPlan", "Layout", "Level", "Levels", "View", "plan_channels"]

LAYOUTS: dict[str, Layout] = {"hio": hio, "hi": hi, "sc": sc, "fc": fc, "am": am}

AUTO = "hio"
"""What ``mechanism="auto"`` means until predicted errors can be compared."""

_MECHANISM = re.compile(r"([a-z]+)(?:\((\d{1,3})\))?\Z")


def plan_channels(mechanism: str, levels: Sequence[Levels]) -> list[ChannelPlan]:
    """Return the channels of a mechanism such as ``"hio"`` or ``"am(2)"`` for one service."""
    parsed = _MECHANISM.match(mechanism) if isinstance(mechanism, str) else None
    name = parsed[1] if parsed else str(mechanism)
    if not parsed or name not in LAYOUTS:
        raise UnknownNameError("mechanism", name, ["auto", *LAYOUTS], code="unknown-mechanism")
    if parsed[2] is not None and name != "am":
        message = f"{name} takes no number; only am does, as in 'am(2)'. Write mechanism={name!r}."
        raise LayoutError(message, code="mechanism-number")
    return LAYOUTS[name](levels, int(parsed[2]) if parsed[2] else None)
