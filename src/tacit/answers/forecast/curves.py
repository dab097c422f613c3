"""The accuracy of a question as a function of the budget and of the number of people: curves of half widths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from tacit.answers.forecast.expectation import Expectation
from tacit.answers.forecast.verdicts import Planned
from tacit.contract.audit import audit_contract
from tacit.contract.readers import central_loss
from tacit.errors import LayoutError, UnanswerableError
from tacit.estimate.answer import Options
from tacit.estimate.decoder import Decoder

__all__ = ["EPSILONS", "Curves", "curves", "half_width", "no_interval"]

EPSILONS = tuple(Fraction(tenths, 10) for tenths in (1, 2, 5, 10, 20, 40, 80))
"""Budgets of the curve, in nats."""

PEOPLE = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Numbers of people on the curve."""

MOST_GROUPS = 12
"""Groups of a question whose half widths are compared."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Curves:
    """Half widths of a question's first estimate: by epsilon, by people, and at present.

    For totals, ``per_person`` is true: half widths of the curve over people are divided by their number, because those
    of totals grow with people, though less than the totals.
    """

    column: str
    per_person: bool
    epsilon: list[Point]
    people: list[Point]
    now: tuple[float, float, float]
    """Epsilon, people, and the half width."""

    central: list[Point] = field(default_factory=list)
    """Local and central epsilon for a number of people who all report before the first answer."""


def half_width(collection: Planned, text: str, *, people: int, confidence: float = 0.95) -> tuple[str, float]:
    """Return the first column of estimates and its expected half width, the widest of a few groups."""
    return _expectation(collection, text, confidence).widest(max(1, people))


def no_interval(people: int) -> str:
    """Return the error for a question whose widest group is unlikely to have a finite interval."""
    return f"No finite interval is likely with {people:,} people: a denominator may be zero. Use larger groups."


def curves(collection: Planned, text: str, *, people: int, confidence: float = 0.95) -> Curves:
    """Return the curves of a question, with the present number of people."""
    people = max(1, people)

    expected = _expectation(collection, text, confidence)
    column, now = expected.widest(people)
    if math.isinf(now):
        raise UnanswerableError(no_interval(people), code="no-finite-interval")
    if not now > 0:
        message = "The answer is known without error, or its error cannot be predicted."
        raise UnanswerableError(message, code="not-predictable")
    # four times the people double the half width of a total, and halve that of an average
    per_person = expected.widest(4 * people)[1] > now
    by_people = [(float(n), expected.widest(n)[1] / (n if per_person else 1)) for n in sorted({*PEOPLE, people})]
    by_epsilon, central = [], []
    for epsilon in sorted({*EPSILONS, collection.contract.epsilon}):
        try:
            other = _with_epsilon(collection, epsilon)
            by_epsilon.append((float(epsilon), half_width(other, text, people=people, confidence=confidence)[1]))
            if (learned := _central(other, _leading(people))) is not None:
                central.append((float(epsilon), learned))
        except LayoutError:  # the layout does not fit this budget: the curve skips it
            continue
    return Curves(
        column,
        per_person,
        _finite(by_epsilon),
        _finite(by_people),
        (float(collection.contract.epsilon), float(people), now),
        central,
    )


def _leading(people: int) -> int:
    """Round a number down to its first digit, so that a growing crowd is recounted only now and then."""
    unit: int = 10 ** (len(str(people)) - 1)
    return people // unit * unit


@lru_cache(maxsize=64)
def _central(collection: Planned, people: int) -> float | None:
    """Return the central epsilon for a number of people; None if public columns divide them."""
    contract = collection.contract
    return central_loss(contract, audit_contract(contract).ratio, people=people).epsilon


def _finite(points: list[Point]) -> list[Point]:
    return [(x, y) for x, y in points if math.isfinite(y)]


def _expectation(collection: Planned, text: str, confidence: float) -> Expectation:
    return Expectation(collection.contract, text, None, Options(confidence), MOST_GROUPS, _decoders(collection))


@lru_cache(maxsize=16)
def _decoders(_: Planned) -> dict[str, Decoder]:
    """Return a place to keep the decoders of a collection's services between questions."""
    return {}


@lru_cache(maxsize=64)
def _with_epsilon(collection: Planned, epsilon: Fraction) -> Planned:
    """Return a collection with another budget, cached because compiling takes longer than predicting."""
    return collection.with_epsilon(epsilon)
