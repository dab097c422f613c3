"""The least variance of any channel over a few values, by numerical optimisation: what can be reached.

A row q of a channel adds ``q q' / 1'q`` to M, which is convex and homogeneous in q; so rows may be split into extreme
ones, which have two values, 1 and e**epsilon, and no channel is better than some mixture of these. There are
``2**n - 2`` of them over n values. Their weights t minimise ``tr(M^-1 A)`` under ``sum_S t_S q_S = 1``, a convex
problem: each weight is multiplied by the root of its gain over ``m'q_S``, with multipliers m that keep the condition,
until they prove that next to nothing can be gained.
"""

from __future__ import annotations

import math

import numpy as np

from bench.limit.bound import Matrix

__all__ = ["optimum"]

STEPS = 1_500
EVERYTHING = 1e-5
"""Weight of single values, so that no direction is forgotten altogether."""

ENOUGH = 1.01
"""Variance over the proven lower limit at which the search ends."""


def optimum(gram: Matrix, epsilon: float) -> tuple[float, float]:
    """Return the least variance that was found, and a proven lower limit, per report over uniform records."""
    values, trace = len(gram), float(np.trace(gram))
    gram = gram + EVERYTHING * trace / values * np.eye(values)
    trace = float(np.trace(gram))
    patterns = (np.arange(1, 2**values - 1)[:, None] >> np.arange(values)) & 1
    rows = 1.0 + (math.exp(epsilon) - 1) * patterns
    sums = rows.sum(axis=1)
    weights = np.full(len(rows), values / sums.sum())
    multipliers = np.ones(values)
    best, proven = math.inf, 0.0
    for _ in range(STEPS):
        inverse = np.linalg.inv((rows * (weights / sums)[:, None]).T @ rows)
        value = float((inverse * gram).sum())
        gains = ((rows @ (inverse @ gram @ inverse)) * rows).sum(axis=1) / sums
        roots = weights * np.sqrt(gains)
        multipliers = _keep(roots, rows, multipliers)
        predicted = rows @ multipliers
        best = min(best, value)
        proven = max(proven, value**2 / float(multipliers.sum() * (gains / predicted).max()))
        if best - trace <= ENOUGH * (proven - trace):
            break
        weights = roots / np.sqrt(predicted)
    return (best - trace) / values, (proven - trace) / values


def _keep(roots: Matrix, rows: Matrix, start: Matrix) -> Matrix:
    """Return multipliers m with ``sum_S r_S q_S / sqrt(m'q_S) = 1``: they maximise a concave function."""
    multipliers = start
    for _ in range(50):
        predicted = rows @ multipliers
        slope = (roots / np.sqrt(predicted)) @ rows - 1
        if np.abs(slope).max() < 1e-11:
            break
        curve = (rows * (roots / predicted**1.5 / 2)[:, None]).T @ rows
        step = np.linalg.solve(curve + 1e-12 * np.trace(curve) * np.eye(len(curve)), slope)
        part, value = 1.0, 2 * float(roots @ np.sqrt(predicted)) - float(multipliers.sum())
        while part > 1e-9:
            moved = multipliers + part * step
            ahead = rows @ moved
            if ahead.min() > 0 and 2 * float(roots @ np.sqrt(ahead)) - float(moved.sum()) >= value:
                break
            part /= 2
        multipliers = moved
    return multipliers
