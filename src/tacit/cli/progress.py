"""A progress bar on standard error."""

from __future__ import annotations

import sys

__all__ = ["bar"]


def bar(done: int, rows: int) -> None:
    """Show how many rows are done."""
    filled = 40 * done // max(1, rows)
    end = "\n" if done == rows else ""
    print(f"\r[{'█' * filled}{' ' * (40 - filled)}] {done:,} of {rows:,} rows", end=end, file=sys.stderr, flush=True)
