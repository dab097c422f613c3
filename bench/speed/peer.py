"""pure-ldp's exact local hashing: its client makes the reports beforehand, its server is timed."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

__all__ = ["Served", "olh_variance", "serve"]


@dataclass(frozen=True)
class Served:
    """All frequencies of a domain, and how long aggregating and estimating took."""

    seconds: float
    estimates: npt.NDArray[np.float64]


def serve(values: npt.NDArray[np.int64], size: int, epsilon: float, seed: int) -> Served:
    """Encode with the package's client, then time its server on all reports and on all values."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the package draws from numpy's global generator)
    client, server = (made(epsilon, size, use_olh=True) for made in (LHClient, LHServer))
    reports = [client.privatise(value) for value in (values + 1).tolist()]  # it numbers values from 1
    start = time.perf_counter()
    for report in reports:
        server.aggregate(report)
    estimates = np.asarray(server.estimate_all(range(1, size + 1)))
    return Served(time.perf_counter() - start, estimates)


def olh_variance(size: int, epsilon: float) -> float:
    """Return the variance per report of one frequency, averaged over a uniform domain, with the package's g."""
    e = math.exp(epsilon)
    g = round(e) + 1
    p, q = e / (e + g - 1), 1 / g
    true, false = p * (1 - p), q * (1 - q)
    return ((size - 1) * false + true) / size / (p - q) ** 2
