"""The client's own audit, before anything is encoded: a contract's integers must keep the budgets it states.

The worst likelihood ratio of each oracle follows from its integers (`tacit.contract.oracles` states the argument, and
tests check it by enumeration) and is compared with a rational below ``e**epsilon``. Reports are drawn
independently, so a person's losses add up: the channels' budgets, times the reports of each service, must not exceed
the contract's.
"""

from __future__ import annotations

from fractions import Fraction

from tacit.client.declarations import budget
from tacit.client.interpreter import Interpreter
from tacit.errors import PrivacyError

__all__ = ["budget", "refuse_unsafe"]

SCALE = 512
"""Fractional bits of the bound below e**epsilon: more precise than the thresholds."""


def refuse_unsafe(interpreter: Interpreter) -> None:
    """Refuse a contract whose thresholds exceed the loss it states."""
    total = Fraction(0)
    for service in interpreter.data["services"]:
        for rules, channel in zip(interpreter.channels(service["name"]), service["channels"], strict=True):
            epsilon = budget(channel["epsilon"])
            total += interpreter.data.get("reports", 1) * service.get("sends", 1) * epsilon
            pairs = {step.weights for step in rules.steps if step.domain > 1}
            where = f"{service['name']}, {channel['name']}"
            if any(truth <= lie for truth, lie in pairs):
                raise _unsafe(f"{where}: the truth is no more likely than a lie", "lie-likelier")
            bound = _exp_below(epsilon)
            if any(truth > bound * lie for truth, lie in pairs):
                raise _unsafe(f"{where}: a code reveals more than its budget allows", "over-budget")
    if total > budget(interpreter.data["epsilon"]):
        raise _unsafe("the reports together exceed the budget", "over-total")


def _exp_below(epsilon: Fraction) -> Fraction:
    """Return a rational at most ``e**epsilon``: every term of the series is rounded down."""
    x = (epsilon.numerator << SCALE) // epsilon.denominator
    total, term, number = 0, 1 << SCALE, 1
    while term:
        total += term
        term = term * x // (number << SCALE)
        number += 1
    return Fraction(total, 1 << SCALE)


def _unsafe(problem: str, rule: str) -> PrivacyError:
    message = f"The contract fails its audit: {problem}. Nothing is encoded with it."
    return PrivacyError(message, code="audit-failed", rule=rule)
