"""Shares of views for an expected number of people: between the designs for unbiased and for post-processed answers.

With few people, the design for unbiased answers spends most reports on fine cells that noise hides. The design with
the least posterior error (`tacit.contract.layouts.posterior`) draws wide runs and single attributes more often, but
alone it would make unbiased answers useless. So shares move from the first design towards the second as far as the
variance of unbiased answers stays within `SLACK` of its minimum, and farther where that variance is so large that
unbiased answers are uninformative anyway: by `FUTILE` times the variance over the prior variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts.posterior import Prospect

if TYPE_CHECKING:
    from tacit.contract.layouts.questions import QuestionClass
    from tacit.contract.layouts.sets import AttributeSets

__all__ = ["steer"]

SLACK = 1.21
"""Maximum variance of unbiased answers over its minimum: a tenth in standard error."""

FUTILE = 5.0
"""Additional allowance, in units of the variance over the prior variance."""

MOST_PROSPECTS = 40
"""Maximum sets of attributes for which shares are adapted: each takes a tenth of a second."""

MOST = 2.0
"""Maximum variance of unbiased answers over its minimum, where anything may be asked; more by the factor by which that
variance exceeds the prior variance, since such answers carry no information."""

EVERY = 8
"""Power of the mean over questions: nearly each must stay within its limit."""

LEAST = 0.2
"""Minimum share of reports of both attributes among the people of a pair: only these measure dependence that the prior
does not expect."""

HALVINGS = 5
"""Steps to find how far to go."""

Set = tuple[int, ...]
Shares = dict[Set, float]
Groups = dict[Set, list[npt.NDArray[np.float64]]]


def steer(
    sets: AttributeSets,
    shares: Shares,
    questions: Sequence[QuestionClass],
    people: int,
    ordered: Sequence[bool],
    *,
    anything: bool,
) -> Shares:
    """Return the shares of sets for a number of people; shares of widths are changed in place.

    Where ``anything`` may be asked, standard errors of informative unbiased answers grow by at most 42 %.
    """
    homes = _homes(sets, questions)
    if not homes or len(homes) > MOST_PROSPECTS:
        return shares
    times = {i: sum(i in home for home in homes) for home in homes for i in home}
    wanted_shares = dict.fromkeys(shares, 0.0)
    wanted_groups: Groups = {}
    unknown = np.ones(len(questions))
    for home in homes:
        parts = [shown for shown in sets.axes if set(shown) <= set(home)]
        budget = {shown: shares[shown] / (times[shown[0]] if len(shown) < len(home) else 1) for shown in parts}
        prospect = Prospect(
            {shown: sets.partitions(shown) for shown in parts},
            home,
            dict(enumerate(ordered)),
            sets.epsilon,
            people * sum(budget.values()),
        )
        prospect.shares = {shown: part / sum(budget.values()) for shown, part in budget.items()}
        prospect.groups = {shown: [axis.shares for axis in sets.axes[shown]] for shown in parts}
        total = np.zeros(())
        for place, question in enumerate(questions):
            if set(question.attributes) <= set(home):
                gram = prospect.gram_of(question.grams)
                unknown[place] = prospect.unknown(gram)
                often = 1 if question.attributes == home else times[question.attributes[0]]
                total = total + gram * (question.weight / often / prospect.error(gram))
        prospect.design(np.asarray(total), least=LEAST)
        for shown in parts:
            part = sum(budget.values()) * prospect.shares[shown]
            before = wanted_groups.get(shown, [np.zeros(len(group)) for group in prospect.groups[shown]])
            wanted_groups[shown] = [
                known + part * new for known, new in zip(before, prospect.groups[shown], strict=True)
            ]
            wanted_shares[shown] += part
    for shown, groups in wanted_groups.items():
        wanted_groups[shown] = [group / group.sum() for group in groups]
    goal = {shown: wanted_shares[shown] or share for shown, share in shares.items()}
    goal = {shown: share / sum(goal.values()) for shown, share in goal.items()}
    least = np.array(sets.variances(questions, shares))
    futile = least / (unknown * people)
    bear = np.minimum(SLACK + FUTILE * futile, MOST * np.maximum(1.0, futile) if anything else np.inf)
    return _go(sets, (shares, goal), wanted_groups, questions, least * bear)


def _homes(sets: AttributeSets, questions: Sequence[QuestionClass]) -> list[Set]:
    """Return the pairs that questions are about, and single attributes that are in none of them."""
    sets_asked = {question.attributes for question in questions}
    pairs = sorted(shown for shown in sets_asked if len(shown) == 2)
    shown = {i for pair in pairs for i in pair}
    return pairs + sorted(
        single for single in sets_asked if len(single) == 1 and single[0] not in shown and single in sets.axes
    )


def _go(
    sets: AttributeSets,
    ends: tuple[Shares, Shares],
    goal: Mapping[Set, Sequence[npt.NDArray[np.float64]]],
    questions: Sequence[QuestionClass],
    bear: npt.NDArray[np.float64],
) -> Shares:
    """Move from one design towards another as far as the limit on each question's variance allows."""
    start = {shown: [axis.shares for axis in axes] for shown, axes in sets.axes.items()}
    weights = np.array([question.weight for question in questions])

    def at(part: float) -> Shares:
        sets.take(
            {
                shown: [(1 - part) * a + part * b for a, b in zip(groups, goal.get(shown, groups), strict=True)]
                for shown, groups in start.items()
            }
        )
        return {shown: (1 - part) * ends[0][shown] + part * ends[1][shown] for shown in ends[0]}

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        costs = np.array(sets.variances(questions, at(middle))) / bear
        if float((weights * costs**EVERY).sum() / weights.sum()) <= 1:
            low = middle
        else:
            high = middle
    return at(low)
