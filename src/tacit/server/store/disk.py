"""Disk space: some is reserved for questions, deletions and their log, so that these work when the disk is full."""

from __future__ import annotations

from pathlib import Path
from shutil import disk_usage

__all__ = ["RESERVED", "free_bytes", "has_room", "is_scarce"]

RESERVED = 8 << 20
"""Bytes that reports leave free."""

SCARCE = 0.1
"""Free share of the disk below which a warning is shown."""


def free_bytes(folder: Path) -> int:
    """Return the free bytes on a folder's disk."""
    return disk_usage(folder).free


def has_room(folder: Path, more: int = 0) -> bool:
    """Return whether there is disk space for reports, or for a number of bytes."""
    return free_bytes(folder) > RESERVED + more


def is_scarce(folder: Path) -> bool:
    """Return whether the disk is over 90 % full, or nearly too full for reports."""
    usage = disk_usage(folder)
    return usage.free < max(SCARCE * usage.total, 2 * RESERVED)
