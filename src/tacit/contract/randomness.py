"""Sources of random bits: the operating system, in bulk, or a seeded source that is named insecure.

A **draw** is an integer below 2**53 made of two 32-bit words ``w0, w1`` in the order they arrive:
``w1 * 2**21 + (w0 >> 11)``. In memory that is one little-endian 64-bit integer shifted right by 11, and in JavaScript
it is exact in a double. Everything random in this package is a comparison or a remainder of such draws.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacit.errors import RandomnessError, UsageError

__all__ = ["DRAW_BITS", "DRAW_SPAN", "Draws", "InsecureRng", "ReplayRng", "Rng", "SystemRng", "insecure_rng"]

DRAW_BITS = 53
"""Bits of a draw: the largest integers that all engines and JavaScript represent exactly."""

DRAW_SPAN = 1 << DRAW_BITS
"""Number of values of a draw."""

_WORD_SHIFT = np.uint64(64 - DRAW_BITS)

Draws = npt.NDArray[np.uint64]


class Rng(Protocol):
    """A source of draws.

    ``sequential`` sources must be asked in the order of the records; others may be asked by several threads at once.
    """

    sequential: bool

    def draws(self, count: int) -> Draws:
        """Return ``count`` draws that were never returned before."""
        ...


class SystemRng:
    """Draws from the operating system's generator; stateless, so forked processes share nothing."""

    sequential = False

    def draws(self, count: int) -> Draws:
        """Return ``count`` new draws or raise; there is no fallback."""
        try:
            words = os.urandom(8 * count)
        except (OSError, NotImplementedError) as cause:
            message = (
                "The operating system's random generator failed. Nothing was encoded. Repair the system and retry."
            )
            raise RandomnessError(message) from cause
        if len(words) != 8 * count:
            message = "The operating system's random generator returned too few bytes. Nothing was encoded."
            raise RandomnessError(message)
        return np.frombuffer(words, dtype="<u8") >> _WORD_SHIFT

    def __repr__(self) -> str:
        return "SystemRng()"


class InsecureRng:
    """Reproducible draws from a seed. Reports made with it protect nobody, and their metadata says so."""

    sequential = True

    def __init__(self, seed: int) -> None:
        self._source = np.random.Philox(key=seed)  # its raw stream is stable across numpy versions

    def draws(self, count: int) -> Draws:
        """Return the next ``count`` draws of the stream."""
        return np.asarray(self._source.random_raw(count), dtype=np.uint64) >> _WORD_SHIFT

    def __repr__(self) -> str:
        return "InsecureRng(seed withheld)"


class ReplayRng:
    """Replays given 32-bit words once: for test vectors, and to compare bulk and single-record encoders."""

    sequential = True

    def __init__(self, words: npt.ArrayLike) -> None:
        pairs = np.asarray(words, dtype=np.uint64).reshape(-1, 2)
        self._draws = ((pairs[:, 1] << np.uint64(32)) | pairs[:, 0]) >> _WORD_SHIFT
        self._next = 0

    @classmethod
    def of_draws(cls, draws: npt.ArrayLike) -> ReplayRng:
        """Replay draws that are already integers, to exhaust small word sizes."""
        source = cls([])
        source._draws = np.asarray(draws, dtype=np.uint64)
        return source

    def draws(self, count: int) -> Draws:
        """Return the next ``count`` recorded draws; running out is an error."""
        taken = self._draws[self._next : self._next + count]
        if len(taken) < count:
            message = "The recorded words are used up. Supply two 32-bit words for each draw."
            raise RandomnessError(message)
        self._next += count
        return taken

    def __repr__(self) -> str:
        return "ReplayRng(words withheld)"


def insecure_rng(seed: int) -> InsecureRng:
    """Return a reproducible source for tests and demonstrations. Never use it for real people.

    Examples
    --------
    >>> insecure_rng(7).draws(2) == insecure_rng(7).draws(2)
    array([ True,  True])
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**128:
        message = "The seed of insecure_rng is not a whole number from 0 to 2**128 - 1. Pass such a number."
        raise UsageError(message)
    return InsecureRng(seed)
