"""Whether a report may be stored: its form, service, slot, codes and public columns, against the contract."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

from tacit.client.record import is_person
from tacit.contract.contract import Contract, ServiceContract

__all__ = ["Person", "Refused", "Report", "Validator", "person_of", "stored_key"]

Person = int | str
"""A key: 42 and "42" are different people."""

NUMBER = "\x01"
"""Before a whole number that is stored as text: no person's text has it."""

MOST_PUBLIC = 4_096
"""Bytes of a report's public columns."""


class Report(NamedTuple):
    """A report that the contract knows: who, where, and its content as canonical bytes."""

    person: Person
    service: str
    slot: int
    content: bytes

    def __repr__(self) -> str:
        """Say where it belongs, and nothing of whom it is or what it says."""
        return f"Report({self.service}, slot {self.slot})"


class Refused(NamedTuple):
    """A report that is never acceptable."""

    code: str


class Validator:
    """Validates reports of one collection."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._services = {one.service.name: _Rules(one) for one in contract.services}

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
        if type(slot) is not int or not 0 <= slot < rules.sends:
            return Refused("unknown-slot")
        codes = data.get("codes")
        if not rules.knows(codes):
            return Refused("unknown-code")
        public = data.get("public")
        if not rules.fits(public):
            return Refused("wrong-public")
        if not public:
            return Report(person, rules.name, slot, b"[[%b],[]]" % ",".join(map(str, codes)).encode())
        shown = [public[name] for name in rules.public]
        content = json.dumps([codes, shown], separators=(",", ":"), ensure_ascii=False).encode()
        if len(content) > MOST_PUBLIC:
            return Refused("too-large")
        return Report(person, rules.name, slot, content)


class _Rules:
    """What one service allows."""

    def __init__(self, compiled: ServiceContract) -> None:
        self.name, self.sends = compiled.service.name, compiled.service.sends
        self.public = {attribute.name: attribute for attribute in compiled.service.public}
        self._compiled = compiled

    @cached_property
    def _alphabets(self) -> list[int]:
        return [channel.alphabet for channel in self._compiled.channels]

    def knows(self, codes: Any) -> TypeGuard[list[int]]:
        """Tell whether there is a code of its alphabet for each channel."""
        if not isinstance(codes, list) or len(codes) != len(self._alphabets):
            return False
        for code, most in zip(codes, self._alphabets, strict=True):  # a loop: `all` takes three times as long for one
            if type(code) is not int or not 0 <= code < most:
                return False
        return True

    def fits(self, public: Any) -> bool:
        """Tell whether there is a value for each public column that its declaration allows, and nothing else.

        What others have sent plays no part in it.
        """
        if public is None:
            return not self.public
        if not isinstance(public, Mapping) or public.keys() != self.public.keys():
            return False
        return all(attribute.accepts(public[name]) for name, attribute in self.public.items())


def stored_key(person: Person) -> str:
    """Return a person as the analytical database knows her: text, in which numbers cannot be mistaken for text."""
    return person if isinstance(person, str) else f"{NUMBER}{person}"


def person_of(key: str) -> Person:
    """Return the person that a stored key is about."""
    return int(key[1:]) if key.startswith(NUMBER) else key
