"""Rewrite functionals for layouts that round: values become ends of the domain, weighted by a predicate.

A vector over an attribute that is affine where it is not zero, as the values within a range are, equals its support
times the mean of the rounded value. A layout that embeds has each attribute either plain or doubled; a count is the
average over both ways to read it. With double rounding, readings use only reports whose number of rows was rounded up,
and a count is the average over the parts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Term, Vector

__all__ = ["rewritten"]


def rewritten(service: ServiceContract, functional: Functional) -> Functional:
    """Return the functional over attributes and derived attributes whose mean over roundings is the given one."""
    if not service.derived:
        return functional
    sizes = tuple(levels.size for levels in service.levels)
    terms = [rewritten for term in functional.terms for rewritten in _rewritten(service, term)]
    return Functional(sizes, tuple(terms))


def _rewritten(service: ServiceContract, term: Term) -> Iterator[Term]:
    plain = len(service.service.sensitive)
    places = {derived.source: plain + i for i, derived in enumerate(service.derived)}
    if service.makes_rows_up:
        yield from _where_full(service, term, places)
        return
    embeds = service.derived[0].kind == "embed"
    valued = [i for i, vector in term.factors.items() if np.ptp(vector[vector != 0]) > 0]
    if not valued and embeds:
        for source, place in places.items():
            factors = dict(term.factors)
            if source in factors:
                factors[place] = _double(factors.pop(source), 1.0, 1.0)
            yield Term(term.coefficient / len(places), factors)
        return
    factors = dict(term.factors)
    for i in valued:
        if i not in places:
            raise _not_rounded(service, i)
        support, low, high = _affine(service, i, term.factors[i])
        if embeds:
            del factors[i]
            factors[places[i]] = _double(support, low, high)
        else:
            factors[i] = support
            factors[places[i]] = np.array([low, high])
            if support.all():
                del factors[i]
    yield Term(term.coefficient, factors)


def _where_full(service: ServiceContract, term: Term, places: dict[int, int]) -> Iterator[Term]:
    """Return a term over rows: read only where the number of rows was rounded up to the most that count."""
    if not term.factors:
        yield term
        return
    factors = dict(term.factors)
    presence = factors.pop(len(service.service.sensitive), np.array([1.0]))
    valued = [i for i, vector in factors.items() if np.ptp(vector[vector != 0]) > 0]
    if presence[1:].any():
        message = (
            "Reports with double rounding (mechanism ahio) do not show who has rows. Mechanisms that can answer: hio, "
            "fc."
        )
        raise UnanswerableError(message)
    if len(valued) > 1 or any(i not in places for i in valued):
        raise _not_rounded(service, valued[-1])
    parts, ends = (valued, 1) if valued else (list(places), len(places))
    for source in parts:
        low, high, rewritten = 1.0, 1.0, dict(factors)
        if valued:
            rewritten[source], low, high = _affine(service, source, factors[source])
            if rewritten[source].all():
                del rewritten[source]
        rewritten[places[source]] = presence[0] * np.array([0.0, 0.0, low, high])
        yield Term(term.coefficient / ends, rewritten)


def _affine(service: ServiceContract, attribute: int, vector: Vector) -> tuple[Vector, float, float]:
    """Return where a vector lies on its line, and the line's values at both ends of the domain.

    Where the line itself is zero, the vector is on it whether the predicate holds or not.
    """
    index, tiny = np.flatnonzero(vector), 1e-9 * float(np.abs(vector).max())
    slope, offset = np.polyfit(index, vector[index], 1)
    line = offset + slope * np.arange(len(vector))
    support = np.abs(vector - line) <= tiny
    if not support[index].all():
        raise _not_rounded(service, attribute)
    return support.astype(np.float64), float(line[0]), float(line[-1])


def _double(vector: Vector, low: float, high: float) -> Vector:
    """Return a vector over the doubled domain: mirrored for values rounded down, then for those rounded up."""
    return np.concatenate([low * vector[::-1], high * vector])


def _not_rounded(service: ServiceContract, attribute: int) -> UnanswerableError:
    name = service.service.sensitive[attribute].name
    message = (
        f"{name} was rounded to the ends of its domain (mechanism {service.layout}), which answers sums of its values "
        "and counts only. Mechanisms that can answer more: hio, fc."
    )
    return UnanswerableError(message)
