"""Choose the layout for ``mechanism="auto"``: the least predicted error on ranges of one and two attributes.

The comparison asks for half of the values of every attribute and of every pair of attributes, over uniform records; the
candidate with the smallest mean variance wins, and the contract says by how much. A layout that reports all attributes
together sees every interaction; any other must assume that there is none. So complete layouts within `COMPLETE` times
the least variance take precedence, and among these the one with the least variance for all attributes at once wins.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import MAX_ENTRIES, ServiceContract, compile_service, plan_service
from tacit.contract.files import service_data
from tacit.contract.layouts import CANDIDATES, Asked, Expected
from tacit.contract.layouts.partitions import mean_variance as designed_variance
from tacit.contract.layouts.questions import pool_means
from tacit.contract.rules import MAX_BYTES
from tacit.contract.schema import Service
from tacit.errors import LayoutError, UnanswerableError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_variance

__all__ = ["choose_layout", "mean_variance", "shows_all"]

MOST_VIEWS = 400
"""Maximum views of a product of levels: with more, each view would get too few people."""

FEW_VIEWS = 60
"""Maximum number of designed views whose variance is computed from the channel itself."""

MOST_QUESTIONS = 36
"""Maximum questions of a comparison: all single attributes and pairs of eight attributes."""

COMPLETE = 1.33
"""Maximum variance, relative to the least, at which a layout that reports all attributes together still wins."""

MOST_EXACT = 12
"""Questions, from the heaviest to the lightest, for which a design is compared with other layouts."""

RIVALS = ("fc", "hio", "am(2)", "am(3)")
"""What a design for questions is compared with."""

BETTER = 0.98
"""Variance over the design's that another layout must have to be taken."""

LISTED = 18
"""Minimum bytes of a view of two attributes in a contract with hundreds of attributes."""

ALONE = (
    "one attribute at a time, because views of every pair do not fit in a contract; questions about several attributes "
    "have no unbiased answer"
)

FIRST = 0.18
"""Start of the compared ranges, as a share of the values."""


def choose_layout(service: Service, expected: Expected, oracle: str) -> ServiceContract:
    """Compile the service in each candidate layout; return the best one, with the reason."""
    if expected.asked:
        return _best_for(service, expected, oracle)
    compared: dict[str, tuple[float, ServiceContract, ServiceContract]] = {}
    refused: list[str] = []
    present = Service(service.name, service.key, service.attributes)  # compare as if everybody had a row
    for name in CANDIDATES:
        if name == "pairs" and "partitions" in compared:
            continue
        try:
            compiled = compile_service(service, expected, name, oracle, hint=False)
            known = expected.users is not None and name == "partitions"  # compared without users=
            judged = compiled
            if known or not service.one_to_one:
                any_number = replace(expected, users=None) if known else expected
                judged = compile_service(present, any_number, name, oracle, hint=False)
        except LayoutError:
            refused.append(name)
            continue
        if _is_short(compiled) and (name != "hio" or len(compiled.channels[0].views) <= MOST_VIEWS):
            compared[name] = _variance(present, replace(expected, users=None), judged), compiled, judged
    if not compared:
        return _one_at_a_time(service, expected, oracle, refused)
    ranked = sorted(compared.items(), key=lambda item: item[1][0])
    least = ranked[0][1][0]
    complete = [item for item in ranked if shows_all(item[1][1]) and item[1][0] <= COMPLETE * least]
    if len(complete) > 1 and len(service.sensitive) > 2:
        complete.sort(key=lambda item: together_variance(item[1][2]))
    layout, (variance, compiled, _) = (complete or ranked)[0]
    others = _relative({name: result[0] / variance for name, result in ranked if name != layout and variance > 0})
    reason = (
        "least predicted variance"
        if variance == least
        else "reports all attributes together at about the least variance"
    )
    why = f"{reason} on ranges of one and two attributes; others, relative to it: {others}"
    why = f"{compiled.why}; variance of others: {others}" if compiled.why else why
    return replace(compiled, why=why)


def _relative(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2g}" for name, ratio in ratios.items()) or "none"


