"""What views of three attributes and more add to their pairs."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import cast

import numpy as np

from tacit.contract.layouts import Levels
from tacit.estimate.functional import Vector
from tacit.model.basis import analysis, synthesis
from tacit.model.coefficients import Shape, along, subsets
from tacit.model.marginal_model import MarginalModel
from tacit.model.shrink import kept_share
from tacit.model.views import ViewTable

__all__ = ["Wider"]

TINY = 1e-300

MOST_NUMBERS = 2**17
"""Maximum means of products that are shrunk together: a second or two."""


class Wider:
    """Tables of three attributes and more of a service, and the errors of what they add to their pairs."""

    def __init__(self, levels: Sequence[Levels], seen: Sequence[ViewTable]) -> None:
        self._levels, self._seen = tuple(levels), seen
        self._made: list[MarginalModel | None] = []
        self._door = threading.Lock()

    @property
    def _model(self) -> MarginalModel | None:
        """The means of all views; None if no view has three attributes, or there are too many."""
        with self._door:
            if not self._made:
                self._made.append(self._build())
            return self._made[0]

    def _build(self) -> MarginalModel | None:
        shown = {view.shown.attributes for view in self._seen}
        cells = max((math.prod(self._levels[i].size for i in own) for own in shown), default=0)
        if max(map(len, shown), default=0) < 3 or cells > MOST_NUMBERS:
            return None
        sets = {one for own in shown for one in subsets(own)}
        if sum(math.prod(self._levels[i].size - 1 for i in one) for one in sets) > MOST_NUMBERS:
            return None
        shape = Shape(self._levels, tuple(view.shown for view in self._seen))
        return MarginalModel(shape, [view.table for view in self._seen], [float(view.reports) for view in self._seen])

    def faces(self, attributes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the largest sets of three and more among these attributes that views report."""
        model = self._model
        return [face for face in model.linear.faces(attributes) if len(face) > 2] if model else []

    def table(
        self, face: tuple[int, ...], predicted: Vector, held: Sequence[Vector], values: Sequence[Vector]
    ) -> Vector:
        """Return the table of a face: its pairs' prediction, plus what reports say beyond that, shrunk.

        It is over groups of values, given as groups x values, with the share of each value. No cell is lower than what
        pairs predict by more than the share of what was seen that is not noise, so that noise empties none.
        """
        model, levels = cast("MarginalModel", self._model), [self._levels[i] for i in face]
        places = model.shape.keys(face, [own.size for own in levels])
        high = sum(index > 0 for index in np.indices(places.shape)) > 2
        share = np.where(high, kept_share(model.linear, model.means, places), 0.0)
        within = [
            own * shares / np.maximum(own @ shares, TINY)[:, None] for own, shares in zip(held, values, strict=True)
        ]
        looks = [analysis(own, own.finest) @ inside.T for own, inside in zip(levels, within, strict=True)]
        change = share * (model.linear.values[places] - along(predicted, looks))
        kept = float((share * change**2).sum() / max(float((change**2).sum()), TINY))
        table = predicted + along(change, [own @ synthesis(level) for own, level in zip(held, levels, strict=True)])
        table = np.maximum(table, (1 - kept) * predicted)
        return np.asarray(table / table.sum())

    def error(self, face: tuple[int, ...], weights: Vector) -> float:
        """Return the error of a weighted sum of a face's cells, as far as it depends on three attributes and more."""
        means = cast("MarginalModel", self._model).means
        weights = along(weights, [synthesis(self._levels[i]).T for i in face])
        variances = means.variances[means.shape.keys(face, weights.shape)]
        known = (sum(index > 0 for index in np.indices(weights.shape)) > 2) & np.isfinite(variances)
        return math.sqrt(float((weights[known] ** 2 * variances[known]).sum()))
