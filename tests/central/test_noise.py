"""The noise is OpenDP's discrete Laplace, with a scale that never loses more than epsilon."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chances import assert_distribution, assert_mean
from support.tiers import keeping
from tacit.central.noise import Laplace, OpenDp
from tacit.errors import UsageError


def chances(scale: float, reach: int) -> np.ndarray:
    """Return P(Z = -reach..reach) of discrete Laplace noise, tails added to the ends."""
    a = math.exp(-1 / scale)
    k = np.arange(-reach, reach + 1)
    chance = (1 - a) / (1 + a) * a ** np.abs(k)
    chance[[0, -1]] = a**reach / (1 + a)
    return chance


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), keeping([("2", 7)], [("1", 1), ("0.3", 1), ("2", 7)], "200,000 draws of Laplace noise")
)
def test_the_library_draws_the_stated_distribution(epsilon: str, sensitivity: int) -> None:
    """n = 200,000, false alarms 1e-9; fresh randomness of the system. The mutant has a scale 5 % larger."""
    law = Laplace(Fraction(epsilon), sensitivity)
    reach = int(6 * law.scale) + 2
    drawn = np.clip(OpenDp().noisy(np.full(200_000, 40), law) - 40, -reach, reach)
    observed = np.bincount(drawn + reach, minlength=2 * reach + 1)
    assert_distribution(observed, chances(law.scale, reach), mutant=chances(1.05 * law.scale, reach))


def test_the_variance_is_the_stated_one() -> None:
    """n = 200,000, false alarms 1e-9; the fourth moment is that of a Laplace variable. The mutant is the continuous one
    with twice the variance."""
    law = Laplace(Fraction(1, 20))
    drawn = OpenDp().draws(200_000, law.scale).astype(float)
    error = math.sqrt(5 / len(drawn)) * law.variance  # kurtosis 6
    assert_mean(float(np.mean(drawn**2)), law.variance, error, mutant=2 * law.variance)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=30), st.integers(1, 1000))
def test_the_exact_loss_is_at_most_epsilon(epsilon: Fraction, sensitivity: int) -> None:
    law = Laplace(epsilon, sensitivity)
    assert law.loss <= epsilon < law.loss * (1 + Fraction(1, 2**51))


def test_rounding_to_nearest_would_lose_more() -> None:
    """The mutant rounds the scale to the nearest double, which is below the exact one for some budgets."""
    budgets = [Fraction(1, n) * Fraction(3, 7) for n in range(1, 100)]
    assert any(1 / Fraction(float(1 / epsilon)) > epsilon for epsilon in budgets)
    assert all(Laplace(epsilon).loss <= epsilon for epsilon in budgets)


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 17.5, 1e6])
def test_variance_formula_is_that_of_the_distribution(scale: float) -> None:
    from tacit.central.noise import variance_of

    a = math.exp(-1 / scale)
    assert variance_of(scale) == pytest.approx(2 * a / (1 - a) ** 2, rel=1e-6, abs=1e-300)


def test_noise_beyond_all_use_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Laplace(Fraction(1, 10**13))
    assert caught.value.code == "epsilon-out-of-range"


def test_a_missing_extra_is_named() -> None:
    code = """
import sys
sys.modules['opendp'] = None
import tacit as tc
from tacit import central
service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 3)])
ledger = central.Ledger(None, 1)
try:
    ledger.open({"uid": [1], "x": [2]}, service).noisy_count(0.5)
except tc.TacitError as error:
    print(error.code, "[central]" in str(error), ledger.spent)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "missing-package True 0\n"
