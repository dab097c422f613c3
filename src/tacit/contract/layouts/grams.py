"""Mean Gram matrices of classes of questions about one attribute: the mean of f f' over their vectors f."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["Matrix", "centred_gram", "point_gram", "range_gram", "value_gram"]

Matrix = npt.NDArray[np.float64]


@lru_cache(maxsize=256)
def range_gram(values: int, null: bool) -> Matrix:  # noqa: FBT001
    """Return the mean of f f' over all ranges of values."""
    place = np.arange(values)
    gram = np.minimum.outer(place + 1, place + 1) * np.minimum.outer(values - place, values - place)
    return _pad(gram / (values * (values + 1) / 2), null=null)


@lru_cache(maxsize=256)
def point_gram(values: int, null: bool) -> Matrix:  # noqa: FBT001
    """Return the mean of f f' over single values, NULL among them."""
    return np.eye(values + null) / (values + null)


@lru_cache(maxsize=256)
def value_gram(values: int, null: bool) -> Matrix:  # noqa: FBT001
    """Return f f' of the values themselves, even from 0 to 1."""
    place = (np.arange(values) + 0.5) / values
    return _pad(np.outer(place, place), null=null)


@lru_cache(maxsize=256)
def centred_gram(values: int, null: bool) -> Matrix:  # noqa: FBT001
    """Return f f' of the values around their middle, as means under a condition need them."""
    place = (np.arange(values) + 0.5) / values - 0.5
    return _pad(np.outer(place, place), null=null)


def _pad(gram: Matrix, *, null: bool) -> Matrix:
    return np.pad(gram, (0, 1)) if null else gram
