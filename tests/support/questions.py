"""Random questions over the Adult sample, for comparing answers with an engine that sees the raw rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

AGGREGATES = [
    "COUNT(*)",
    "COUNT(work)",
    "SUM(age)",
    "SUM(2 * age - edu + 1)",
    "SUM(hours)",
    "SUM(loss)",
    "SUM(loss * age)",
    "SUM(loss + age)",
    "SUM(age) / COUNT(*)",
    "SUM(CASE WHEN edu > 1 THEN age WHEN sex = 'Female' THEN 1 ELSE 0 END)",
    "COUNT(*) FILTER (WHERE hours = 1)",
]
AVERAGES = ["AVG(age)", "AVG(edu)", "AVG(age * hours)", "AVG(loss)", "2 * AVG(edu) - 1"]
SPREADS = ["STDDEV(age)", "STDDEV_POP(edu)", "VAR_SAMP(hours)", "VAR_POP(age)", "STDDEV(edu + hours)"]
GROUPS = ["", "", "work", "edu", "sex", "work, sex", "edu, hours"]
BANDS = [
    "CASE WHEN age < 3 THEN 'young' WHEN age < 6 THEN 'middle' ELSE 'old' END",
    "CASE edu WHEN 3 THEN 'college' WHEN 2 THEN 'college' END",
    "CASE WHEN work = 'self' AND sex = 'Male' THEN 1 ELSE 0 END",
]


@dataclass
class Questions:
    """A generator of SELECT statements; ``made`` counts what occurred in them."""

    source: np.random.Generator
    made: dict[str, int] = field(default_factory=dict)

    def _pick(self, *options: str) -> str:
        return str(options[self.source.integers(len(options))])

    def _number(self, low: int, high: int) -> int:
        return int(self.source.integers(low, high + 1))

    def leaf(self, seen: set[str]) -> str:
        """Return a comparison."""
        kind = self._number(0, 8)
        if kind == 0:
            seen.add("BETWEEN")
            low = self._number(0, 8)
            return f"age BETWEEN {low} AND {low + self._number(0, 4)}"
        if kind == 1:
            seen.add("IN")
            chosen = self.source.choice(["private", "public", "self"], 2, replace=False)
            return f"work IN ('{chosen[0]}', '{chosen[1]}')"
        if kind == 2:
            return f"age {self._pick('<', '<=', '>', '>=', '=', '<>')} {self._number(0, 10)}"
        if kind == 3:
            return f"{self._number(0, 4)} {self._pick('<', '>=', '<>')} edu"
        if kind == 4:
            return self._pick("work IS NULL", "work IS NOT NULL", "work = 'self'", "work <> 'private'")
        if kind == 5:
            seen.add("IN")
            return f"edu {self._pick('', 'NOT ')}IN (1, {self._number(2, 3)})"
        if kind == 6:
            return self._pick("edu > hours", "hours = edu", "edu <= age", "hours <> edu")
        if kind == 7:
            return self._pick("sex = 'Male'", "loss > 0", "loss IS NULL", "NOT sex IN ('Male', 'x')")
        return f"hours {self._pick('<', '>')} {self._number(0, 1)}.5"

    def condition(self, depth: int, seen: set[str]) -> str:
        """Return a nested condition."""
        if depth == 0:
            return self.leaf(seen)
        kind = self._number(0, 3)
        if kind == 0:
            seen.add("NOT")
            return f"NOT ({self.condition(depth - 1, seen)})"
        word = "AND" if kind < 2 else "OR"
        seen.add(word)
        return f"({self.condition(depth - 1, seen)} {word} {self.condition(depth - 1, seen)})"

    def question(self) -> str:
        """Return a statement."""
        seen: set[str] = set()
        depth = self._number(0, 3)
        parts = [self.condition(depth, seen)] if self.source.random() < 0.9 else []
        if self.source.random() < 0.2:
            parts.append(self._pick("sex = 'Female'", "loss >= 0"))
            seen.add("AND")
        aggregates = AGGREGATES
        if self.source.random() < 0.4:
            seen.add("AVG")
            aggregates = AVERAGES
        elif self.source.random() < 0.4:
            seen.add("STDDEV")
            aggregates = SPREADS
        chosen = self.source.choice(aggregates, self._number(1, 2), replace=False)
        groups, shown = self._groups(seen)
        if depth == 3:
            seen.add("three deep")
        for word in seen:
            self.made[word] = self.made.get(word, 0) + 1
        columns = ", ".join([*shown, *(f"{a} AS x{i}" for i, a in enumerate(chosen))])
        where = f" WHERE {' AND '.join(parts)}" if parts else ""
        return f"SELECT {columns} FROM adult{where}{f' GROUP BY {groups}' if groups else ''}"

    def _groups(self, seen: set[str]) -> tuple[str, list[str]]:
        """Return GROUP BY, and the columns it shows."""
        groups = self._pick(*GROUPS, "CASE")
        if groups:
            seen.add("GROUP BY")
        if groups == "CASE":
            seen.add("CASE")
            return "band", [f"{self._pick(*BANDS)} AS band"]
        return groups, [name.strip() for name in groups.split(",") if name]
