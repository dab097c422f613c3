"""Contracts that only predictions use: variants of a collection, designed with less effort.

Nobody collects with a draft. Its predicted errors are within a tenth of those of the collection that `Collection`
would compile, and mostly larger (`tacit.contract.layouts.design.DRAFT_STEPS`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from tacit.answers.auto import choose_layout
from tacit.contract.contract import Contract, ServiceContract, compile_contract
from tacit.contract.layouts import Expected
from tacit.contract.schema import Schema, Service

__all__ = ["draft_contract"]


def draft_contract(old: Contract, *, schema: Schema | None = None, epsilon: Fraction | None = None) -> Contract:
    """Return a contract like another one, with other attributes and equal shares of services, or another budget."""
    budget = old.epsilon if epsilon is None else epsilon
    total = budget * (old.panel.reports if old.panel and old.member else 1)  # a round has its part of the total
    shares = {compiled.service.name: sum(c.epsilon for c in compiled.channels) for compiled in old.services}
    contract = compile_contract(
        schema or old.schema,
        total,
        mechanism=old.mechanism,
        oracle=old.oracle,
        round_name=old.round,
        choose_layout=partial(_choose_draft, oracle=old.oracle) if old.mechanism == "auto" else None,
        weights=None if schema else {name: Fraction(share) for name, share in shares.items()},
        tier=old.tier,
        panel=old.panel,
        assigned=old.assigned,
    )
    return replace(contract, epsilon=budget, member=old.member)


def _choose_draft(service: Service, expected: Expected, oracle: str) -> ServiceContract:
    return choose_layout(service, replace(expected, draft=True), oracle)
