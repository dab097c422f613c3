"""What all benchmarks share: progress, provenance, seeds, comparison with committed numbers, parts of pages."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import zlib
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["END", "ROOT", "SAME", "figure", "provenance", "say", "seed_of", "timed", "verdict", "write_part"]

ROOT = Path(__file__).parents[1]
END = "<!-- end -->"

SAME = 1e-6
"""Relative difference of repetitions with the same seeds: sums of floating-point numbers in another order."""


def say(text: str) -> None:
    """Print progress at once."""
    print(text, flush=True)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def figure(number: Any) -> float:
    """Return a number with six significant digits."""
    return float(f"{float(number):.6g}")


def seed_of(*words: object) -> int:
    """Return a seed that depends on names only, so that adding a point moves no other."""
    return zlib.crc32(" | ".join(map(str, words)).encode())


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def provenance(packages: Iterable[str], **more: Any) -> dict[str, Any]:
    """Return what was measured, and with which versions."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "source_as_committed": not _git("status", "--porcelain", "--", ":/src"),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "cores": len(os.sched_getaffinity(0)),
    } | more


def verdict(now: float, before: float, tolerance: float) -> tuple[bool, str]:
    """Return whether a number repeats a committed one within a factor, and how to say it."""
    same, near = abs(now / before - 1) <= SAME, 1 / tolerance <= now / before <= tolerance
    return near, "the same" if same else f"within {tolerance} times" if near else "OFF"


def write_part(readme: Path, start: str, lines: str) -> None:
    """Replace what a page has between a mark and the next end."""
    before, rest = readme.read_text(encoding="utf-8").split(start)
    readme.write_text(f"{before}{start}\n{lines}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
