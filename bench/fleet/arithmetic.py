"""The sums to 100 million and 10 billion reports a day, from measured times of the processor.

`python -m bench.fleet.arithmetic` prints the tables of the page from results.json.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.common import say

__all__ = ["Machines", "Measured", "machines_for"]

DAY = 86_400
PEAK = 3.0
"""The busiest minutes over the mean: people sleep."""

USED = 0.6
"""The share of a core that is used in the busiest minutes."""

CORES = 8
"""Of a machine. A store has one PostgreSQL that writes; where its column says more than two (it and a standby), reports
are spread over several stores, by collection, or the machine is larger."""

DOLLARS = 250.0
"""A month of such a machine with 32 GB; list prices of clouds were from about 200 to 300 when this was written."""

DOLLARS_PER_GB = 0.10
"""A month of a gigabyte on a replicated disk, or 0.023 in an object store."""

BYTES = 463
"""A report in PostgreSQL: inbox, identities, analytical table and their indexes (measured: bench/fleet/README.md)."""

LAKE_BYTES = 4.9
"""A report in a lake (bench/lake)."""


@dataclass(frozen=True)
class Measured:
    """Microseconds of the processor that a report costs in each part."""

    collectors: float
    database: float
    proxy: float


@dataclass(frozen=True)
class Machines:
    """What a number of reports a day needs."""

    reports: float
    per_second: float
    collectors: int
    databases: int
    proxies: int
    gigabytes_a_day: float
    dollars: float


def machines_for(reports: float, measured: Measured, kept_days: int = 30) -> Machines:
    """Return the machines for so many reports a day, at the busiest time, with two of each at least."""
    busiest = PEAK * reports / DAY

    def machines(microseconds: float) -> int:
        return max(2, math.ceil(busiest * microseconds / 1e6 / USED / CORES))

    collectors, databases, proxies = map(machines, (measured.collectors, measured.database, measured.proxy))
    gigabytes = reports * BYTES / 1e9
    lake = reports * LAKE_BYTES / 1e9
    disks = kept_days * (2 * gigabytes * DOLLARS_PER_GB + lake * 0.023)
    dollars = DOLLARS * (collectors + databases + proxies) + disks
    return Machines(reports, busiest, collectors, databases, proxies, gigabytes, dollars)


def main() -> int:
    """Print the tables."""
    results = json.loads(Path(__file__).with_name("results.json").read_text())["throughput"]
    costs = results["3"]["microseconds_per_report_with_moving"]
    measured = Measured(costs["collectors"], costs["database"], costs["proxy"])
    say("| reports a day | a second, busiest | collectors | PostgreSQL | proxies | GB a day | dollars a month |")
    say("|--:|--:|--:|--:|--:|--:|--:|")
    for reports in (1e6, 1e8, 1e9, 1e10):
        one = machines_for(reports, measured)
        say(
            f"| {one.reports:,.0f} | {one.per_second:,.0f} | {one.collectors} | {one.databases} | {one.proxies} "
            f"| {one.gigabytes_a_day:,.1f} | {one.dollars:,.0f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
