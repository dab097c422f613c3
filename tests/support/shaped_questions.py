"""Random questions of many shapes over two services: joins, subqueries, CTEs, windows, aliases that hide columns.

The generator writes the SQL that people and tools write, with quoted names, mixed case and comments. What it writes is
valid in DuckDB; whether it is answered is for a test to find out.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

import tacit as tc

__all__ = ["SHAPED", "ShapedQuestions", "shaped_tables"]

FIRST = datetime.date(2026, 1, 26)

SHAPED = tc.Schema(
    [
        tc.Service(
            "folk",
            key="uid",
            attributes=[
                tc.Ordinal("age", 0, 9),
                tc.Ordinal("score", 0, 4, null=True),
                tc.Categorical("sex", ["F", "M"]),
                tc.Categorical("job", ["clerk", "cook", "nurse"], null=True),
                tc.Boolean("smoker"),
                tc.Date("born", FIRST, FIRST + datetime.timedelta(days=13)),
                tc.Public("city", values=["Lima", "Oslo", "Rome"]),
                tc.Public("visits", type="int", null=True),
            ],
        ),
        tc.Service(
            "trips",
            key="uid",
            attributes=[
                tc.Ordinal("cost", 0, 7),
                tc.Categorical("mode", ["bus", "car", "train"]),
                tc.Boolean("paid", null=True),
                tc.Categorical("class", [1, 2, 3]),
            ],
            at_most=3,
            sends=3,
        ),
    ]
)


def shaped_tables(count: int = 700) -> dict[str, pa.Table]:
    """Return people and trips."""
    draw = np.random.default_rng(17)
    owner = np.repeat(np.arange(count), draw.integers(0, 4, count))
    rows = len(owner)
    people = {
        "uid": np.arange(count),
        "age": np.minimum(draw.poisson(3, count), 9),
        "score": pa.array(draw.integers(0, 5, count), mask=draw.random(count) < 0.2),
        "sex": draw.choice(["F", "M"], count, p=[0.6, 0.4]),
        "job": pa.array(draw.choice(["clerk", "cook", "nurse"], count), mask=draw.random(count) < 0.2),
        "smoker": draw.random(count) < 0.3,
        "born": pa.array([FIRST + datetime.timedelta(days=int(day)) for day in draw.integers(0, 14, count)]),
        "city": draw.choice(["Lima", "Oslo", "Rome"], count, p=[0.5, 0.3, 0.2]),
        "visits": pa.array(draw.integers(0, 6, count), mask=draw.random(count) < 0.1),
    }
    trips = {
        "uid": owner,
        "cost": draw.integers(0, 8, rows),
        "mode": draw.choice(["bus", "car", "train"], rows, p=[0.5, 0.3, 0.2]),
        "paid": pa.array(draw.random(rows) < 0.7, mask=draw.random(rows) < 0.2),
        "class": draw.choice([1, 2, 3], rows, p=[0.6, 0.3, 0.1]),
    }
    return {"folk": pa.table(people), "trips": pa.table(trips)}


@dataclass(frozen=True)
class Source:
    """What a FROM offers: its text, WITH before it, and names of columns by kind."""

    text: str
    with_: str = ""
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    where: str = ""

    def named(self, change: Callable[[str], str]) -> Source:
        """Return the source with other names for its columns."""
        kinds = {kind: tuple(map(change, getattr(self, kind))) for kind in ("numbers", "texts", "flags", "days")}
        return replace(self, **kinds)


PEOPLE = Source("folk", "", ("age", "score", "visits"), ("sex", "job", "city"), ("smoker",), ("born",))
TRIPS = Source("trips", "", ("cost", '"class"'), ("mode",), ("paid",))
VALUES = {
    "sex": ("F", "M"),
    "job": ("clerk", "cook", "nurse"),
    "city": ("Lima", "Oslo", "Rome"),
    "mode": ("bus", "car", "train"),
}


@dataclass
class ShapedQuestions:
    """A generator of SELECT statements; ``made`` counts the shapes."""

    source: np.random.Generator
    made: dict[str, int] = field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def pick(self, options: Sequence[str]) -> str:
        """Return one of several texts."""
        return str(options[self.source.integers(len(options))])

    def chance(self, share: float) -> bool:
        """Return true with a probability."""
        return bool(self.source.random() < share)

    def number(self, low: int, high: int) -> int:
        """Return a whole number."""
        return int(self.source.integers(low, high + 1))

    def note(self, shape: str) -> None:
        """Count a shape."""
        self.made[shape] = self.made.get(shape, 0) + 1

    def question(self) -> str:
        """Return a statement."""
        self.values = dict(VALUES)
        kind = self.number(0, 9)
        if kind == 0:
            return self._union()
        if kind == 1:
            return self._of_groups()
        return self._dressed(self._select(self._source()))

    def _dressed(self, text: str) -> str:
        """Return a question with comments and another case of keywords."""
        if self.chance(0.1):
            self.note("comment")
            text = text.replace(" FROM ", " /* the table */ FROM ", 1) + " -- done"
        if self.chance(0.1):
            self.note("case")
            text = text.replace("SELECT", "select").replace(" FROM ", "\nFrom ").replace("GROUP BY", "group  by")
        return text

    def _source(self) -> Source:
        """Return a table, a join, or a projection of either under other names."""
        source = self._table()
        for _ in range(self.number(0, 2)):
            source = self._projected(source) if self.chance(0.6) else source
        return source

    def _table(self) -> Source:
        kind = self.number(0, 9)
        if kind < 4:
            return PEOPLE
        if kind < 6:
            return TRIPS
        self.note("join")
        left, right = PEOPLE.named(lambda name: f"p.{name}"), TRIPS.named(lambda name: f"t.{name}")
        for name in list(self.values):
            self.values[f"p.{name}"] = self.values[f"t.{name}"] = self.values[name]
        joins = [
            "folk p JOIN trips t ON p.uid = t.uid",
            "folk AS p INNER JOIN trips AS t USING (uid)",
            "trips t JOIN folk p ON t.uid = p.uid",
            "folk p LEFT JOIN trips t ON t.uid = p.uid",
        ]
        text, where = self.pick(joins), ""
        if self.chance(0.2):
            text, where = "folk p, trips t", "p.uid = t.uid"
        kinds = {kind: getattr(left, kind) + getattr(right, kind) for kind in ("numbers", "texts", "flags", "days")}
        return Source(text, "", where=where, **kinds)

    def _projected(self, source: Source) -> Source:
        """Return a subquery or CTE over a source, with names that hide those of columns."""
        self.note("projection")
        fresh = iter(self.source.permutation(['"Age"', "sex", "n", "job", '"a b"', "cost", "smoker", "x", "mode", "y"]))
        columns, kinds, listed = [], {}, {}
        for kind, make in (("numbers", self.numeric), ("texts", self.text), ("flags", self.flag), ("days", self.day)):
            made = []
            for _ in range(2 if kind in ("numbers", "texts") else 1):
                if kind == "days" and not source.days:
                    continue
                name, (expression, values) = str(next(fresh)), make(source)
                columns.append(f"{expression} AS {name}")
                listed[name] = values
                made.append(name)
            kinds[kind] = tuple(made)
        inner = f"SELECT {', '.join(columns)} FROM {source.text}{self._where(source, 0.5)}"
        self.values |= listed
        if self.chance(0.5):
            name = self.pick(["t1", "src", '"Final"', "folk"]) if source.with_ == "" else f"t{len(source.with_)}"
            before = f"{source.with_}, " if source.with_ else "WITH "
            return Source(name, f"{before}{name} AS ({inner})", **kinds)
        alias = self.pick(["t", "virtual_table", '"Custom SQL Query"'])
        return Source(f"({inner}) AS {alias}", source.with_, **kinds)

    def numeric(self, source: Source) -> tuple[str, tuple[str, ...]]:
        """Return a numeric expression."""
        name = self.pick(source.numbers)
        shapes = [
            "{0}", "{0}", "{0}", "{0} + 1", "2 * {0} - 3", "ABS({0} - 3)", "{0} % 3", "COALESCE({0}, 2)",
            "GREATEST({0}, 3)", "CASE WHEN {0} > 3 THEN 1 WHEN {0} = 2 THEN 5 ELSE 0 END", "{0} // 2", "-{0}",
            "NULLIF({0}, 3)", "ROUND({0} / 4, 1)", "CAST({0} AS DOUBLE)", "LEAST({0}, 4) * {0}",
        ]  # fmt: skip
        return self.pick(shapes).format(name), ()

    def text(self, source: Source) -> tuple[str, tuple[str, ...]]:
        """Return a text expression, and values that it may have."""
        name = self.pick(source.texts)
        values = self.values[name]
        kind = self.number(0, 7)
        if kind == 0:
            return f"UPPER({name})", tuple(value.upper() for value in values)
        if kind == 1:
            return f"COALESCE({name}, 'none')", (*values, "none")
        if kind == 2:
            return f"SUBSTR({name}, 1, 1)", tuple(value[:1] for value in values)
        if kind == 3:
            return f"CASE WHEN {name} = '{values[0]}' THEN 'first' ELSE 'other' END", ("first", "other")
        if kind == 4:
            return f"CASE {name} WHEN '{values[0]}' THEN 'it' WHEN '{values[-1]}' THEN 'last' END", ("it", "last")
        return name, values

    def flag(self, source: Source) -> tuple[str, tuple[str, ...]]:
        """Return a boolean expression."""
        kind = self.number(0, 3)
        if kind == 0:
            return f"NOT {self.pick(source.flags)}", ()
        if kind == 1:
            return f"({self.leaf(source)})", ()
        return self.pick(source.flags), ()

    def day(self, source: Source) -> tuple[str, tuple[str, ...]]:
        """Return a date."""
        name = self.pick(source.days)
        return self.pick(["{0}", "{0}", "DATE_TRUNC('week', {0})", "CAST({0} AS DATE)", "{0} + INTERVAL 1 DAY"]).format(
            name
        ), ()

    def leaf(self, source: Source) -> str:
        """Return a comparison."""
        kind = self.number(0, 11)
        number, text = self.pick(source.numbers), self.pick(source.texts)
        if kind < 4:
            subject = self.numeric(source)[0] if self.chance(0.4) else number
            constant = self.pick([str(self.number(0, 6)), f"{self.number(0, 5)}.5", f"'{self.number(0, 5)}'"])
            if "'" in constant and subject != number:
                constant = constant.strip("'")
            return f"{subject} {self.pick(['<', '<=', '>', '>=', '=', '<>', '!='])} {constant}"
        if kind == 4:
            low = self.number(0, 4)
            return f"{number} {self.pick(['', 'NOT '])}BETWEEN {low} AND {low + self.number(0, 3)}"
        if kind == 5:
            return f"{number} {self.pick(['', 'NOT '])}IN ({self.number(0, 3)}, {self.number(2, 6)})"
        if kind == 6:
            subject, values = self.text(source) if self.chance(0.4) else (text, self.values[text])
            return f"{subject} {self.pick(['=', '<>'])} '{self.pick(values)}'"
        if kind == 7:
            return f"{text} {self.pick(['', 'NOT '])}IN ('{self.pick(self.values[text])}', '{self.values[text][0]}')"
        if kind == 8:
            return f"{text} {self.pick(['LIKE', 'ILIKE', 'NOT LIKE'])} '{self.pick(self.values[text])[:1]}%'"
        if kind == 9:
            return f"{self.pick([number, text])} IS {self.pick(['', 'NOT '])}NULL"
        if kind == 10 and source.days:
            day = FIRST + datetime.timedelta(days=self.number(0, 13))
            form = self.pick(
                ["'{0}'", "DATE '{0}'", "TIMESTAMP '{0} 00:00:00'", "CAST('{0}' AS DATE)", "'{0} 00:00:00'"]
            )
            return f"{self.pick(source.days)} {self.pick(['<', '>=', '=', '<=', '>'])} {form.format(day)}"
        flag = self.pick(source.flags)
        return self.pick([flag, f"NOT {flag}", f"{flag} = TRUE", f"{flag} IS NOT TRUE", f"{flag} IS NULL"])

    def condition(self, source: Source, depth: int) -> str:
        """Return a nested condition."""
        if depth == 0 or self.chance(0.3):
            return self.leaf(source)
        if self.chance(0.2):
            return f"NOT ({self.condition(source, depth - 1)})"
        word = self.pick(["AND", "OR"])
        return f"({self.condition(source, depth - 1)} {word} {self.condition(source, depth - 1)})"

    def _where(self, source: Source, share: float = 0.6) -> str:
        parts = [source.where] if source.where else []
        if self.chance(share):
            parts.append(self.condition(source, self.number(0, 2)))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def aggregate(self, source: Source) -> str:
        """Return an aggregate, or arithmetic of some."""
        number = self.numeric(source)[0] if self.chance(0.4) else self.pick(source.numbers)
        shapes = [
            "COUNT(*)", "COUNT(*)", f"COUNT({number})", f"SUM({number})", f"AVG({number})",
            f"COUNT(*) FILTER (WHERE {self.leaf(source)})", f"SUM({number}) FILTER (WHERE {self.leaf(source)})",
            f"AVG({number}) FILTER (WHERE {self.leaf(source)})", f"STDDEV({number})", f"VAR_POP({number})",
            f"SUM(CASE WHEN {self.leaf(source)} THEN 1 ELSE 0 END)", f"COUNT(CASE WHEN {self.leaf(source)} THEN 1 END)",
            f"COUNT({self.pick(source.texts)})", f"COUNT_IF({self.leaf(source)})",
            f"SUM({number}) / COUNT(*)", f"100.0 * SUM({number}) / NULLIF(COUNT(*), 0)",
            f"AVG({number}) - AVG({self.pick(source.numbers)})", f"2 * SUM({number})",
            f"COALESCE(SUM({number}), 0)", f"AVG(CASE WHEN {self.leaf(source)} THEN 1.0 ELSE 0 END)",
            "SUM(1)", "COUNT(1)",
            f"MEDIAN({number})" if self.chance(0.3) and "JOIN" not in source.text else "COUNT(*)",
        ]  # fmt: skip
        return self.pick(shapes)

    def label(self, source: Source) -> str:
        """Return an expression to group by."""
        kind = self.number(0, 6)
        if kind < 3:
            return self.text(source)[0]
        if kind == 3:
            return self.numeric(source)[0]
        if kind == 4:
            return self.flag(source)[0]
        if kind == 5 and source.days:
            shapes = ["{0}", "DATE_TRUNC('month', {0})", "EXTRACT(DOW FROM {0})", "STRFTIME({0}, '%Y-%m')", "DAY({0})"]
            return self.pick(shapes).format(self.day(source)[0])
        return f"CASE WHEN {self.leaf(source)} THEN 'a' WHEN {self.leaf(source)} THEN 'b' ELSE 'c' END"

    def _select(self, source: Source, *, clauses: bool = True) -> str:
        labels = list(dict.fromkeys(self.label(source) for _ in range(self.number(0, 2))))
        names = [str(name) for name in self.source.permutation(["k", '"Group"', "age", "sex", "bucket", "mode"])]
        shown = [f"{label} AS {name}" for label, name in zip(labels, names, strict=False)]
        labels, used = labels[: len(shown)], names[: len(shown)]
        aggregates = [self.aggregate(source) for _ in range(self.number(1, 3))]
        cells = [f"{aggregate} AS a{place}" for place, aggregate in enumerate(aggregates)]
        if labels and self.chance(0.15):
            self.note("window")
            cells.append("COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share")
        columns = self.pick(["labels first", "cells first"])
        every = [*shown, *cells] if columns == "labels first" else [*cells, *shown]
        text = f"{source.with_} " if source.with_ else ""
        text += f"SELECT {', '.join(every)} FROM {source.text}{self._where(source)}"
        if labels:
            self.note("group")
            first = 1 if columns == "labels first" else 1 + len(cells)
            places = ", ".join(str(first + place) for place in range(len(labels)))
            text += f" GROUP BY {self.pick([', '.join(labels), places, 'ALL'])}"
        if labels and clauses and self.chance(0.2):
            self.note("having")
            text += f" HAVING {self.pick(['COUNT(*)', 'a0'])} > {self.number(0, 60)}.5"
        if labels and clauses and self.chance(0.4):
            self.note("order")
            keys = [f"{name} {self.pick(['', 'DESC', 'NULLS FIRST'])}" for name in used]
            text += f" ORDER BY {', '.join(keys)}"
        return text

    def _union(self) -> str:
        self.note("union")
        parts = []
        for name in ("one", "two", "three")[: self.number(2, 3)]:
            source = self.pick(["folk", "trips"])
            table = PEOPLE if source == "folk" else TRIPS
            parts.append(f"SELECT '{name}' AS part, {self.aggregate(table)} AS a FROM {source}{self._where(table)}")
        return " UNION ALL ".join(parts)

    def _of_groups(self) -> str:
        """Return a question about the groups of another one."""
        self.note("groups")
        source = self._table()
        key, other = self.label(source), self.aggregate(source)
        inner = f"SELECT {key} AS k, COUNT(*) AS n, {other} AS m FROM {source.text}{self._where(source)} GROUP BY 1"
        outer = self.pick(
            [
                "SELECT k, n, m FROM g WHERE n > 10.5",
                "SELECT SUM(n) AS total FROM g",
                "SELECT k AS n, n AS k FROM g ORDER BY 1",
                "SELECT k, n * 2 AS twice, m - 1 AS less FROM g ORDER BY k",
                "SELECT k, n * 1.0 / SUM(n) OVER () AS share FROM g",
                'SELECT g.k AS "Key", g.n FROM g WHERE g.k IS NOT NULL',
                "SELECT k, SUM(n) AS n FROM g GROUP BY k",
            ]
        )
        if self.chance(0.5):
            return f"WITH g AS ({inner}) {outer}"
        return outer.replace("FROM g", f"FROM ({inner}) AS g")
