"""P8: nobody gives away more than the operator's total, whatever is sent at once or again, deleted or restarted."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from support.tiers import how_many, keeping
from tacit.cli import main
from tacit.server.collector import Collector
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
    max_examples=how_many(8, 60, "orders of charges and deletions"),
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
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


THREADS, ROUNDS = 8, 40


def spent_by(collector: Collector, person: str) -> Fraction:
    """Return what the stored reports of a person cost, each service once."""
    found = collector.collections.values()
    services = [(one, service) for one in found for service in one.contract.services]
    return sum(
        (
            cost_of(service)
            for one, service in services
            if collector.inbox.slots(one.id, service.service.name, person, service.service.sends)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("deletes", keeping([True], [False, True], "spending at once"))
def test_threads_never_spend_more_than_the_total_together(tmp_path: Path, *, deletes: bool) -> None:
    """Everybody sends for the same people to all collections at once, as several services and retries would."""
    rounds = [COLLECTION, *(tc.Collection(COLLECTION.schema, 6.0, round=f"r{number}") for number in range(3))]
    dearest = max(cost_of(service) for service in COLLECTION.contract.services)
    total, people = Fraction(13), [report["person"] for report in reports_of(0, ROUNDS) if report["service"] == "users"]
    collector = Collector(tmp_path / "store", person_epsilon=total)
    for one in rounds:
        collector.publish(one)
    stored, gate = Counter[tuple[str, str, str, int]](), threading.Barrier(THREADS)

    def send(number: int) -> list[tuple[str, str, str, int]]:
        mine = list[tuple[str, str, str, int]]()
        gate.wait(30)
        for first in range(ROUNDS):
            reports, one = reports_of(first, 1), rounds[(first + number) % len(rounds)]
            if deletes and number == 0 and first % 10 == 3:
                collector.forget(reports[0]["person"], one.id)
                continue
            told = collector.accept(one.id, reports).result(30)
            mine += [
                (one.id, report["person"], report["service"], report["slot"])
                for report, status in zip(reports, told, strict=True)
                if status["status"] == "stored"
            ]
        return mine

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(send, range(THREADS)):
            stored.update(found)
    spent = {person: spent_by(collector, person) for person in people}
    collector.close()
    assert set(stored.values()) == {1}, "nothing is stored twice"
    assert max(spent.values()) <= total
    if not deletes:
        assert min(spent.values()) > total - dearest, "and nobody is refused too early"
