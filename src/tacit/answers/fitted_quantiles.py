"""Quantiles of fitted tables: read from the fitted distribution, with the interval of the unbiased tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.answers.people import People
from tacit.answers.quantiles import PendingQuantile, fetch_quantiles
from tacit.answers.rows import Pending
from tacit.errors import UnanswerableError
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.isotonic import isotonic
from tacit.model.fit.fitted_model import FittedModel
from tacit.sql.quantiles import Quantile

__all__ = ["fitted_quantiles"]


def fitted_quantiles(asked: Sequence[Quantile], people: People, models: Sequence[FittedModel]) -> list[FittedQuantile]:
    """Return quantiles over everybody, one by one: some may have no unbiased estimate."""
    found = []
    for one in asked:
        anchor: PendingQuantile | None = None
        try:
            [[anchor]] = fetch_quantiles(people, [one], (), (), superpopulation=False)[0].values()
        except UnanswerableError:  # no view shows these attributes together
            anchor = None
        sizes = people.scope.sizes
        tests: Vector = np.zeros(len(one.totals))
        for model in models:
            means = model.means([total.functional or Functional(sizes, ()) for total in one.totals])
            tests = tests + model.people * np.array(means)
        value = one.value(isotonic(tests))
        found.append(FittedQuantile(one, value, sum(model.people for model in models), anchor))
    return found


@dataclass(frozen=True, eq=False)
class FittedQuantile(Pending):
    """A quantile of the fit; where there is no unbiased estimate, all that is known is its range."""

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
