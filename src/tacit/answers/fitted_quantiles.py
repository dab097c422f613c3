"""Quantiles of fitted tables: read from the fitted distribution, with the interval of the unbiased tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.answers.evidence import RoundSample
from tacit.answers.people import People
from tacit.answers.quantiles import PendingQuantile, fetch_quantiles
from tacit.answers.rows import PendingEstimate
from tacit.answers.sums import Values
from tacit.errors import UnanswerableError
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Vector
from tacit.estimate.isotonic import isotonic
from tacit.sql.bind import Bound
from tacit.sql.quantiles import Quantile

__all__ = ["fitted_quantiles", "quantile_anchors"]


def quantile_anchors(
    quantiles: Sequence[Quantile], bound: Bound, people: People
) -> list[dict[Values, list[PendingQuantile]]]:
    """Return the unbiased quantiles of all public groups; some groups may have no unbiased estimate."""
    anchors = []
    for quantile in quantiles:
        try:
            anchors.append(
                fetch_quantiles(people, [quantile], bound.public, bound.conditions, superpopulation=False)[0]
            )
        except UnanswerableError:  # no view reports these attributes together
            anchors.append({})
    return anchors


def fitted_quantiles(
    quantiles: Sequence[Quantile],
    anchors: Sequence[dict[Values, list[PendingQuantile]]],
    samples: Sequence[RoundSample],
    values: Values,
) -> list[FittedQuantile]:
    """Return quantiles within a public group."""
    fitted = []
    for quantile, unbiased in zip(quantiles, anchors, strict=True):
        tests: Vector = np.zeros(len(quantile.totals))
        for sample in samples:
            tests = tests + sample.model.people * np.array(sample.model.means(sample.functionals(quantile, values)))
        value = quantile.value(isotonic(tests))
        anchor = unbiased[values][0] if values in unbiased else None
        fitted.append(FittedQuantile(quantile, value, sum(sample.people_of(values) for sample in samples), anchor))
    return fitted


@dataclass(frozen=True, eq=False)
class FittedQuantile(PendingEstimate):
    """A quantile of the fit; without an unbiased estimate, the interval is the whole range."""

    quantile: Quantile
    value: float
    people: int
    anchor: PendingQuantile | None

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        if self.anchor is None:
            ends = float(self.quantile.outcomes.least[0]), float(self.quantile.outcomes.most[-1])
            return Estimate(self.value, math.nan, self.people, level, interval=ends)
        anchor = self.anchor.at(level)
        low, high = min(anchor.low, self.value), max(anchor.high, self.value)
        error = (high - low) / 2 / t_quantile(0.5 + level / 2, anchor.freedom)
        return Estimate(self.value, error, self.people, level, anchor.freedom, interval=(low, high))
