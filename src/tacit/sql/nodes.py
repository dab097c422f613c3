"""Queries to an engine, as data: reports, joined on the person, filtered, grouped and summed.

    Scan            the rows of one service: its reports, or its rollup
    Contribution    people with one report, beside the factors' values at its code
    PersonSums      people with several reports, whose factors' values are summed
    Join            services, joined on the person's key
    People          the people of a join that meet public conditions
    Sums            what people add, summed by public group and code

`CodeCounts` counts combinations of codes, `Codes` lists those of one service, and `Ranking` lists people in the order
of what they add. Public conditions and columns are sqlglot expressions over columns of the sources
(`tacit.sql.stored_types`). All nodes are immutable and hashable; `tacit.sql.plan` makes them, and `tacit.sql.printing`
prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

__all__ = [
    "CodeCounts",
    "Codes",
    "ContributionScan",
    "FilteredJoin",
    "Join",
    "Measure",
    "Order",
    "PersonSums",
    "Power",
    "Product",
    "Query",
    "Ranking",
    "RankingSums",
    "Scan",
    "Side",
    "Sums",
]


@dataclass(frozen=True)
class Scan:
    """The rows of one service: single reports or, in a rollup, counts of people with the same code."""

    number: int
    table: str
    key: str
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the collection that every row gets, as columns."""
    rollup: bool = False

    @property
    def scan(self) -> Scan:
        """Itself: every side of a join has a scan."""
        return self


@dataclass(frozen=True)
class ContributionScan:
    """People who send one report, joined with the uploaded values of factors at its code."""

    scan: Scan
    factors: tuple[tuple[int, float], ...]
    """Place of each factor, and the constant that is added to its value."""


@dataclass(frozen=True)
class PersonSums:
    """People who send several reports: the values of factors at their codes, summed over each person's reports."""

    scan: Scan
    public: tuple[str, ...]
    factors: tuple[tuple[int, float], ...]
    products: tuple[tuple[int, int], ...] = ()
    """Factors whose products, report by report, are summed too."""


Side = Scan | ContributionScan | PersonSums


@dataclass(frozen=True)
class Join:
    """Services, joined with the first on the person's key."""

    sides: tuple[Side, ...]

    @property
    def rollup(self) -> bool:
        """Whether rows stand for several people."""
        return self.sides[0].scan.rollup


@dataclass(frozen=True)
class FilteredJoin:
    """The people of a join that meet conditions, with the public values that measures take."""

    join: Join
    conditions: tuple[exp.Expr, ...] = ()
    guards: tuple[exp.Expr, ...] = ()
    powers: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Power:
    """A public number to a power; 0 where it is NULL."""

    column: str
    exponent: int


@dataclass(frozen=True)
class Product:
    """A coefficient times columns of people, powers of public numbers, and sums of further products."""

    coefficient: float
    parts: tuple[str | Power | tuple[Product, ...], ...] = ()


Measure = tuple[Product, ...]
"""What a person adds to a total: a sum of products."""


@dataclass(frozen=True)
class Sums:
    """Sums over people, by public keys and, if ``code`` is given, by the code of one service.

    Columns: the keys, the code, the number of people, the measures' sums, the sums of products of pairs of measures,
    and of fourth powers of measures.
    """

    people: FilteredJoin
    keys: tuple[exp.Expr, ...] = ()
    code: int | None = None
    measures: tuple[Measure, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    fourths: tuple[int, ...] = ()


@dataclass(frozen=True)
class CodeCounts:
    """Counts of combinations of all services' codes, by everything public that totals depend on.

    Columns: the keys, guards, public numbers, then the channel and code of each service, and the number of rows.
    """

    people: FilteredJoin
    keys: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Codes:
    """The code that each person sent to one service, in any order, without names."""

    people: FilteredJoin
    code: int
    is_short: bool
    """Whether 31 bits are enough for any code."""


Order = Literal["size", "value", "person"]


@dataclass(frozen=True)
class Ranking:
    """Some people, each with what they add to every measure, in the order of one measure or of their keys."""

    people: FilteredJoin
    measures: tuple[Measure, ...]
    by: int = 0
    order: Order = "size"
    descending: bool = True
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class RankingSums:
    """The number of people in a ranking, and the sums of their measures."""

    ranking: Ranking


Query = Sums | CodeCounts | Codes | Ranking | RankingSums
