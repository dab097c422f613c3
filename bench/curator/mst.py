"""A maximum-spanning-tree mechanism, as a comparator: noisy single columns, a private tree of pairs, noisy pairs.

A third of the budget counts every column; a third chooses the edges of a tree, one after another, by the exponential
mechanism on the distance of a pair from the independence of the published columns (one record changes it by at most 1);
a third counts the pairs of the tree. Values below three standard deviations of noise are merged first, as its authors
do. The fit makes pairs non-negative, gives them the columns' tables as margins, and follows the tree. Noise is
continuous Laplace, drawn by numpy: for comparison only.

Reference   McKenna, Miklau and Sheldon 2021, with pure differential privacy in place of zCDP.
"""

from __future__ import annotations

import itertools

import numpy as np

from tacit.model.entropy import maximum_entropy
from tacit.model.nonnegative import norm_sub
from tacit.model.spanning import path_between

__all__ = ["Mst"]


class Mst:
    """A release, and its tables as shares of people."""

    def __init__(self, rows: np.ndarray, sizes: tuple[int, ...], epsilon: float, source: np.random.Generator) -> None:
        third, count = epsilon / 3, len(sizes)
        scale = count / third
        singles = [
            np.bincount(rows[:, i], minlength=size) + source.laplace(0, scale, size) for i, size in enumerate(sizes)
        ]
        self.people = max(1.0, float(np.mean([own.sum() for own in singles])))
        self.groups = [_merged(own, 3 * scale * 2**0.5) for own in singles]
        self.single = [
            norm_sub(np.bincount(group, own) / self.people) for group, own in zip(self.groups, singles, strict=True)
        ]
        self.within = [_within(group, own) for group, own in zip(self.groups, singles, strict=True)]
        merged = np.stack([group[rows[:, i]] for i, group in enumerate(self.groups)], axis=1)
        pairs = {pair: _counts(merged, pair, self.single) for pair in itertools.combinations(range(count), 2)}
        gaps = {
            (i, j): float(np.abs(table - self.people * np.multiply.outer(self.single[i], self.single[j])).sum())
            for (i, j), table in pairs.items()
        }
        self.neighbours: dict[int, list[int]] = {i: [] for i in range(count)}
        self.tables: dict[tuple[int, int], np.ndarray] = {}
        group = list(range(count))
        for _ in range(count - 1):
            apart = [pair for pair in pairs if group[pair[0]] != group[pair[1]]]
            scores = np.array([gaps[pair] for pair in apart])
            i, j = apart[int(np.argmax(scores + source.gumbel(0, 2 * (count - 1) / third, len(scores))))]
            noisy = pairs[i, j] + source.laplace(0, (count - 1) / third, pairs[i, j].shape)
            fitted = norm_sub(noisy.ravel() / self.people).reshape(noisy.shape) + 1e-9
            self.tables[i, j] = maximum_entropy(
                noisy.shape, [(0,), (1,)], [self.single[i], self.single[j]], fitted
            ).table
            self.neighbours[i].append(j)
            self.neighbours[j].append(i)
            group = [group[i] if own == group[j] else own for own in group]

    def _pair(self, i: int, j: int) -> np.ndarray:
        return self.tables[i, j] if i < j else self.tables[j, i].T

    def table(self, asked: tuple[int, ...]) -> np.ndarray:
        """Return the shares of one, two or three columns: those of the smallest subtree that connects them."""
        nodes = sorted({k for other in asked for k in path_between(self.neighbours, asked[0], other)} | set(asked))
        made, known, seen = self.single[asked[0]], [asked[0]], {asked[0]}
        while seen != set(nodes):
            new = next(k for k in nodes if k not in seen and any(n in known for n in self.neighbours[k]))
            parent = next(n for n in self.neighbours[new] if n in known)
            given = self._pair(parent, new)
            given = given / np.maximum(given.sum(axis=1, keepdims=True), 1e-12)
            axis = known.index(parent)
            made = made[..., None] * given.reshape(*(len(given) if k == axis else 1 for k in range(made.ndim)), -1)
            known.append(new)
            seen.add(new)
            needed = {*asked, *(n for k in nodes if k not in seen for n in self.neighbours[k])}
            for axis in reversed(range(len(known))):
                if known[axis] not in needed:
                    made = made.sum(axis=axis)
                    known.pop(axis)
        made = made.transpose([known.index(k) for k in asked])
        for axis, k in enumerate(asked):
            made = np.moveaxis(np.tensordot(made, self.within[k], (axis, 0)), -1, axis)
        return made


def _merged(counts: np.ndarray, least: float) -> np.ndarray:
    """Return groups of values: each frequent one alone, the others together."""
    frequent = counts >= least
    groups = np.cumsum(frequent) - 1
    rest = int(frequent.sum())
    return np.where(frequent, groups, rest) if rest else np.arange(len(counts))


def _within(group: np.ndarray, counts: np.ndarray) -> np.ndarray:
    held = (np.arange(group.max() + 1)[:, None] == group).astype(float)
    shares = held * np.maximum(counts, 1e-9)
    return shares / shares.sum(axis=1, keepdims=True)


def _counts(merged: np.ndarray, pair: tuple[int, int], single: list[np.ndarray]) -> np.ndarray:
    sizes = [len(single[k]) for k in pair]
    return np.bincount(merged[:, pair[0]] * sizes[1] + merged[:, pair[1]], minlength=sizes[0] * sizes[1]).reshape(sizes)
