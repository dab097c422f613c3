"""Quotas: how many reports of a service are stored in a day (UTC), over all collectors that share a store.

Each collector remembers its own count in the transaction that stores the reports, and adds those of the others. It
knows theirs within a second, so a quota may be exceeded by what the others store in a second.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Mapping

from tacit.errors import OverloadedError
from tacit.server.store.log import Clock, now

__all__ = ["USED", "Quotas"]

USED = "used"
"""Name of the setting with today's counts of a collector; in a shared store its name follows."""

LONGEST_WAIT = 3_600
"""Maximum Retry-After, in seconds: a quota may be raised before midnight."""


class Quotas:
    """The limits of services, and their current use."""

    def __init__(self, limits: Mapping[str, int], before: str | None, clock: Clock = now) -> None:
        self._limits, self._clock = dict(limits), clock
        self._day, self._used_here, self._others = "", Counter[str](), Counter[str]()
        if before and (used := json.loads(before))["day"] == self._today():
            self._used_here.update(used["reports"])

    def _today(self) -> str:
        """Return the day; the counts of another day are dropped."""
        day = self._clock().date().isoformat()
        if day != self._day:
            self._day, self._used_here, self._others = day, Counter(), Counter()
        return day

    @property
    def any(self) -> bool:
        """Whether a service has a quota."""
        return bool(self._limits)

    def check(self, services: Iterable[str]) -> None:
        """Refuse a request with more reports than are left of a service's quota."""
        self._today()
        for service, more in Counter(services).items():
            limit = self._limits.get(service)
            if limit is not None and self._used_here[service] + self._others[service] + more > limit:
                moment = self._clock()
                midnight = moment.replace(hour=0, minute=0, second=0) + datetime.timedelta(days=1)
                wait = min(LONGEST_WAIT, max(1, round((midnight - moment).total_seconds())))
                message = f"The quota of {service} is used up: {limit:,} reports per day (UTC). Send it again later."
                raise OverloadedError(message, code="over-quota", retry_after=wait)

    def with_more(self, services: Iterable[str]) -> str:
        """Return the counts to store together with these reports."""
        day = self._today()
        return json.dumps({"day": day, "reports": self._used_here + Counter(services)})

    def add(self, services: Iterable[str]) -> None:
        """Count reports that were stored."""
        self._today()
        self._used_here.update(services)

    def learn(self, remembered: Iterable[str]) -> None:
        """Add the counts of other collectors."""
        day, others = self._today(), Counter[str]()
        for used in map(json.loads, remembered):
            if used["day"] == day:
                others.update(used["reports"])
        self._others = others
