"""Figure 6: an SVM trained on rows drawn from a method's six-way table, judged on real rows it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.calm.figures import EPSILONS, name_of
from bench.calm.methods import METHODS
from bench.calm.populations import SVM, Population, population
from bench.common import figure, seed_of

__all__ = ["svm_points"]

RUNS = 10
TRAINED = 40_000
"""Rows drawn from a table; equal ones are given to the SVM once, with their number as weight, which is the same."""

COPIES = (1, 4, 16)
"""How often the people are repeated, as in the paper."""


def _features(rows: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([np.eye(size)[rows[:, i]] for i, size in enumerate(sizes[:-1])], axis=1)


def _missed(train: np.ndarray, test: np.ndarray, sizes: tuple[int, ...]) -> float:
    """Return the share of test rows that an SVM trained on other rows gets wrong."""
    from sklearn.svm import SVC

    rows, weights = np.unique(train, axis=0, return_counts=True)
    labels = rows[:, -1]
    if len(np.unique(labels)) < 2:
        return float(np.mean(test[:, -1] != labels[0]))
    machine = SVC(kernel="rbf").fit(_features(rows, sizes), labels, sample_weight=weights)
    cells, place = np.unique(test[:, :-1], axis=0, return_inverse=True)  # few combinations, many rows
    guessed = machine.predict(_features(np.column_stack([cells, np.zeros(len(cells), dtype=np.int64)]), sizes))
    return float(np.mean(guessed[place.ravel()] != test[:, -1]))


@lru_cache(maxsize=8)
def _six(data: Path, name: str, most: int) -> Population:
    features, label = SVM[name]
    people = population(data, name, 8, 48_000, most=most)
    chosen = [people.names.index(column) for column in (*features, label)]
    sizes = tuple(people.sizes[i] for i in chosen)
    return Population(people.rows[:, chosen].astype(np.int64), sizes, (*features, label), repeated=False)


def _drawn(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flat = np.maximum(table.ravel(), 0)
    cells = rng.choice(flat.size, TRAINED, p=flat / flat.sum())
    return np.stack(np.unravel_index(cells, table.shape), axis=1)


def measure(data: Path, name: str, most: int, copies: int, epsilon: float, method: str) -> dict[str, Any]:
    """Return the share of wrong labels over a few runs."""
    people = _six(data, name, most)
    rng = np.random.default_rng(seed_of(name, most, copies, epsilon, method))
    order = np.random.default_rng(seed_of(name, most)).permutation(len(people.rows))  # the same for all methods
    cut = len(order) * 4 // 5
    train, test = people.rows[order[:cut]], people.rows[order[cut:]]
    if method == "Majority":
        return {"wrong": figure(np.mean(test[:, -1] != np.bincount(train[:, -1]).argmax())), "wrong_std": 0.0}
    many = Population(np.tile(train, (copies, 1)), people.sizes, people.names, repeated=copies > 1)
    asked = tuple(range(len(people.sizes)))
    if method == "NoNoise":
        flat = np.ravel_multi_index(train.T, people.sizes)
        real = np.bincount(flat, minlength=int(np.prod(people.sizes))).reshape(people.sizes)
        tables = np.stack([real] * RUNS)
    else:
        made = METHODS[method](many, epsilon, len(asked), RUNS, rng)
        if made is None:
            return {"left_out": "more coefficients than people"}
        tables = made(asked)
    wrong = [_missed(_drawn(np.asarray(table), rng), test, people.sizes) for table in tables]
    return {"wrong": figure(np.mean(wrong)), "wrong_std": figure(np.std(wrong, ddof=1) if len(wrong) > 1 else 0.0)}


def svm_points(data: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return all points of figure 6."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for name in SVM:
        for most in (2, 3):
            for method in ("NoNoise", "Majority"):
                words = name, most, 1, 0.0, method
                found[name_of("6", *words)] = lambda words=words: measure(data, *words)  # type: ignore[misc]
            for copies in COPIES:
                for epsilon in EPSILONS:
                    for method in ("tacit", "CALM", "FT", "AM", "FC"):
                        words = name, most, copies, epsilon, method
                        found[name_of("6", *words)] = lambda words=words: measure(data, *words)  # type: ignore[misc]
    return found
