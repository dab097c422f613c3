"""A simulation of a fleet over a day: kills, skew and lag, with measured costs.

Time passes in steps of a second. Reports come as people are awake; collectors take what their cores allow, the database
commits what its own cores allow, and a leader moves reports. A killed collector is away for its restart; a leader that
is killed leaves its lease to run out. Reports that nobody takes wait in the outboxes of clients, which try again.
`python -m bench.fleet.simulator` prints the largest backlog, the wait of a report and what an answer leaves out.
"""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.common import say

__all__ = ["Day", "Outcome", "simulate"]

SECONDS = 86_400
LEASE = 10
BEHIND = 100_000
"""Reports of one collector that may wait to be moved; more are refused."""


@dataclass(frozen=True)
class Day:
    """What a day is like."""

    reports: float
    collectors: int
    collector_cores: float
    database_cores: float
    store_us: float
    """Microseconds of a collector for a report."""

    commit_us: float
    """Microseconds of the database for storing it."""

    move_us: float
    """Microseconds of the database for moving it."""

    kills: int = 0
    restart: int = 15
    pauses: int = 0
    paused: int = 20
    outages: int = 0
    outage: int = 30
    """Seconds that PostgreSQL is away each time: a failover."""

    skew: float = 0.0
    """The share of all reports that come in the same second, once a day: everybody's phone wakes at eight."""

    seed: int = 24


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    largest_outbox: int
    longest_wait: int
    """Seconds in a row in which reports waited in outboxes."""

    largest_lag: int
    """Reports that an answer would have left out, and said so."""

    lagging_seconds: int
    left: int
    """Reports that were not stored at midnight."""


def simulate(day: Day) -> Outcome:
    """Return what comes of a day."""
    source = random.Random(day.seed)
    away = [0] * day.collectors  # until when each collector is away
    kills = {source.randrange(SECONDS): source.randrange(day.collectors) for _ in range(day.kills)}
    pauses = {source.randrange(SECONDS): source.randrange(day.collectors) for _ in range(day.pauses)}
    outages = sorted(source.randrange(SECONDS) for _ in range(day.outages))
    leader, leaderless, down = 0, 0, 0
    outbox = lag = 0.0
    largest, behind = 0.0, 0.0
    waited = longest = lagging = 0
    for second in range(SECONDS):
        for events, seconds in ((kills, day.restart), (pauses, day.paused)):
            if (victim := events.get(second)) is not None:
                away[victim] = second + seconds
                if victim == leader:
                    leaderless = second + LEASE
        if outages and outages[0] == second:
            outages.pop(0)
            down = second + day.outage
        there = sum(until <= second for until in away)
        outbox += _arrivals(day, second)
        work = 0.0 if second < down else day.database_cores * 1e6
        room = max(0.0, there * BEHIND - lag)
        taken = min(outbox, there * day.collector_cores * 1e6 / day.store_us, work / day.commit_us, room)
        outbox, lag, work = outbox - taken, lag + taken, work - taken * day.commit_us
        if second >= leaderless and there:
            leader = next(number for number, until in enumerate(away) if until <= second)
            lag -= min(lag, work / day.move_us)
        waited = waited + 1 if outbox > 1.0 else 0
        largest, longest, behind = max(largest, outbox), max(longest, waited), max(behind, lag)
        lagging += lag > 1.0
    return Outcome(round(largest), longest, round(behind), lagging, round(outbox))


def _arrivals(day: Day, second: int) -> float:
    """Return the reports that come in a second: three times as many in the evening as in the mean, few at night."""
    curve = max(0.05, 1.0 + 2.0 * math.sin(2 * math.pi * (second / SECONDS - 0.55)))
    spread = (1 - day.skew) * day.reports * curve / (SECONDS * 1.2)
    return spread + (day.skew * day.reports if second == 8 * 3_600 else 0.0)


def main() -> int:
    """Print a table of days, with the costs of results.json."""
    measured = json.loads(Path(__file__).with_name("results.json").read_text())["throughput"]["3"]
    stored, moved = measured["microseconds_per_report"], measured["microseconds_per_report_with_moving"]
    costs = {
        "store_us": moved["collectors"],
        "commit_us": stored["database"],
        "move_us": max(1.0, moved["database"] - stored["database"]),
    }
    calm = {"reports": 1e8, "collectors": 3, "collector_cores": 4.8, "database_cores": 4.8}
    days = {
        "calm": Day(**calm, **costs),
        "200 kills": Day(**calm, **costs, kills=200),
        "200 stopped for 20 s": Day(**calm, **costs, pauses=200),
        "3 failovers of 30 s": Day(**calm, **costs, outages=3),
        "1 % of the day in a second": Day(**calm, **costs, skew=0.01),
        "all of it": Day(**calm, **costs, kills=200, pauses=200, outages=3, skew=0.01),
        "one collector, 200 kills": Day(**(calm | {"collectors": 1}), **costs, kills=200),
    }
    say(
        "| a day of 100 million reports | largest outbox | longest wait, s | left out of an answer | left at midnight |"
    )
    say("|---|--:|--:|--:|--:|")
    for name, day in days.items():
        one = simulate(day)
        say(f"| {name} | {one.largest_outbox:,} | {one.longest_wait:,} | {one.largest_lag:,} | {one.left:,} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
