"""How far 1 % of liars move an answer: attacks against assigned views and seeds, and the bounds that are stated.

Run ``python -m bench.limit.attacks``: 64 x 64 values, 100,000 people of whom 1,000 lie. Every liar knows the decoder
and sends the code that adds most (or least) of those with the view and seed that were assigned. 20 sets of liars, for
`auto` and for a design for ranges of both; writes attacks.json and the table of the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.limit.run import question as random_question
from tacit.collection import Collection
from tacit.contract.contract import Channel
from tacit.contract.oracles.linear_hash import LinearHash
from tacit.encode.assigned import Assignment
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional

__all__ = ["KEY", "LIARS", "PEOPLE", "QUESTIONS", "SCHEMA", "best_codes", "contributions", "moves_of", "raw"]

HERE = Path(__file__).parent
RESULTS, README = HERE / "attacks.json", HERE / "README.md"
PEOPLE, SETS, SIZE = 100_000, 20, 64
LIARS = PEOPLE // 100
SERVICE = tc.Service("users", key="uid", attributes=[tc.Ordinal("x", 0, SIZE - 1), tc.Ordinal("y", 0, SIZE - 1)])
SCHEMA = tc.Schema([SERVICE])
KEY = "7b" * 32
QUESTIONS = {
    "SELECT COUNT(*) AS n FROM users WHERE x <= 31 AND y <= 31": (range(32), range(32)),
    "SELECT COUNT(*) AS n FROM users WHERE x BETWEEN 10 AND 20 AND y >= 5": (range(10, 21), range(5, 64)),
    "SELECT COUNT(*) AS n FROM users WHERE x = 7 AND y = 9": (range(7, 8), range(9, 10)),
    "SELECT COUNT(*) AS n FROM users WHERE x <= 31": (range(32), range(64)),
}
Floats = npt.NDArray[np.float64]


def raw(people: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return honest people."""
    ids = np.arange(people)
    return {"uid": ids, "x": ids * 7 % SIZE, "y": ids // 5 % SIZE}


def contributions(collection: Collection, asked: tuple[range, range]) -> Floats:
    """Return what each code adds to a COUNT over two ranges, read by the package's decoder."""
    service, sizes = collection.contract["users"], (SIZE, SIZE)
    functional = Functional.constant(sizes)
    for attribute, chosen in enumerate(asked):
        functional = functional * Functional.of(sizes, attribute, np.isin(np.arange(SIZE), chosen))
    [(coefficient, [factor])] = Decoder(service).decode(functional).products
    values: Floats = coefficient * (factor.constant + factor.readings[0].contributions())
    return values


def best_codes(channel: Channel, views: Any, seeds: Any, values: Floats) -> list[tuple[int, int]]:
    """Return the codes that add least and most, of the view and seed that each liar was assigned."""
    made = []
    for index, seed in zip(channel.pick_views(views), seeds.astype(np.int64), strict=True):
        view = channel.views[index]
        codes = np.arange(view.oracle.alphabet)
        if isinstance(view.oracle, LinearHash):
            start = 1 + int(seed) % view.oracle.seeds * view.oracle.g
            codes = np.arange(start, start + view.oracle.g)
        own = values[view.offset + codes]
        made.append((int(view.offset + codes[own.argmin()]), int(view.offset + codes[own.argmax()])))
    return made


def moves_of(collection: Collection, values: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the codes of 20 sets of liars, and how far each moves an answer: from its least code to its most."""
    assignment = Assignment(KEY, collection.id)
    coins = assignment.coins(pa.array(np.arange(SETS * LIARS)))
    views, seeds = assignment.draws(coins, "users", np.zeros(SETS * LIARS, np.int64), 0)
    [channel] = collection.contract["users"].channels
    ends = np.array(best_codes(channel, views, seeds, values))
    return ends, (values[ends[:, 1]] - values[ends[:, 0]]).reshape(SETS, LIARS)


def stated(collection: Collection, question: str, key: str | None) -> float:
    """Return the bound that an answer states, as a share of the people."""
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(users=raw(PEOPLE), key=key, rng=tc.insecure_rng(1)), key=key)
    return float(database.sql(question)["n"].max_shift_per_1pct) / PEOPLE


def measure(epsilon: float, name: str, questions: list[str]) -> list[dict[str, Any]]:
    """Return for each question the bounds, free and assigned, and the shifts of all sets of liars, over the people."""
    assigned = tc.Collection(SCHEMA, epsilon, questions=questions, assigned=True)
    free = tc.Collection(SCHEMA, epsilon, questions=questions)
    rows = []
    for question, asked in QUESTIONS.items():
        moved = moves_of(assigned, contributions(assigned, asked))[1].sum(axis=1) / PEOPLE
        row: dict[str, Any] = {"epsilon": epsilon, "design": name, "question": question.split("WHERE ")[1]}
        row |= {"free": figure(stated(free, question, None)), "assigned": figure(stated(assigned, question, KEY))}
        row |= {"attacks": [figure(moved.min()), figure(moved.mean()), figure(moved.max())]}
        row["exceeded"] = int((moved > row["assigned"]).sum())
        say(json.dumps(row))
        rows.append(row)
    return rows


def main() -> None:
    """Attack designs with and without questions."""
    rng = np.random.default_rng(seed_of("attacks"))
    asked = [random_question("range x range", (SIZE, SIZE), rng)[0] for _ in range(48)]
    texts = [text.replace("FROM s", "FROM users").replace("x0", "x").replace("x1", "y") for text in asked]
    rows = measure(1.0, "auto", []) + measure(1.0, "ranges of both", texts)
    RESULTS.write_text(json.dumps({"about": provenance(["numpy"]), "sets": SETS, "rows": rows}, indent=1) + "\n")
    lines = [
        "| designed for | COUNT where | bound, free | bound, assigned | attacks: least, mean, most of 20 | above it |",
        "|---|---|--:|--:|---|--:|",
    ]
    for row in rows:
        attacks = ", ".join(f"{value:.3f}" for value in row["attacks"])
        own = f"{row['free']:.2f} | {row['assigned']:.3f} | {attacks} | {row['exceeded']}"
        lines.append(f"| {'–' if row['design'] == 'auto' else row['design']} | `{row['question']}` | {own} |")
    write_part(README, "<!-- attacks -->", "\n".join(lines))


if __name__ == "__main__":
    main()
