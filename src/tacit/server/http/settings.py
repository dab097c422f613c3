"""What an operator may choose, and what is fixed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EVERYBODY", "Settings"]

EVERYBODY = "all"
"""Instead of a name: keys of every name."""


@dataclass(frozen=True)
class Settings:
    """Limits and demands of a collector; see `tacit serve --help`."""

    tokens: frozenset[str] = frozenset()
    """Names of keys that send and delete only with tokens of people."""

    without_token: frozenset[str] = frozenset()
    """Names of browsers' keys that send without tokens: whoever reads the page can then report under any id."""

    deletions_per_minute: float = 60.0
    """Of one key, or of one person with a token; a minute's worth may come at once."""

    reports_per_second: float = 50_000.0
    """Of one key, on average; ten seconds' worth may come at once."""

    questions_per_minute: float = 60.0
    """Of one key, on average; a minute's worth may come at once."""

    question_seconds: float = 30.0
    """After which the engine is interrupted."""

    body_seconds: float = 30.0
    """In which a request's body must have arrived."""
