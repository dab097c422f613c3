"""P8: nobody gives away more than the operator's total, whatever is sent at once or again, deleted or restarted."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from tacit.cli import main
from tacit.server.store.inbox import Inbox
from tacit.server.store.ledger import cost_of, declared_total
from tacit.server.store.validate import Report

SERVICES = ("a", "b", "c", "d", "e")
COSTS = dict(zip(SERVICES, map(Fraction, ("1", "1/2", "3/2", "2", "1/3")), strict=True))
TOTAL = Fraction("5/2")
PEOPLE = ("p", "q", 7)
report = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(("x", "y")), st.sampled_from(SERVICES), st.integers(0, 1))


class Spending(RuleBasedStateMachine):
    """Five services of two collections against a model: places that were ever charged, and reports that are stored."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.charged: dict[int | str, set[tuple[str, str]]] = {person: set() for person in PEOPLE}
        self.stored: set[tuple[int | str, str, str, int]] = set()
        self.gone: set[tuple[int | str, str]] = set()
        self.open()

    def open(self) -> None:
        self.inbox = Inbox(Path(self.folder.name) / "inbox.db")
        for collection in ("x", "y"):
            self.inbox.add_collection(collection, dict.fromkeys(SERVICES, 2), collection)
            self.inbox.limit(TOTAL, {(collection, service): cost for service, cost in COSTS.items()})

    @rule(batches=st.lists(st.lists(report, min_size=1, max_size=6), min_size=1, max_size=5))
    def send_at_once(self, batches: list[list[tuple[int | str, str, str, int]]]) -> None:
        waiting = [
            (one, self.inbox.put(one[1], [Report(one[0], one[2], one[3], b"[[0],[]]")]))
            for batch in batches
            for one in batch
        ]
        for one, answer in waiting:  # one queue, so the order is that of sending
            person, collection, service, _ = one
            place = (collection, service)
            spent = sum((COSTS[name] for _, name in self.charged[person] | {place}), Fraction(0))
            expected = "stored"
            if (person, collection) in self.gone:
                expected = "forgotten"
            elif one in self.stored:
                expected = "again"
            elif place not in self.charged[person] and spent > TOTAL:
                expected = "over-total"
            assert answer.result(30) == [expected], one
            if expected == "stored":
                self.stored.add(one)
                self.charged[person].add(place)

    @rule(person=st.sampled_from(PEOPLE), collection=st.sampled_from(("x", "y")))
    def forget(self, person: int | str, collection: str) -> None:
        self.inbox.forget(collection, person)
        self.gone.add((person, collection))
        self.stored = {one for one in self.stored if one[:2] != (person, collection)}
        self.charged[person] |= {(collection, service) for service in SERVICES}  # what was spent stays spent

    @rule()
    def restart(self) -> None:
        self.inbox.close()
        self.open()

    @invariant()
    def nobody_is_over_the_total(self) -> None:
        for person in PEOPLE:
            places = {
                (collection, service) for who, collection, service, _ in getattr(self, "stored", ()) if who == person
            }
            assert sum((COSTS[service] for _, service in places), Fraction(0)) <= TOTAL

    def teardown(self) -> None:
        if hasattr(self, "inbox"):
            self.inbox.close()
            self.folder.cleanup()


TestSpending = Spending.TestCase
TestSpending.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


NEXT = tc.Collection(COLLECTION.schema, 6.0, round="next")


def test_a_second_round_beyond_the_total_is_refused_for_good(tmp_path: Path) -> None:
    total = Fraction(8)
    with collector_here(tmp_path / "store", COLLECTION, NEXT) as collector:
        collector.person_epsilon = total
        for one in (COLLECTION, NEXT):
            collector.publish(one)
        assert declared_total(collector.collections.values()) == 12
        for collection, expected in ((COLLECTION, {"stored"}), (COLLECTION, {"again"})):
            found = collector.accept(collection.id, reports_of(0, 5)).result()
            assert {one["status"] for one in found} == expected
        found = collector.accept(NEXT.id, reports_of(0, 5)).result()
        users, orders = (cost_of(NEXT.contract[name]) for name in ("users", "orders"))
        fits = users if 6 + users <= total else Fraction(0)
        codes = {one.get("code", one["status"]) for one in found}
        assert "over-total" in codes
        assert 6 + fits + (orders if "over-total" not in codes else 0) <= total
        assert {one["status"] for one in collector.accept(NEXT.id, reports_of(50, 5)).result()} == {"stored"}


def test_the_total_is_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("0", "-1", "x", "1/0", "nan"):
        assert main(["serve", str(tmp_path / "store"), f"--person-epsilon={wrong}"]) == 2
        assert "[bad-option]" in capsys.readouterr().err
