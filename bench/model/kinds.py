"""Fitted answers to questions of every kind: python -m bench.model.kinds --data FOLDER [--only TEXT] [--encodings N].

The populations are those of `bench.model.strangers`. Each is asked for tables of one and two attributes, ranges,
shares, averages, standard deviations and medians, for all people, in groups and under public conditions. Measured as in
`bench.model.run`; errors of averages, deviations and medians are in units of the attribute's range.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import seed_of
from bench.model.campaigns import measure_missing
from bench.model.strangers import STRANGERS, Stranger
from bench.model.tally import Tally, added, tally
from bench.simulated import Simulated
from tacit.errors import UnanswerableError
from tacit.estimate.estimate import Estimate

RESULTS = Path(__file__).parent / "kinds.json"

MOST_CELLS, MOST_GROUPS, ASKED = 300, 9, 8
"""Cells of a table and groups up to which they are asked for, and questions of a class."""


Tables = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Question:
    """A question: its class, the columns it groups by, what it shows, its condition, and the scale of its answers."""

    label: str
    groups: tuple[str, ...]
    shown: str
    where: str = ""
    scale: float = 1.0

    def text(self, joined: str) -> str:
        """Return the statement about some tables."""
        groups = ", ".join(self.groups)
        parts = [f"SELECT {', '.join([*self.groups, self.shown])} FROM {joined}"]
        parts += [f"WHERE {self.where}"] if self.where else []
        return " ".join([*parts, *([f"GROUP BY {groups}"] if groups else [])])

    @property
    def nobody(self) -> float | None:
        """What groups without rows have: a count of zero, and no average."""
        return 0.0 if "COUNT" in self.shown else None


def questions(one: Stranger, tables: Tables) -> Iterator[Question]:
    """Yield questions of all kinds about a population."""
    source = np.random.default_rng(zlib.crc32(" ".join(own.name for own in one.attributes).encode()))
    sensitive = [own for own in one.attributes if not isinstance(own, tc.Public)]
    listed = [own for own in sensitive if own.size <= MOST_CELLS]
    public = [own.name for own in one.attributes if isinstance(own, tc.Public)]
    for own in listed:
        yield Question("value", (own.name,), "COUNT(*) AS n")
    pairs = [pair for pair in itertools.combinations(listed, 2) if pair[0].size * pair[1].size <= MOST_CELLS]
    for a, b in pairs[:3] + pairs[3:][-2:]:
        yield Question("cell of two", (a.name, b.name), "COUNT(*) AS n")
    for label, count in (("range", 1), ("range of two", 2)):
        texts = [_several(sensitive, count, source) for _ in range(ASKED)]
        yield Question(label, (), _counts(texts))
        shares = [f"AVG(CASE WHEN {text} THEN 1 ELSE 0 END) AS n{k}" for k, text in enumerate(texts[:4])]
        yield Question("share", (), ", ".join(shares), _some(sensitive[-1], source))
    for own in sensitive:
        if isinstance(own, tc.Ordinal):
            yield from _about_numbers(own, [other for other in sensitive if other is not own], public, source)
    for group in public:
        value = next(rows[group][0] for rows in tables.values() if group in rows)
        for own in listed:
            yield Question("value, public", (own.name,), "COUNT(*) AS n", f"{group} = '{value}'")
        texts = [_several(sensitive, 2, source) for _ in range(ASKED)]
        yield Question("range of two, public", (group,), _counts(texts))


def _about_numbers(
    own: tc.Ordinal, others: list[Any], public: list[str], source: np.random.Generator
) -> Iterator[Question]:
    """Yield questions about averages, deviations and medians of an ordered attribute."""
    groups = [other.name for other in others if other.size <= MOST_GROUPS][:2]
    for name, label in (("AVG", "average"), ("STDDEV", "deviation"), ("MEDIAN", "median")):
        shown, scale = f"{name}({own.name}) AS n", own.size - 1.0
        for where in ("", _some(others[-1], source)):
            yield Question(label, (), shown, where, scale)
        for group in groups:
            yield Question(f"{label} by group", (group,), shown, "", scale)
        for group in public:
            yield Question(f"{label}, public", (group,), shown, "", scale)


def _counts(texts: list[str]) -> str:
    return ", ".join(f"COUNT(*) FILTER (WHERE {text}) AS n{k}" for k, text in enumerate(texts))


def _several(attributes: list[Any], count: int, source: np.random.Generator) -> str:
    """Return conditions on some attributes."""
    return " AND ".join(_some(attributes[place], source) for place in source.permutation(len(attributes))[:count])


def _some(own: Any, source: np.random.Generator) -> str:
    """Return a condition: a range of an ordered attribute, or some categories."""
    if isinstance(own, tc.Ordinal):
        width = max(1, int(own.size * source.choice([0.1, 0.25, 0.5])))
        low = own.low + int(source.integers(0, own.size - width + 1))
        return f"{own.name} BETWEEN {low} AND {low + width - 1}"
    chosen = source.permutation(own.size)[: max(1, own.size // 3)]
    return f"{own.name} IN ({', '.join(map(str, sorted(chosen.tolist())))})"


def answers(db: tc.Database, text: str, **options: Any) -> dict[tuple[Any, ...], Any]:
    """Return every estimate of an answer by its group and column."""
    found = {}
    for row in db.sql(text, **options):
        key = tuple(cell for cell in row if not isinstance(cell, Estimate))
        found |= {(*key, k): own for k, own in enumerate(cell for cell in row if isinstance(cell, Estimate))}
    return found


def truths(plain: duckdb.DuckDBPyConnection, text: str, groups: int) -> dict[tuple[Any, ...], float]:
    """Return the same numbers as plain SQL over the rows gives them; what is NULL is left out."""
    rows = plain.execute(text).fetchall()
    return {(*row[:groups], k): float(own) for row in rows for k, own in enumerate(row[groups:]) if own is not None}


def encodings_of(name: str, key: str, data: Path, numbers: range) -> dict[str, Tally]:
    """Return the sums over some encodings of one population."""
    del data
    one = STRANGERS[name]
    tables = one.tables(seed_of(name))
    simulated = Simulated(tc.Collection(one.schema(), one.epsilon, users=one.people), tables)
    plain = duckdb.connect()
    for service, rows in tables.items():
        plain.register(service, pa.table({column: pa.array(own) for column, own in rows.items()}))
    first, *others = one.services
    joined = " ".join([first, *(f"JOIN {own} USING (uid)" for own in others)])
    asked = [(own, own.text(joined)) for own in questions(one, tables)]
    right = [truths(plain, text, len(own.groups)) for own, text in asked]
    sums: dict[str, Tally] = {}
    for number in numbers:
        simulated.draw(seed_of(key, number))
        for (own, text), truth in zip(asked, right, strict=True):
            fitted = answers(simulated.database, text, consistent=True)
            try:
                unbiased = answers(simulated.database, text)
            except UnanswerableError:  # no view reports these attributes together
                unbiased = {}
            compared = [(truth.get(place, own.nobody), made, unbiased.get(place)) for place, made in fitted.items()]
            known = [row for row in compared if row[0] is not None]
            columns = [[row[place] for row in known] for place in range(3)]
            sums = added(sums, {own.label: tally(*columns, scale=own.scale)} if known else {})
    simulated.close()
    return sums


def campaigns() -> Iterator[tuple[str, partial[dict[str, Tally]]]]:
    """Yield all populations by name."""
    for name, one in STRANGERS.items():
        key = f"{name} | {one.epsilon:g} | {one.people}"
        yield key, partial(encodings_of, name, key)


def main() -> None:
    """Measure what kinds.json lacks."""
    measure_missing(campaigns(), results=RESULTS, part="<!-- kinds -->", minutes=60, description=__doc__)


if __name__ == "__main__":
    main()
