"""The work of `tacit demo`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import math
import secrets
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from starlette.applications import Starlette

from tacit.cli.attack import attack, print_attack
from tacit.cli.browser import open_browser
from tacit.cli.serve import listen, serve_app
from tacit.cli.story import QUESTIONS, answer_text, compare
from tacit.collection import Collection
from tacit.contract.budget import parse_epsilon
from tacit.contract.contract import ServiceContract
from tacit.datasets import SAMPLE_PEOPLE, market, market_schema
from tacit.errors import UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys
from tacit.server.routes.demo import Demo
from tacit.sql.meaning import meaning_of
from tacit.tables.compute import pc

__all__ = ["run"]

MOST_PEOPLE = 10_000_000
"""Maximum people of the demo, which are in memory."""

SHOWN = 2
"""People whose records are printed together with what their devices send."""

TIERS = {"careful": "0.5", "standard": "1", "open": "1.5"}
"""Shares of epsilon that visitors of the owner's screen can choose; the town chose the standard one."""

WEIGHTS = {"shop": 2, "clinic": 1, "orders": 1}
"""The shop collects most, and half of the questions join it."""


def run(options: argparse.Namespace) -> int:
    """Encode the town: each run draws different codes, and so different estimates of the same truth."""
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
    epsilon = parse_epsilon(options.epsilon)
    tiers = {
        name: Collection(market_schema(), epsilon * parse_epsilon(share), round="demo", tier=name, weights=WEIGHTS)
        for name, share in TIERS.items()
    }
    with tempfile.TemporaryDirectory(prefix="tacit-demo-") as folder:
        collector = Collector(Path(folder))
        try:
            for collection in tiers.values():
                collector.publish(collection)
            demo, ok = _show(options, collector, tiers["standard"])
            if options.serve or (options.serve is None and not options.json and sys.stdout.isatty()):
                opens = sys.stdout.isatty() if options.open is None else options.open
                _serve(make_app(collector, Keys(Path(folder) / "keys.json"), demo), options.port, opens=opens)
            return 0 if ok else 1
        finally:
            collector.close()


def _show(options: argparse.Namespace, collector: Collector, collection: Collection) -> tuple[Demo, bool]:
    """Encode, load, ask and print; return the demo's data, and whether the audit passed."""
    raw = market(options.people)
    reports = collection.encode(**raw)
    collector.load(reports)
    run_name = secrets.token_hex(3)  # browsers remember what they sent: every run has its own people
    people = [
        {"person": f"{person['name'].split(',')[0].lower()}-{run_name}", "name": person["name"]}
        | {"rows": {service: person[service] for service in raw}}
        for person in SAMPLE_PEOPLE
    ]
    demo = Demo(raw, QUESTIONS, people)
    examples = _examples(collection, raw, reports)
    audit = collection.audit()
    compared = [compare(collector.query(question["sql"]), demo, question) for question in QUESTIONS]
    covered = [
        cell["covered"] for answer in compared for row in answer["rows"] for cell in row.values() if _is_cell(cell)
    ]
    if options.json:
        summary = {"collection": collection.id, "people": options.people, "examples": examples}
        summary |= {"worst_loss": audit.worst_loss, "ok": audit.ok, "questions": compared}
        print(json.dumps(summary, indent=1))
    else:
        _print_reports(collection, options.people, examples)
        print("\nFive questions: estimates from the codes alone, beside the truth, which only a demo knows.\n")
        print("\n\n".join(answer_text(i, answer) for i, answer in enumerate(compared, 1)))
        print(f"\n{sum(covered)} of {len(covered)} intervals contain the truth; 95 % should.")
    return demo, audit.ok


def _serve(app: Starlette, port: int, *, opens: bool) -> None:
    """Serve the screens on this machine, on another port if the wanted one is in use."""
    taken = False
    try:
        listening = listen("127.0.0.1", port)
    except UsageError as refusal:
        if refusal.code != "port-taken":
            raise
        taken, listening = True, listen("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    print()
    if taken:
        print(f"Port {port} is in use by another program; the demo uses another one.")
    print(f"listening on {address}")
    print(f"  {address}/me     the data owner: what leaves a device, byte for byte")
    print(f"  {address}/query  the analyst: SQL, error bars and, only in the demo, the truth")
    if opens:
        print(
            "Opening them in a browser." if open_browser(address) else "There is no browser here. Open them yourself."
        )
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # the terminal was closed
    print("Press Ctrl-C to stop and delete everything.", flush=True)
    serve_app(app, listening)


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, dict)


def _examples(collection: Collection, raw: dict[str, pa.Table], reports: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """Return some people's rows, and what they sent."""
    examples = []
    for person in raw["shop"]["uid"][:SHOWN].to_pylist():
        for compiled in collection.contract.services:
            name, key = compiled.service.name, compiled.service.key
            rows, sent = (tables[name].filter(pc.equal(tables[name][key], person)) for tables in (raw, reports))
            examples.append(_example(compiled, rows.drop_columns([key]).to_pylist(), int(sent["code"][0].as_py())))
    return examples


def _example(compiled: ServiceContract, rows: list[dict[str, Any]], code: int) -> dict[str, Any]:
    said, codes = meaning_of(compiled, 0, code), compiled.channels[0].alphabet
    about = {"code": code, "codes": codes, "about": said.about, "fits": said.fits}
    return {"service": compiled.service.name, "rows": rows} | about


def _print_reports(collection: Collection, people: int, examples: list[dict[str, Any]]) -> None:
    services = ", ".join(service.name for service in collection.schema.services)
    print(f"A synthetic town of {people:,} people, three services ({services}), one budget per person.")
    print(f"Collection {collection.id[:16]}…\n")
    public = ", ".join(column.name for service in collection.schema.services for column in service.public)
    print(f"A person's rows, and the one code per service that is sent. The key and {public} are sent unchanged.")
    for item in examples:
        rows = [", ".join(f"{name}={value}" for name, value in row.items()) for row in item["rows"]]
        print(f"  {item['service']:<7} {'; '.join(rows) or 'no rows'}")
        print(f"          → code {item['code']} of {item['codes']:,}: about {item['about']};")
        print(f"            {item['fits']:.0%} of all values there are consistent with it")
    print("\nThe audit, with exact fractions over the sampler's integer thresholds:")
    print(collection.audit())
    odds = math.ceil(1_000 / (1 + math.exp(-float(collection.contract.epsilon)))) / 10
    print(
        "Someone who knows what is sent unchanged and sees all of a person's codes can raise a certainty of 50 % about "
        f"anything else to at most {odds} %."
    )
