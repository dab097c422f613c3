"""Tests of distributions that do not flake: fixed seeds, a stated false-alarm rate, a mutant that must be caught."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, norm

FALSE_ALARM = 1e-9
"""Chance that a correct mechanism is rejected with a fresh seed."""

Z_ACCEPT = float(norm.isf(FALSE_ALARM / 2))
"""Two-sided: 6.11 standard errors."""


def chi_square(observed: npt.NDArray[np.int64], probability: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the statistic and its critical value; cells of expectation under 5 are pooled."""
    expected = observed.sum() * probability
    if np.any((probability == 0) & (observed > 0)):
        return float("inf"), 0.0
    rare = expected < 5
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    kept = pooled_expected > 0
    statistic = float((((pooled_observed - pooled_expected) ** 2)[kept] / pooled_expected[kept]).sum())
    return statistic, float(chi2.isf(FALSE_ALARM, kept.sum() - 1))


def assert_distribution(
    observed: npt.NDArray[np.int64], probability: npt.NDArray[np.float64], *, mutant: npt.NDArray[np.float64]
) -> None:
    """Accept counts of the stated distribution; the same counts must reject the mutant's."""
    statistic, critical = chi_square(observed, probability)
    assert statistic <= critical, f"chi-square {statistic:.1f} exceeds {critical:.1f}"
    statistic, critical = chi_square(observed, mutant)
    assert statistic > 2 * critical, "the test has no power against its mutant: raise n"


def assert_mean(mean: float, expected: float, error: float, *, mutant: float) -> None:
    """Accept a mean within 6.11 standard errors; the mutant's mean must lie at least 12 away."""
    assert abs(mean - expected) <= Z_ACCEPT * error, f"{(mean - expected) / error:.2f} standard errors off"
    assert abs(mutant - expected) > 12 * error, "the test has no power against its mutant: raise n"
