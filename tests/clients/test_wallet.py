"""P8 and P9: one budget over services and rounds, charged once, whatever is retried, restarted or raced."""

from __future__ import annotations

import json
import tempfile
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tacit as tc
from support.tiers import how_many
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
from tacit.errors import PrivacyError, RecordError, UsageError

SERVICES = ("users", "orders", "clinic", "bank", "card")
ROUNDS = ("2026-11", "2026-12", "2027-01")
CAP = Fraction(4)
PEOPLE = ("ada", "bo", 7, "7")


def collection(round_: str, epsilon: float) -> tc.Collection:
    services = [
        tc.Service("users", key="uid", attributes=[tc.Ordinal("x", 0, 9)]),
        tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Ordinal("x", 0, 9)]),
        tc.Service("clinic", key="uid", optional=True, attributes=[tc.Ordinal("x", 0, 9)]),
        tc.Service("bank", key="uid", attributes=[tc.Ordinal("x", 0, 9)]),
        tc.Service("card", key="uid", attributes=[tc.Ordinal("x", 0, 9)]),
    ]
    return tc.Collection(tc.Schema(services), epsilon, round=round_)


COLLECTIONS = [collection(name, epsilon) for name, epsilon in zip(ROUNDS, (3.0, 1.5, 1.8), strict=True)]


def client_of(wallet: Path, made: tc.Collection) -> Client:
    return Client(Transport("http://127.0.0.1:1"), Wallet(wallet), made.id, made.to_json(), "", CAP, 0)


def price(made: tc.Collection, service: str) -> Fraction:
    """Return what a service costs, from the exact audit of the package: not from what the client adds up."""
    return sum((item.epsilon * item.reports for item in made.audit().channels if item.service == service), Fraction(0))


PRICES = {(made.id, service): price(made, service) for made in COLLECTIONS for service in SERVICES}


