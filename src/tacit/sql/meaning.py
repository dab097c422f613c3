"""The meaning of a code, in words: which attributes it concerns, and which of their values it is consistent with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.layouts import Level
from tacit.sql.vectors import Sensitive, shown_value

__all__ = ["Meaning", "meaning_of"]

MOST_DESCRIBED_CELLS = 2**20
"""Maximum cells of a view for which the cells consistent with a code are enumerated."""

MOST_EXAMPLES = 3
"""Maximum cells that are named."""


@dataclass(frozen=True)
class Meaning:
    """What a code reveals: ``about`` which cells, the share of them that ``fits``, and some of these."""

    about: str
    fits: float
    examples: tuple[str, ...]


def meaning_of(service: ServiceContract, channel: int, code: int) -> Meaning:
    """Return the meaning of a code of a service's channel."""
    view, local = service.channels[channel].locate(code)
    if view.parity:
        bits = " × ".join(f"{_name(service, i)} & {view.levels[i]}" for i in view.active)
        return Meaning(f"the parity of bits of {bits}", 0.5, (("even", "odd")[local],))
    levels = [(i, service.levels[i][view.levels[i]]) for i in view.active]
    about = " × ".join(f"{_name(service, i)} in {level.cells} cells" for i, level in levels if view.levels[i])
    about = about or ("nothing" if service.service.one_to_one else "whether there are rows")
    sizes = [level.cells for _, level in levels]
    sizes[0] += service.extras
    if view.oracle.domain > MOST_DESCRIBED_CELLS:
        return Meaning(about, float(view.oracle.lie), ())
    support = np.asarray(view.oracle.support(np.array([local])))[0].astype(bool)
    places = np.transpose(np.unravel_index(np.flatnonzero(support)[:MOST_EXAMPLES], sizes))
    examples = tuple(_cell(service, levels, [int(place) for place in row]) for row in places)
    return Meaning(about, float(support.mean()), examples)


def _name(service: ServiceContract, index: int) -> str:
    """Return the name of an attribute; a derived attribute is named after its source."""
    attributes = service.service.sensitive
    return (
        attributes[index].name
        if index < len(attributes)
        else f"rounded {attributes[service.derived[index - len(attributes)].source].name}"
    )


def _cell(service: ServiceContract, levels: list[tuple[int, Level]], places: list[int]) -> str:
    """Return one cell of a view as the values in it."""
    if places[0] >= levels[0][1].cells:
        return "no row"
    attributes = service.service.sensitive
    parts = [
        f"{_name(service, i)} {_values(attributes[i], level, place) if i < len(attributes) else place}"
        for (i, level), place in zip(levels, places, strict=True)
    ]
    return ", ".join(parts)


def _values(attribute: Sensitive, level: Level, place: int) -> str:
    inside = np.flatnonzero(level.table() == place)
    ends = [shown_value(attribute, int(index)) for index in (inside[0], inside[-1])]
    shown = ["missing" if end is None else f"{end:.6g}" if isinstance(end, float) else str(end) for end in ends]
    return shown[0] if len(inside) == 1 else f"{shown[0]}–{shown[1]}"
