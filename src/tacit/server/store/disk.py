"""Room on the disk: some of it is kept for questions, deletions and their log, so that those work when it is full."""

from __future__ import annotations

from pathlib import Path
from shutil import disk_usage

__all__ = ["RESERVED", "free_bytes", "has_room", "is_scarce"]

RESERVED = 8 << 20
"""Bytes that reports leave free."""

SCARCE = 0.1
"""Share of the disk below which somebody should look."""


def free_bytes(folder: Path) -> int:
    """Return what is free on a folder's disk."""
    return disk_usage(folder).free


def has_room(folder: Path, more: int = 0) -> bool:
    """Tell whether reports may be added, or so many bytes more."""
    return free_bytes(folder) > RESERVED + more


def is_scarce(folder: Path) -> bool:
    """Tell whether the disk is more than nine tenths full, or nearly so full that reports are turned away."""
    usage = disk_usage(folder)
    return usage.free < max(SCARCE * usage.total, 2 * RESERVED)
