"""Previews in words: what a report reveals, and what anyone can learn about the rest.

`tests/vectors/client/sentences.json` fixes the wording; the TypeScript client uses the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.client.audit import budget

__all__ = ["NOTHING_LEAVES", "Preview", "certainty", "guarantee", "service_cost"]

Data = Mapping[str, Any]

NOTHING_LEAVES = "Nothing is sent: the collector already has this person's reports, from a wallet that was lost."


@dataclass(frozen=True)
class Preview:
    """The raw rows, the exact reports that will be sent, and what anyone can learn from them."""

    raw: Any = field(repr=False)
    """Left out of the repr, which may end up in a log; so are the reports, which have public columns."""
    leaves: tuple[Any, ...] = field(repr=False)
    epsilon: float
    sentences: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The guarantee in words: first what is sent unchanged, then what the noise hides."""
        return " ".join(self.sentences)


def service_cost(service: Data) -> Fraction:
    """Return the epsilon that a person's reports to a service spend."""
    budgets = (budget(channel["epsilon"]) for channel in service["channels"])
    return int(service.get("sends", 1)) * sum(budgets, Fraction(0))


def certainty(epsilon: float | Fraction) -> str:
    """Return the percentage to which a certainty of 50 % can rise at most, rounded up."""
    share = 100 / (1 + math.exp(-float(epsilon)))
    for digits in range(1, 5):
        bound = math.ceil(share * 10**digits) / 10**digits
        if bound < 100:
            return f"{bound:.{digits}f}".rstrip("0").rstrip(".")
    return "100"


def guarantee(contract: Data, service: Data) -> list[str]:
    """Return sentences that say what a person's reports to a service reveal, and what they hide."""
    sends, cost, total = service.get("sends", 1), service_cost(service), budget(contract["epsilon"])
    public = [attribute["name"] for attribute in service["attributes"] if attribute["kind"] == "public"]
    label = "".join(f", {word} {contract[word]}" for word in ("round", "tier") if contract.get(word))
    reports = "this report" if sends == 1 else f"these {sends} reports"
    about = "anything else in the row"
    if "at_most" in service:
        about = "anything else in the rows, and how many there are,"
    elif service.get("optional"):
        about = "anything else in the row, and whether there is one,"
    sentences = [
        f"Sent unchanged: {_join_names([service['key'], *public])}, and that you report to {service['name']}{label}.",
        f"Someone who knows that and sees {reports} can raise a certainty of 50 % about {about} "
        f"to at most {certainty(cost)} %.",
    ]
    panel = contract.get("panel")
    within = f"all rounds of panel {panel}" if panel else "this round"
    if total > cost:
        sentences.append(f"With all your reports of {within}: to at most {certainty(total)} %.")
    return [*sentences, f"Reports of other {'panels and rounds' if panel else 'rounds'} add to this."]


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
