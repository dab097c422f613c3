"""Partitions (ours): overlapping runs of values, every attribute alone and every two together, by designed shares.

One channel with the whole budget; a person draws one view, by weights. Where `hio` and `pairs` take nested levels with
equal probabilities, here widths overlap at several offsets (`tacit.contract.layouts.shifted`), and views are as likely
as the questions need them (`tacit.contract.layouts.design`). Totals over one or two attributes are unbiased; totals
over more are refused unless they were named when the collection was declared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.contract.layouts.base import MAX_WEIGHTS, Asked, ChannelPlan, Expected, Planning, View
from tacit.contract.layouts.calendar import coarse_calendar, coarse_cells, copy_size
from tacit.contract.layouts.design import SetDesign, design_sets, design_variances
from tacit.contract.layouts.levels import Levels
from tacit.contract.layouts.limit import over_the_limit
from tacit.contract.layouts.questions import (
    QuestionClass,
    coarse_vector,
    counts_values,
    merge_questions,
    standard_questions,
)
from tacit.contract.layouts.shifted import (
    FEW_MEANS,
    MANY_MEANS,
    MOST_MEANS,
    RATIO,
    SOME_MEANS,
    AttributeShape,
    PartitionFamily,
    family_of,
)
from tacit.errors import LayoutError

__all__ = ["mean_variance", "partitions"]

MOST_VIEWS = 4_096
"""Views above which attributes get fewer offsets: each is listed in the contract."""

MOST_SETS = 250
"""Sets of one or two attributes up to which a design is tried: those of 21 attributes."""

MOST_TOGETHER = 5
"""Attributes of a service up to which sets of three and more are considered."""

LARGE_BUDGET = 4
"""Minimum epsilon for which such sets are worth their time if no questions are given."""

LARGER = 256
"""Maximum views of such a set: with more, its attributes have fewer offsets, or it is left out."""

MANY_OFFSETS = 8
"""Offsets of runs where views are few: 4 to 8 % less variance of ranges than four offsets."""

PER_VIEW = 256
"""Weights add up to the next power of two above this many per view, so that rounding changes most shares little."""

ROOT = 1 / 32
"""Share of people who report only whether they have a row, where some have none."""


def partitions(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over views of one and two attributes, with weights."""
    shapes = _shapes(planning)
    sets = _sets(shapes)
    if not sets:
        return [ChannelPlan("partitions", Fraction(1), ((0,) * len(shapes),))]
    for offsets in _offset_choices(shapes, planning.expected) if len(sets) <= MOST_SETS else ():
        if not _may_fit(shapes, sets, offsets):
            continue
        designs = _designs(shapes, sets, planning.expected, offsets)
        levels = [
            _levels(shape, i, designs, levels)
            for i, (shape, levels) in enumerate(zip(shapes, planning.levels, strict=True))
        ]
        views = _views(levels, designs, planning.extras)
        if len(views) <= MOST_VIEWS:
            names, shares = zip(*views, strict=True)
            weights = _weights(np.array(shares), planning.bits) if len(views) > 1 else ()
            why = _why(designs, shapes, planning.expected)
            return [ChannelPlan("partitions", Fraction(1), names, weights=weights, levels=tuple(levels), why=why)]
    message = (
        f"{len(sets)} sets of one or two attributes have more than {MOST_VIEWS} views. Use 'pairs', 'am(2)', or fewer "
        "attributes in the service."
    )
    raise LayoutError(message, code="too-many-views")


def _offset_choices(shapes: Sequence[AttributeShape], expected: Expected) -> tuple[int, ...]:
    """Return the offsets of runs to be tried: more where there are few views, or where questions are known."""
    telling = sum(shape.values + shape.null > 1 for shape in shapes)
    if expected.draft:
        return (2, 1)
    many = telling == 1 or (bool(expected.asked) and telling <= 3)
    return (MANY_OFFSETS, RATIO, 2, 1) if many else (RATIO, 2, 1)


def _may_fit(shapes: Sequence[AttributeShape], sets: Sequence[tuple[int, ...]], offsets: int) -> bool:
    return offsets == 1 or len(sets) * _most_views(shapes, offsets) <= 2 * MOST_VIEWS


def _why(designs: Sequence[SetDesign], shapes: Sequence[AttributeShape], expected: Expected) -> str:
    """Return what the views are designed for, and their variance over the least of any channel, by class."""
    about = f"{len(expected.asked)} questions" if expected.asked else "all classes of questions"
    people = "" if expected.users is None else f" of {expected.users:,} people"
    ratios = over_the_limit(designs, _copies(shapes), float(expected.epsilon))
    said = ", ".join(f"{name} {ratio:.2g}" for name, ratio in ratios.items())
    return f"views for {about}{people}" + (f"; variance over the limit: {said}" if said else "")


