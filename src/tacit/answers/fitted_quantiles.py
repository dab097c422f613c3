"""Quantiles of fitted tables: read from the fitted distribution, with the interval of the unbiased tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.answers.evidence import Sample
from tacit.answers.people import People
from tacit.answers.quantiles import PendingQuantile, fetch_quantiles
from tacit.answers.rows import Pending
from tacit.answers.sums import Values
from tacit.errors import UnanswerableError
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Vector
from tacit.estimate.isotonic import isotonic
from tacit.sql.bind import Bound
from tacit.sql.quantiles import Quantile

__all__ = ["fitted_quantiles", "quantile_anchors"]


def quantile_anchors(
    asked: Sequence[Quantile], bound: Bound, people: People
) -> list[dict[Values, list[PendingQuantile]]]:
    """Return the unbiased quantiles of all public groups; some groups may have no unbiased estimate."""
    anchors = []
    for one in asked:
        try:
            anchors.append(fetch_quantiles(people, [one], bound.public, bound.conditions, superpopulation=False)[0])
        except UnanswerableError:  # no view reports these attributes together
            anchors.append({})
    return anchors


def fitted_quantiles(
    asked: Sequence[Quantile],
    anchors: Sequence[dict[Values, list[PendingQuantile]]],
    samples: Sequence[Sample],
    values: Values,
) -> list[FittedQuantile]:
    """Return quantiles within a public group."""
    quantiles = []
    for one, unbiased in zip(asked, anchors, strict=True):
        tests: Vector = np.zeros(len(one.totals))
        for sample in samples:
            tests = tests + sample.model.people * np.array(sample.model.means(sample.functionals(one, values)))
        value = one.value(isotonic(tests))
        anchor = unbiased[values][0] if values in unbiased else None
        quantiles.append(FittedQuantile(one, value, sum(sample.people_of(values) for sample in samples), anchor))
    return quantiles


@dataclass(frozen=True, eq=False)
class FittedQuantile(Pending):
    """A quantile of the fit; without an unbiased estimate, the interval is the whole range."""

    asked: Quantile
    value: float
    people: int
    anchor: PendingQuantile | None

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        if self.anchor is None:
            ends = float(self.asked.outcomes.least[0]), float(self.asked.outcomes.most[-1])
            return Estimate(self.value, math.nan, self.people, level, interval=ends)
        anchor = self.anchor.at(level)
        low, high = min(anchor.low, self.value), max(anchor.high, self.value)
        error = (high - low) / 2 / t_quantile(0.5 + level / 2, anchor.freedom)
        return Estimate(self.value, error, self.people, level, anchor.freedom, interval=(low, high))
