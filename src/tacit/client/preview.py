"""What leaves, in words: what is readable in a report, and what anyone can learn about the rest.

`tests/vectors/client/sentences.json` fixes these words; the TypeScript client says the same ones.
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

NOTHING_LEAVES = "Nothing leaves: the collector has reports of this person already, from a wallet that is gone."


@dataclass(frozen=True)
class Preview:
    """What was handed over, the very reports that will leave, and what anyone can learn from them."""

    raw: Any = field(repr=False)
    """Never in a repr, which may end in a log."""
    leaves: tuple[Any, ...]
    epsilon: float
    sentences: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The guarantee in words: first what leaves as it is, then what the noise hides."""
        return " ".join(self.sentences)


def service_cost(service: Data) -> Fraction:
    """Return what a person's reports to a service spend together."""
    return int(service.get("sends", 1)) * sum((budget(one["epsilon"]) for one in service["channels"]), Fraction(0))


def certainty(epsilon: float | Fraction) -> str:
    """Return the percentage that a certainty of 50 % can become at most, rounded up."""
    share = 100 / (1 + math.exp(-float(epsilon)))
    for digits in range(1, 5):
        bound = math.ceil(share * 10**digits) / 10**digits
        if bound < 100:
            return f"{bound:.{digits}f}".rstrip("0").rstrip(".")
    return "100"


def guarantee(contract: Data, service: Data) -> list[str]:
    """Return what a person's reports to a service show, and what they hide, in sentences."""
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
        f"Leaves as it is: {_listed([service['key'], *public])}, and that you report to {service['name']}{label}.",
        f"Knowing that already, whoever sees {reports} can raise a certainty of 50 % about {about} "
        f"to at most {certainty(cost)} %.",
    ]
    panel = contract.get("panel")
    within = f"this round and of all rounds of panel {panel}" if panel else "this round"
    if total > cost:
        sentences.append(f"Your reports to all services of {within} together: to at most {certainty(total)} %.")
    return [*sentences, f"Reports of other {'panels and rounds' if panel else 'rounds'} add to this."]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
