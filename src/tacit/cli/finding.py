"""What `tacit doctor` found, one check at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.contract.hash_chain import read_chain

__all__ = ["Finding", "log_finding"]


@dataclass(frozen=True)
class Finding:
    """One check; if it failed, what to do. ``ok`` is None if it was not checked."""

    what: str
    ok: bool | None
    detail: str
    fix: str = ""


def log_finding(lines: Sequence[str], fix: str) -> Finding:
    """Check that the lines of a log are one chain."""
    chain = read_chain(lines)
    if chain.ok:
        return Finding("log", ok=True, detail=f"{chain.head.entries} entries in an unbroken chain")
    return Finding("log", ok=False, detail=f"line {chain.position}: {chain.problem}", fix=fix)
