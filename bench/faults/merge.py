"""Put several runs into one file: python -m bench.faults.merge results.json RUN.json …

Files, calls and errors of later runs replace those of earlier ones, with the commit that they were run at; kills,
deliveries and commands on keys add up over the runs that are given, and replace what was there.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bench.faults.run import PARTS

PLACE = ("phase", "file", "call", "error")


def merge(before: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of an earlier file with those of some runs."""
    made = {"about": runs[-1]["about"], **before}
    for part in PARTS:
        own = [run for run in runs if part in run]
        if part == "syscalls":
            cells = {tuple(cell[word] for word in PLACE): cell for cell in before.get(part, [])}
            for run in own:
                dated = [{**cell, "commit": run["about"]["commit"][:12]} for cell in run[part]]
                cells |= {tuple(cell[word] for word in PLACE): cell for cell in dated}
            made[part] = [cells[place] for place in sorted(cells)]
        elif own:
            made[part] = _added([run[part] for run in own])
            made[part]["commits"] = sorted({run["about"]["commit"][:12] for run in own})
    return made


def _added(parts: list[dict[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, dict):
                total[name] = dict(Counter(total.get(name, {})) + Counter(value))
            else:
                total[name] = total.get(name, 0) + value
    return total


def main() -> int:
    path, *runs = map(Path, sys.argv[1:])
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    made = merge(before, [json.loads(run.read_text(encoding="utf-8")) for run in runs])
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
