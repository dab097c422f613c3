"""A comparator: HDG (Yang et al., VLDB 2021) over two attributes, from the paper's description.

People are divided into three groups: two report a grid of one attribute each, one a grid of both, by optimised local
hashing. Grids are made non-negative and consistent with each other; a matrix of all values is then fitted to them by
weighted updates, and ranges are sums over it. Reports are drawn as counts of support: binomial for each cell, as
hashing gives them (neighbouring cells are independent but for collisions, which are left out).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["divide", "hdg", "no_negatives", "report"]

Vector = npt.NDArray[np.float64]

ONE, TWO = 0.7, 0.03
"""The constants of the paper that set how fine grids of one and of two attributes are."""

ROUNDS = 3
"""Rounds of making grids consistent and non-negative."""

UPDATES = 100
"""Most rounds of weighted updates."""


def hdg(table: npt.NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """Report everybody, given how many have each pair of values, and return the estimated shares of pairs."""
    size, people = len(table), int(table.sum())
    grown, group = math.exp(epsilon), people / 3
    fine = ((grown - 1) ** 2 * group * ONE**2 / (2 * grown)) ** (1 / 3)
    coarse = math.sqrt(2 * TWO * (grown - 1) * math.sqrt(group / grown))
    g1, g2 = (_power_of_two(number, size) for number in (fine, coarse))
    g1 = max(g1, g2)
    parts = divide(table, 3, rng)
    lines = [report(_blocks(part.sum(axis=1 - axis), g1), epsilon, rng) for axis, part in enumerate(parts[:2])]
    grid = report(_blocks(_blocks(parts[2], g2).T, g2).T, epsilon, rng)
    lines, grid = _agree(lines, grid, g1 // g2)
    return _fill(lines, grid, size)


def _power_of_two(wanted: float, most: int) -> int:
    return max(2, min(most, 2 ** round(math.log2(max(wanted, 2.0)))))


def divide(table: npt.NDArray[np.int64], groups: int, rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Return the tables of random groups of people."""
    people = np.repeat(np.arange(table.size), table.ravel())
    rng.shuffle(people)
    return [np.bincount(part, minlength=table.size).reshape(table.shape) for part in np.array_split(people, groups)]


def _blocks(table: npt.NDArray[np.int64], cells: int) -> npt.NDArray[np.int64]:
    """Return sums over runs of the first axis."""
    made: npt.NDArray[np.int64] = table.reshape(cells, len(table) // cells, *table.shape[1:]).sum(axis=1)
    return made


def report(counts: npt.NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """Return unbiased shares of cells by optimised local hashing."""
    hashes, people = round(math.exp(epsilon)) + 1, int(counts.sum())
    keep, lie = math.exp(epsilon) / (math.exp(epsilon) + hashes - 1), 1 / hashes
    support = rng.binomial(counts, keep) + rng.binomial(people - counts, lie)
    made: Vector = (support / people - lie) / (keep - lie)
    return made


def no_negatives(shares: Vector) -> Vector:
    """Return shares that add up to 1: negative ones become 0, and what is missing is spread over the others."""
    made = shares.copy()
    for _ in range(made.size):
        made = np.maximum(made, 0.0)
        positive = made > 0
        if not positive.any():
            return np.full(made.shape, 1 / made.size)
        missing = 1 - made.sum()
        made[positive] += missing / positive.sum()
        if made.min() >= 0:
            break
    return made


def _agree(lines: list[Vector], grid: Vector, ratio: int) -> tuple[list[Vector], Vector]:
    """Return grids with the same sums over the runs that both show, weighted by their variances, none negative."""
    for _ in range(ROUNDS):
        for axis in range(2):
            line = lines[axis].reshape(-1, ratio)
            sums = [line.sum(axis=1), grid.sum(axis=1 - axis)]
            weights = np.array([1 / ratio, 1 / len(grid)])
            mean = (weights[0] * sums[0] + weights[1] * sums[1]) / weights.sum()
            lines[axis] = (line + ((mean - sums[0]) / ratio)[:, None]).ravel()
            change = (mean - sums[1]) / len(grid)
            grid = grid + (change[:, None] if axis == 0 else change)
        lines, grid = [no_negatives(line) for line in lines], no_negatives(grid)
    return lines, grid


def _fill(lines: list[Vector], grid: Vector, size: int) -> Vector:
    """Return a matrix of all pairs of values that has the sums of all grids, by updates of one cell after the other."""
    made = np.full((size, size), 1 / size**2)
    wide, narrow = size // len(grid), size // len(lines[0])
    for _ in range(UPDATES):
        before = made.copy()
        for axis, line in enumerate(lines):
            sums = made.sum(axis=1 - axis).reshape(-1, narrow).sum(axis=1)
            factor = np.repeat(np.divide(line, sums, out=np.zeros_like(line), where=sums > 0), narrow)
            made *= factor[:, None] if axis == 0 else factor
        blocks = made.reshape(len(grid), wide, len(grid), wide).sum(axis=(1, 3))
        factor = np.divide(grid, blocks, out=np.zeros_like(grid), where=blocks > 0)
        made *= np.kron(factor, np.ones((wide, wide)))
        if np.abs(made - before).sum() < 1e-6:
            break
    return made
