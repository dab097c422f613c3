"""P12: the central loss is an upper bound, never below the true divergence where that can be enumerated."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import tacit as tc
from support.tiers import how_many
from tacit.contract.amplification import DELTA, MAX_CROWD, Crowd, central_epsilon, rounded_crowd
from tacit.contract.budget import exp_below
from tacit.contract.oracles import Grr, Oracle, Subset, Unary
from tacit.contract.readers import clone_share
from tacit.errors import UsageError
from tests.support.channels import all_records, channel_row, oracle_matrix
from tests.support.shuffled import clone_delta, least_share, true_delta, worst_ratio

REFERENCE = [  # people, local epsilon, central at delta 1e-8 with share 1/p and 2/(p+1): THEORY section 13, to 3 digits
    (10_000, 1, 0.069, 0.056),
    (10_000, 2, 0.197, 0.146),
    (10_000, 4, 0.755, 0.515),
    (100_000, 2, 0.059, 0.044),
    (100_000, 4, 0.215, 0.151),
    (100_000, 6, 0.657, 0.448),
    (1_000_000, 4, 0.064, 0.045),
    (1_000_000, 6, 0.190, 0.132),
    (1_000_000, 8, 0.557, 0.381),
]

TINY: list[tuple[Oracle, tuple[int, ...]]] = [  # 8-bit draws; people up to which histograms are enumerated
    (Grr((2,), 8, flip=70), (2, 3, 30)),
    (Grr((2,), 8, flip=20), (2, 3, 12)),
    (Grr((3,), 8, flip=50), (2, 3, 8)),
    (Grr((3,), 8, flip=65), (2, 5)),
    (Subset.of_size((3,), 2, exp_below(Fraction(2)), 8), (2, 6)),
    (Subset.of_size((4,), 2, exp_below(Fraction(1)), 8), (2, 3)),
    (Unary.build((2,), exp_below(Fraction(1)), 8), (2, 3, 7)),
]


@pytest.mark.parametrize(("people", "local", "views", "alone"), REFERENCE)
def test_reference_values(people: int, local: int, views: float, alone: float) -> None:
    p = exp_below(Fraction(local))
    assert central_epsilon(p, 1 / p, people) == pytest.approx(views, abs=6e-4)
    assert central_epsilon(p, 2 / (p + 1), people) == pytest.approx(alone, abs=6e-4)


def test_delta_is_the_double_sum_rounded_up() -> None:
    """300 random crowds of up to 25: never below the exact sum, above it by at most 1e-5 of it."""
    source = np.random.default_rng(23)
    for _ in range(300):
        people = int(source.integers(1, 26))
        p = 1 + Fraction(int(source.integers(1, 10**6)), int(source.integers(10**4, 10**6)))
        share, epsilon = Fraction(int(source.integers(1, 1_001)), 1_000), float(source.random() * math.log(p))
        exact = clone_delta(people, p, share, exp_below(Fraction(epsilon)))
        certified = Fraction(Crowd.of(p, share, people, DELTA).delta(epsilon))
        assert exact <= certified <= exact * (1 + Fraction(1, 10**5))


def violations(oracle: Oracle, people: int, share: Fraction, ratio: Fraction) -> int:
    """Count the epsilons at which a claimed share and ratio give a delta below the true one."""
    matrix, crowd = oracle_matrix(oracle), Crowd.of(ratio, share, people, DELTA)
    epsilons = [part * math.log(worst_ratio(matrix)) for part in (0.2, 0.5, 0.8, 0.95)]
    return sum(Fraction(crowd.delta(one)) < true_delta(matrix, people, exp_below(Fraction(one))) for one in epsilons)


@pytest.mark.parametrize(("oracle", "crowds"), TINY, ids=lambda value: str(getattr(value, "name", "")))
def test_never_below_the_true_divergence(oracle: Oracle, crowds: tuple[int, ...]) -> None:
    """For randomised response of two values the bound is the truth where epsilon is large: no slack hides an error."""
    matrix = oracle_matrix(oracle)
    ratio, share = worst_ratio(matrix), least_share(matrix)
    for people in crowds:
        assert violations(oracle, people, share, ratio) == 0


def test_mutants_are_below_the_true_divergence() -> None:
    """Shares that are too large, a crowd that counts too many, a ratio of half the loss: each is caught."""
    oracle = TINY[0][0]
    matrix = oracle_matrix(oracle)
    ratio, share = worst_ratio(matrix), least_share(matrix)
    assert violations(oracle, 3, share, ratio) == 0
    assert violations(oracle, 3, share * Fraction(101, 100), ratio) > 0
    assert violations(oracle, 3, share, Fraction(math.sqrt(ratio))) > 0
    crowd = Crowd.of(ratio, share, 4, DELTA)  # one person too many
    e = 0.95 * math.log(ratio)
    assert Fraction(crowd.delta(e)) < true_delta(matrix, 3, exp_below(Fraction(e)))


def test_how_far_above_the_truth() -> None:
    """Two values, 30 people, delta 1e-4: the certified epsilon is at most 5 % above the best possible one."""
    matrix, people, delta = oracle_matrix(TINY[0][0]), 30, Fraction(1, 10**4)
    certified = central_epsilon(worst_ratio(matrix), least_share(matrix), people, delta)
    assert certified is not None
    assert true_delta(matrix, people, exp_below(Fraction(certified))) <= delta
    assert true_delta(matrix, people, exp_below(Fraction(certified * 0.95))) > delta


def test_the_case_on_which_tighter_formulas_fail() -> None:
    """Three values, local epsilon 0.5, two people, epsilon 0.45: formulas by total variation say 0.00604."""
    p = exp_below(Fraction(1, 2))
    matrix = [[(p if x == y else 1) / (p + 2) for y in range(3)] for x in range(3)]
    truth = true_delta(matrix, 2, exp_below(Fraction(45, 100)))
    assert float(truth) == pytest.approx(0.009958, abs=1e-6)
    assert Crowd.of(p, least_share(matrix), 2, DELTA).delta(0.45) >= truth


def test_why_growing_sets_and_small_classes_are_no_crowd() -> None:
    """The counter-examples behind the refusals: 29 people and then 30, or a class of one among 30.

    The difference of two histograms is the newcomer's code, and so is the histogram of their class: the divergence is
    that of one report, far above what would be claimed for 30 people.
    """
    oracle = TINY[0][0]
    matrix = oracle_matrix(oracle)
    ratio, share = worst_ratio(matrix), least_share(matrix)
    claimed = central_epsilon(ratio, share, 30, Fraction(1, 1000))
    assert claimed is not None
    e = exp_below(Fraction(claimed))
    alone = true_delta(matrix, 1, e)
    assert alone > 100 * Fraction(1, 1000)
    assert true_delta(matrix, 30, e) <= Fraction(1, 1000)


def test_monotone_in_people_epsilon_and_delta() -> None:
    """Random channels: more people or a larger delta never raise it, a larger local budget never lowers it."""
    source = np.random.default_rng(1)

    def shown(p: Fraction, share: Fraction, people: int, delta: Fraction) -> float:
        found = central_epsilon(p, share, people, delta)
        return math.log(p) if found is None else found

    for number in range(how_many(80, 1_000, "random channels whose central epsilon is monotone")):
        people = int(10 ** source.uniform(1, 4))
        local = Fraction(float(source.uniform(0.1, 6))).limit_denominator(1_000)
        delta = Fraction(1, int(10 ** source.uniform(4, 10)))
        p, smaller = exp_below(local), exp_below(local * Fraction(source.uniform(0.5, 0.99)))
        better = [(p, 1 / p, people + 1, delta), (p, 1 / p, people, 2 * delta), (p, 2 / (p + 1), people, delta)]
        better += [(smaller, 1 / smaller, people, delta), (p, 1 / p, 2 * people, delta)]
        assert shown(*better[number % 5]) <= shown(p, 1 / p, people, delta) <= local * (1 + Fraction(1, 10**12))


def test_large_crowds_are_fast() -> None:
    for people, seconds in ((1_000_000, 2.0), (10**9, 20.0)):
        p = exp_below(Fraction(17, 7))
        start = time.process_time()
        assert central_epsilon(p, 1 / p, people) is not None
        assert time.process_time() - start < seconds


def test_people_are_rounded_down() -> None:
    assert [rounded_crowd(n) for n in (1, 999, 1_009, 1_234_567, 10**12)] == [1, 999, 1_000, 1_230_000, MAX_CROWD]
    p = exp_below(Fraction(2))
    found = [central_epsilon(p, 1 / p, n) for n in (1_000, 1_009, 1_010, 10**10, 10**12)]
    assert found[0] == found[1]
    assert found[3] == found[4]
    assert all(left >= right for left, right in pairwise(one for one in found if one is not None))


AGE = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 3, fanout=2)])
PAIR = tc.Service("users", key="uid", attributes=[tc.Categorical("a", ["x", "y"]), tc.Categorical("b", ["x", "y"])])


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("mechanism", ["fc", "hio", "am(1)"])
@pytest.mark.parametrize("service", [AGE, PAIR], ids=["age", "pair"])
def test_the_share_of_a_contract_is_never_above_its_definition(
    service: tc.Service, mechanism: str, epsilon: int
) -> None:
    collection = tc.Collection(tc.Schema([service]), epsilon, mechanism=mechanism)
    compiled = collection.contract.services[0]
    matrix = [channel_row(compiled, compiled.channels[0], record) for record in all_records(compiled)]
    ratio = collection.audit().ratio
    assert ratio is not None
    share = clone_share(collection.contract, ratio)
    assert 1 / ratio <= share <= least_share(matrix)
    if len(compiled.channels[0].views) == 1:
        assert share == least_share(matrix)


def test_several_reports_are_one_message() -> None:
    orders = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Categorical("item", ["x", "y"])])
    collection = tc.Collection(tc.Schema([PAIR, orders]), 3)
    audit = collection.audit(people=100_000)
    p = audit.ratio
    assert p is not None
    assert audit.central is not None
    assert audit.central.share == 1 / p
    assert audit.central_epsilon == central_epsilon(p, 1 / p, 100_000)


def test_nothing_is_claimed_without_a_crowd() -> None:
    plain = tc.Collection(tc.Schema([AGE]), 2)
    assert plain.audit().central_epsilon is None
    assert plain.audit(people=1).central_epsilon is None
    assert plain.audit(people=1_000, known=999).central_epsilon is None
    few = plain.audit(people=2).central
    assert few is not None
    assert "too few" in few.reason
    told = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 3, fanout=2), tc.Public("os")])
    split = tc.Collection(tc.Schema([told]), 2)
    refused = split.audit(people=10**6).central
    assert refused is not None
    assert refused.epsilon is None
    assert "users.os" in refused.reason
    alone = plain.audit(people=5_000).central_epsilon
    assert split.audit(people=10**6, alike=5_000).central_epsilon == alone
    assert split.audit(people=10**6, alike=6_000, known=1_000).central_epsilon == alone
    with pytest.raises(UsageError):
        plain.audit(people=1_000, delta=0)
    with pytest.raises(UsageError):
        plain.audit(people=0)


def test_the_audit_says_both() -> None:
    audit = tc.Collection(tc.Schema([AGE]), 2).audit(people=1_000_000, delta=1e-8)
    data = audit.to_data()
    assert data["worst_loss"] == audit.worst_loss
    assert data["central"]["epsilon"] == audit.central_epsilon
    assert len(data["central"]["conditions"]) >= 4
    assert "Against readers of answers: at most" in str(audit)
