"""Encode an invented town's records, show what leaves the devices, and audit the guarantee."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np

from tacit.collection import Collection
from tacit.contract import ServiceContract
from tacit.datasets import town, town_schema
from tacit.errors import UsageError

__all__ = ["configure", "run"]

MOST_PEOPLE = 10_000_000

SHOWN = 3
"""People whose records are printed beside what leaves their devices."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--people", type=int, default=20_000, help="size of the invented town (default 20000)")
    parser.add_argument("--epsilon", default="2", help="budget of a person over both services (default 2)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Encode the town afresh: two runs never send the same codes."""
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
    result = collection.audit()
    if options.json:
        summary = {"collection": collection.id, "people": options.people, "examples": examples}
        print(json.dumps(summary | {"worst_loss": result.worst_loss, "ok": result.ok}, indent=1))
    else:
        _print(collection, options.people, examples)
    return 0 if result.ok else 1


def _example(compiled: ServiceContract, record: dict[str, Any], code: int) -> dict[str, Any]:
    channel = compiled.channels[0]
    view, local = channel.locate(code)
    supported = float(np.mean(view.oracle.support(np.array([local]))))
    names = [attribute.name for attribute in compiled.service.sensitive]
    about = [f"{names[i]} in {compiled.levels[i][view.levels[i]].cells} cells" for i in view.active if view.levels[i]]
    return {
        "service": compiled.service.name,
        "record": record,
        "code": code,
        "codes": channel.alphabet,
        "about": " × ".join(about) or "nothing",
        "fits": supported,
    }


def _print(collection: Collection, people: int, examples: list[dict[str, Any]]) -> None:
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
    total = float(collection.contract.epsilon)
    print(
        f"\nWhoever sees both codes can move from even odds about anything to at most {1 / (1 + math.exp(-total)):.1%}."
    )
