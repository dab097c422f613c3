"""The contribution of a code: readings of views, and the per-person factors built from them.

Reading a view with weights gamma over its cells gives, for a code, ``(S - q G)/(p - q)/share``: S is the sum of gamma
over the cells the code supports, G over all cells, p and q the oracle's, and share the probability of the view. Its
mean over the channel is gamma at the record's cell, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel
from tacit.contract.oracles.base import flat_values
from tacit.errors import InternalError
from tacit.estimate.functional import Vector

__all__ = ["WHOLE_ALPHABET", "Factor", "Product", "Reading", "contributions", "view_bounds"]

WHOLE_ALPHABET = 4_000_000
"""Maximum codes of an alphabet whose contributions are all computed; for larger ones, only codes that occur."""

Product = list[Vector]
"""One vector over cells for each active attribute of a view: gamma is their outer product."""


MATRIX_CELLS = 2**24
"""Maximum size (codes times cells) of a table of supports for a matrix product.

Reading functionals one by one is as cheap until there are about as many of them as cells."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Weights over the cells of some views of one channel, as sums of products."""

    channel: Channel
    products: Mapping[int, list[Product]]

    def contributions(self, codes: npt.NDArray[np.int64] | None = None) -> Vector:
        """Return the contribution of each code: of the whole alphabet, or of the given codes."""
        return contributions(self.channel, [self], codes)[:, 0]


def contributions(
    channel: Channel, readings: Sequence[Reading | None], codes: npt.NDArray[np.int64] | None = None
) -> Vector:
    """Return a column for each reading with the contribution of each code: of all codes, or of the given ones."""
    if codes is None and channel.alphabet > WHOLE_ALPHABET:
        message = "The alphabet is too large to visit; pass the codes that occur."
        raise InternalError(message)
    result = np.zeros((channel.alphabet if codes is None else len(codes), len(readings)), order="F")
    used = sorted({index for reading in readings if reading for index in reading.products})
    for index in used:
        view = channel.views[index]
        first, size = view.offset, view.oracle.alphabet
        readers = [i for i, reading in enumerate(readings) if reading and index in reading.products]
        products = [reading.products[index] for i in readers if (reading := readings[i])]
        if codes is None:
            result[first : first + size, readers] = _read(channel, index, products, None)
        else:
            mine = np.flatnonzero((codes >= first) & (codes < first + size))
            if len(mine):
                result[np.ix_(mine, np.array(readers))] = _read(channel, index, products, codes[mine] - first)
    return result


def _read(channel: Channel, index: int, read: list[list[Product]], codes: npt.NDArray[np.int64] | None) -> Vector:
    """Read one view for several functionals: by a table of supports for many of them, else one by one."""
    oracle = channel.views[index].oracle
    keep, lie = oracle.support_rates
    share = channel.probability(index)
    count = oracle.alphabet if codes is None else len(codes)
    totals = [sum(float(np.prod([vector.sum() for vector in p])) for p in products) for products in read]
    if 2 * len(read) > oracle.domain and len(read) > 4 and count * oracle.domain <= MATRIX_CELLS:
        weights = np.stack([flat_values(products) for products in read], axis=1)
        sums = oracle.support(np.arange(count) if codes is None else codes).astype(np.float64) @ weights
    else:
        sums = np.stack([oracle.sums(products, codes) for products in read], axis=1)
    return (sums - lie * np.array(totals)) / ((keep - lie) * share)


def view_bounds(reading: Reading) -> tuple[float, float]:
    """Return bounds of a code's contribution, as if codes could support any set of cells.

    Products over very many cells are bounded one by one, which is wider.
    """
    low = high = 0.0
    for index, products in reading.products.items():
        oracle = reading.channel.views[index].oracle
        keep, lie = oracle.support_rates
        parts = [products] if oracle.domain <= MATRIX_CELLS else [[product] for product in products]
        signed = [_sums_by_sign(part, oracle.domain) for part in parts]
        below, above = (sum(sums[side] for sums in signed) for side in (0, 1))
        scale, zero = 1 / ((keep - lie) * reading.channel.probability(index)), lie * (below + above)
        low, high = min(low, scale * (below - zero)), max(high, scale * (above - zero))
    return low, high


def _sums_by_sign(products: list[Product], domain: int) -> tuple[float, float]:
    """Return the sums of the negative and of the positive weights of all cells; of one product, without its cells."""
    if domain <= MATRIX_CELLS:
        weights = flat_values(products)
        return float(weights[weights < 0].sum()), float(weights[weights > 0].sum())
    [product] = products
    below, above = 0.0, 1.0
    for vector in product:
        negative, positive = float(vector[vector < 0].sum()), float(vector[vector > 0].sum())
        below, above = below * positive + above * negative, below * negative + above * positive
    return below, above


@dataclass(frozen=True, eq=False)
class Factor:
    """A person's factor: a constant, plus the contributions of the person's codes, channel by channel."""

    constant: float
    readings: Mapping[int, Reading] = field(default_factory=dict)
