"""Texts of surveys: scales, whose values have an order, and lists of choices in one text."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["ascending", "separator_of_choices"]

SCALES: tuple[tuple[str, ...], ...] = (
    (
        *("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neither agree nor disagree"),
        *("neither", "neutral", "undecided", "slightly agree", "somewhat agree", "agree", "strongly agree"),
    ),
    (
        *("very dissatisfied", "dissatisfied", "somewhat dissatisfied", "neither satisfied nor dissatisfied"),
        *("neutral", "somewhat satisfied", "satisfied", "very satisfied"),
    ),
    ("never", "rarely", "seldom", "occasionally", "sometimes", "often", "usually", "always"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("none", "very low", "low", "medium", "high", "very high", "critical"),
    ("xs", "s", "m", "l", "xl", "xxl", "xxxl"),
)
"""Well-known scales, in ascending order."""

SPAN = re.compile(r"(?:<|under )? ?(\d+)(?: ?(?:-|–|to) ?\d+|\+| and over)?", re.IGNORECASE)
"""A range of whole numbers, such as 18-24, <18 or 55+."""

FEWEST = 3
"""Values of a scale that must occur: two words have no telling order."""

SEPARATORS = (";", "|", ",")


def ascending(texts: Sequence[str]) -> list[str] | None:
    """Return texts in the order of the scale that they are on; None if they are on none.

    Examples
    --------
    >>> ascending(["Agree", "Disagree", "Strongly agree"])
    ['Disagree', 'Agree', 'Strongly agree']
    >>> ascending(["55+", "18-24", "<18", "25-54"])
    ['<18', '18-24', '25-54', '55+']
    """
    if len(texts) < FEWEST:
        return None
    for scale in SCALES:
        if all(text.strip().lower() in scale for text in texts):
            return sorted(texts, key=lambda text: scale.index(text.strip().lower()))
    spans = {text: SPAN.fullmatch(text.strip()) for text in texts}
    starts = {text: _start(span) for text, span in spans.items() if span}
    if len(starts) == len(texts) == len(set(starts.values())) and not all(text.isdigit() for text in texts):
        return sorted(texts, key=lambda text: starts[text])
    return None


def _start(span: re.Match[str]) -> float:
    below = span[0].lower().startswith(("<", "under"))
    return int(span[1]) - 0.5 if below else int(span[1])


def separator_of_choices(texts: Sequence[str]) -> str | None:
    """Return what separates several choices in texts, if these combine fewer choices; else None.

    Examples
    --------
    >>> separator_of_choices(["web", "ios", "ios;web", "api;ios", "api;ios;web"])
    ';'
    """
    for separator in SEPARATORS:
        parts = {part.strip() for text in texts for part in text.split(separator)}
        several = sum(separator in text for text in texts)
        if several >= FEWEST and len(parts) < len(texts):
            return separator
    return None
