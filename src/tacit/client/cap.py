"""A cap: a limit on what a person may spend, in total or per period."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import UsageError

__all__ = ["PERIODS", "Cap", "Spent", "day_of"]

PERIODS = {"week": 7, "month": 30, "quarter": 91, "year": 365}
"""Days of the periods that have a name."""

MOST_DAYS = 36_500
"""Maximum days of a period: a lifetime."""

Spent = tuple[str, Fraction]
"""The day of a charge, such as 2026-11-16, and its epsilon."""


@dataclass(frozen=True)
class Cap:
    """A limit on epsilon over any ``days`` consecutive days, or in total without days."""

    limit: Fraction
    days: int | None = None

    @classmethod
    def per(cls, limit: float | str | Fraction, period: str | int | None) -> Cap:
        """Return the cap from a limit and a period's name or days."""
        days = PERIODS.get(period) if isinstance(period, str) else period
        known = period is None or (type(days) is int and 1 <= days <= MOST_DAYS)
        if not known:
            names = ", ".join(PERIODS)
            message = f"per is one of {names}, a whole number of days from 1 to {MOST_DAYS}, or None for ever."
            raise UsageError(message, code="bad-option")
        try:
            return cls(Fraction(str(limit)), days)
        except (ValueError, ZeroDivisionError):
            message = "cap is a number, such as 4 or 0.5."
            raise UsageError(message, code="bad-option") from None

    def still_counting(self, spent: Iterable[Spent], today: str) -> list[Spent]:
        """Return the charges that still count today, oldest first: a charge counts for ``days`` days."""
        return sorted(charge for charge in spent if self.days is None or self._ends(charge[0]) > today)

    def total(self, spent: Iterable[Spent], today: str) -> Fraction:
        """Return the sum of the charges that count today."""
        return sum((epsilon for _, epsilon in self.still_counting(spent, today)), Fraction(0))

    def free_on(self, spent: Iterable[Spent], today: str, epsilon: Fraction) -> str | None:
        """Return the day from which an amount can be spent, or None if that never happens."""
        charges = self.still_counting(spent, today)
        if epsilon > self.limit:
            return None
        day, used = today, sum((cost for _, cost in charges), Fraction(0))
        for charged, cost in charges:
            if used + epsilon <= self.limit:
                break
            if self.days is None:
                return None
            day, used = self._ends(charged), used - cost
        return day

    def renews_on(self, spent: Iterable[Spent], today: str) -> str | None:
        """Return the day on which the oldest counting charge stops counting, if there is one."""
        charges = [charge for charge in self.still_counting(spent, today) if charge[1]]
        return self._ends(charges[0][0]) if charges and self.days is not None else None

    def _ends(self, day: str) -> str:
        return (datetime.date.fromisoformat(day) + datetime.timedelta(days=self.days or 0)).isoformat()


def day_of(seconds: float) -> str:
    """Return the UTC day of a Unix time."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
