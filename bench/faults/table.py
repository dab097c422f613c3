"""The tables of README.md, from results alone: python -m bench.faults.table results.json [--write]."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bench.common import write_part

COUNTED = ("rounds", "acknowledged", "lost", "twice", "short", "mistakes", "tracebacks", "died", "hung")
LAST = ("restart_needed", "unstartable", "refused_to_start")
HEADS = (*COUNTED, "restarts", "unstartable", "refused")


def syscall_lines(cells: list[dict[str, Any]]) -> list[str]:
    """Return a row for each file and call, over phases and errors, and one for all."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    largest: dict[tuple[str, str], int] = {}
    complete: dict[tuple[str, str], list[bool]] = {}
    for cell in cells:
        for place in ((cell["file"], cell["call"]), ("all", cell["call"]), ("all", "")):
            row = rows.setdefault(place, Counter())
            row.update({name: cell[name] for name in (*COUNTED, *LAST)})
            largest[place] = max(largest.get(place, 0), cell["largest_n"])
            complete.setdefault(place, []).append(cell["complete"])
    lines = [f"| file | call | complete | largest n | {' | '.join(HEADS)} |", f"|---|---|{'--:|' * (len(HEADS) + 2)}"]
    for place in sorted(rows, key=lambda one: (one[0] == "all", one[1] == "" and one[0] == "all", one)):
        numbers = " | ".join(f"{rows[place][name]:,}" for name in (*COUNTED, *LAST))
        done = f"{sum(complete[place])} of {len(complete[place])}"
        lines.append(f"| {place[0]} | {place[1]} | {done} | {largest[place]} | {numbers} |")
    return lines


def flat_lines(name: str, found: dict[str, Any]) -> list[str]:
    """Return a part that has one number for each thing."""
    told = ", ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in found.items() if isinstance(value, int))
    at = f" Commit {', '.join(found['commits'])}." if "commits" in found else ""
    return [f"**{name.capitalize()}.** {told}.{at}"]


def text(results: dict[str, Any]) -> str:
    lines: list[str] = []
    for part, found in results.items():
        if part == "syscalls":
            lines += syscall_lines(found)
        elif part != "about":
            lines += ["", *flat_lines(part, found)]
    own = results["about"]["commit"][:12]
    calls: dict[str, set[str]] = {}
    for cell in results.get("syscalls", []):
        calls.setdefault(cell.get("commit", own), set()).add(cell["call"])
    at = "; ".join(f"{', '.join(sorted(some))} at commit {commit}" for commit, some in sorted(calls.items()))
    return "\n".join([*lines, "", f"{at or f'commit {own}'}.".capitalize()])


def main() -> int:
    path = Path(sys.argv[1])
    made = text(json.loads(path.read_text(encoding="utf-8")))
    print(made)
    if "--write" in sys.argv:
        write_part(Path(__file__).with_name("README.md"), "<!-- results -->", made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
