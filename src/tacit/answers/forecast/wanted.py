"""Convert expected questions to the input of a design: vectors over the attributes of each service.

A column of a question is arithmetic of totals, so its linearisation at the answer for uniform records is one
functional: an average under a condition becomes the centred values where the condition holds. Groups of a question
share its weight. Many groups along an ordered attribute are a distribution: most of their weight goes to running
totals, because errors of cells add up when a distribution is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.answers.forecast.expectation import Expectation
from tacit.contract.contract import compile_contract
from tacit.contract.layouts import Asked
from tacit.contract.schema import Ordinal, Schema
from tacit.errors import UsageError
from tacit.estimate.answer import Options
from tacit.estimate.functional import Functional, Vector

__all__ = ["QuestionLike", "asked_by_service"]

QuestionLike = str | tuple[str, float]
"""A question as SQL, or with a weight."""

MOST_GROUPS = 32
"""Maximum groups of a question that represent all of them."""

FINE = 16
"""Minimum groups along an ordered attribute for a distribution."""

TOTALS = 0.8
"""Share of a distribution's weight that goes to its running totals."""


def asked_by_service(schema: Schema, questions: Iterable[QuestionLike]) -> dict[str, tuple[Asked, ...]]:
    """Return, for each service, the vectors that the questions need."""
    provisional = compile_contract(schema, Fraction(1), mechanism="am(1)", oracle="auto", round_name="")
    by_service: dict[str, list[Asked]] = {}
    ordered = {
        service.name: [isinstance(attribute, Ordinal) for attribute in service.sensitive] for service in schema.services
    }
    for text, weight in map(_weight_of, [(questions, 0)] if isinstance(questions, str) else questions):
        expected = Expectation(provisional, text, None, Options(), MOST_GROUPS)
        functionals = list(expected.linearise())
        of_question: dict[str, list[Asked]] = {}
        for functional in functionals:
            for parts in expected.bound.scope.separate(functional):
                for number, local in parts.items():
                    service = expected.bound.scope.sources[number].service
                    vectors = _asks(local, len(service.sensitive), weight / len(functionals))
                    of_question.setdefault(service.name, []).extend(vectors)
        for name, listed in of_question.items():
            by_service.setdefault(name, []).extend(_with_running_totals(listed, ordered[name]))
    return {name: tuple(vectors) for name, vectors in by_service.items() if vectors}


def _with_running_totals(questions: Sequence[Asked], ordered: Sequence[bool]) -> Iterator[Asked]:
    """Yield the vectors of a question's groups and, if they are a distribution, of its running totals."""
    fine = [i for i, sorted_values in enumerate(ordered) if sorted_values and _has_many_runs(questions, i)]
    for question in questions:
        totals = {i: _up_to(question.vectors[i]) for i in fine if i in question.vectors}
        if not totals:
            yield question
            continue
        yield Asked(question.weight * (1 - TOTALS), question.vectors)
        if running := {i: vector for i, vector in {**question.vectors, **totals}.items() if np.ptp(vector)}:
            yield Asked(question.weight * TOTALS, running)


def _has_many_runs(questions: Sequence[Asked], attribute: int) -> bool:
    """Return whether the vectors cover different runs of an attribute's values."""
    runs = set()
    for question in questions:
        places = np.flatnonzero(question.vectors.get(attribute, np.zeros(0)))
        if (
            len(places)
            and places[-1] - places[0] == len(places) - 1
            and not np.ptp(question.vectors[attribute][places])
        ):
            runs.add((int(places[0]), int(places[-1])))
    return len(runs) >= FINE


def _up_to(run: Vector) -> Vector:
    """Return the vector of all values up to the last non-zero one of a vector."""
    last: npt.NDArray[np.int64] = np.flatnonzero(run)
    total: Vector = np.where(np.arange(len(run)) <= last[-1], run[last[-1]], 0.0)
    return total


def _weight_of(question: QuestionLike) -> tuple[str, float]:
    pair = (question, 1.0) if isinstance(question, str) else question
    text, weight = pair if isinstance(pair, Sequence) and len(pair) == 2 else (None, 0)
    if not isinstance(text, str) or isinstance(weight, bool) or not isinstance(weight, int | float) or not weight > 0:
        message = "questions are SQL texts, or pairs of a text and a weight above 0, such as ('SELECT AVG(age) …', 2)."
        raise UsageError(message, code="bad-option")
    return text, float(weight)


def _asks(functional: Functional, attributes: int, weight: float) -> Iterator[Asked]:
    """Yield a functional's vectors over a service's attributes, term by term; every view shows who has no row."""
    terms = [
        (term.coefficient, {i: vector for i, vector in term.factors.items() if i < attributes})
        for term in functional.terms
    ]
    for coefficient, vectors in _merge(terms):
        varying = {i: vector for i, vector in vectors.items() if np.ptp(vector)}
        if varying and coefficient:
            yield Asked(weight, varying)


def _merge(terms: Sequence[tuple[float, dict[int, Vector]]]) -> list[tuple[float, dict[int, Vector]]]:
    """Add up terms that differ in one attribute only."""
    merged: list[tuple[float, dict[int, Vector]]] = []
    for coefficient, vectors in terms:
        for place, (weight, known) in enumerate(merged):
            differing = [i for i in known.keys() | vectors.keys() if not _same(known.get(i), vectors.get(i))]
            if len(differing) == 1:
                [i] = differing
                size = len(known[i] if i in known else vectors[i])
                ones = np.ones(size)
                summed = weight * known.get(i, ones) + coefficient * vectors.get(i, ones)
                merged[place] = 1.0, {**known, **vectors, i: summed}
                break
        else:
            merged.append((coefficient, vectors))
    return merged


def _same(left: Vector | None, right: Vector | None) -> bool:
    return left is not None and right is not None and bool(np.array_equal(left, right))