def _best_for(service: Service, expected: Expected, oracle: str) -> ServiceContract:
    """Return the service in the layout with the least variance of the questions expected, relative to the design's.

    Designs assume that what views say is a product over attributes; where that costs too much, and at large budgets
    where few views are best, one of the simpler layouts wins, of those that show every two attributes together.
    """
    designed = compile_service(service, expected, "partitions", oracle)
    present = Service(service.name, service.key, service.attributes)
    step = -(-len(expected.asked) // MOST_EXACT)
    questions = sorted(expected.asked, key=lambda question: -question.weight)[::step]
    scores: dict[str, float] = {}
    compiled = {"partitions": designed}
    base: list[float] = []
    for name in ("partitions", *(RIVALS if len(service.sensitive) > 1 else RIVALS[:1])):
        try:
            candidate = compiled.get(name) or compile_service(service, expected, name, oracle, hint=False)
            any_number = expected.users is not None or not service.one_to_one
            judged = candidate
            if any_number:
                judged = compile_service(present, replace(expected, users=None), name, oracle, hint=False)
            if name != "partitions" and (not _is_short(candidate) or len(candidate.channels[0].views) > MOST_VIEWS):
                continue
            variances = pool_means(questions, _variances(judged, questions))
        except (LayoutError, UnanswerableError):
            continue
        base = base or variances
        ratios = [mine / known for mine, known in zip(variances, base, strict=True) if known > 0]
        weights = [question.weight for question, known in zip(questions, base, strict=True) if known > 0]
        compiled[name], scores[name] = candidate, float(np.average(ratios, weights=weights)) if ratios else 1.0
    name = min(scores, key=lambda layout: scores[layout], default="partitions")
    others = _relative({other: score / scores[name] for other, score in scores.items() if other != name})
    if name == "partitions" or scores[name] > BETTER:
        return replace(designed, why=f"{designed.why}; variance of others: {others}") if scores else designed
    why = f"least predicted variance of {len(expected.asked)} questions; others, relative to it: {others}"
    return replace(compiled[name], why=why)


def _variances(compiled: ServiceContract, questions: Sequence[Asked]) -> list[float]:
    """Return the variance of each question that is asked, over uniform records."""
    decoder, uniform = Decoder(compiled), Population.of(compiled)
    sizes = tuple(levels.size for levels in compiled.levels)
    functionals = [
        reduce(Functional.__mul__, (Functional.of(sizes, i, vector) for i, vector in question.vectors.items()))
        for question in questions
    ]
    return [expected_variance(decoder, functional, uniform) for functional in functionals]


def _variance(service: Service, expected: Expected, compiled: ServiceContract) -> float:
    """Return the mean variance of half-ranges of one and two attributes; the design's value if it has many views."""
    if compiled.layout != "partitions" or len(compiled.channels[0].views) <= FEW_VIEWS:
        return mean_variance(compiled)
    sizes = [levels.size for levels in compiled.levels]
    alone = [{i: _half(size).astype(np.float64)} for i, size in enumerate(sizes) if size > 1]
    functionals = [*alone, *(left | right for left, right in itertools.combinations(alone, 2))]
    if not functionals:
        return 0.0
    questions = [Asked(1.0, vectors) for vectors in functionals[:MOST_QUESTIONS]]
    return designed_variance(plan_service(service, expected), questions)


def _is_short(compiled: ServiceContract) -> bool:
    """Return whether a service's views fit in a contract, which lists views of two attributes one by one."""
    views = sum(len(channel.views) for channel in compiled.channels)
    if compiled.layout not in ("pairs", "partitions"):
        return views * len(compiled.levels) <= MAX_ENTRIES
    declared = 2 * len(json.dumps(service_data(compiled.service)))  # attributes, and their levels
    return views * len(compiled.levels) <= MAX_ENTRIES and declared + LISTED * views <= MAX_BYTES


def _one_at_a_time(service: Service, expected: Expected, oracle: str, refused: Sequence[str]) -> ServiceContract:
    """Return the service with one view per attribute, where views of several attributes do not fit in a contract.

    If that fails too, raise the first candidate's error with a hint.
    """
    try:
        return replace(compile_service(service, expected, "am(1)", oracle, hint=False), why=ALONE)
    except LayoutError:
        return compile_service(service, expected, refused[0] if refused else "am(1)", oracle)


def shows_all(compiled: ServiceContract) -> bool:
    """Return whether some view reports all attributes together in single values, so that it sees every interaction."""
    return any(
        all(level == levels.finest for level, levels in zip(view.levels, compiled.levels, strict=True))
        for channel in compiled.channels
        for view in channel.views
    )


def mean_variance(compiled: ServiceContract) -> float:
    """Return the mean variance of half-ranges of one and two attributes, over uniform records."""
    ranges = _half_ranges(compiled)
    ranges += [left * right for left, right in itertools.combinations(ranges, 2)]
    return _mean_variance(compiled, ranges[:MOST_QUESTIONS])


def together_variance(compiled: ServiceContract) -> float:
    """Return the variance of a half-range of all attributes at once, which measures how well interactions are seen."""
    ranges = _half_ranges(compiled)
    return _mean_variance(compiled, [reduce(Functional.__mul__, ranges)] if ranges else [])


def _mean_variance(compiled: ServiceContract, functionals: Sequence[Functional]) -> float:
    decoder, uniform = Decoder(compiled), Population.of(compiled)
    variances = [expected_variance(decoder, functional, uniform) for functional in functionals]
    return float(np.mean(variances)) if variances else 0.0


def _half_ranges(compiled: ServiceContract) -> list[Functional]:
    """Return a range of half of the values of each attribute that has several."""
    sizes = tuple(levels.size for levels in compiled.levels)
    halves = [Functional.of(sizes, i, _half(size)) for i, size in enumerate(sizes)]
    return [half for half in halves if half.attributes]


def _half(size: int) -> npt.NDArray[np.bool_]:
    """Return a range of half of the values whose ends lie within cells of most levels, as is typical."""
    start = int(FIRST * size)
    return (np.arange(size) >= start) & (np.arange(size) < start + (size + 1) // 2)
