"""Contracts and texts that are meant to break something, in pieces: python tests/hostile.py [--minutes 10].

A run goes on where the results (docs/reference/hostile.json) end, and adds what it judged; `make hostile` runs it.
What fails ends the run with the text that shows it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from support.contracts import FOLDER, TypeScriptClient, originals, random_collections
from support.hostile_texts import answer_or_refuse, hostile_texts, spied
from support.judging import decide_alike
from support.npm import install
from support.tiers import commit

RESULTS = Path(__file__).parents[1] / "docs" / "reference" / "hostile.json"
WANTED = 100_000
PIECE = 1_000
RANDOM = 40
"""Random contracts of a run, beside one of every kind."""

Judge = Callable[[int, int], Counter[str]]


@contextmanager
def contracts(number: int) -> Iterator[Judge]:
    """Judge mutated contracts; random ones are mutated, too, others in every run."""
    install(FOLDER)
    texts = [*originals().values(), *random_collections(random.Random(number), RANDOM)]
    with tempfile.TemporaryDirectory() as folder:
        typescript = TypeScriptClient(Path(folder))

        def judge(piece: int, count: int) -> Counter[str]:
            rules = decide_alike(typescript, texts, random.Random(f"contracts {piece}"), count)
            return Counter({"judged alike": count, "accepted": rules.pop("", 0)}) + rules

        yield judge
        typescript.close()


@contextmanager
def questions(number: int) -> Iterator[Judge]:
    """Ask hostile texts."""
    database, engine = spied()

    def ask(piece: int, count: int) -> Counter[str]:
        return answer_or_refuse(database, engine, hostile_texts(np.random.default_rng([16, piece]), count))

    del number
    yield ask


KINDS = {"contracts": contracts, "texts": questions}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--count", type=int, default=WANTED)
    parser.add_argument("--minutes", type=float, default=1e6, help="end after about so many")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.output.read_text(encoding="utf-8")) if options.output.exists() else {}
    tested = commit()
    for kind in options.kinds:
        own = results.setdefault(kind, {"commits": [], "pieces": 0, "seconds": 0, "counts": {}})
        with KINDS[kind](own["pieces"]) as judge:
            until = time.monotonic() + 60 * options.minutes / len(options.kinds)
            while own["pieces"] * PIECE < options.count and time.monotonic() < until:
                start = time.monotonic()
                own["counts"] = dict(Counter(own["counts"]) + judge(own["pieces"], PIECE))
                own["pieces"] += 1
                own["seconds"] += round(time.monotonic() - start)
                own["commits"] = sorted({*own["commits"], tested})
                options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                print(f"{kind}: {own['pieces'] * PIECE} in {own['seconds']} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
