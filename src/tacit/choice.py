"""Which layout ``mechanism="auto"`` takes: the one with the least predicted error on ranges of one and two attributes.

Every attribute alone and every two attributes together are asked for half of their values, of records with uniform
attributes; the candidate with the smallest mean variance wins, and the contract says by how much.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.contract import ServiceContract, compile_service
from tacit.decode.decoder import Decoder
from tacit.decode.functional import Functional
from tacit.decode.population import Population
from tacit.decode.variance import expected_variance
from tacit.errors import LayoutError
from tacit.layouts import CANDIDATES
from tacit.schema import Service

__all__ = ["choose_layout", "mean_variance"]

MOST_VIEWS = 400
"""Views above which a product of levels is not even compared: each would have next to nobody."""

MOST_QUESTIONS = 36
"""Questions a comparison asks: all single attributes and pairs of eight attributes."""

FIRST = 0.18
"""Where the ranges that are asked for start, as a share of the values."""


def choose_layout(service: Service, epsilon: Fraction, oracle: str, users: int | None = None) -> ServiceContract:
    """Return the service compiled in the best of the candidate layouts, with the reason."""
    compared: dict[str, tuple[float, ServiceContract]] = {}
    refusals: list[LayoutError] = []
    present = Service(service.name, service.key, service.attributes)  # compared as if everybody had a row
    for name in CANDIDATES:
        try:
            compiled = compile_service(service, epsilon, name, oracle, users=users)
            judged = compiled if service.one_to_one else compile_service(present, epsilon, name, oracle, users=users)
        except LayoutError as refusal:
            refusals.append(refusal)
            continue
        if name != "hio" or len(compiled.channels[0].views) <= MOST_VIEWS:
            compared[name] = mean_variance(judged), compiled
    if not compared:
        raise refusals[0]
    ranked = sorted(compared.items(), key=lambda item: item[1][0])
    layout, (least, compiled) = ranked[0]
    others = ", ".join(f"{name} {variance / least:.2g}" for name, (variance, _) in ranked[1:] if least > 0)
    why = f"least predicted variance on ranges of one and two attributes; others, relative to it: {others or 'none'}"
    why = f"{compiled.why}; variance of others: {others or 'none'}" if compiled.why else why
    return ServiceContract(compiled.service, layout, compiled.levels, compiled.channels, why)


def mean_variance(compiled: ServiceContract) -> float:
    """Return the mean variance of half-ranges of one and two attributes, over uniform records."""
    sizes = tuple(levels.size for levels in compiled.levels)
    halves = [Functional.of(sizes, i, _half(size)) for i, size in enumerate(sizes)]
    asked = [half for half in halves if half.attributes]
    asked += [left * right for left, right in itertools.combinations(asked, 2)]
    decoder, uniform = Decoder(compiled), Population.of(compiled)
    variances = [expected_variance(decoder, functional, uniform) for functional in asked[:MOST_QUESTIONS]]
    return float(np.mean(variances)) if variances else 0.0


def _half(size: int) -> npt.NDArray[np.bool_]:
    """Return a range of half of the values that starts and ends within cells of most levels, as ranges do."""
    start = int(FIRST * size)
    return (np.arange(size) >= start) & (np.arange(size) < start + (size + 1) // 2)
