"""The paper's synthetic tables, and what a population is: services, their rows, and the join that is asked about.

SYN-1   one table of ordinal attributes: the first normal with mean m/2 and deviation m/4, the others equal to it plus
        normal noise of deviation 10, all clipped to their domain; the first is also there as a public measure.
SYN-2   two tables, each with an ordinal (125 values, made as in SYN-1) and a uniform category of 500 values; one row of
        each per person, or 1 to 10 rows per person in the second. It is sized by its joined rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import seed_of
from tacit.contract import wire

__all__ = ["KEY", "MEASURE", "Kind", "Syn1", "Syn2", "World", "world_of"]

KEY, MEASURE = "uid", "measure"
SIZE, CATEGORIES, MOST = 125, 500, 10
NOISE = 10.0

Ints = npt.NDArray[np.int64]

wire.MAX_BYTES *= 2  # AHIO over five attributes lists 10,240 views, more than clients are asked to read


@dataclass(frozen=True)
class World:
    """Attributes and rows of each service, which of them hold several rows per person, and the FROM of questions."""

    attributes: dict[str, list[Any]]
    tables: dict[str, pa.Table]
    source: str
    people: int
    at_most: dict[str, int] = field(default_factory=dict)

    def collection(self, epsilon: float, mechanism: str, oracle: str, sends: int) -> tc.Collection:
        """Compile a collection of all services."""
        services = []
        for name, attributes in self.attributes.items():
            most = self.at_most.get(name)
            many = {} if most is None else {"at_most": most, "sends": sends}
            services.append(tc.Service(name, key=KEY, attributes=attributes, **many))
        return tc.Collection(tc.Schema(services), epsilon, mechanism=mechanism, oracle=oracle)

    def plain(self, text: str) -> list[Any]:
        """Return the one row that plain SQL over the true tables gives."""
        with duckdb.connect() as connection:
            for name, table in self.tables.items():
                connection.register(name, table)
            [row] = connection.execute(text).fetchall()
        return list(row)


class Kind(Protocol):
    """A population before it is built."""

    @property
    def name(self) -> str:
        """Short text for keys."""
        ...

    def build(self, folder: Path | None) -> World:
        """Make the tables, or read them from a folder."""
        ...


@lru_cache(maxsize=2)
def world_of(kind: Kind, folder: Path | None) -> World:
    """Return a built population; campaigns of one population follow each other."""
    return kind.build(folder)


def _clipped(values: npt.NDArray[np.float64], size: int) -> Ints:
    return np.clip(np.rint(values), 1, size).astype(np.int64)


@dataclass(frozen=True)
class Syn1:
    """SYN-1 with d attributes a0, a1, …; ``size`` is the domain of a0, the one that is summed up.

    ``room`` multiplies the declared domain of a1 (see README, "Marginals by a linear hash").
    """

    d: int = 2
    size: int = SIZE
    rows: int = 1_000_000
    room: int = 1

    @property
    def name(self) -> str:
        """Short text for keys."""
        return f"SYN-1 d={self.d} m={self.size} n={self.rows}" + (" with room" if self.room > 1 else "")

    def build(self, folder: Path | None) -> World:  # noqa: ARG002 (synthetic)
        """Draw the table."""
        rng = np.random.default_rng(seed_of(replace(self, room=1).name))
        first = rng.normal(SIZE / 2, SIZE / 4, self.rows)
        columns = {"a0": _clipped(first * self.size / SIZE, self.size)}
        columns |= {f"a{i}": _clipped(first + rng.normal(0, NOISE, self.rows), SIZE) for i in range(1, self.d)}
        sizes = [self.size, SIZE * self.room, *[SIZE] * (self.d - 2)]
        attributes = [tc.Ordinal(name, low=1, high=m) for name, m in zip(columns, sizes, strict=True)]
        table = pa.table({KEY: np.arange(self.rows), **columns, MEASURE: columns["a0"]})
        return World({"t": [*attributes, tc.Public(MEASURE)]}, {"t": table}, "t", self.rows)


@dataclass(frozen=True)
class Syn2:
    """SYN-2: tables t1 (o1, c1) and t2 (o2, c2)."""

    many: bool
    rows: int = 1_000_000

    @property
    def name(self) -> str:
        """Short text for keys."""
        return f"SYN-2 {'one-to-many' if self.many else 'one-to-one'} n={self.rows}"

    def build(self, folder: Path | None) -> World:  # noqa: ARG002 (synthetic)
        """Draw both tables."""
        rng = np.random.default_rng(seed_of(self.name))
        people = round(self.rows / ((1 + MOST) / 2)) if self.many else self.rows
        owner = np.repeat(np.arange(people), rng.integers(1, MOST + 1, people)) if self.many else np.arange(people)
        first = rng.normal(SIZE / 2, SIZE / 4, people)
        second = first[owner] + rng.normal(0, NOISE, len(owner))
        t1 = {KEY: np.arange(people), "o1": _clipped(first, SIZE), "c1": rng.integers(0, CATEGORIES, people)}
        t2 = {KEY: owner, "o2": _clipped(second, SIZE), "c2": rng.integers(0, CATEGORIES, len(owner))}
        values = list(range(CATEGORIES))
        attributes: dict[str, list[Any]] = {
            f"t{i}": [tc.Ordinal(f"o{i}", low=1, high=SIZE), tc.Categorical(f"c{i}", values=values)] for i in (1, 2)
        }
        tables = {"t1": pa.table(t1), "t2": pa.table(t2)}
        return World(attributes, tables, "t1 JOIN t2 USING (uid)", people, {"t2": MOST} if self.many else {})
