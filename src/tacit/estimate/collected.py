"""The products that a functional reads, by channel and view."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.estimate.functional import Vector
from tacit.estimate.reading import Factor, Product, Reading

__all__ = ["Collected"]


@lru_cache(maxsize=256)
def _ones(size: int) -> Vector:
    """Return ones, the same array each time, so that products which share it are merged."""
    vector = np.ones(size)
    vector.flags.writeable = False
    return vector


class Collected:
    """Products to be read, by channel and view."""

    def __init__(self, service: ServiceContract) -> None:
        self.service, self._extras = service, service.extras
        self.products: dict[int, dict[int, list[Product]]] = {}

    def add(
        self, channel: int, index: int, attributes: tuple[int, ...], cells: list[Vector | None], scale: float
    ) -> None:
        """Read a view: the given vectors for the attributes, and ones for the other attributes it shows."""
        if scale == 0 or any(vector is None for vector in cells):
            return
        view = self.service.channels[channel].views[index]
        vectors = dict(zip(attributes, cells, strict=True))
        product: Product = []
        for i, size in zip(view.active, view.oracle.sizes, strict=True):
            vector, behind = vectors.pop(i, None), 0 if product else self._extras
            real = _ones(size - behind) if vector is None else vector
            product.append(np.concatenate([real, np.zeros(behind)]) if behind else real)
        for vector in vectors.values():  # attributes at their root: a number
            scale *= float(vector[0]) if vector is not None else 1.0
        product[0] = scale * product[0]
        products = self.products.setdefault(channel, {}).setdefault(index, [])
        for known in products:
            if all(mine is other for mine, other in zip(product[1:], known[1:], strict=True)):
                known[0] = known[0] + product[0]
                return
        products.append(product)

    def add_extras(self, channel: int, index: int, values: Vector) -> None:
        """Read the extra cells of a view: after the cells of its first attribute, at cell 0 of the others."""
        if not values.any():
            return
        sizes = self.service.channels[channel].views[index].oracle.sizes
        first = np.concatenate([np.zeros(sizes[0] - len(values)), values])
        product = [first, *((np.arange(size) == 0).astype(np.float64) for size in sizes[1:])]
        self.products.setdefault(channel, {}).setdefault(index, []).append(product)

    def factor(self, constant: float) -> Factor:
        """Return the factor of everything collected."""
        readings = {c: Reading(self.service.channels[c], views) for c, views in self.products.items()}
        return Factor(constant, readings)
