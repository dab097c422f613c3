"""Who is asked in which rounds of a panel: a public coin, computed identically by devices, collectors and analysts.

A person is asked in ``reports`` of the rounds 1, 2, …, ``rounds``, independently of the data: swap j of a shuffle of
the rounds is word j modulo the number of rounds left, and the person gets the first rounds of the shuffle. Word j is
the first 48 bits of the SHA-256 of ``tacit panel``, the panel's name, the person and j, with NUL between them; numbers
are marked with ``n``, texts with ``t``. The remainder favours no round by more than 2**-38.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.client.coin import person_text
from tacit.errors import UsageError

__all__ = ["Turn", "assigned_rounds", "panel_words", "round_id", "round_label", "turn_of"]


def assigned_rounds(panel: str, rounds: int, reports: int, person: int | str) -> tuple[int, ...]:
    """Return the rounds in which a person is asked, in order.

    Examples
    --------
    >>> assigned_rounds("2026", 52, 2, "ada")
    (40, 49)
    """
    places: dict[int, int] = {}
    for j in range(reports):
        [word] = panel_words(panel, [person], j)
        i = j + word % (rounds - j)
        places[j], places[i] = places.get(i, i), places.get(j, j)
    return tuple(sorted(1 + places[j] for j in range(reports)))


def panel_words(panel: str, people: Iterable[int | str], j: int) -> Iterator[int]:
    """Yield word j of each person's shuffle."""
    head, tail, digest = f"tacit panel\0{panel}\0", f"\0{j}", hashlib.sha256
    for person in people:
        yield int.from_bytes(digest(f"{head}{person_text(person)}{tail}".encode()).digest()[:6])


@dataclass(frozen=True)
class Turn:
    """One round of a panel, as a client sees it."""

    id: str
    label: str
    panel: tuple[str, int, int]
    number: int

    def asks(self, person: int | str) -> bool:
        """Return whether a person is asked in this round."""
        return self.number in assigned_rounds(*self.panel, person)


def turn_of(contract: Mapping[str, Any], text: str, number: int | None) -> Turn | None:
    """Return a round of the panel that a valid contract describes; None if it describes none."""
    rounds = contract.get("rounds")
    if rounds is None and number is None:
        return None
    if rounds is None or type(number) is not int or not 1 <= number <= rounds:
        message = "round must be the number of a panel's round, from 1 on; collections that are no panel have none."
        raise UsageError(message, code="no-such-round")
    panel = (contract["panel"], rounds, contract["reports"])
    return Turn(round_id(text, number), round_label(contract["panel"], rounds, number), panel, number)


def round_label(panel: str, rounds: int, number: int) -> str:
    """Return the name of a round: those of a panel sort in their order."""
    return f"{panel}/{number:0{len(str(rounds))}d}"


def round_id(contract: str, number: int) -> str:
    """Return the id of one round of a panel, given the contract's bytes as text."""
    return hashlib.sha256(f"{contract}{number}".encode()).hexdigest()
