"""Contracts of every kind, and what each of three validators says about a text."""

from __future__ import annotations

import datetime
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import tacit as tc
from support.channels import plain_layouts
from tacit.client.audit import refuse_unsafe
from tacit.client.interpreter import Interpreter
from tacit.contract.audit import audit_contract
from tacit.contract.categories import keep_values
from tacit.contract.layouts import ROUNDED
from tacit.contract.oracles import ORACLES
from tacit.contract.wire import read_contract
from tacit.errors import ContractError, PrivacyError, TacitError

FOLDER = Path(__file__).parents[2] / "sdk" / "typescript"

Verdict = str
"""The rule that a contract breaks; empty if it breaks none."""


def package(text: str) -> Verdict:
    """Return what the package says."""
    try:
        return audit_contract(read_contract(text)).rule
    except ContractError as refusal:
        return refusal.rule or "no rule"


def python_client(text: str) -> Verdict:
    """Return what the Python client says."""
    try:
        refuse_unsafe(Interpreter(text))
    except (ContractError, PrivacyError) as refusal:
        return refusal.rule or "no rule"
    return ""


class TypeScriptClient:
    """The TypeScript client, in one process that answers line by line."""

    def __init__(self, bundle: Path) -> None:
        subprocess.run(
            ["node", "scripts/build.mjs", str(bundle), "--no-types"], cwd=FOLDER, check=True, capture_output=True
        )
        self._process = subprocess.Popen(
            ["node", "test/validate-stdin.mjs", (bundle / "tacit.js").as_uri()],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, text: str) -> Verdict:
        """Return what the TypeScript client says."""
        return self.judge([text])[0]

    def judge(self, texts: list[str]) -> list[Verdict]:
        """Return what it says about some hundred texts: answers are short, so that the pipe holds them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("".join(json.dumps(text) + "\n" for text in texts))
        self._process.stdin.flush()
        return [str(json.loads(self._process.stdout.readline())) for _ in texts]

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)


AGE = tc.Ordinal("age", 0, 26, fanout=3, null=True)
STATE = tc.Categorical("state", ["CA", "NY", "é"], other="NY")
LEVEL = tc.Categorical("level", [10, 20], null=True)
SPEND = tc.Ordinal("spend", 0, 499, cells=7, outside="clamp")
RATE = tc.Ordinal("rate", "-0.5", "2.5", step="0.5")
BAND = tc.Ordinal("band", 0, 99, cells=5, dither=False)
DAY = tc.Ordinal("day", datetime.date(2026, 1, 1), datetime.date(2026, 1, 9), fanout=3)
ONE = tc.Ordinal("one", 7, 7)
HOME = tc.Place("home", south=59, west=10, north=60, east=11, cells=16)
TINY = tc.Ordinal("tiny", "-0.0000005", "0.0000005", step="0.0000001")
SIZE = tc.Categorical("size", ["S", "M", "L", "XL", "XXL"], ordered=True, fanout=2, null=True)
SKU = tc.Categorical("sku", dictionary=keep_values([f"sku {i}" for i in range(30)]), other="sku 7")
MONTHS = tc.Date("months", "2026-01-20", "2026-03-05", null=True)
X, Y = tc.Ordinal("x", 0, 5, fanout=2), tc.Ordinal("y", 0, 9)
OS, LANGUAGE = tc.Public("os"), tc.Public("language", values=["en", "de"], null=True)
COUNT, FLAG = tc.Public("count", type=int), tc.Public("flag", type=bool)

DESIGNED = {"auto", "partitions"}
NUMBERED = ["am(1)", "am(2)", "mg(2)", "ft(1)", "ft(2)"]
LAYOUTS = ["auto", *plain_layouts(), *NUMBERED]


def service(name: str, *attributes: Any, **options: Any) -> tc.Service:
    return tc.Service(name, key="uid", attributes=list(attributes), **options)


def collection(*services: tc.Service, epsilon: str = "1", **options: Any) -> tc.Collection:
    return tc.Collection(tc.Schema(list(services)), epsilon, **options)


def originals() -> dict[str, str]:
    """Return sound contracts: every layout, oracle, kind of attribute and kind of service."""
    shape = service("s", X, STATE)
    made = {f"layout {name}": collection(shape, mechanism=name, users=10_000) for name in LAYOUTS}
    made |= {f"layout {name}": collection(service("s", X, Y), mechanism=name) for name in ROUNDED}
    made |= {
        f"planned {name}": collection(service("s", X, STATE, LEVEL), mechanism=name, users=5_000)
        for name in ("calm(2)", "tables(2)")
    }
    made |= {f"oracle {name}": collection(shape, mechanism="fc", oracle=name, epsilon="1.9") for name in ORACLES}
    made |= {
        "lh of large g": collection(shape, mechanism="fc", oracle="lh", epsilon="4"),
        "wide hash": collection(service("s", AGE, Y, BAND, DAY), mechanism="fc", oracle="lh", epsilon="2"),
        "rich": collection(
            service("s", AGE, STATE, LEVEL, SPEND, RATE, BAND, DAY, ONE), mechanism="pairs", epsilon="3"
        ),
        "ordered": collection(service("s", SIZE, MONTHS), mechanism="partitions", epsilon="2"),
        "dictionary": collection(service("s", SKU, SIZE), mechanism="pairs", epsilon="2"),
        "place": collection(service("s", *HOME), mechanism="hio"),
        "tiny steps": collection(service("s", TINY), mechanism="hio"),
        "dates": collection(service("s", DAY, RATE), mechanism="hio", epsilon="0.5"),
        "one value": collection(service("s", ONE, LEVEL), mechanism="hio"),
        "many": collection(service("s", X, STATE, at_most=3, sends=2), mechanism="hio", epsilon="2"),
        "many at most one": collection(service("s", X, at_most=1), mechanism="sc"),
        "many dithered": collection(service("s", SPEND, at_most=6, sends=4), mechanism="hio", epsilon="3"),
        "optional": collection(service("s", STATE, AGE, optional=True), mechanism="am(1)"),
        "double rounding": collection(service("s", X, at_most=4), mechanism="ahio"),
        "tier": collection(shape, epsilon="0.7", tier="gold", round="2026-11"),
        "public": collection(service("s", X, OS), mechanism="hio"),
        "typed public": collection(service("s", X, OS, LANGUAGE, COUNT), mechanism="hio"),
        "typed flag": collection(service("s", FLAG, STATE), mechanism="fc", oracle="oue"),
        "three services": collection(
            service("users", X, OS),
            service("orders", SPEND, at_most=3),
            service("card", STATE, optional=True),
            epsilon="2.5",
            mechanism="hio",
        ),
        "weights": collection(
            service("a", X), service("b", STATE, COUNT), epsilon="1", mechanism="hio", weights={"a": 2, "b": "0.7"}
        ),
    }
    return {name: one.to_json() for name, one in made.items()}


def random_collections(rng: random.Random, count: int) -> list[str]:
    """Return compiled collections of random attributes, services, mechanisms and budgets."""
    found: list[str] = []
    while len(found) < count:
        mechanism = rng.choice([*LAYOUTS, *ROUNDED])
        most = 2 if mechanism in DESIGNED else 4  # larger ones take seconds, and are too long in the end
        try:
            services = [_random_service(f"s{i}", rng, most) for i in range(rng.choice([1, 1, 1, 2, 3]))]
            weights = {one.name: rng.choice(["1", "2", "0.3", "1.75"]) for one in services}
            made = collection(
                *services,
                epsilon=rng.choice(["0.05", "0.5", "1", "1.7", "3", "8", "20", "30"]),
                mechanism=mechanism,
                oracle=rng.choice(["auto", "auto", "auto", *ORACLES]),
                weights=weights,
                assigned=rng.random() < 0.2,
            )
        except TacitError:
            continue  # not every mechanism takes every schema
        if len(made.to_json()) < 6_000:
            found.append(made.to_json())
    return found


def _random_service(name: str, rng: random.Random, most: int) -> tc.Service:
    attributes = [_random_attribute(f"a{i}", rng) for i in range(rng.randrange(1, most + 1))]
    options: Any = rng.choice(
        [{}, {}, {}, {"optional": True}, {"at_most": 1}, {"at_most": 4, "sends": rng.randrange(1, 5)}]
    )
    public = [] if options else rng.choice([[], [], [OS], [LANGUAGE], [COUNT, OS, FLAG]])
    return service(name, *attributes, *public, **options)


def _random_attribute(name: str, rng: random.Random) -> Any:
    null, fanout = rng.random() < 0.2, rng.randrange(2, 8)
    if rng.random() < 0.3:
        listed = [f"v{i}" for i in range(rng.randrange(1, 12))]
        values: Any = {"dictionary": keep_values(listed)} if rng.random() < 0.2 else {"values": listed}
        order: Any = {"ordered": True, "fanout": fanout} if rng.random() < 0.4 else {}
        return tc.Categorical(name, null=null, **values, **order)
    if rng.random() < 0.2:
        day = datetime.date(2024, 2, 27)
        return tc.Ordinal(name, day, day + datetime.timedelta(rng.randrange(1, 400)), fanout=fanout, null=null)
    if rng.random() < 0.3:
        return tc.Ordinal(
            name, 0, rng.randrange(50, 900), cells=rng.randrange(2, 30), dither=rng.random() < 0.6, null=null
        )
    low = rng.choice([0, -7, "0.5"])
    return tc.Ordinal(name, low, f"{float(low) + rng.randrange(1, 200)}", fanout=fanout, step=1, null=null)