def _copies(shapes: Sequence[AttributeShape]) -> list[AttributeShape]:
    most = _copy_size(shapes)
    return [
        AttributeShape(
            int(coarse_cells(values, calendar, most)[-1]) + 1, null, ordered, coarse_calendar(values, calendar, most)
        )
        for values, null, ordered, calendar in shapes
    ]


def _copy_size(shapes: Sequence[AttributeShape]) -> int:
    return copy_size(sum(shape.values + shape.null > 1 for shape in shapes))


def _shapes(planning: Planning) -> list[AttributeShape]:
    attributes = zip(planning.levels, planning.ordered, planning.calendars, strict=True)
    return [
        AttributeShape(levels.size - levels.has_null, levels.has_null, ordered, calendar)
        for levels, ordered, calendar in attributes
    ]


def _sets(shapes: Sequence[AttributeShape]) -> tuple[tuple[int, ...], ...]:
    """Return each attribute that has several values alone, and every two of them together."""
    telling = [i for i, shape in enumerate(shapes) if shape.values + shape.null > 1]
    return tuple(shown for count in (1, 2) for shown in itertools.combinations(telling, count))


def _larger_sets(shapes: Sequence[AttributeShape]) -> list[tuple[int, ...]]:
    """Return all sets of three and more attributes, of a service of few."""
    telling = [i for i, shape in enumerate(shapes) if shape.values + shape.null > 1]
    if len(telling) > MOST_TOGETHER:
        return []
    return [shown for count in range(3, len(telling) + 1) for shown in itertools.combinations(telling, count)]


def _larger_families(shapes: Sequence[AttributeShape], offsets: int) -> dict[tuple[int, ...], list[PartitionFamily]]:
    """Return the partitions of the attributes of larger sets, with as many offsets as views allow."""
    by_set = {}
    for shown in _larger_sets(shapes):
        for count in range(min(offsets, 2), 0, -1):
            families = [family_of(shapes[i], offsets=count) for i in shown]
            if math.prod(len(family.levels) - 1 for family in families) <= LARGER:
                by_set[shown] = families
                break
    return by_set


def _most_views(shapes: Sequence[AttributeShape], offsets: int) -> float:
    """Return the mean number of views of two attributes, before those that nobody needs are left out."""
    counts = [len(family_of(shape, offsets=offsets).levels) - 1 for shape in shapes]
    return float(np.mean(counts)) ** 2


def _designs(
    shapes: Sequence[AttributeShape], sets: tuple[tuple[int, ...], ...], expected: Expected, offsets: int
) -> list[SetDesign]:
    """Return the design for the questions that are expected, or else for all classes of questions."""
    if not expected.asked:
        return _standard_designs(tuple(shapes), sets, expected.epsilon, offsets, expected.users, draft=expected.draft)
    questions = merge_questions(question_of(question, shapes) for question in expected.asked)
    sets_asked = {question.attributes for question in questions}
    summed = {question.attributes for question in questions if not counts_values(question.vectors)}
    families = {
        shown: [
            family_of(shapes[i], means=_offsets_of_means(shown, sets_asked, summed), offsets=offsets) for i in shown
        ]
        for shown in sorted({*sets, *sets_asked}, key=lambda shown: (len(shown), shown))
    }
    families = _larger_families(shapes, offsets) | families
    people = _people(expected.users, shapes)
    return design_sets(families, questions, float(expected.epsilon), people=people, draft=expected.draft)


def _people(users: int | None, shapes: Sequence[AttributeShape]) -> tuple[int, list[bool]] | None:
    return None if users is None else (users, [shape.ordered for shape in shapes])


