"""What readers of answers learn about a person: a contract's central epsilon, or why none is claimed.

The collector sees every report, and learns at most the local epsilon. Readers who see answers only learn less, because
answers are functions of the multiset of messages (`tacit.contract.amplification`). A number is stated only under the
conditions below: the program checks those that it can, and lists the others beside the number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.contract.amplification import DELTA, Crowd, central_epsilon, rounded_crowd
from tacit.contract.budget import MAX_EPSILON, decimal_text, exp_below, read_fraction
from tacit.contract.contract import Contract
from tacit.contract.oracles import Grr, Oracle
from tacit.contract.panel import Panel
from tacit.contract.schema import Schema
from tacit.errors import UsageError

__all__ = [
    "CONDITIONS",
    "CentralLoss",
    "Privacy",
    "central_loss",
    "clone_share",
    "local_budget",
    "no_claim",
    "over_rounds",
    "public_columns",
]

CONDITIONS = (
    "the reader sees answers only: no single report, contribution, export or file of the collector",
    "the reader neither sent nor knows the reports of the people counted here",
    "all answers are about the same people, or about sets that grew by at least as many people at once",
    "whether somebody takes part does not depend on the data: taking part is not hidden",
)
"""Conditions of the guarantee that are not computed; docs/two-guarantees.md says how to keep each."""

KEYED = "the reader knows neither the key that assigns views and seeds nor the coins of other people"
"""A further condition for assigned views: the holder of the key knows which person reports which view."""

ENUMERATE = 20_000
"""Maximum entries of a view's matrix for which the share of clones is computed from every entry."""


@dataclass(frozen=True)
class CentralLoss:
    """Upper bound on what readers of answers learn about one of ``people``, except with probability ``delta``.

    ``epsilon`` is None where nothing is claimed; ``reason`` says why.
    """

    epsilon: float | None
    delta: Fraction
    people: int
    share: Fraction
    reason: str = ""
    keyed: bool = False
    """Whether it holds only against readers who do not know the key that assigns views and seeds."""

    def to_data(self) -> dict[str, Any]:
        """Return plain data."""
        conditions = [*CONDITIONS, KEYED] if self.keyed else [*CONDITIONS]
        stated = {"epsilon": self.epsilon, "delta": decimal_text(self.delta), "people": self.people}
        return stated | {"clone_share": str(self.share), "reason": self.reason, "conditions": conditions}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CentralLoss:
        """Return the object from the result of `to_data`."""
        epsilon, delta, share = data["epsilon"], read_fraction(data["delta"]), read_fraction(data["clone_share"])
        known = None if epsilon is None else float(epsilon)
        return cls(known, delta, int(data["people"]), share, str(data["reason"]), KEYED in data["conditions"])

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"Against readers of answers nothing better is claimed: {self.reason}"
        return (
            f"Against readers of answers: at most {self.epsilon:.4g} nats at delta {float(self.delta):g}, "
            f"hidden among {self.people:,} people{', if they do not know the key that assigns views' * self.keyed}."
        )


