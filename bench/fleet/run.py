"""Measure a fleet: `python -m bench.fleet.run kills upgrade pause throughput`; results.json keeps what was not run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.common import ROOT, provenance, say

RESULTS = Path(__file__).with_name("results.json")
PARTS = ("kills", "upgrade", "pause", "throughput", "questions", "steady")


def main() -> int:
    """Run some parts, each for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--kills", type=int, default=200, help="kills of one round; rounds are added up")
    parser.add_argument("--seconds", type=float, default=800.0, help="of one part at most")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="tacit-fleet-") as folder:
            Path(folder).chmod(0o755)
            made = _run(part, Path(folder), options, results.get(part, {}))
            results[part] = made | {"made": provenance(["psycopg", "uvicorn"])}
        say(json.dumps(made, indent=1))
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def _run(part: str, folder: Path, options: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    if part == "kills":
        from bench.fleet.kills import add_up, run_kills

        built = folder / "js" / "node_modules" / "@tacit" / "client"
        words = ["node", "scripts/build.mjs", str(built), "--no-types"]
        subprocess.run(words, cwd=ROOT / "sdk" / "typescript", check=True, capture_output=True)
        package = {"name": "@tacit/client", "type": "module", "exports": {".": "./tacit.js", "./node": "./node.js"}}
        (built / "package.json").write_text(json.dumps(package))
        rounds = before.get("rounds", 0)
        made = run_kills(folder / "fleet", built, options.kills, options.seconds, seed=24 + rounds)
        return add_up(before, made) | {"rounds": rounds + 1}
    if part in ("upgrade", "pause"):
        from bench.fleet import upgrades

        work = upgrades.run_upgrade if part == "upgrade" else upgrades.run_pause
        return work(folder / "fleet", min(options.seconds, 300.0))
    if part == "questions":
        from bench.fleet.questions import run_questions

        return run_questions(folder)
    from bench.fleet import throughput

    return throughput.run_throughput(folder) if part == "throughput" else throughput.run_steady(folder, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
