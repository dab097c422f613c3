"""Functionals over parities (FT): every vector is a sum of signs, and every product of signs has its own view.

A vector over the c values of an attribute is extended to all words of its bits (by its mean, which adds the least) and
transformed: ``f(v) = sum_mask c[mask] (-1)**|v & mask|``. A term over several attributes is the product of these sums;
each of its parts is a number times the sign of one parity, read from that parity's view alone.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.layouts import bits_of
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Term, Vector
from tacit.estimate.reading import Product

__all__ = ["Parities", "signs"]

NOTHING = 1e-14
"""Coefficients below this, relative to the largest, are zero up to rounding."""


def signs(values: int) -> Vector:
    """Return masks x values: the sign of each parity."""
    masks, words = np.arange(1 << bits_of(values))[:, None], np.arange(values)
    odd: Vector = (np.bitwise_count(masks & words) & 1).astype(np.float64)
    return 1.0 - 2.0 * odd


class Parities:
    """The view that reports each parity."""

    def __init__(self, service: ServiceContract) -> None:
        self.service = service
        self._views = {view.levels: index for index, view in enumerate(service.channels[0].views)}

    def read(self, term: Term, products: dict[int, list[Product]]) -> float:
        """Add a term's readings of each view, and return its known part."""
        attributes = sorted(term.factors)
        parts = [self._transform(i, term.factors[i]) for i in attributes]
        known = 0.0
        for chosen in itertools.product(*(part.items() for part in parts)):
            weight = term.coefficient * math.prod(value for _, value in chosen)
            masks = [0] * len(self.service.levels)
            for i, (mask, _) in zip(attributes, chosen, strict=True):
                masks[i] = mask
            if not any(masks):
                known += weight
                continue
            index = self._views.get(tuple(masks))
            if index is None:
                message = (
                    f"{self.service.layout} reports parities of fewer attributes than the question has, "
                    f"so it has no unbiased answer in {self.service.service.name!r}. Use hio or fc, or a larger k."
                )
                raise UnanswerableError(message)
            products.setdefault(index, []).append([np.array([weight, -weight])])
        return known

    def _transform(self, attribute: int, vector: Vector) -> dict[int, float]:
        """Return the coefficients of a vector that are not zero, by mask."""
        size = self.service.levels[attribute].size
        words = 1 << bits_of(size)
        extended = np.concatenate([vector, np.full(words - size, vector.mean())])
        coefficients = signs(words) @ extended / words
        least = NOTHING * float(np.abs(extended).max(initial=0.0))
        return {mask: float(value) for mask, value in enumerate(coefficients) if abs(value) > least}
