"""Randomness from the operating system, for draws and for waiting."""

from __future__ import annotations

import os

from tacit.client.interpreter import draw_of_words
from tacit.errors import RandomnessError

__all__ = ["draws", "fraction"]


def fraction() -> float:
    """Return a random number from 0 to 1, for waiting times."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def draws(count: int) -> list[int]:
    """Return draws from the operating system, or raise; there is no fallback."""
    try:
        words = os.urandom(8 * count)
    except (OSError, NotImplementedError) as cause:
        message = "The operating system's random generator failed. Nothing was encoded."
        raise RandomnessError(message) from cause
    if len(words) != 8 * count:
        message = "The operating system's random generator returned too little. Nothing was encoded."
        raise RandomnessError(message)
    numbers = [int.from_bytes(words[place : place + 4], "little") for place in range(0, len(words), 4)]
    return [draw_of_words(first, second) for first, second in zip(numbers[::2], numbers[1::2], strict=True)]
