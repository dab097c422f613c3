"""Notes of an answer: its weak estimates, what it covers, and which tiers contribute its variance."""

from __future__ import annotations

import math
from typing import Any

from tacit.answers.people import FEW_REPORTS, People
from tacit.estimate.answer import Options
from tacit.estimate.estimate import Estimate
from tacit.sql.bind import Bound
from tacit.sql.domains import unknown_labels

__all__ = ["meaning_notes", "simultaneous_note", "tier_notes", "weak_notes"]


MOST_NAMED = 8
"""Maximum rounds and tiers that a note lists."""


def weak_notes(rows: list[list[Any]]) -> list[str]:
    """Return notes about estimates from few reports or without an interval."""
    estimates = [cell for row in rows for cell in row if isinstance(cell, Estimate)]
    margins = [
        estimate.error if estimate.is_even else estimate.margin for estimate in estimates
    ]  # a margin takes a quantile
    notes = []
    if any(estimate.freedom < FEW_REPORTS - 1 and estimate.error != 0 for estimate in estimates):
        notes.append("some estimates rest on fewer than 30 effective reports; their intervals are wide")
    if any(math.isnan(estimate.value) for estimate in estimates) or any(map(math.isnan, margins)):
        why = "too few reports, a division by zero, a negative variance, or no group before or after"
        notes.append(f"some estimates or errors are not defined: {why}")
    if any(map(math.isinf, margins)):
        notes.append("some ratios have no finite interval and no error: their denominators may be zero")
    return notes


def tier_notes(tiers: dict[str, float]) -> list[str]:
    """Return a note on how much of the first estimate's variance each tier contributes."""
    if not tiers:
        return []
    shares = ", ".join(f"{share:.0%} from tier {name}" for name, share in tiers.items())
    return [f"the variance of the first estimate comes {shares} (docs/glossary.md#tier)"]


def simultaneous_note(confidence: float) -> str:
    """Return the note on intervals that hold together."""
    return f"all intervals hold simultaneously at {confidence:.4g} (Bonferroni)"


def meaning_notes(bound: Bound, people: People, options: Options) -> list[str]:
    """Return notes on what the answer covers beyond the text of the question."""
    notes = [*bound.notes(), *unknown_labels(bound.statement, [round_.labels for round_ in people.rounds])]
    names = [round_.name for round_ in people.rounds]
    if len(names) > 1 and not any(key.attribute.name == "round" for key in bound.public):
        several = f"{len(names)} rounds, {names[0]} to {names[-1]}"
        notes.append(f"summed over {several if len(names) > MOST_NAMED else ', '.join(names)}")
    selection = bound.selection
    chosen = selection.test or selection.qualify or selection.ranks
    if chosen or any(not bound.is_key(key[0]) for key in selection.order):
        notes.append("rows were selected or sorted by noisy estimates: extremes look more extreme than they are")
    if options.simultaneous:
        notes.append(simultaneous_note(options.confidence))
    if options.superpopulation:
        notes.append("errors treat the people as a sample from a larger population (docs/glossary.md#interval)")
    return notes
