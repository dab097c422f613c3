"""How far a design is from the limit: the least variance of any channel that sends one report, by class of questions.

With M = Q'D^-1 Q of a channel Q, D = diag(Q 1), the best linear decoder has mean variance ``(tr(M^-1 A) - tr A) / n``
over uniform records and questions with mean Gram matrix A; ``M 1 = 1``, and epsilon-LDP bounds the trace of M by T. So
no channel has less than

    [ 1'A1/n + (tr sqrt(P A P))**2 / (T - 1) - tr A ] / n,     P = I - 11'/n.

A of two attributes is a product, whose eigenvalues are products; those of P A P lie between them, so the largest one is
left out. The limit cannot be reached for single vectors, such as sums, nor at large epsilon, where it may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tacit.contract.layouts.design import SetDesign, design_variances
from tacit.contract.layouts.grams import Matrix, point_gram, range_gram
from tacit.contract.layouts.questions import QuestionClass
from tacit.contract.layouts.shifted import AttributeShape

__all__ = ["least_variance", "over_the_limit"]

MOST_SETS = 36
"""Maximum sets of attributes that are compared."""

FARTHEST = 20.0
"""Ratio above which the limit is uninformative."""

Gram = Callable[[int, bool], Matrix]


def least_variance(grams: Sequence[Matrix], epsilon: float) -> float:
    """Return the limit for questions that are products over attributes, with a mean Gram matrix for each.

    Examples
    --------
    >>> round(least_variance([np.eye(16) / 16], 1.0), 3)
    3.186
    """
    values = math.prod(len(gram) for gram in grams)
    roots, total, trace = np.ones(1), 1.0, 1.0
    for gram in grams:
        centred = gram - (0.0 if len(grams) > 1 else 1.0) * _means(gram)
        roots = np.multiply.outer(roots, np.sqrt(np.maximum(np.linalg.eigvalsh(centred), 0.0))).ravel()
        total, trace = total * float(gram.sum()), trace * float(np.trace(gram))
    said = float(roots.sum() - (roots.max() if len(grams) > 1 else 0.0)) ** 2
    return (total / values + said / (_most_trace(values, epsilon) - 1) - trace) / values


def _means(gram: Matrix) -> Matrix:
    """Return what taking means out of both sides subtracts."""
    means: Matrix = gram.mean(axis=0) + gram.mean(axis=1)[:, None] - gram.mean()
    return means


def _most_trace(values: int, epsilon: float) -> float:
    grown = math.exp(min(epsilon, 30.0))
    best = values / (grown + 1)
    sizes = {max(1, min(values - 1, round(best * factor))) for factor in np.linspace(0.5, 1.5, 41)} | {1}
    return max(values * (k * grown**2 + values - k) / (k * grown + values - k) ** 2 for k in sizes)


def over_the_limit(designs: Sequence[SetDesign], shapes: Sequence[AttributeShape], epsilon: float) -> dict[str, float]:
    """Return the expected variance over the limit of each class of questions, in the geometric mean over attributes.

    ``shapes`` are those of coarse copies. Classes for which the limit is uninformative are left out.
    """
    classes: dict[str, list[QuestionClass]] = {}
    for attributes in [design.attributes for design in designs if len(design.attributes) < 3][:MOST_SETS]:
        shapes_shown = [shapes[i] for i in attributes]
        behind = " of two" if len(attributes) == 2 else ""
        grams: dict[str, Gram] = {"values": point_gram}
        if all(shape.ordered for shape in shapes_shown):
            grams = {"ranges": range_gram, "values": point_gram}
        for name, gram in grams.items():
            gram_of = {i: gram(shape.values, shape.null) for i, shape in zip(attributes, shapes_shown, strict=True)}
            classes.setdefault(name + behind, []).append(QuestionClass(1.0, gram_of))
    ratios = {}
    for name, questions in classes.items():
        least = [least_variance(list(question.grams.values()), epsilon) for question in questions]
        if min(least) <= 0:
            continue
        ratio = math.exp(float(np.mean(np.log(np.array(design_variances(designs, questions, epsilon)) / least))))
        if ratio < FARTHEST:
            ratios[name] = ratio
    return ratios
