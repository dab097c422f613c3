"""Random questions over one table, for comparing answers with an engine that sees the raw rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Questions:
    """A generator of SELECT statements over the people of a test town."""

    source: np.random.Generator
    made: dict[str, int] = field(default_factory=dict)

    def _count(self, word: str) -> None:
        self.made[word] = self.made.get(word, 0) + 1

    def _pick(self, *options: str) -> str:
        return str(options[self.source.integers(len(options))])

    def _number(self, low: int, high: int) -> int:
        return int(self.source.integers(low, high + 1))

    def leaf(self, seen: set[str], *, sensitive: bool = True) -> str:
        """Return a comparison."""
        kind = self._number(0, 6)
        if not sensitive:
            return self._pick("device = 'ios'", "device IN ('web', 'ios')", "device <> 'web'", "NOT device = 'android'")
        if kind == 0:
            seen.add("BETWEEN")
            low = self._number(0, 45)
            return f"age BETWEEN {low} AND {low + self._number(0, 25)}"
        if kind == 1:
            seen.add("IN")
            regions = self.source.choice(["north", "east", "south", "west"], 2, replace=False)
            return f"region IN ('{regions[0]}', '{regions[1]}')"
        if kind == 2:
            return f"age {self._pick('<', '<=', '>', '>=', '=', '<>')} {self._number(-5, 55)}"
        if kind == 3:
            return f"{self._number(0, 4)} {self._pick('<', '>=', '<>')} kids"
        if kind == 4:
            return self._pick("kids IS NULL", "kids IS NOT NULL", "region = 'islands'", "region <> 'west'")
        if kind == 5:
            seen.add("IN")
            return f"kids {self._pick('', 'NOT ')}IN (1, {self._number(2, 5)})"
        return f"score {self._pick('<', '>')} {self._number(0, 6)}.5"

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
        """Return a statement; ``made`` counts what occurred."""
        seen: set[str] = set()
        depth = self._number(0, 3)
        parts = [self.condition(depth, seen)] if self.source.random() < 0.9 else []
        if self.source.random() < 0.3:
            parts.append(self.leaf(seen, sensitive=False))
            seen.add("AND")
        aggregates = [
            "COUNT(*)",
            "COUNT(kids)",
            "SUM(age)",
            "SUM(2 * age - score + 1)",
            "SUM(kids)",
            "SUM(weight)",
            "SUM(weight * age)",
            "SUM(age) / COUNT(*)",
        ]
        if self.source.random() < 0.4:
            seen.add("AVG")
            aggregates = ["AVG(age)", "AVG(kids)", "AVG(age * score)", "AVG(weight)", "2 * AVG(score) - 1"]
        elif self.source.random() < 0.4:
            seen.add("STDDEV")
            aggregates = ["STDDEV(age)", "STDDEV_POP(score)", "VAR_SAMP(kids)", "VAR_POP(age)", "STDDEV(kids + score)"]
        chosen = self.source.choice(aggregates, self._number(1, 2), replace=False)
        groups = self._pick("", "", "region", "kids", "device", "region, device", "kids, region")
        if groups:
            seen.add("GROUP BY")
        if depth == 3:
            seen.add("three deep")
        for word in seen:
            self._count(word)
        shown = ", ".join(
            [*(g.strip() for g in groups.split(",") if g), *(f"{a} AS x{i}" for i, a in enumerate(chosen))]
        )
        where = f" WHERE {' AND '.join(parts)}" if parts else ""
        return f"SELECT {shown} FROM town{where}{f' GROUP BY {groups}' if groups else ''}"
