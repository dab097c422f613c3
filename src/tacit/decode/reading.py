"""What a code adds to an answer: readings of views, and the per-person factors made of them.

Reading a view with weights gamma over its cells gives, for a code, ``(S - q G)/(p - q)/share``: S is the sum of gamma
over the cells the code supports, G over all cells, p and q the oracle's, and share the probability of the view. Its
mean over the channel is gamma at the record's cell, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.contract import Channel
from tacit.decode.functional import Vector
from tacit.errors import InternalError

__all__ = ["WHOLE_ALPHABET", "Factor", "Product", "Reading"]

WHOLE_ALPHABET = 4_000_000
"""Codes up to which contributions are computed for the whole alphabet; above it only for codes that occur."""

Product = list[Vector]
"""One vector over cells for each active attribute of a view: gamma is their outer product."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Weights over the cells of some views of one channel, as sums of products."""

    channel: Channel
    products: Mapping[int, list[Product]]

    def contributions(self, codes: npt.NDArray[np.int64] | None = None) -> Vector:
        """Return what each code adds: for the whole alphabet, or for the given codes."""
        if codes is None:
            if self.channel.alphabet > WHOLE_ALPHABET:
                message = "The alphabet is too large to visit; pass the codes that occur."
                raise InternalError(message)
            result = np.zeros(self.channel.alphabet)
        else:
            result = np.zeros(len(codes))
        for index, products in self.products.items():
            view = self.channel.views[index]
            first, size = view.offset, view.oracle.alphabet
            if codes is None:
                result[first : first + size] = self._view(index, products, None)
            else:
                mine = np.flatnonzero((codes >= first) & (codes < first + size))
                if len(mine):
                    result[mine] = self._view(index, products, codes[mine] - first)
        return result

    def _view(self, index: int, products: list[Product], codes: npt.NDArray[np.int64] | None) -> Vector:
        oracle = self.channel.views[index].oracle
        keep, lie = float(oracle.keep), float(oracle.lie) if oracle.domain > 1 else 0.0
        total = sum(float(np.prod([vector.sum() for vector in product])) for product in products)
        share = self.channel.view_weight(index) / oracle.span
        return (oracle.sums(products, codes) - lie * total) / (keep - lie) / share


@dataclass(frozen=True, eq=False)
class Factor:
    """A person's factor: a constant, plus what each of the person's codes adds, channel by channel."""

    constant: float
    readings: Mapping[int, Reading] = field(default_factory=dict)
