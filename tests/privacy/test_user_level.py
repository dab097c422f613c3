"""One budget for a person, over any number of rows in any number of services: computed in fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

import tacit as tc
from support.people import possible_people, sent
from tacit.contract.budget import within
from tacit.contract.contract import ServiceContract

USERS = tc.Service("users", key="uid", attributes=[tc.Categorical("kind", ["x", "y"])])
CARD = tc.Service("card", key="uid", optional=True, attributes=[tc.Categorical("kind", ["x", "y"])])


def orders(name: str, at_most: int, sends: int) -> tc.Service:
    return tc.Service(name, key="uid", at_most=at_most, sends=sends, attributes=[tc.Categorical("item", ["a", "b"])])


def worst_ratio(service: ServiceContract) -> Fraction:
    """Return the largest likelihood ratio of all that a person sends, over all pairs of people."""
    values, shape = service.levels[0].size, service.service
    if shape.one_to_one:
        people = [((value,),) for value in range(values)]
    else:
        people = [rows for rows in possible_people(values, shape.rows_at_most) if shape.at_most or len(rows) <= 1]
    outputs = [sent(service, rows) for rows in people]
    assert all(sum(output) == 1 for output in outputs)
    return max(max(column) / min(column) for column in zip(*outputs, strict=True))


SCHEMAS = [
    [orders("a", 1, 1)],
    [orders("a", 3, 1)],
    [orders("a", 2, 2)],
    [orders("a", 4, 2)],
    pytest.param([orders("a", 4, 4)], marks=pytest.mark.long("four of four rows; two of four stay")),
    [USERS, orders("a", 3, 1)],
    [USERS, CARD, orders("a", 3, 2)],
    [USERS, CARD, orders("a", 2, 1), orders("b", 4, 2)],
]


@pytest.mark.parametrize("services", SCHEMAS, ids=lambda s: "+".join(f"{i.at_most or 1}/{i.sends}" for i in s))
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_a_person_keeps_to_her_budget(services: list[tc.Service], epsilon: str) -> None:
    collection = tc.Collection(tc.Schema(services), epsilon, mechanism="hio")
    total = Fraction(1)
    for service in collection.contract.services:
        ratio = worst_ratio(service)
        share = Fraction(epsilon) * service.service.sends / collection.contract.reports
        assert within(ratio, share)
        total *= ratio
    audit = collection.audit()
    assert audit.ok
    assert audit.ratio is not None
    assert total <= audit.ratio, "the audit states less than is true"
    assert within(total, Fraction(epsilon))


def test_a_person_who_sends_each_row_gives_herself_away() -> None:
    """The mutant: as many reports as rows. Their number alone tells people apart, whatever epsilon is."""
    service = tc.Collection(tc.Schema([orders("a", 3, 1)]), 1.0).contract["a"]
    lengths = {len(rows) for rows in possible_people(2, 3)}
    assert len(lengths) > 1
    assert len({len(sent(service, rows)) for rows in possible_people(2, 3)}) == 1


def test_neither_tells_more_than_the_budget_about_having_rows_at_all() -> None:
    service = tc.Collection(tc.Schema([orders("a", 3, 1)]), 1.0).contract["a"]
    nobody = sent(service, ())
    for rows in itertools.islice(possible_people(2, 3), 1, None):
        ratios = [a / b for a, b in zip(nobody, sent(service, rows), strict=True)]
        assert within(max(ratios), Fraction(1))
        assert within(1 / min(ratios), Fraction(1))
        assert max(ratios) > 1
