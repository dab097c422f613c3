"""Vectors over the integers modulo a prime g, written as numbers in base g: digits, inner products, multiples."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Codes, remainder

__all__ = [
    "DOT_TABLE",
    "best_prime",
    "digits_for",
    "distinct",
    "dot",
    "inner_products",
    "is_prime",
    "multiples",
    "multiplier",
    "points_of",
    "points_of_waves",
    "transform",
    "values_of_waves",
]

DOT_TABLE = 1024
"""Largest side of a table of inner products: a million bytes, which stay in a processor's second-level cache."""

MOST_KEPT = 2**18
"""Points of a Fourier transform that is kept for other views, or whose places are: four megabytes at most."""

DENSE = 4
"""Possible numbers for each given one up to which marking those that occur is faster than sorting."""

Waves = npt.NDArray[np.complex128]


def is_prime(n: int) -> bool:
    """Return whether a number is prime."""
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))


def best_prime(bound: Fraction) -> int:
    """Return the prime with the least noise, (E+g-1)**2/(g-1), near E + 1."""
    below = next((n for n in range(int(bound) + 1, 1, -1) if is_prime(n)), 2)
    above = below + 1
    while not is_prime(above):
        above += 1
    return min((below, above), key=lambda g: (bound + g - 1) ** 2 / (g - 1))


def multiplier(digits: int, g: int) -> int:
    """Return the public multiplier of a block: near the golden section of g**digits, prime to g."""
    scatter = int(g**digits) * 618_033_988 // 1_000_000_000
    return scatter + 1 if scatter % g == 0 else scatter


def digits_for(cells: int, g: int) -> int:
    """Return how many digits in base g distinguish ``cells`` cells."""
    digits = 0
    while g**digits < cells:
        digits += 1
    return digits


