"""Sums over people without visiting every report: totals from the views' tables, second moments from a sample.

Contributions are linear in the tables that views decode to, so any number of totals costs a few products with tables
that the fit has decoded already. Second moments, which errors need, come from all codes where these are few, else from
a random sample of each view's reports: linear hashing has no simpler second moment where people share a few cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.answers.sums import Sums, SumsRequest
from tacit.contract.contract import Channel
from tacit.estimate.functional import Vector
from tacit.estimate.reading import Factor
from tacit.model.views import MOST_VIEW_CELLS, Counts, ViewTable
from tacit.sql.plan import Plan

__all__ = ["Tallies"]

Codes = npt.NDArray[np.int64]

Tables = Mapping[tuple[tuple[int, ...], tuple[int, ...]], ViewTable]
"""Tables by the attributes that views show, and their levels."""

SAMPLED, SAMPLED_PER_VIEW = 2**13, 2**8
"""Reports that second moments come from: in all, and at least of each view."""


@dataclass(frozen=True, eq=False)
class Tallies:
    """The reports of one service: how often each code occurs, and the views' tables."""

    counts: Counts
    seen: Sequence[ViewTable]

    def sums(self, plan: Plan, asked: SumsRequest) -> Sums | None:
        """Return the sums of a plan over everybody; None where the tables do not give them."""
        weighted = plan.weighted_factors()
        if weighted is None or not plan.round.stored[0].is_one_report:
            return None
        channel = plan.round.stored[0].service.channels[0]
        if any(view.oracle.domain > MOST_VIEW_CELLS for view in channel.views):
            return None
        codes, times = self.counts.get(0, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        people = int(times.sum())
        tables: Tables = {(one.shown.attributes, one.shown.depths): one for one in self.seen}
        totals = [_total(channel, factors, tables, people) for factors in weighted]
        codes, weights = _sampled(channel, codes, times)
        values = plan.measured(codes)
        pairs, squared = sorted(asked.pairs), sorted({i for i, _ in asked.pairs})
        return Sums(
            people,
            np.array(totals, dtype=np.float64),
            {(i, j): float(weights @ (values[:, i] * values[:, j])) for i, j in pairs},
            {i: float(weights @ np.square(values[:, i] ** 2)) for i in squared},
            tuple(plan.noisy),
            asked,
            plan.round.labels["tier"],
        )


def _total(channel: Channel, factors: Sequence[tuple[float, Factor]], tables: Tables, people: int) -> float:
    """Return a total from the tables of the views it reads; nobody drew views without one."""
    total = 0.0
    for coefficient, factor in factors:
        total += coefficient * people * factor.constant
        for reading in factor.readings.values():
            for number, products in reading.products.items():
                view = channel.views[number]
                seen = tables.get((view.active, tuple(view.levels[i] for i in view.active)))
                if seen is not None:
                    scale = coefficient * seen.reports / channel.probability(number)
                    total += scale * sum(_read(seen.table, product) for product in products)
    return total


def _read(table: Vector, product: Sequence[Vector]) -> float:
    for vector in reversed(product):
        table = table @ vector
    return float(table)


def _sampled(channel: Channel, codes: Codes, times: Codes) -> tuple[Codes, Vector]:
    """Return codes and the reports each stands for: all of them, or those of a sample, weighted up by its own error."""
    if len(codes) <= SAMPLED:
        return codes, times.astype(np.float64)
    source = np.random.default_rng(len(codes))
    found: list[tuple[Codes, Vector]] = []
    bounds = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
    for start, stop in itertools.pairwise(bounds.tolist()):
        reports = int(times[start:stop].sum())
        wanted = max(SAMPLED_PER_VIEW, SAMPLED * reports // int(times.sum()))
        if stop - start <= wanted:
            found.append((codes[start:stop], times[start:stop].astype(np.float64)))
            continue
        drawn = source.multinomial(wanted, times[start:stop] / reports)
        each: Vector = drawn[drawn > 0] * np.float64(reports / wanted)
        found.append((codes[start:stop][drawn > 0], each))
    chosen, weights = np.concatenate([some for some, _ in found]), np.concatenate([each for _, each in found])
    return chosen, weights * (1 + 2 / math.sqrt(len(chosen)))
