"""Derive budgets from a limit on what readers of answers learn, and from shares of services."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction

from tacit.contract.audit import audit_contract
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon
from tacit.contract.contract import Contract
from tacit.contract.readers import central_loss, local_budget
from tacit.contract.schema import Schema
from tacit.errors import SchemaError, TacitError, UsageError

__all__ = ["planned_contract", "service_weights"]


def planned_contract(
    compiled: Callable[[Fraction], Contract], central: BudgetLike, delta: Fraction, users: int | None, alike: int | None
) -> Contract:
    """Return the contract of the largest budget with which readers of answers learn at most ``central``."""
    if users is None:
        message = "central_epsilon needs users: how many people report."
        raise UsageError(message, code="bad-option")
    limit, crowd = parse_epsilon(central), min(users, users if alike is None else alike)
    reason = "use more people."
    for alone, less in itertools.product((True, False), range(3)):  # the stated number is rounded up
        contract = compiled(local_budget(limit, crowd, delta, alone=alone) - Fraction(less, 1000))
        audit = audit_contract(contract)
        loss = central_loss(contract, audit.ratio, people=users, delta=delta, alike=alike)
        reason = loss.reason or reason
        if audit.worst_loss <= limit or (loss.epsilon is not None and loss.epsilon <= limit):
            return contract
    message = f"No budget gives a central epsilon of {decimal_text(limit)}: {reason}"
    raise UsageError(message, code="no-central-epsilon")


def service_weights(schema: Schema, weights: Mapping[str, BudgetLike] | None) -> dict[str, Fraction]:
    """Return the weights of services as fractions; refuse unknown services and weights that are not above 0."""
    shares = {}
    for name, weight in (weights or {}).items():
        schema[name]
        try:
            shares[name] = parse_epsilon(weight)
        except TacitError:
            message = f"weights: that of {name} must be a number above 0, such as 2."
            raise SchemaError(message, code="bad-option") from None
    return shares
