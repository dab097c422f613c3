"""``users=`` steers how likely views are: noise against what neighbours and margins tell."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from tacit.cli import main
from tacit.contract.contract import ServiceContract
from tacit.contract.layouts import steer as steering
from tacit.contract.layouts.design import design_sets, design_variances
from tacit.contract.layouts.grams import point_gram, range_gram
from tacit.contract.layouts.limit import least_variance, over_the_limit
from tacit.contract.layouts.posterior import Prospect
from tacit.contract.layouts.questions import QuestionClass
from tacit.contract.layouts.shifted import AttributeShape, family_of

SHAPE = AttributeShape(64, False, True)
QUESTION = "SELECT COUNT(*) FROM t WHERE x BETWEEN 5 AND 40 AND y BETWEEN 20 AND 50"


def compiled(users: int | None, epsilon: str = "1", questions: tuple[str, ...] = (QUESTION,)) -> ServiceContract:
    attributes = [tc.Ordinal(name, 0, 63) for name in "xy"]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    return tc.Collection(schema, epsilon, users=users, questions=list(questions)).contract["t"]


def share(service: ServiceContract, width: int) -> float:
    """Return the share of people whose view shows nothing narrower than a width; 0 stands for one attribute alone."""
    channel = service.channels[0]
    shown = [
        [own[level].width for own, level in zip(service.levels, view.levels, strict=True) if level]
        for view in channel.views
    ]
    few = [len(own) == 1 if width == 0 else min(own) >= width for own in shown]
    return sum(channel.weights[place] for place, told in enumerate(few) if told) / sum(channel.weights)


def test_with_many_people_what_is_left_is_the_variance_of_unbiased_answers() -> None:
    family = family_of(AttributeShape(16, False, True))
    prospect = Prospect({(0,): [(family, family.cells())]}, (0,), {0: True}, 1.0, 1e12)
    questions = [QuestionClass(1.0, {0: range_gram(16, False)})]
    designs = design_sets({(0,): [family]}, questions, 1.0)
    prospect.groups[0,] = [np.full(len(family.groups), 1 / len(family.groups))]
    even = [type(one)(one.attributes, one.share, (family,), tuple(prospect.groups[0,])) for one in designs]
    [variance] = design_variances(even, questions, 1.0)
    left = prospect.error(prospect.gram_of(questions[0].grams)) * 1e12
    assert left == pytest.approx(variance + questions[0].spread, rel=1e-3)


def test_few_people_report_wide_runs_and_single_attributes() -> None:
    few, many, any_number = compiled(20_000, "0.5"), compiled(10**9, "0.5"), compiled(None, "0.5")
    assert share(few, 16) > 2 * share(any_number, 16)
    assert share(few, 0) > 4 * share(any_number, 0)
    assert share(many, 16) < share(few, 16)
    assert "20,000 people" in few.why


def test_unbiased_answers_lose_little_where_they_are_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million people, epsilon 1: at most `SLACK` and what `FUTILE` adds; the mutant without limits goes farther."""
    families = {own: [family_of(SHAPE) for _ in own] for own in ((0,), (1,), (0, 1))}
    questions = [QuestionClass(1.0, {i: range_gram(64, False) for i in (0, 1)})]

    def variance(people: int | None) -> float:
        known = None if people is None else (people, [True, True])
        return design_variances(design_sets(families, questions, 1.0, people=known), questions, 1.0)[0]

    least = variance(None)
    assert 1.1 * least < variance(1_000_000) < 1.7 * least
    monkeypatch.setattr(steering, "SLACK", 1e9)
    assert variance(1_000_000) > 3 * least


def test_what_is_left_is_less_than_with_views_for_any_number_of_people() -> None:
    families = {own: [family_of(SHAPE) for _ in own] for own in ((0,), (1,), (0, 1))}
    told = {own: [(one, one.cells()) for one in some] for own, some in families.items()}
    questions = [QuestionClass(1.0, {i: range_gram(64, False) for i in (0, 1)})]

    def error(known: tuple[int, list[bool]] | None) -> float:
        prospect = Prospect(told, (0, 1), {0: True, 1: True}, 0.5, 50_000)
        designs = design_sets(families, questions, 0.5, people=known)
        for one in designs:
            prospect.shares[one.attributes] = one.share
            prospect.groups[one.attributes] = [
                np.array([dict(zip(some.groups, own, strict=True)).get(group, 0.0) for group in whole.groups])
                for some, own, whole in zip(one.families, one.groups, families[one.attributes], strict=True)
            ]
        return prospect.error(prospect.gram_of(questions[0].grams)) ** 0.5

    assert error((50_000, [True, True])) < 0.75 * error(None)


def dense_limit(grams: list[np.ndarray], epsilon: float) -> float:
    """Return the limit from the eigenvalues of the whole matrix."""
    gram = np.ones((1, 1))
    for own in grams:
        gram = np.kron(gram, own)
    values, grown = len(gram), np.exp(epsilon)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(centred), 0)).sum()
    k = np.arange(1, values)
    trace = (values * (k * grown**2 + values - k) / (k * grown + values - k) ** 2).max()
    return float((gram.sum() / values + roots**2 / (trace - 1) - np.trace(gram)) / values)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_limit_is_that_of_the_whole_matrix_or_a_little_less(epsilon: float) -> None:
    for gram in (range_gram(16, False), point_gram(16, False)):
        assert least_variance([gram], epsilon) == pytest.approx(dense_limit([gram], epsilon), rel=1e-6)
        both = least_variance([gram, gram], epsilon)
        assert 0.8 * dense_limit([gram, gram], epsilon) < both <= dense_limit([gram, gram], epsilon) * (1 + 1e-9)


def test_no_design_is_below_the_limit_and_contracts_say_how_far_above() -> None:
    families = {(0,): [family_of(SHAPE)]}
    designs = design_sets(families, [QuestionClass(1.0, {0: range_gram(64, False)})], 1.0)
    ratios = over_the_limit(designs, [SHAPE], 1.0)
    assert 1 <= ratios["ranges"] < 1.3
    assert ratios["values"] >= 1
    why = compiled(None, questions=()).why
    assert "variance over the limit: ranges" in why
    assert len(why) <= 200


def test_the_choice_of_a_layout_does_not_depend_on_the_people_expected() -> None:
    attributes = [tc.Ordinal(name, 0, 63) for name in "xy"]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    layouts = {tc.Collection(schema, Fraction(1, 5), users=users).contract["t"].layout for users in (None, 1_000)}
    assert layouts == {"partitions"}


def test_plans_say_why_these_views(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        "epsilon = 1.0\nusers = 50000\n[[services]]\nname = 't'\nkey = 'uid'\n"
        "attributes = [{ name = 'x', low = 0, high = 63 }]\n"
    )
    assert main(["plan", str(file), "SELECT COUNT(*) FROM t WHERE x < 9"]) == 0
    assert "reports of t: views for all classes of questions of 50,000 people; variance over the limit: ranges" in (
        capsys.readouterr().out
    )
