"""Noise: integers from OpenDP's discrete Laplace mechanism, or its discrete Gaussian one.

Mechanism   y = x + Z, P(Z = k) = (1 - a)/(1 + a) a**|k| with a = exp(-1/scale), independent for every number.
Guarantee   Numbers that one record moves by at most ``sensitivity`` together (L1) lose at most sensitivity/scale. The
            scale is a double, which OpenDP takes as the exact fraction it is; it is rounded up, so that the exact loss
            is at most epsilon.
Variance    2a/(1 - a)**2 per number, near 2 scale**2.
Gaussian    P(Z = k) in proportion to exp(-k**2/(2 scale**2)): numbers of which one record moves one by 1 cost
            1/(2 scale**2) of zCDP, at most rho, with the scale rounded up (`tacit.central.concentrated`).
Sampling    OpenDP, from the operating system's generator; about 7 microseconds a number and core.
Reference   Ghosh, Roughgarden and Sundararajan 2012; Canonne, Kamath and Steinke 2020.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.errors import PrivacyError, UsageError

__all__ = ["Gaussian", "Ints", "Laplace", "Law", "NoiseSource", "OpenDp"]

Ints = npt.NDArray[np.int64]

MAX_SCALE = 2.0**40
"""Noise stays far below 64 bits; more would make every answer useless."""

CHUNK = 1 << 14
"""Numbers per call of the library: it uses Python lists, and threads take turns between calls."""


@dataclass(frozen=True)
class Laplace:
    """The discrete Laplace distribution for a budget and a sensitivity.

    Examples
    --------
    >>> Laplace(Fraction(1, 10)).scale, Laplace(Fraction(1, 3)).loss <= Fraction(1, 3)
    (10.0, True)
    """

    epsilon: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or self.sensitivity < 1:
            message = "A budget and a sensitivity must be above 0."
            raise UsageError(message, code="epsilon-out-of-range")
        if self.sensitivity / self.epsilon > MAX_SCALE:
            message = (
                f"A budget of {float(self.epsilon):.3g} for a sensitivity of {self.sensitivity} needs noise beyond "
                "2**40. Spend more, or ask in coarser units."
            )
            raise UsageError(message, code="epsilon-out-of-range")

    @property
    def scale(self) -> float:
        """The smallest double with a loss of at most epsilon."""
        exact = self.sensitivity / self.epsilon
        nearest = float(exact)
        return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)

    @property
    def loss(self) -> Fraction:
        """The exact loss: at most epsilon."""
        return self.sensitivity / Fraction(self.scale)

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        return variance_of(self.scale)

    @property
    def mean_noise(self) -> float:
        """Mean absolute value of the noise, about."""
        return self.scale

    @property
    def rho(self) -> Fraction:
        """What it costs in zCDP, if one record moves the numbers by at most 1 together."""
        return (self.epsilon / self.sensitivity) ** 2 / 2


@dataclass(frozen=True)
class Gaussian:
    """The discrete Gaussian distribution for a budget of zCDP, on numbers of which one record moves one by 1.

    Examples
    --------
    >>> Gaussian(Fraction(1, 200)).scale, Gaussian(Fraction(1, 3)).loss <= Fraction(1, 3)
    (10.0, True)
    """

    rho: Fraction

    def __post_init__(self) -> None:
        if not self.rho > 0 or 2 * self.rho * Fraction(MAX_SCALE) ** 2 < 1:
            message = f"A budget of rho = {float(self.rho):.3g} needs noise beyond 2**40. Spend more."
            raise UsageError(message, code="epsilon-out-of-range")

    @property
    def scale(self) -> float:
        """A double near the smallest with a loss of at most rho."""
        scale = math.sqrt(1 / (2 * self.rho))
        while 2 * self.rho * Fraction(scale) ** 2 < 1:
            scale = math.nextafter(scale, math.inf)
        return scale

    @property
    def loss(self) -> Fraction:
        """The exact loss in zCDP: at most rho."""
        return 1 / (2 * Fraction(self.scale) ** 2)

    @property
    def variance(self) -> float:
        """Variance of the noise: at most that of a continuous Gaussian of this scale."""
        return self.scale**2

    @property
    def mean_noise(self) -> float:
        """Mean absolute value of the noise, about."""
        return self.scale * math.sqrt(2 / math.pi)


Law = Laplace | Gaussian
"""How noise is distributed."""


def variance_of(scale: float) -> float:
    """Return the variance of discrete Laplace noise, 2a/(1 - a)**2 with a = exp(-1/scale)."""
    return 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2


class NoiseSource(Protocol):
    """The source of noise: the one seam between algorithms and randomness, so that audits can replay every draw."""

    def noisy(self, numbers: Ints, law: Law) -> Ints:
        """Return the numbers, each with independent noise."""
        ...

    def draws(self, count: int, scale: float) -> Ints:
        """Return noise alone, of any scale."""
        ...


class OpenDp:
    """Noise from the OpenDP library; without the library, creating one fails before anything is spent."""

    def __init__(self) -> None:
        _laplace(1.0)

    def noisy(self, numbers: Ints, law: Law) -> Ints:
        """Return the numbers, each with independent noise, on all cores."""
        measure = _gaussian(law.scale) if isinstance(law, Gaussian) else _laplace(law.scale)
        return self._run(np.ascontiguousarray(numbers, dtype=np.int64), measure)

    def draws(self, count: int, scale: float) -> Ints:
        """Return noise alone, of any scale."""
        return self._run(np.zeros(count, dtype=np.int64), _laplace(scale))

    def _run(self, numbers: Ints, measure: Measure) -> Ints:
        flat = numbers.ravel()
        parts = [flat[start : start + CHUNK].tolist() for start in range(0, len(flat), CHUNK)]
        try:
            if len(parts) < 2:
                draws = [measure(part) for part in parts]
            else:
                with ThreadPoolExecutor(os.cpu_count()) as pool:  # the library releases the GIL
                    draws = list(pool.map(measure, parts))
        except Exception as cause:  # its message might quote counts
            failure = type(cause).__name__
        else:
            out = np.array([number for part in draws for number in part], dtype=np.int64)
            return out.reshape(numbers.shape)
        message = f"The noise library failed ({failure}). Nothing was released."
        raise PrivacyError(message, code="noise-failed")

    def __repr__(self) -> str:
        return "OpenDp()"


Measure = Callable[[list[int]], Sequence[int]]


@lru_cache(maxsize=64)
def _laplace(scale: float) -> Measure:
    """Return OpenDP's discrete Laplace measurement."""
    return _open_measurement("make_laplace", "l1_distance", scale, 1 / Fraction(scale))


@lru_cache(maxsize=64)
def _gaussian(scale: float) -> Measure:
    """Return OpenDP's discrete Gaussian measurement."""
    return _open_measurement("make_gaussian", "l2_distance", scale, 1 / (2 * Fraction(scale) ** 2))


def _open_measurement(name: str, metric: str, scale: float, loss: Fraction) -> Measure:
    """Return a measurement of OpenDP; its own statement of the loss must agree with ours."""
    try:
        from opendp import domains, measurements, metrics, mod
    except ImportError:
        message = "The trusted-curator mode takes its noise from OpenDP. Install the extra: pip install '.[central]'."
        raise UsageError(message, code="missing-package") from None
    mod.enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T="i64")), getattr(metrics, metric)(T="i64")
    measurement: Any = getattr(measurements, name)(*space, scale=scale)
    if not Fraction(measurement.map(1)) <= loss * (1 + Fraction(1, 2**50)):  # its statement is rounded up
        message = "The noise library states a different loss than the scale implies. Nothing was released."
        raise PrivacyError(message, code="noise-failed")
    measure: Measure = measurement
    return measure