def _offsets_of_means(shown: tuple[int, ...], sets_asked: set[tuple[int, ...]], summed: set[tuple[int, ...]]) -> int:
    if len(shown) == 1:
        if shown not in summed:
            return MANY_MEANS if shown in sets_asked else 0
        return max(MANY_MEANS, MOST_MEANS // sum(len(other) == 1 for other in summed))
    return FEW_MEANS if shown in summed else 0


def question_of(question: Asked, shapes: Sequence[AttributeShape]) -> QuestionClass:
    """Return a question on the coarse copies of its attributes."""
    most = _copy_size(shapes)
    vectors = {i: coarse_vector(vector, shapes[i], most) for i, vector in question.vectors.items()}
    return QuestionClass.of(question.weight, vectors)


def mean_variance(planning: Planning, questions_asked: Sequence[Asked]) -> float:
    """Return the mean variance of questions per report, over uniform records, without compiling any view."""
    shapes = _shapes(planning)
    sets, choices = _sets(shapes), _offset_choices(shapes, planning.expected)
    if planning.expected.draft:  # the design that is at hand
        choices = tuple(offsets for offsets in choices if _may_fit(shapes, sets, offsets))
    designs = _designs(shapes, sets, planning.expected, choices[0])
    questions = [question_of(question, shapes) for question in questions_asked]
    return float(np.mean(design_variances(designs, questions, float(planning.expected.epsilon))))


@lru_cache(maxsize=64)
def _standard_designs(
    shapes: tuple[AttributeShape, ...],
    sets: tuple[tuple[int, ...], ...],
    epsilon: Fraction,
    offsets: int,
    users: int | None,
    *,
    draft: bool,
) -> list[SetDesign]:
    means = FEW_MEANS if len(sets) > 1 else SOME_MEANS
    families: dict[tuple[int, ...], list[PartitionFamily]] = {
        shown: [family_of(shapes[i], means=means if len(shown) == 1 else 0, offsets=offsets) for i in shown]
        for shown in sets
    }
    questions = standard_questions(_copies(shapes), sets)
    if epsilon >= LARGE_BUDGET:
        families |= _larger_families(shapes, offsets)
    return design_sets(families, questions, float(epsilon), points=True, people=_people(users, shapes), draft=draft)


def _levels(shape: AttributeShape, attribute: int, designs: Sequence[SetDesign], nested: Levels) -> Levels:
    """Return the partitions of an attribute that some set uses."""
    pairs = [pair for design in designs for pair in zip(design.attributes, design.families, strict=True)]
    families = [family for i, family in pairs if i == attribute]
    used = {run for family in families for group in family.groups for run in group}
    dated = {starts for family in families for starts in family.dated}
    if not used:
        return nested
    runs = sorted(used, key=lambda run: (-run[0], run[1]))
    return Levels.of_runs(shape.values, runs, null=shape.null, calendar=sorted(dated, key=len))


def _views(levels: Sequence[Levels], designs: Sequence[SetDesign], extras: int) -> list[tuple[View, float]]:
    """Return all views with their shares of people."""
    runs = [
        {level.starts or (level.width, level.offset): j for j, level in enumerate(of_attribute.levels) if j}
        for of_attribute in levels
    ]
    views: list[tuple[View, float]] = []
    if extras and len(designs) > 1:
        views.append(((0,) * len(levels), ROOT))
    left = 1 - sum(share for _, share in views)
    for design in designs:
        axes = [
            _places(family, groups, runs[i])
            for i, family, groups in zip(design.attributes, design.families, design.groups, strict=True)
        ]
        for chosen in itertools.product(*axes):
            view = dict(zip(design.attributes, (place for place, _ in chosen), strict=True))
            share = left * design.share * math.prod(share for _, share in chosen)
            views.append((tuple(view.get(i, 0) for i in range(len(levels))), share))
    return views


def _places(
    family: PartitionFamily, shares: Iterable[float], runs: dict[tuple[int, ...], int]
) -> list[tuple[int, float]]:
    """Return the levels of a family's partitions with their shares; those that tell nothing are left out."""
    listed = []
    groups: list[tuple[tuple[int, ...], ...]] = [*((starts,) for starts in family.dated), *family.groups]
    for group, share in zip(groups, shares, strict=True):
        places = [runs[run] for run in group if run in runs]
        listed += [(place, share / len(places)) for place in places]
    return listed


def _weights(shares: np.ndarray, bits: int) -> tuple[int, ...]:
    """Return whole numbers near the shares, at least 1, that add up to a power of two."""
    total = min(MAX_WEIGHTS, 2**bits, 1 << math.ceil(math.log2(PER_VIEW * len(shares))))
    if total < len(shares):
        message = f"{len(shares)} views need finer draws than {bits} bits."
        raise LayoutError(message, code="draws-too-coarse")
    wanted = np.round(shares / shares.sum() * total, 6)  # ties must not depend on the last bits of a machine
    weights = np.maximum(1, np.floor(wanted)).astype(np.int64)
    order = np.argsort(-(wanted - weights), kind="stable")
    missing = total - int(weights.sum())
    weights[order[:missing]] += 1 if missing > 0 else 0
    while weights.sum() > total:
        weights[int(np.argmax(weights))] -= 1
    return tuple(weights.tolist())
