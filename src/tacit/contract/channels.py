"""Channels: the views of a report, and the codes of each."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import View
from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes, remainder
from tacit.contract.randomness import Draws

__all__ = ["Channel", "CompiledView", "active_attributes"]


@dataclass(frozen=True)
class CompiledView:
    """A view with its oracle and the first of its codes."""

    levels: View
    oracle: Oracle
    offset: int
    parity: bool = False
    """Whether ``levels`` are bit masks, whose parity is the only cell."""

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Attributes the oracle encodes: those below the root, or the first one if all are at the root."""
        return active_attributes(self.levels)

    def has(self, code: Any) -> Any:
        """Return whether a code of the channel, minus this view's first code, is a code of this view."""
        return (code >= 0) & (code < self.oracle.alphabet)


def active_attributes(view: View) -> tuple[int, ...]:
    """Return the attributes that a view reports; a view with all attributes at the root uses the first one."""
    return tuple(i for i, level in enumerate(view) if level > 0) or (0,)


@dataclass(frozen=True)
class Channel:
    """One code: draw a view, then a code from its oracle."""

    name: str
    epsilon: Fraction
    views: tuple[CompiledView, ...]
    weights: tuple[int, ...] = ()
    """How many of all draws, a power of two, pick each view; empty if draws are taken modulo the number of views."""

    @property
    def parities(self) -> bool:
        """Whether parities of bits are reported instead of cells."""
        return self.views[0].parity

    @property
    def alphabet(self) -> int:
        """Number of codes of all views."""
        last = self.views[-1]
        return last.offset + last.oracle.alphabet

    @cached_property
    def draws(self) -> int:
        """Draws that a record uses: view, seed, and as many answers as the largest view needs."""
        return 2 + max(view.oracle.answers for view in self.views)

    def locate(self, code: int) -> tuple[CompiledView, int]:
        """Return the view of a code and the code within it."""
        index = bisect.bisect_right(self.views, code, key=lambda view: view.offset) - 1
        return self.views[index], code - self.views[index].offset

    def view_weight(self, index: int) -> int:
        """Return how many of the 2**bits draws pick a view: draws modulo the number of views are slightly uneven."""
        span = self.views[0].oracle.span
        if self.weights:
            return self.weights[index] * (span // sum(self.weights))
        return span // len(self.views) + (index < span % len(self.views))

    def pick_views(self, draws: Draws) -> npt.NDArray[np.int64]:
        """Return the view that each draw picks."""
        if not self.weights:
            return remainder(draws, len(self.views)).astype(np.int64)
        return np.searchsorted(np.cumsum(self.weights), remainder(draws, sum(self.weights)), side="right")

    def follows(self, codes: Codes, views: Draws, seeds: Draws) -> bool:
        """Return whether all codes belong to the view and seed that their draws pick."""
        picked = self.pick_views(views)
        order = np.argsort(picked, kind="stable")
        bounds = np.concatenate(([0], np.cumsum(np.bincount(picked, minlength=len(self.views)))))
        for index in np.flatnonzero(np.diff(bounds)):
            mine, view = order[bounds[index] : bounds[index + 1]], self.views[index]
            local = codes[mine] - view.offset
            if not (view.has(local) & view.oracle.has_seed(local, seeds[mine].astype(np.int64))).all():
                return False
        return True

    def follows_one(self, code: int, view: int, seed: int) -> bool:
        """Return whether a code belongs to the view and seed that two draws pick."""
        index = bisect.bisect_right(self._upto, view % self._upto[-1]) if self.weights else view % len(self.views)
        picked = self.views[index]
        local = code - picked.offset
        return bool(picked.has(local) and picked.oracle.has_seed(local, seed))

    @cached_property
    def _upto(self) -> list[int]:
        """Weights of the views, added up."""
        return list(itertools.accumulate(self.weights))

    def probability(self, index: int) -> float:
        """Return the probability of a view."""
        return self.view_weight(index) / self.views[index].oracle.span
