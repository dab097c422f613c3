"""Encode an invented town, show what leaves the devices, audit the guarantee, and ask six questions."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tacit.cli.attack import attack, print_attack
from tacit.collection import Collection
from tacit.contract import ServiceContract
from tacit.database import Database, connect
from tacit.datasets import town, town_schema
from tacit.errors import UsageError
from tacit.estimate import Estimate

__all__ = ["configure", "run"]

MOST_PEOPLE = 10_000_000

SHOWN = 2
"""People whose records are printed beside what leaves their devices."""

QUESTIONS = (
    "SELECT COUNT(*) AS people FROM shop WHERE age BETWEEN 20 AND 40",
    "SELECT AVG(income) AS mean FROM shop WHERE age >= 30",
    "SELECT region, COUNT(*) AS people FROM shop GROUP BY region",
    "SELECT device, COUNT(*) AS people FROM shop WHERE age > 60 GROUP BY device",
    "SELECT smoker, COUNT(*) AS people, AVG(visits) AS visits FROM clinic GROUP BY smoker",
    "SELECT COUNT(*) AS people FROM clinic JOIN shop USING (uid) WHERE age >= 50 AND visits >= 3",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--people", type=int, default=200_000, help="size of the invented town (default 200000)")
    parser.add_argument("--epsilon", default="2", help="budget of a person over both services (default 2)")
    parser.add_argument(
        "--attack", action="store_true", help="instead: what numbers of reports give away, and ours not"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Encode the town afresh: two runs send different codes and print different estimates of one truth."""
    if options.attack:
        result = attack()
        if options.json:
            print(json.dumps(result, indent=1))
        else:
            print_attack(result)
        return 0
    if not SHOWN <= options.people <= MOST_PEOPLE:
        message = f"--people is {options.people}; the town has from {SHOWN} to {MOST_PEOPLE} people."
        raise UsageError(message, code="bad-option")
    collection = Collection(town_schema(), epsilon=options.epsilon, round="demo")
    raw = town(options.people)
    reports = collection.encode(**raw)
    examples = [
        _example(compiled, raw[name].slice(row, 1).to_pylist()[0], int(reports[name]["code"][row].as_py()))
        for row in range(SHOWN)
        for compiled in collection.contract.services
        for name in [compiled.service.name]
    ]
    database = connect()
    database.create(collection)
    database.load(reports)
    audit = collection.audit()
    if not options.json:
        _print_reports(collection, options.people, examples)
        print("\nQuestions, estimates from the codes alone, and the truth that only this demo can know:")
    asked = [_ask(database, raw, question, quiet=options.json) for question in QUESTIONS]
    covered = [cell["covered"] for answer in asked for row in answer["rows"] for cell in row.values() if _is_cell(cell)]
    if options.json:
        summary = {"collection": collection.id, "people": options.people, "examples": examples}
        summary |= {"worst_loss": audit.worst_loss, "ok": audit.ok, "questions": asked}
        print(json.dumps(summary, indent=1))
    else:
        print(f"\n{sum(covered)} of {len(covered)} intervals hold the truth; 95 % should.")
    return 0 if audit.ok else 1


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, dict)


def _ask(database: Database, raw: dict[str, pa.Table], question: str, *, quiet: bool) -> dict[str, Any]:
    """Ask the collected codes, and the raw tables that nobody else has."""
    answer = database.sql(question)
    truth = duckdb.connect()
    for name, table in raw.items():
        truth.register(name, table)
    groups = [i for i, cell in enumerate(answer.rows[0]) if not isinstance(cell, Estimate)]
    known = {tuple(row[i] for i in groups): row for row in truth.execute(question).fetchall()}
    rows = []
    for row in answer.rows:
        true_row = known.get(tuple(row[i] for i in groups))
        shown: dict[str, Any] = {}
        for i, (name, cell) in enumerate(zip(answer.columns, row, strict=True)):
            shown[name] = _compared(cell, true_row[i] if true_row else 0) if isinstance(cell, Estimate) else cell
        rows.append(shown)
    if not quiet:
        print(f"\n  {question}")
        for line in rows:
            cells = [
                f"{name} {cell['text']} (truth {cell['truth']:,.6g}{'' if cell['covered'] else ', missed'})"
                if _is_cell(cell)
                else f"{'missing' if cell is None else cell}:"
                for name, cell in line.items()
            ]
            print(f"    {'  '.join(cells)}")
    return {"question": question, "rows": rows}


def _compared(estimate: Estimate, truth: float) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "error": estimate.error,
        "low": estimate.low,
        "high": estimate.high,
        "truth": float(truth),
        "covered": bool(estimate.low <= truth <= estimate.high),
        "text": str(estimate),
    }


def _example(compiled: ServiceContract, record: dict[str, Any], code: int) -> dict[str, Any]:
    channel = compiled.channels[0]
    view, local = channel.locate(code)
    names = [attribute.name for attribute in compiled.service.sensitive]
    about = [f"{names[i]} in {compiled.levels[i][view.levels[i]].cells} cells" for i in view.active if view.levels[i]]
    return {
        "service": compiled.service.name,
        "record": record,
        "code": code,
        "codes": channel.alphabet,
        "about": " × ".join(about) or "nothing",
        "fits": float(np.mean(view.oracle.support(np.array([local])))),
    }


def _print_reports(collection: Collection, people: int, examples: list[dict[str, Any]]) -> None:
    services = ", ".join(service.name for service in collection.schema.services)
    print(f"An invented town of {people:,} people, two services ({services}), one budget per person.")
    print(f"Collection {collection.id[:16]}…\n")
    print("What stays on the device, and the one number per service that leaves it:")
    for item in examples:
        fields = ", ".join(f"{k}={'missing' if v is None else v}" for k, v in item["record"].items())
        print(f"  {item['service']:<7} {fields}")
        print(f"          → code {item['code']} of {item['codes']:,}: about {item['about']};")
        print(f"            {item['fits']:.0%} of all values there are consistent with it")
    print("\nThe audit, in exact fractions over the integers the sampler compares with:")
    print(collection.audit())
    odds = 1 / (1 + math.exp(-float(collection.contract.epsilon)))
    print(f"Whoever sees both codes can move from even odds about anything to at most {odds:.1%}.")
