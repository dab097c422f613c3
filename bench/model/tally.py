"""What answers come to, class by class: sums that further encodings add to, and the tables made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.common import figure
from bench.model.populations import HELD_OUT

__all__ = ["FAR", "Tally", "added", "numbers", "table_of", "tally"]

FAR = 6.0
"""Stated errors that no answer should be off."""

Tally = dict[str, float]


def tally(truth: list[float], fitted: list[Any], plain: list[Any], scale: float = 1.0) -> Tally:
    """Return the sums over answers; an unbiased one may be missing (None) or without a finite interval."""
    names = ("answers", "held", "far", "square", "both", "fitted", "plain", "plain_held", "width", "open")
    made = dict.fromkeys(names, 0.0)
    made["farthest"] = 0.0
    for right, one, other in zip(truth, fitted, plain, strict=True):
        off = abs(one.value - right) / one.error if one.error > 0 else 0.0
        made["answers"] += 1
        made["held"] += one.low <= right <= one.high
        made["far"] += off > FAR
        made["farthest"] = max(made["farthest"], off)
        made["square"] += ((one.value - right) / scale) ** 2
        if other is None or not math.isfinite(other.value + other.high - other.low):
            continue
        made["open"] += not math.isfinite(one.high - one.low)
        if math.isfinite(one.high - one.low):
            made["both"] += 1
            made["fitted"] += ((one.value - right) / scale) ** 2
            made["plain"] += ((other.value - right) / scale) ** 2
            made["plain_held"] += other.low <= right <= other.high
            made["width"] += (one.high - one.low) / (other.high - other.low) if other.high > other.low else 1.0
    return made


def added(known: dict[str, Tally], more: dict[str, Tally]) -> dict[str, Tally]:
    """Return the sums over two sets of encodings, by class."""
    made = {}
    for label in {**known, **more}:
        left, right = known.get(label, {}), more.get(label, {})
        made[label] = {
            name: figure((max if name == "farthest" else sum)([left.get(name, 0.0), right.get(name, 0.0)]))
            for name in {**left, **right}
        }
    return made


def numbers(one: Tally) -> dict[str, float]:
    """Return what the sums say: coverage, the farthest answer, and error and width over those of unbiased answers."""
    both = one["both"] or math.nan
    return {
        "covered": one["held"] / one["answers"],
        "farthest": one["farthest"],
        "ratio": math.sqrt(one["fitted"] / one["plain"]) if one["plain"] else math.nan,
        "width": one["width"] / both,
        "plain_covered": one["plain_held"] / both,
    }


def table_of(points: dict[str, Any]) -> str:
    """Return the results: a row for each campaign and class, and what all of them come to."""
    head = "population, epsilon, people | encodings | class | answers | covered | farthest | error over unbiased"
    lines = [f"| {head} | width over unbiased |", "|---|--:|---|--:|--:|--:|--:|--:|"]
    found, answered, far, unbounded = [], 0, 0, 0
    for key, own in points.items():
        star = "*" if key.split(" | ")[0] in HELD_OUT else ""
        for label, one in own["classes"].items():
            made = numbers(one)
            ratio = " | " if math.isnan(made["ratio"]) else f"{made['ratio']:.2f} | {made['width']:.2f}"
            lines.append(
                f"| {key.replace(' | ', ', ')}{star} | {own['encodings']} | {label} | {int(one['answers']):,} | "
                f"{made['covered']:.3f} | {made['farthest']:.1f} | {ratio} |"
            )
            found.append(made)
            answered, far = answered + int(one["answers"]), far + int(one["far"])
            unbounded += int(one.get("open", 0))
    ratios = [made["ratio"] for made in found if not math.isnan(made["ratio"])]
    if ratios:
        covered = [made["covered"] for made in found]
        mean = math.exp(float(np.mean(np.log([own for own in ratios if own]))))  # a median may be exact
        lines += [
            "",
            f"{answered:,} answers in {len(found)} classes: error over unbiased {mean:.2f} in the geometric mean, "
            f"{max(ratios):.2f} at most, above 1 in {sum(own > 1 for own in ratios)}; covered {min(covered):.3f} to "
            f"{max(covered):.3f}, from 0.93 to 0.99 in {sum(0.93 <= own <= 0.99 for own in covered)}, below 0.88 in "
            f"{sum(own < 0.88 for own in covered)}; farthest {max(made['farthest'] for made in found):.1f} stated "
            f"errors, more than {FAR:.0f} in {far} answers; {unbounded} have no finite interval where the unbiased one "
            "has. * kept for testing alone.",
        ]
    return "\n".join(lines)
