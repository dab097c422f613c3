"""Settings that an operator can choose."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EVERYBODY", "Settings"]

EVERYBODY = "all"
"""Stands for keys of every name."""


@dataclass(frozen=True)
class Settings:
    """Limits and requirements of a collector; see `tacit serve --help`."""

    tokens: frozenset[str] = frozenset()
    """Names of keys that need a person's token to send and delete."""

    without_token: frozenset[str] = frozenset()
    """Names of browser keys that send without tokens: anyone who reads the page can then report under any id."""

    deletions_per_minute: float = 60.0
    """Per key, or per person with a token; bursts of a minute's worth are allowed."""

    reports_per_second: float = 50_000.0
    """Average per key; bursts of ten seconds' worth are allowed."""

    questions_per_minute: float = 60.0
    """Average per key; bursts of a minute's worth are allowed."""

    question_seconds: float = 30.0
    """Seconds after which the engine is interrupted."""

    body_seconds: float = 30.0
    """Seconds within which a request's body must arrive."""

    otlp: str = ""
    """Address that gets traces and metrics, if there is one."""
