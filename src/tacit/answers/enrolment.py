"""Known sizes of panels: how many people belong to each round, and how many of them are asked.

A round's people are then a sample of known size, and totals refer to everybody enrolled; people who were asked and did
not report count as missing. Only these numbers are stored, beside the public tables of a database.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.contract.contract import Contract
from tacit.contract.panel import Enrolled
from tacit.encode.turns import rounds_of_people
from tacit.engines.base import Engine
from tacit.errors import UsageError

__all__ = ["PREFIX", "Enrolments"]

PREFIX = "enrolled."
"""Prefix of the tables that store these numbers; no public table can have such a name."""


class Enrolments:
    """How many people are enrolled and asked in each round of the panels of a database."""

    def __init__(self, engine: Engine, stored: Iterable[tuple[str, str, pa.Table]]) -> None:
        self._engine = engine
        self._known: dict[str, dict[int, Enrolled]] = {
            name.removeprefix(PREFIX): {
                row["round"]: Enrolled(row["people"], row["asked"]) for row in table.to_pylist()
            }
            for name, _, table in stored
            if name.startswith(PREFIX)
        }

    def get(self, contract: str, number: int) -> Enrolled | None:
        """Return the numbers of a round, given the panel's contract; None if nobody is enrolled."""
        return self._known.get(_short(contract), {}).get(number)

    def store(self, name: str, contract: Contract, people: Iterable[Any]) -> None:
        """Store how many of these people are asked in a contract's round, or in each round of its panel."""
        panel = contract.panel
        if panel is None:
            message = "Only panels ask their people in turns. Name a panel, or one of its rounds."
            raise UsageError(message, code="bad-option")
        listed = list(people)
        kinds = set(map(type, listed))
        if not listed or not kinds <= {int, str} or len(set(listed)) != len(listed):
            message = "people are the keys of everybody in the panel, numbers or texts, each once."
            raise UsageError(message, code="bad-option")
        counts = np.zeros(panel.rounds + 1, dtype=np.int64)
        for kind in kinds:
            keys = pa.array([key for key in listed if type(key) is kind])
            counts += np.bincount(rounds_of_people(panel, keys).ravel(), minlength=panel.rounds + 1)
        rounds = [contract.member] if contract.member else range(1, panel.rounds + 1)
        known = self._known.get(_short(name), {})
        known = known | {number: Enrolled(len(listed), int(counts[number])) for number in rounds}
        columns = {
            "round": list(known),
            "people": [enrolled.people for enrolled in known.values()],
            "asked": [enrolled.asked for enrolled in known.values()],
        }
        self._engine.store_dimension(PREFIX + _short(name), "round", pa.table(columns))
        self._known = self._known | {_short(name): known}


def _short(contract: str) -> str:
    return contract[:16]
