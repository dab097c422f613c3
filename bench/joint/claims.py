"""What the paper says about its table and figures, as conditions on the results."""

from __future__ import annotations

from typing import Any

__all__ = ["judge"]

STATEMENTS: tuple[Any, ...] = ()


def judge(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every statement with what was found."""
    return [check(results) for check in STATEMENTS]
