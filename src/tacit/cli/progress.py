"""A progress bar on standard error."""

from __future__ import annotations

import sys

__all__ = ["bar"]


def bar(done: int, rows: int, things: str = "rows") -> None:
    """Show how many of something are done."""
    filled = 40 * done // max(1, rows)
    end = "\n" if done == rows else ""
    print(
        f"\r[{'█' * filled}{' ' * (40 - filled)}] {done:,} of {rows:,} {things}", end=end, file=sys.stderr, flush=True
    )
