"""The exact audit of a contract: the worst loss of every channel and of a person, in fractions.

It reads the same integers that the sampler compares draws with. For a view, a code's probability is the probability of
the view, which is the same for every record, times ``weight / denominator`` of its oracle; so the worst ratio of a
channel is the worst ratio of its oracles' columns. Columns of large alphabets are examined by class: each oracle's
``columns`` says why there are no others, and small alphabets are enumerated in full to check that claim.

A person's reports are drawn independently given the records, so losses add up and ratios multiply.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.contract.budget import decimal_text, log_above, within
from tacit.contract.contract import Channel, Contract
from tacit.contract.oracles import Extremes, Oracle
from tacit.contract.readers import CentralLoss
from tacit.tables.html import table_html

__all__ = ["Audit", "ChannelAudit", "audit_contract", "every_column"]

ENUMERATE = 2_000
"""Channels with up to this many matrix entries are enumerated in full, in addition to the structural argument."""


@dataclass(frozen=True)
class ChannelAudit:
    """The worst code of a channel, and the pair of cells that it distinguishes best."""

    service: str
    channel: str
    reports: int
    epsilon: Fraction
    ratio: Fraction | None
    view: tuple[int, ...]
    oracle: str
    code: int
    cells: tuple[int, int]
    defect: str = ""

    @property
    def rule(self) -> str:
        """The rule of `docs/wire.md` that the channel breaks, or ""."""
        if self.defect:
            return self.defect
        return "" if self.ratio is not None and within(self.ratio, self.epsilon) else "over-budget"

    @property
    def problem(self) -> str:
        """The problem with the channel, or ""."""
        if self.defect == "lie-likelier":
            return "the truth is no more likely than a lie"
        if self.defect:
            return f"it is not a valid channel ({self.defect})"
        if self.ratio is None:
            return "a code identifies a record"
        return "exceeds its budget" if self.rule else ""

    @property
    def ok(self) -> bool:
        """Whether the channel is valid and its worst ratio is within its budget."""
        return not self.rule

    @property
    def loss(self) -> float:
        """Realised epsilon of one report in nats, rounded up; infinite if a code identifies a record."""
        return math.inf if self.ratio is None else log_above(self.ratio)


@dataclass(frozen=True)
class Audit:
    """A person's worst-case loss over all reports of a round: to the collector and, on request, to readers."""

    epsilon: Fraction
    channels: tuple[ChannelAudit, ...]
    central: CentralLoss | None = None

    @property
    def ratio(self) -> Fraction | None:
        """Worst likelihood ratio of everything a person sends; None if unbounded."""
        total = Fraction(1)
        for channel in self.channels:
            if channel.ratio is None:
                return None
            total *= channel.ratio**channel.reports
        return total

    @property
    def worst_loss(self) -> float:
        """A person's total loss in nats, rounded up, but not above the budget as a double if the budget holds."""
        if self.ratio is None:
            return math.inf
        loss = log_above(self.ratio)
        return min(loss, float(self.epsilon)) if within(self.ratio, self.epsilon) else loss

    @property
    def central_epsilon(self) -> float | None:
        """Upper bound on what readers of answers learn; None where nothing is claimed (``central`` says why)."""
        return self.central.epsilon if self.central else None

    @property
    def claimed(self) -> Fraction:
        """Sum of the budgets of all reports."""
        return sum((channel.reports * channel.epsilon for channel in self.channels), Fraction(0))

    @property
    def rule(self) -> str:
        """The first rule of `docs/wire.md` that the contract breaks, or ""."""
        broken = next((channel.rule for channel in self.channels if channel.rule), "")
        if broken or self.ratio is None:
            return broken or "over-budget"
        return "" if self.claimed <= self.epsilon and within(self.ratio, self.epsilon) else "over-total"

    @property
    def ok(self) -> bool:
        """Whether every channel is within its budget, and all budgets together within epsilon."""
        return not self.rule

    def to_data(self) -> dict[str, Any]:
        """Return the result as plain data; unbounded losses are None, because JSON has no infinity."""
        channels = [
            {
                "service": item.service,
                "channel": item.channel,
                "reports": item.reports,
                "epsilon": decimal_text(item.epsilon),
                "realised": _finite(item.loss),
                "ratio": str(item.ratio),
                "oracle": item.oracle,
                "view": item.view,
                "code": item.code,
                "cells": item.cells,
                "ok": item.ok,
                "problem": item.problem,
            }
            for item in self.channels
        ]
        total = {"ok": self.ok, "epsilon": decimal_text(self.epsilon), "worst_loss": _finite(self.worst_loss)}
        return total | ({"central": self.central.to_data()} if self.central else {}) | {"channels": channels}

    def __str__(self) -> str:
        over = " The channels' budgets add up to more than that." if self.claimed > self.epsilon else ""
        lines = [
            f"{'ok' if self.ok else 'FAILED'}: a person's total loss is at most {self.worst_loss:.12g} nats; "
            f"the budget is {decimal_text(self.epsilon)}.{over}",
            *([str(self.central)] if self.central else []),
            f"{'service':<16} {'channel':<14} {'reports':>7} {'budget':>10} {'realised':>14}  worst case",
        ]
        for item in self.channels:
            where = f"{item.oracle}, levels {'-'.join(map(str, item.view))}, cells {item.cells[0]} and {item.cells[1]}"
            lines.append(
                f"{item.service:<16} {item.channel:<14} {item.reports:>7} {float(item.epsilon):>10.6g} "
                f"{item.loss:>14.10f}  {where}, code {item.code}{item.problem and f'  ← {item.problem}'}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *others = str(self).partition("\nservice")[0].splitlines()
        rows = [
            [
                item.service,
                item.channel,
                str(item.reports),
                decimal_text(item.epsilon),
                f"{item.loss:.10f}",
                item.problem,
            ]
            for item in self.channels
        ]
        below = "".join(f"<p>{html.escape(line)}</p>" for line in others)
        head = ["service", "channel", "reports", "budget", "realised", ""]
        return table_html(head, rows, numbers=[False, False, True, True, True], caption=first) + below


def _finite(loss: float) -> float | None:
    return loss if math.isfinite(loss) else None


def every_column(oracle: Oracle) -> Iterator[Extremes]:
    """Yield every column of a channel by visiting every cell and code; for small alphabets."""
    for code in range(oracle.alphabet):
        weights = [oracle.weight(cell, code) for cell in range(oracle.domain)]
        most, least = max(weights), min(weights)
        yield Extremes(code, most, weights.index(most), least, weights.index(least))


def _badness(column: Extremes) -> tuple[bool, Fraction]:
    return column.ratio is None, column.ratio or Fraction(0)


def _worst_column(oracle: Oracle) -> Extremes:
    """Return the column with the largest ratio; impossible codes do not count, half-possible ones are unbounded."""
    columns = list(oracle.columns())
    if oracle.domain * oracle.alphabet <= ENUMERATE:
        columns += every_column(oracle)
    possible = [column for column in columns if column.most > 0]
    return max(possible, key=_badness, default=Extremes(0, 1, 0, 1, 0))  # all-zero weights reveal nothing


def _defect(oracle: Oracle) -> str:
    """Return the rule that a channel breaks if lies are likelier than the truth, or ""."""
    if oracle.domain > 1 and oracle.keep <= oracle.lie:
        return "lie-likelier"
    return ""


def _audit_channel(service: str, reports: int, channel: Channel) -> ChannelAudit:
    audits: dict[Oracle, ChannelAudit] = {}
    for view in channel.views:
        if view.oracle not in audits:
            flaw = view.oracle.flaw()
            column = Extremes(0, 1, 0, 0, 0) if flaw else _worst_column(view.oracle)
            audits[view.oracle] = ChannelAudit(
                service,
                channel.name,
                reports,
                channel.epsilon,
                column.ratio,
                view.levels,
                view.oracle.name,
                view.offset + column.code,
                (column.most_cell, column.least_cell),
                flaw or _defect(view.oracle),
            )
    return max(audits.values(), key=lambda item: (bool(item.defect), item.ratio is None, item.ratio or Fraction(0)))


def audit_contract(contract: Contract) -> Audit:
    """Return the exact audit of every channel of every service."""
    return Audit(
        contract.epsilon,
        tuple(
            _audit_channel(compiled.service.name, contract.times * compiled.service.sends, channel)
            for compiled in contract.services
            for channel in compiled.channels
        ),
    )
