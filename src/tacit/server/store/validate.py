"""Validation of a report against the contract: form, service, slot, codes and public columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.client.public import MOST_PUBLIC, public_bytes
from tacit.client.record import is_person
from tacit.contract.contract import Contract
from tacit.encode.assigned import Assignment
from tacit.encode.reports import ReportRules

__all__ = ["Person", "Refused", "Report", "Validator", "person_of", "stored_key"]

Person = int | str
"""A person's key: 42 and "42" are different people."""

NUMBER = "\x01"
"""Prefix of an integer key stored as text; no text key contains it."""


class Report(NamedTuple):
    """A report that fits the contract: who, where, and its content as canonical bytes."""

    person: Person
    service: str
    slot: int
    content: bytes

    def __repr__(self) -> str:
        """Show where it belongs, but nothing of the person or the content."""
        return f"Report({self.service}, slot {self.slot})"


class Refused(NamedTuple):
    """A report that will never be acceptable."""

    code: str


class Validator:
    """Validates reports of one collection."""

    def __init__(self, contract: Contract, assignment: Assignment | None = None) -> None:
        self._contract, self._assignment = contract, assignment
        self._services = {service.service.name: ReportRules(service) for service in contract.services}

    def __call__(self, data: Any) -> Report | Refused:
        """Return the report, or why it is refused."""
        if not isinstance(data, dict):
            return Refused("bad-report")
        person = data.get("person")
        if not is_person(person):
            return Refused("wrong-person")
        if not self._contract.asks(person):
            return Refused("not-asked")
        service = data.get("service")
        rules = self._services.get(service) if isinstance(service, str) else None
        if rules is None:
            return Refused("unknown-service")
        slot = data.get("slot")
        if not rules.knows_slot(slot):
            return Refused("unknown-slot")
        codes = data.get("codes")
        if not rules.knows_codes(codes):
            return Refused("unknown-code")
        if self._assignment and not rules.follows(codes, self._assignment.coin(person), slot):
            return Refused("not-assigned")
        public = data.get("public")
        if not rules.fits_public(public):
            return Refused("wrong-public")
        if not public:
            return Report(person, rules.name, slot, b"[[%b],[]]" % ",".join(map(str, codes)).encode())
        shown = public_bytes([public[name] for name in rules.public])
        if len(shown) > MOST_PUBLIC:
            return Refused("too-large")
        return Report(person, rules.name, slot, b"[[%b],%b]" % (",".join(map(str, codes)).encode(), shown))


def stored_key(person: Person) -> str:
    """Return a person's key as the analytical database stores it: text that keeps numbers and text apart."""
    return person if isinstance(person, str) else f"{NUMBER}{person}"


def person_of(key: str) -> Person:
    """Return the person's key from a stored one."""
    return int(key[1:]) if key.startswith(NUMBER) else key
