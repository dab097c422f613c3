"""The cells of the paper's figures 4, 5, 7, 8 and 9: data, attributes, size of questions, people, and what varies."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CELLS", "CURATED", "EPSILONS", "FEW", "MIXED", "QUESTIONS", "RUNS", "SHAPES", "Cell", "name_of"]

RUNS, QUESTIONS = 20, 50
EPSILONS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
FEW = (0.5, 1.0, 1.5, 2.0)
"""Budgets where something else varies."""


@dataclass(frozen=True)
class Cell:
    """One panel of figures 4 and 5."""

    figure: str
    data: str
    attributes: int
    asked: int
    people: int


BINARY = [(8, 3), (16, 3), (16, 6), (32, 3), (32, 6), (32, 8)]
CELLS = [
    *(Cell("4", "retail", d, k, 2**16) for d, k in BINARY),
    Cell("5", "adult", 8, 3, 2**16),
    Cell("5", "acs", 8, 3, 2**16),
    *(Cell("4", "retail", d, k, 2**18) for d, k in BINARY),
    Cell("5", "adult", 8, 3, 2**18),
    Cell("5", "acs", 8, 3, 2**18),
    Cell("5", "acs", 16, 6, 2**18),
]
"""In the order of importance."""

SHAPES = [
    *(("retail", 8, 3, 2**16, 0.6, shown, views) for shown in (1, 2, 3, 4, 6) for views in (8, 16, 28)),
    *(("retail", 8, 3, 2**16, epsilon, shown, 28) for epsilon in EPSILONS for shown in (1, 2, 3, 4, 6)),
]
"""Figure 7: data, attributes, size of questions, people, epsilon, attributes of a view, views."""

MIXED = [
    *(("8", "retail", 16, k, 2**16, epsilon, other) for k in (3, 6, 8) for epsilon in EPSILONS for other in (3, 6, 8)),
    *(("8", "retail", 16, k, 2**16, epsilon, other) for k in (3, 6, 8) for epsilon in FEW for other in range(2, 17)),
    *(("9", "retail", 16, k, 2**18, epsilon, other) for epsilon in FEW for k in range(3, 11)
      for other in sorted({3, k})),
]  # fmt: skip
"""Figures 8 and 9: figure, data, attributes, size of questions, people, epsilon, size that views are chosen for."""

CURATED = [("8", "retail", 16, k, 2**16, epsilon) for k in (3, 6, 8) for epsilon in EPSILONS]
"""Points of figure 8 for PriView, whose curator is trusted."""


def name_of(*words: object) -> str:
    """Return the name of a point."""
    return " | ".join(map(str, words))
