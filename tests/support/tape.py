"""Noise that is played back, and the exact privacy loss of what a curator did with it.

Discrete Laplace noise with a public scale s has log P(y | x) = -|y - x|/s + constant. Running the shipped code on two
neighbouring tables with the *same outputs* of every noisy call therefore gives its exact loss on those outputs:
the sum over all calls of (|y - x'| - |y - x|)/s, a fraction. If the code asks other questions of the second table, some
output of the first is impossible for the second, and the loss is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tacit.central.noise import Ints, Laplace


@dataclass
class Tape:
    """Returns given outputs call by call, then true numbers; remembers what it was asked."""

    outputs: Sequence[Ints] = ()
    asked: list[tuple[Ints, float]] = field(default_factory=list)
    said: list[Ints] = field(default_factory=list)

    def noisy(self, numbers: Ints, law: Laplace) -> Ints:
        """Return the next output."""
        place = len(self.said)
        self.asked.append((np.array(numbers).ravel(), law.scale))
        given = self.outputs[place] if place < len(self.outputs) else numbers
        output = np.resize(given, np.shape(numbers))
        self.said.append(output.ravel())
        return output.astype(np.int64)

    def draws(self, count: int, scale: float) -> Ints:
        """Refuse: noise alone is not part of any output that is audited this way."""
        raise AssertionError("this algorithm was not expected to draw noise alone")


def loss(first: Tape, second: Tape) -> Fraction | None:
    """Return the exact log ratio of the outputs' probabilities; None if the second table cannot give them."""
    shapes = [[(len(x), scale) for x, scale in tape.asked] for tape in (first, second)]
    if shapes[0] != shapes[1]:
        return None
    total = Fraction(0)
    for (x, scale), (other, _), y in zip(first.asked, second.asked, first.said, strict=True):
        total += int((np.abs(y - other) - np.abs(y - x)).sum()) / Fraction(scale)
    return total


def worst_loss(
    run: Callable[[object, Tape], object],
    pairs: Iterable[tuple[object, object]],
    outputs: Callable[[], Iterable[Sequence[Ints]]],
) -> Fraction | None:
    """Return the largest exact loss over neighbouring tables, in both directions, and outputs; None if infinite.

    ``run`` uses the shipped code with a tape; ``outputs`` yields outputs for its first calls. Later calls say the true
    numbers of the first table, which is the output with the largest loss.
    """
    worst = Fraction(0)
    for left, right in pairs:
        for given in outputs():
            for one, other in ((left, right), (right, left)):
                first = Tape(given)
                made = run(one, first)
                second = Tape(first.said)
                again = run(other, second)
                found = loss(first, second)
                if found is None or made != again:  # what is published depends on the data beyond the noisy numbers
                    return None
                worst = max(worst, found)
    return worst