@dataclass(frozen=True)
class Privacy:
    """Both guarantees of an answer: ``local`` against the collector, ``central`` against readers of answers."""

    local: float
    central: CentralLoss

    def to_data(self) -> dict[str, Any]:
        """Return plain data; a loss without bound is None."""
        return {"local": self.local if math.isfinite(self.local) else None, "central": self.central.to_data()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Privacy:
        """Return the object from the result of `to_data`."""
        local = data["local"]
        return cls(math.inf if local is None else float(local), CentralLoss.from_data(data["central"]))

    def __str__(self) -> str:
        return f"Against the collector: at most {self.local:.6g} nats. {self.central}"


def no_claim(reason: str, delta: Fraction = DELTA) -> CentralLoss:
    """Return the absence of a claim about readers, with the reason."""
    return CentralLoss(None, delta, 0, Fraction(0), reason)


@lru_cache(maxsize=64)
def local_budget(central: Fraction, people: int, delta: Fraction, *, alone: bool) -> Fraction:
    """Return the largest local epsilon, in thousandths, whose central epsilon for a number of people is within a limit.

    With ``alone`` a person's message is assumed to be one report of randomised response, whose share of clones is
    larger.
    """

    def holds(thousandths: int) -> bool:
        p = exp_below(Fraction(thousandths, 1000))
        crowd = Crowd.of(p, 2 / (p + 1) if alone else 1 / p, rounded_crowd(people), delta)
        return Fraction(crowd.delta(float(central))) <= delta

    low, high = int(1000 * central), 1000 * MAX_EPSILON
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return Fraction(max(low, 1), 1000)


def over_rounds(losses: Iterable[tuple[str, float, CentralLoss]], panels: Mapping[str, Panel] | None = None) -> Privacy:
    """Add up losses over rounds, each given with its name; the largest tier of a round counts.

    A person is in one tier of a round, and in as many rounds of a panel as the panel states: ``panels`` has the panel
    of each round.
    Nothing is claimed about readers if a part has no central loss.
    """
    local: dict[str, Fraction] = {}
    central: dict[str, Fraction] = {}
    parts = list(losses)
    lacking = next((part for _, _, part in parts if part.epsilon is None), None)
    for name, loss, part in parts:
        if not math.isfinite(loss):
            return Privacy(math.inf, lacking or part)
        local[name] = max(local.get(name, Fraction(0)), Fraction(loss))
        central[name] = max(central.get(name, Fraction(0)), Fraction(part.epsilon or 0))
    known = panels or {}
    collector = _up(_largest(local, known))
    if lacking is not None:
        return Privacy(collector, lacking)
    delta = _largest({name: part.delta for name, _, part in parts}, known)
    crowd, share = min(part.people for _, _, part in parts), min(part.share for _, _, part in parts)
    keyed = any(part.keyed for _, _, part in parts)
    return Privacy(collector, CentralLoss(_up(_largest(central, known)), delta, crowd, share, keyed=keyed))


def _largest(losses: Mapping[str, Fraction], panels: Mapping[str, Panel]) -> Fraction:
    """Return the largest sum over the rounds of one person; the number of a panel's round follows a slash."""
    by_panel: dict[str, list[Fraction]] = {}
    reports: dict[str, int] = {}
    for name, loss in losses.items():
        panel = name.rpartition("/")[0] if name in panels else f"{name}/"  # no panel
        by_panel.setdefault(panel, []).append(loss)
        if name in panels:
            reports[panel] = max(reports.get(panel, 0), panels[name].reports)
    counted = [sorted(listed, reverse=True)[: reports.get(panel, len(listed))] for panel, listed in by_panel.items()]
    return sum((loss for largest in counted for loss in largest), Fraction(0))


def _up(value: Fraction) -> float:
    """Return a double that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def clone_share(contract: Contract, ratio: Fraction) -> Fraction:
    """Return the share gamma of `tacit.contract.amplification` for everything that a person sends, exactly.

    By the definition of ``ratio``, ``1 / ratio`` is always such a share. Where a person's message is one report of one
    view, the two records to be told apart may be taken to lie in different cells: a record is a mixture of cells
    (rounding, choosing a row), divergences of mixtures are at most those of their parts, and equal cells have none.
    """
    service = contract.services[0]
    is_one_report = len(contract.services) == 1 and service.service.sends * contract.times == 1
    if not is_one_report or len(service.channels) > 1 or len(service.channels[0].views) > 1:
        return 1 / ratio
    return _pair_share(service.channels[0].views[0].oracle, ratio)


def _pair_share(oracle: Oracle, ratio: Fraction) -> Fraction:
    """Return the least ``2 w[z] / (w[x] + w[x'])`` over codes and cells, x and x' different."""
    if oracle.domain == 1:
        return Fraction(1)
    if isinstance(oracle, Grr):
        return Fraction(2 * oracle.flip, oracle.stay + oracle.flip)
    if oracle.domain * oracle.alphabet > ENUMERATE:
        return 1 / ratio
    shares = [Fraction(1)]
    for code in range(oracle.alphabet):
        weights = sorted(oracle.weight(cell, code) for cell in range(oracle.domain))
        if weights[-1]:
            shares.append(Fraction(2 * weights[0], weights[-1] + weights[-2]))
    return min(shares)


def public_columns(schema: Schema) -> list[str]:
    """Return the names of all public columns, with their services."""
    return [f"{service.name}.{column.name}" for service in schema.services for column in service.public]


def central_loss(
    contract: Contract,
    ratio: Fraction | None,
    *,
    people: int,
    delta: Fraction = DELTA,
    alike: int | None = None,
    known: int = 0,
) -> CentralLoss:
    """Return an upper bound on what readers of answers learn.

    Parameters
    ----------
    ratio : Fraction or None
        The worst likelihood ratio of everything that a person sends; None if it has no bound.
    people : int
        The number of people who report in this collection.
    alike : int, optional
        The number of people in the smallest class by all public columns.
    known : int
        People whose reports readers sent themselves, or know.

    For a panel, ``people`` counts those of all rounds. It is public who was asked when, so only people of the same
    round hide each other, and a person's rounds add up.
    """
    for word, number, least in (("people", people, 1), ("alike", alike, 1), ("known", known, 0)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
            message = f"{word} must be a whole number of people, {least} or more."
            raise UsageError(message, code="bad-option")
    panel = contract.panel
    if ratio is not None and panel and not contract.member:
        return _of_panel(contract, panel, ratio, people=people, delta=delta, alike=alike, known=known)
    columns = public_columns(contract.schema)
    if ratio is None:
        return no_claim("the audit of the contract fails.", delta)
    share = clone_share(contract, ratio)
    if columns and alike is None:
        reason = (
            f"public columns ({', '.join(columns[:8])}) divide the people into classes, and only people of the same "
            "class hide each other. Say with alike how many people the smallest class has."
        )
        return CentralLoss(None, delta, 0, share, reason)
    crowd = rounded_crowd(max(0, min(people, people if alike is None else alike) - known))
    loss = central_epsilon(ratio, share, crowd, delta) if crowd > 1 else None
    reason = "" if loss is not None else f"{crowd:,} people are too few to hide one among them."
    return CentralLoss(loss, delta, crowd, share, reason, keyed=contract.assigned)


def _of_panel(
    contract: Contract, panel: Panel, ratio: Fraction, *, people: int, delta: Fraction, alike: int | None, known: int
) -> CentralLoss:
    """Return the central loss of a whole panel: that of one round, as often as a person reports."""
    round_ = replace(contract, member=1)
    crowd = panel.fewest(people if alike is None else min(people, alike))
    loss = central_loss(
        round_,
        _root_above(ratio, panel.reports),
        people=max(1, crowd),
        delta=delta / panel.reports,
        alike=None if alike is None else max(1, crowd),
        known=known,
    )
    epsilon = None if loss.epsilon is None else _up(Fraction(loss.epsilon) * panel.reports)
    return replace(loss, epsilon=epsilon, delta=delta)


def _root_above(value: Fraction, degree: int) -> Fraction:
    """Return the exact root of a power of a fraction; otherwise a fraction that is not below the root."""

    def root(number: int) -> int:
        low, high = 0, 1 << (number.bit_length() // degree + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
        return low

    top, bottom = root(value.numerator), root(value.denominator)
    return Fraction(top + (top**degree < value.numerator), bottom)