def distinct(numbers: Codes, most: int) -> tuple[Codes, Codes]:
    """Return the distinct ones of some numbers below ``most``, in order, and where each is; many without sorting."""
    if most > DENSE * len(numbers):
        return np.unique(numbers, return_inverse=True)
    occurs = np.zeros(most, dtype=np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def dot(g: int, digits: int, left: Codes, right: Codes) -> Codes:
    """Return inner products modulo g of vectors of few digits: by table, or of single digits for large g."""
    if g > DOT_TABLE:
        return remainder(left * right, g)
    table = _dot_table(g, digits)
    products: Codes = table.ravel()[left * len(table) + right]
    return products


def inner_products(g: int, places: int, left: Codes, right: Codes) -> Codes:
    """Return the inner products modulo g of each vector on the left with each on the right."""
    chunk = max(1, digits_for(DOT_TABLE + 1, g) - 1)  # digits that one look-up takes
    total = np.zeros((len(left), len(right)), dtype=np.int64)
    for start in range(0, places, chunk):
        step, digits = g ** min(places - start, chunk), min(chunk, places - start)
        total += dot(g, digits, remainder(left, step)[:, None], remainder(right, step)[None, :])
        left, right = left // step, right // step
    return remainder(total, g) if places > chunk else total


@lru_cache(maxsize=16)
def _dot_table(g: int, digits: int) -> npt.NDArray[np.uint16]:
    """Return inner products modulo g of all pairs of vectors of ``digits`` digits."""
    table = np.zeros((1, 1), dtype=np.uint16)
    low = np.multiply.outer(np.arange(g), np.arange(g)) % g
    for _ in range(digits):  # a leading digit is added to all shorter vectors
        side = len(table)
        blocks = (low[:, None, :, None] + table[None, :, None, :]) % g
        table = blocks.reshape(side * g, side * g).astype(np.uint16)
    return table


def points_of_waves(g: int, digits: int, waves: Waves) -> npt.NDArray[np.float64]:
    """Return the inverse Fourier transform of the waves k s of all seeds s, k = 1..g//2, without its mean."""
    places, is_conjugate = _places_of_waves(g, digits)
    spectrum = waves.ravel()[places]
    np.negative(spectrum.imag, out=spectrum.imag, where=is_conjugate)
    spectrum[0] = 0.0
    return np.fft.irfftn(spectrum.reshape((g,) * (digits - 1) + (-1,)), (g,) * digits, range(digits))


def _places_of_waves(g: int, digits: int) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return, for all vectors with a last digit of at most g//2, the place of their wave and whether it is conjugate.

    Waves are those of k s for all seeds s and k = 1..g//2, in this order; that of any other vector is the conjugate of
    its negative's, and zero has none. Views with as many digits share them.
    """
    return _kept_places(g, digits) if g**digits <= MOST_KEPT else _compute_places(g, digits)


def _compute_places(g: int, digits: int) -> tuple[Codes, npt.NDArray[np.bool_]]:
    leading = [
        np.arange(g**place, 2 * g**place) for place in range(max(1, digits))
    ]  # the first digit that is not 0 is 1
    vectors = multiples(g, digits, np.concatenate(leading))[:, 1:].ravel()
    places = np.full(g**digits, -1)
    places[vectors] = np.arange(len(vectors))
    opposite = np.zeros(1, dtype=np.int64)  # the negative of every vector
    for place in range(digits):
        opposite = np.add.outer(-np.arange(g) % g * g**place, opposite).ravel()
    rows = (-1, g) if digits else (-1, 1)
    straight, turned = (table.reshape(rows)[:, : g // 2 + 1].ravel() for table in (places, opposite))
    is_conjugate = straight < 0
    straight[is_conjugate] = places[turned[is_conjugate]]
    return straight, is_conjugate


@lru_cache(maxsize=8)
def _kept_places(g: int, digits: int) -> tuple[Codes, npt.NDArray[np.bool_]]:
    return _compute_places(g, digits)


def multiples(g: int, digits: int, vector: Codes) -> Codes:
    """Return k s for vectors s of some digits and k = 0..g//2, digit by digit modulo g."""
    scale = np.arange(g // 2 + 1)
    result = np.zeros((len(vector), len(scale)), dtype=np.int64)
    for place in range(digits):
        digit = vector // g**place % g
        result += digit[:, None] * scale % g * g**place
    return result


def points_of(g: int, places: int, factor: int, cells: int) -> Codes:
    """Return the point of each cell: its number times a multiplier, modulo g**places."""
    points: Codes = np.arange(cells, dtype=np.int64) * factor % g**places
    return points


def transform(g: int, places: int, factor: int, vector: npt.NDArray[np.float64]) -> Waves:
    """Return the Fourier transform over Z_g**places of a vector over cells; views of one attribute share it."""
    if g**places > MOST_KEPT:
        return _transform(g, places, factor, vector)
    return _kept_transform(g, places, factor, np.ascontiguousarray(vector, np.float64).tobytes())


def _transform(g: int, places: int, factor: int, vector: npt.NDArray[np.float64]) -> Waves:
    points = np.zeros(g**places)
    points[points_of(g, places, factor, len(vector))] = vector
    if not places:
        return points.astype(np.complex128)
    return np.fft.fftn(points.reshape((g,) * places)).ravel()


@lru_cache(maxsize=16)
def _kept_transform(g: int, places: int, factor: int, vector: bytes) -> Waves:
    waves = _transform(g, places, factor, np.frombuffer(vector))
    waves.setflags(write=False)
    return waves


@lru_cache(maxsize=64)
def values_of_waves(g: int) -> npt.NDArray[np.float64]:
    """Return the matrix that turns (real, imaginary) parts of k = 0..g//2 into values at 0..g-1."""
    k, u = np.arange(g // 2 + 1)[:, None], np.arange(g)
    weight = np.where((k == 0) | (2 * k == g), 1.0, 2.0) / g
    matrix = np.concatenate([weight * np.cos(2 * np.pi * k * u / g), -weight * np.sin(2 * np.pi * k * u / g)])
    matrix.setflags(write=False)
    return matrix
