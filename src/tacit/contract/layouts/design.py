"""The probabilities of views that minimise the mean variance of the wanted answers: a convex design problem.

Views with probabilities pi carry the information ``G = sum_v pi_v u_v W_v'W_v``, and a question f has variance
``f' G^-1 f`` per report (`tacit.contract.layouts.sets`). Variances are relative to those with equally likely nested
levels, and weights of questions are raised until none is worse than there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts.questions import QuestionClass, pool_means
from tacit.contract.layouts.sets import STEPS, AttributeSets, DesignAxis, Set, SetFamilies, Shares
from tacit.contract.layouts.shifted import PartitionFamily
from tacit.contract.layouts.steer import steer

__all__ = ["SetDesign", "design_sets", "design_variances"]

ROUNDS = 5
"""Designs that are tried until no question has a larger variance than with nested levels."""

DRAFT_STEPS, FEW_STEPS = 16, 8
"""Steps of the single design of a draft, and where there are many sets: predicted errors are within a tenth of those of
the final design."""

MANY_SETS = 31
"""Sets of attributes above which only one design is computed."""

LEAST_GROUP = 0.01
"""Share of a set's people below which a width is left out."""

LEAST_SET = 0.05
"""Part of an equal share below which a set is left out, if another one is left for the questions about it."""

UNASKED = 0.05
"""Share of all people who report sets of one or two attributes that no question is about, so that these can be asked
later; sets that are informative about questions have more."""


@dataclass(frozen=True, eq=False)
class SetDesign:
    """The views of one set of attributes: their share of people, and the shares of each attribute's widths."""

    attributes: Set
    share: float
    families: tuple[PartitionFamily, ...]
    groups: tuple[npt.NDArray[np.float64], ...]


def design_sets(
    families: SetFamilies,
    questions: Sequence[QuestionClass],
    epsilon: float,
    *,
    points: bool = False,
    people: tuple[int, Sequence[bool]] | None = None,
    draft: bool = False,
) -> list[SetDesign]:
    """Return the probability of each set of attributes, and of each width of its attributes.

    Questions are over coarse copies of the attributes. Sets that no question is about keep a small share. With
    ``points``, single values of attributes that are larger than their copies keep the share that they have among nested
    levels. ``people`` is their expected number, with which attributes are ordered. A ``draft`` takes fewer steps.
    """
    nested = AttributeSets({shown: [family.nested for family in of_set] for shown, of_set in families.items()}, epsilon)
    levels = {shown: math.prod(len(axis.shares) for axis in axes) for shown, axes in nested.axes.items()}
    before = nested.variances(questions, {shown: count / sum(levels.values()) for shown, count in levels.items()})
    before = pool_means(questions, before)
    weights = [question.weight for question in questions]
    sets_asked = {question.attributes for question in questions}
    unasked = [shown for shown in families if shown not in sets_asked and len(shown) < 3]
    floors = dict.fromkeys(unasked, UNASKED / max(1, len(unasked)))
    tried: list[tuple[float, float, AttributeSets, Shares]] = []
    many = len(families) > MANY_SETS
    steps = (FEW_STEPS if many else DRAFT_STEPS) if draft else STEPS
    for _ in range(1 if draft or many else ROUNDS):
        wanted = [
            replace(question, weight=w / old) for w, old, question in zip(weights, before, questions, strict=True)
        ]
        sets = AttributeSets(families, epsilon, points=points)
        shares = sets.design(wanted, dict.fromkeys(families, 1 / len(families)), floors, steps)
        after = pool_means(questions, sets.variances(questions, shares))
        ratios = [new / old for new, old in zip(after, before, strict=True)]
        mean = sum(question.weight * ratio for question, ratio in zip(questions, ratios, strict=True))
        tried.append((max(1.0, *ratios), mean, sets, shares))
        if max(ratios) <= 1:
            break
        weights = [weight * max(1.0, ratio) ** 3 for weight, ratio in zip(weights, ratios, strict=True)]
    _, _, sets, shares = min(tried, key=lambda trial: trial[:2])
    if people:
        shares = steer(sets, shares, questions, *people, anything=points)
    large = _drop_small(shares, sets_asked)
    return [_drop_rare(shown, share, families[shown], sets.axes[shown]) for shown, share in large.items()]


def design_variances(designs: Sequence[SetDesign], questions: Sequence[QuestionClass], epsilon: float) -> list[float]:
    """Return the variance of questions per report, over uniform records, with views as designed."""
    sets = AttributeSets({design.attributes: design.families for design in designs}, epsilon)
    sets.take({design.attributes: design.groups for design in designs})
    return sets.variances(questions, {design.attributes: design.share for design in designs})


def _drop_small(shares: Shares, sets_asked: set[Set]) -> Shares:
    """Return shares without sets that too few people would report, if another one is left for their questions."""
    large = dict(shares)
    for shown, share in sorted(shares.items(), key=lambda item: item[1]):
        spare = len(shown) > 2 and shown not in sets_asked
        if share < LEAST_SET / len(shares) and (spare or any({*shown} < {*other} for other in large)):
            del large[shown]
    return {shown: share / sum(large.values()) for shown, share in large.items()}


def _drop_rare(shown: Set, share: float, families: Sequence[PartitionFamily], axes: Sequence[DesignAxis]) -> SetDesign:
    """Return the design of a set without widths that too few people would report."""
    frequent = [
        [g for g, share in enumerate(axis.shares) if share >= LEAST_GROUP or g == len(axis.shares) - 1] for axis in axes
    ]
    groups = [axis.shares[chosen] for axis, chosen in zip(axes, frequent, strict=True)]
    left = tuple(family.keep(chosen) for family, chosen in zip(families, frequent, strict=True))
    return SetDesign(shown, share, left, tuple(shares / shares.sum() for shares in groups))
