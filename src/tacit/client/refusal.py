"""Refuse a contract by the rule of `docs/wire.md` that it breaks."""

from __future__ import annotations

from typing import Never

from tacit.errors import ContractError

__all__ = ["fail", "need"]

CODES = {
    "too-large": "contract-too-large",
    "not-json": "contract-not-json",
    "version": "contract-version",
    "not-for-clients": "not-for-clients",
}
"""Error codes other than ``contract-damaged``."""


def fail(rule: str) -> Never:
    """Raise the error for a contract that breaks a rule."""
    message = f"The contract breaks the rule {rule!r} of docs/wire.md. Nothing is encoded with it."
    raise ContractError(message, code=CODES.get(rule, "contract-damaged"), rule=rule)


def need(condition: object, rule: str) -> None:
    """Raise unless a contract satisfies a rule."""
    if not condition:
        fail(rule)