class WalletMachine(RuleBasedStateMachine):
    """The wallet against a model that only knows prices."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "wallet.db"
        self.bodies: dict[tuple[str, object, str], tuple[str, ...]] = {}
        self.paid: dict[tuple[str, object, str], Fraction] = {}
        self.left: set[tuple[str, object]] = set()
        self.start()

    def start(self) -> None:
        self.clients = {made.id: client_of(self.path, made) for made in COLLECTIONS}

    def spent(self, person: object) -> Fraction:
        return sum((cost for (_, who, _), cost in self.paid.items() if _same(who, person)), Fraction(0))

    @rule(
        round_=st.sampled_from(COLLECTIONS),
        person=st.sampled_from(PEOPLE),
        service=st.sampled_from(SERVICES),
        value=st.integers(0, 9),
        how=st.sampled_from(["record", "preview"]),
    )
    def hand_over(self, round_: tc.Collection, person: Any, service: str, value: int, how: str) -> None:
        """Hand a row over, perhaps again and perhaps with another value."""
        me = self.clients[round_.id].person(person)
        key, cost = (round_.id, person, service), PRICES[round_.id, service]
        act = me.record if how == "record" else me.preview
        if (round_.id, person) in self.left:
            with pytest.raises(PrivacyError, match="forgotten"):
                act(service, {"x": value})
        elif key not in self.paid and self.spent(person) + cost > CAP:
            with pytest.raises(PrivacyError, match="cap-exceeded"):
                act(service, {"x": value})
        else:
            act(service, {"x": value})
            self.paid[key] = cost
            found = next(e.bodies for e in me.history() if (e.collection, e.service) == (round_.id, service))
            assert self.bodies.setdefault(key, found) == found, "drawn once, and never again"

    @rule(round_=st.sampled_from(COLLECTIONS), person=st.sampled_from(PEOPLE), service=st.sampled_from(SERVICES))
    def hand_over_nonsense(self, round_: tc.Collection, person: Any, service: str) -> None:
        """What cannot be encoded is not charged."""
        if (round_.id, person) in self.left or (round_.id, person, service) in self.paid:
            return
        if self.spent(person) + PRICES[round_.id, service] <= CAP:
            with pytest.raises(RecordError):
                self.clients[round_.id].person(person).record(service, {"x": 400})

    @rule()
    def deliver_in_vain(self) -> None:
        """Nobody answers: nothing is charged again, nothing is drawn again."""
        for client in self.clients.values():
            assert client.flush(seconds=0).sent == 0

    @rule()
    def restart(self) -> None:
        for client in self.clients.values():
            client.close()
        self.start()

    @precondition(lambda self: self.paid)
    @rule(round_=st.sampled_from(COLLECTIONS), person=st.sampled_from(PEOPLE))
    def forget(self, round_: tc.Collection, person: Any) -> None:
        known = {entry.collection for entry in self.clients[round_.id].person(person).history()}
        self.clients[round_.id].person(person).forget()
        self.left |= {(name, person) for name in known | {round_.id}}

    @invariant()
    def nobody_overspends_and_nothing_is_paid_twice(self) -> None:
        for person in PEOPLE:
            found = self.clients[COLLECTIONS[0].id].wallet.spent(person)
            assert found == self.spent(person)
            assert found <= CAP

    def teardown(self) -> None:
        for client in self.clients.values():
            client.close()
        self.folder.cleanup()


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


WalletMachine.TestCase.settings = settings(
    max_examples=how_many(15, 100, "sequences of what apps do"), stateful_step_count=30, deadline=None, derandomize=True
)
test_the_wallet_never_overspends = WalletMachine.TestCase


def test_five_services_at_once_stay_below_the_cap(tmp_path: Path) -> None:
    """Ten connections to one wallet race for five services; as many are drawn as the cap allows, each once."""
    made = collection("race", 5.0)  # users, clinic, bank, card: 5/6 each, orders: 5/3
    outcomes: list[str] = []

    def race(service: str) -> None:
        client = client_of(tmp_path / "w.db", made)
        try:
            client.person("ada").record(service, {"x": 1})
            outcomes.append(service)
        except PrivacyError as refusal:
            outcomes.append(refusal.code)
        client.close()

    client_of(tmp_path / "w.db", made).close()
    threads = [threading.Thread(target=race, args=(service,)) for service in SERVICES * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client = client_of(tmp_path / "w.db", made)
    entries = client.person("ada").history()
    assert len(entries) == len({entry.service for entry in entries})
    spent = sum((entry.epsilon for entry in entries), Fraction(0))
    assert client.wallet.spent("ada") == spent <= CAP
    assert CAP - spent < Fraction(5, 3), "whatever still fits was drawn"
    assert len(outcomes) == 10
    client.close()


def test_a_thousand_asks_are_one_report(tmp_path: Path) -> None:
    """P9: averaging is in vain, over restarts and changed values; a new round is a new report and a new cost."""
    path, seen = tmp_path / "w.db", set()
    for start in range(4):
        client = client_of(path, COLLECTIONS[1])
        me = client.person("ada")
        for ask in range(250):
            seen.add(me.record("users", {"x": (start + ask) % 10}).bodies)
        assert me.budget()["spent"] == pytest.approx(float(PRICES[COLLECTIONS[1].id, "users"]))
        client.close()
    assert len(seen) == 1
    later = client_of(path, COLLECTIONS[2])
    entry = later.person("ada").record("users", {"x": 1})
    assert entry.round == ROUNDS[2]
    assert later.wallet.spent("ada") == PRICES[COLLECTIONS[1].id, "users"] + PRICES[COLLECTIONS[2].id, "users"]
    assert [found.round for found in later.person("ada").history()] == [ROUNDS[1], ROUNDS[2]]
    later.close()


def test_forgotten_reports_are_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    client = client_of(path, COLLECTIONS[0])
    me = client.person("ada")
    bodies = [body for service in SERVICES[:2] for body in me.record(service, {"x": 3}).bodies]
    assert len(bodies) == 3
    me.forget()
    spent = me.budget()["spent"]
    client.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for body in bodies:
        assert body.encode() not in kept
        assert json.loads(body)["codes"]
    again = client_of(path, COLLECTIONS[0])
    assert again.person("ada").budget()["spent"] == spent, "what was spent stays spent"
    with pytest.raises(PrivacyError):
        again.person("ada").record("users", {"x": 3})
    again.close()


def test_a_wallet_is_its_owners_alone(tmp_path: Path) -> None:
    wallet = Wallet(tmp_path / "wallet")
    wallet.keep_contract("c", "{}")
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    with pytest.raises(UsageError, match="Name another file"):
        Wallet(tmp_path / "nowhere" / "wallet")
