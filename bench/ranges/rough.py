"""Rough, skewed and dependent people on which adaptive peers were better once, and some kept for the last tests.

multimodal, determ, moons, zeroinfl, zipf64   the people of the known losses, from their own seeds
wedge     an exponential number, and a second one that is anything up to the first: an edge along the diagonal
places    two hundred hot spots whose sizes have a heavy tail, and a tenth of the people anywhere
rounded   two dependent lognormal amounts that people round to fives and tens, more so if large
shifts    when people begin to work and when they stop: four times to begin, full and part time, around the clock
capped    two lognormal incomes that depend on each other, cut at the last value; a third of the people have no second
latent    a dozen types of people, each with a rough distribution of its own over the codes of either attribute
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["KEPT", "LOST", "SIZE", "USED", "boxes", "rough"]

SIZE = 64
USED = ("wedge", "places", "rounded")
"""Populations that were kept once, and have been used since to choose how tables of two attributes are fitted."""

KEPT = ("shifts", "capped", "latent")
"""Populations that were used for nothing but the last test; the next change may be chosen by them, too."""

People = npt.NDArray[np.int64]

LOST = {
    ("determ", 100_000, "1"): {0.25: (0.01525, 0.02471), 0.5: (0.02785, 0.04416)},
    ("moons", 100_000, "0.2"): {0.25: (0.04017, 0.03576), 0.5: (0.10881, 0.04747)},
    ("moons", 100_000, "1"): {0.25: (0.0152, 0.0164), 0.5: (0.02694, 0.02724)},
    ("multimodal", 100_000, "1"): {0.25: (0.01337, 0.02311), 0.5: (0.02329, 0.03421)},
    ("zeroinfl", 100_000, "1"): {0.5: (0.00811, 0.02033)},
    ("zeroinfl", 100_000, "4"): {0.25: (0.00149, 0.00352), 0.5: (0.0038, 0.01363)},
    ("zeroinfl", 1_000_000, "1"): {0.25: (0.00203, 0.00364), 0.5: (0.005, 0.01417)},
    ("zipf64", 100_000, "0.2"): {0.25: (0.01203, 0.01002), 0.5: (0.03895, 0.03256)},
    ("zipf64", 100_000, "0.5"): {0.25: (0.0109, 0.00896), 0.5: (0.03002, 0.01658)},
    ("zipf64", 100_000, "1"): {0.25: (0.00792, 0.00467), 0.5: (0.02059, 0.01204)},
    ("zipf64", 100_000, "4"): {0.25: (0.00198, 0.00151), 0.5: (0.00429, 0.00328)},
    ("zipf64", 1_000_000, "1"): {0.25: (0.00317, 0.00335), 0.5: (0.00712, 0.00643)},
}
"""Mean absolute errors of AHEAD and of HDG by their public code, as a fraction of the people, by volume of a range."""


def rough(name: str, people: int) -> People:
    """Return people x 2 values."""
    source = np.random.default_rng([sum(map(ord, name)), people, 2, 1])
    return _MAKE[name](people, source)


def boxes(volume: float, count: int = 100) -> list[tuple[int, int, int, int]]:
    """Return random products of two ranges: first and last value of each."""
    source = np.random.default_rng([2, 2, int(volume * 1000), 5])
    width, made = round(SIZE * volume), []
    for _ in range(count):
        source.choice(2, 2, replace=False)
        low, other = (int(source.integers(0, SIZE - width + 1)) for _ in range(2))
        made.append((low, low + width - 1, other, other + width - 1))
    return made


def _cells(values: npt.NDArray[np.float64]) -> People:
    return np.clip(np.floor(values), 0, SIZE - 1).astype(np.int64)


def _multimodal(n: int, source: np.random.Generator) -> People:
    centre = source.uniform(6, 58, (5, 2))
    which = source.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    return _cells(centre[which] + source.normal(0, 2.0, (n, 2)))


def _determ(n: int, source: np.random.Generator) -> People:
    x = _cells(np.abs(source.normal(0, 18, n)))
    return np.stack([x, (3 * x + 7) % SIZE], 1)


def _moons(n: int, source: np.random.Generator) -> People:
    t, side = source.uniform(0, np.pi, n), source.integers(0, 2, n)
    x = np.where(side, np.cos(t), 1 - np.cos(t))
    y = np.where(side, np.sin(t), 0.5 - np.sin(t))
    return _cells(np.stack([(x + 1.5) / 4 * SIZE, (y + 1) / 2.5 * SIZE], 1) + source.normal(0, 1, (n, 2)))


def _zeroinfl(n: int, source: np.random.Generator) -> People:
    zero = source.random((n, 1)) < 0.6
    x = _cells(source.lognormal(2, 0.9, (n, 2)) * np.exp(0.5 * source.normal(0, 1, (n, 1))))
    return np.where(zero, 0, x)


def _zipf64(n: int, source: np.random.Generator) -> People:
    weights = 1 / np.arange(1, SIZE + 1) ** 1.2
    weights /= weights.sum()
    own = source.choice(SIZE, n, p=weights)
    return np.stack([np.where(source.random(n) < 0.5, own, source.choice(SIZE, n, p=weights)) for _ in range(2)], 1)


def _wedge(n: int, source: np.random.Generator) -> People:
    x = _cells(source.exponential(20, n))
    return np.stack([x, np.floor(source.random(n) * (x + 1)).astype(np.int64)], 1)


def _places(n: int, source: np.random.Generator) -> People:
    spots, sizes = source.integers(0, SIZE, (200, 2)), source.pareto(1.1, 200)
    own = spots[source.choice(200, n, p=sizes / sizes.sum())]
    return np.where(source.random((n, 1)) < 0.1, source.integers(0, SIZE, (n, 2)), own)


def _rounded(n: int, source: np.random.Generator) -> People:
    common = source.normal(0, 1, (n, 1))
    exact = np.exp(2.6 + 0.6 * common + 0.5 * source.normal(0, 1, (n, 2)))
    draw = source.random((n, 2))
    step = np.where(draw < exact / 60, 10, np.where(draw < 0.6, 5, 1))
    return _cells(np.round(exact / step) * step)


def _shifts(n: int, source: np.random.Generator) -> People:
    begin = np.array([18, 24, 38, 58])[source.choice(4, n, p=[0.3, 0.45, 0.15, 0.1])] + source.normal(0, 1.5, n)
    hours = np.where(source.random(n) < 0.75, source.normal(21, 1.5, n), source.normal(11, 3, n))
    return np.stack([np.floor(begin) % SIZE, np.floor(begin + np.maximum(hours, 1)) % SIZE], 1).astype(np.int64)


def _capped(n: int, source: np.random.Generator) -> People:
    common = source.normal(0, 1, (n, 1))
    both = _cells(np.exp(2.9 + 0.6 * common + 0.5 * source.normal(0, 1, (n, 2))))
    none = source.random(n) < 1 / 3
    return np.stack([both[:, 0], np.where(none, 0, both[:, 1])], 1)


def _latent(n: int, source: np.random.Generator) -> People:
    kinds, sizes = source.dirichlet(np.full(SIZE, 0.3), (2, 12)), source.dirichlet(np.full(12, 2.0))
    own = source.choice(12, n, p=sizes)
    ends = kinds.cumsum(axis=2)[:, own]
    return (source.random((2, n, 1)) > ends).sum(axis=2).T.clip(0, SIZE - 1)


_MAKE = {
    "multimodal": _multimodal,
    "determ": _determ,
    "moons": _moons,
    "zeroinfl": _zeroinfl,
    "zipf64": _zipf64,
    "wedge": _wedge,
    "places": _places,
    "rounded": _rounded,
    "shifts": _shifts,
    "capped": _capped,
    "latent": _latent,
}
