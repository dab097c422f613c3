"""A layout decides which views of a record are reported, with what budget: each mechanism is one small function.

A **view** is one level per sensitive attribute. A **channel** is a list of views, of which a person draws one, with
equal probability or by weights, and a share of the report's budget. The shares of a layout's channels add up to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts.levels import Levels
from tacit.contract.randomness import DRAW_BITS
from tacit.errors import LayoutError

__all__ = [
    "MAX_VIEWS",
    "MAX_WEIGHTS",
    "Asked",
    "Calendar",
    "ChannelPlan",
    "Expected",
    "Layout",
    "Planning",
    "View",
    "check_number",
]

MAX_VIEWS = 100_000
"""Maximum views of a collection: with more, no view has enough people to be useful."""

MAX_WEIGHTS = 2**20
"""Maximum sum of the weights of a channel's views, which is a power of two."""

View = tuple[int, ...]
"""A level index for each sensitive attribute of the service, in order."""


Calendar = tuple[tuple[int, ...], ...]
"""Partitions into cells of different widths, coarsest first: of each, the first value index of every cell."""


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """Views of one channel and its share of the budget of a report."""

    name: str
    share: Fraction
    views: tuple[View, ...]
    parities: bool = False
    """Whether a view has a bit mask for each attribute instead of a level, and its parity is reported."""

    weights: tuple[int, ...] = ()
    """How many of all draws, a power of two, pick each view; empty if all views are equally likely."""

    levels: tuple[Levels, ...] = ()
    """Partitions of each attribute that the views name, where they are not the attribute's nested levels."""

    why: str = ""
    """Why these views, with what they are expected to achieve."""


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """An expected question: its weight, and a vector for each attribute it uses."""

    weight: float
    vectors: Mapping[int, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Expected:
    """The input of planning: the budget of a report, and the expected people and questions, if known."""

    epsilon: Fraction
    users: int | None = None
    asked: tuple[Asked, ...] = ()
    draft: bool = False
    """Whether nobody will collect with the result, so that a design within a few percent of the best is enough."""

    def people(self, mechanism: str) -> int:
        """Return the expected number of people, for a mechanism that needs it."""
        if self.users is None:
            message = f"{mechanism} chooses its views for a number of people. Pass it, such as users=100_000."
            raise LayoutError(message, code="users-needed")
        return self.users


def check_number(mechanism: str, number: int, attributes: int) -> None:
    """Refuse a number of attributes in a mechanism's name that exceeds the service's."""
    if not 1 <= number <= attributes:
        message = f"{mechanism} takes a number of attributes, from 1 to {attributes} here."
        raise LayoutError(message, code="mechanism-number")


@dataclass(frozen=True, slots=True)
class Planning:
    """The input of a layout."""

    levels: Sequence[Levels]
    """Levels of each attribute."""

    expected: Expected
    number: int = 0
    """The number in the mechanism's name, as in ``am(2)``; 0 if it has none."""

    derived: Mapping[int, Levels] = field(default_factory=dict)
    """Levels of derived attributes, by the attribute they are derived from."""

    extras: int = 0
    """Cells of people without a row, which every view shows beside its own."""

    ordered: Sequence[bool] = ()
    """Whether each attribute's values are ordered; categories are not."""

    calendars: Sequence[Calendar] = ()
    """Partitions of each attribute by a calendar: of dates into months, quarters and years."""

    bits: int = DRAW_BITS
    """Bits of a draw; fewer than usual only in tests that exhaust all draws."""


Layout = Callable[[Planning], list[ChannelPlan]]
"""A function that plans the channels of a layout."""
