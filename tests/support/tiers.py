"""How much is tried: little in `make test`, more in `make test-all` (TACIT_LONG=1), times n with TACIT_LONG=n.

Cases that `make test` leaves out have the mark ``long``. docs/reference/long-tests.md lists both.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["LONG", "commit", "how_many", "keeping", "processor_seconds", "write_result"]

LONG = int(os.environ.get("TACIT_LONG", "0"))

LARGEST = 40
"""Files of which a result states the processor seconds."""


def how_many(short: int, long: int, what: str) -> int:
    """Return how many of something are tried; what they are is for the list."""
    return long * LONG if LONG else short


def keeping(kept: Collection[object], cases: Iterable[Any], what: str) -> list[Any]:
    """Return cases for `parametrize`, of which `make test` keeps some; what they are is for the list."""
    made = list(cases)
    assert all(case in made for case in kept)
    marks = {False: pytest.mark.long(what), True: ()}
    return [pytest.param(*(c if isinstance(c, tuple) else (c,)), marks=marks[c in kept]) for c in made]


def processor_seconds() -> float:
    """Return what this process, and the processes that it waited for, have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def write_result(file: Path, seconds: float, counts: dict[str, int], used: Counter[str]) -> None:
    """Write what a run of everything found, to be committed, with the processor seconds of the largest files."""
    result = {
        "commit": _git("rev-parse", "HEAD"),
        "as_committed": not _git("status", "--porcelain", "--", ":/src", ":/tests"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(seconds),
        "cores": len(os.sched_getaffinity(0)),
        "amounts_times": LONG,
        **counts,
        "processor_seconds": round(used.total()),
        "of_files": {name: round(of_file, 1) for name, of_file in used.most_common(LARGEST)},
    }
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def commit() -> str:
    """Return the commit that is tested; with a plus sign if sources or tests differ from it."""
    return _git("rev-parse", "--short=12", "HEAD") + "+" * bool(_git("status", "--porcelain", "--", ":/src", ":/tests"))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()
