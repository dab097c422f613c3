"""One specification, three validators: package, Python client and TypeScript client name the same rule for every lie.

What all three accept is judged by an exact loss that is computed from the JSON alone.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.collectors import COLLECTION
from support.contracts import FOLDER, TypeScriptClient, originals, package, python_client, random_collections
from support.judging import decide_alike
from support.losses import objections
from support.npm import install
from support.tiers import how_many
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
from tacit.contract.rules import RULES
from tacit.errors import ContractError, RecordError
from tacit.server.store import validate
from vectors.lies import HERE, files

MUTANTS = how_many(200, 20_000, "mutated contracts, judged by three validators")
RANDOM = how_many(10, 40, "random contracts that are mutated, beside one of every kind")
SECONDS = 5.0
"""What refusing a contract may take, on a busy machine."""

LIES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("*.json"))
}

Validator = Callable[[str], str]


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TypeScriptClient]:
    """Return the TypeScript client, built into a folder of its own."""
    install(FOLDER)
    client = TypeScriptClient(tmp_path_factory.mktemp("bundle"))
    yield client
    client.close()


def refused(validator: Validator, lies: list[dict[str, Any]]) -> dict[str, str]:
    """Return the rules that a validator names where it should name another one."""
    wrong = {}
    for lie in lies:
        start = time.monotonic()
        rule = validator(lie["contract"] + " " * lie.get("pad", 0))
        slow = time.monotonic() - start > SECONDS
        if rule != lie["rule"] or slow:
            wrong[lie["name"]] = "slow" if slow else rule
    return wrong


@pytest.mark.parametrize("kind", LIES)
def test_the_package_names_the_rule(kind: str) -> None:
    lies = [lie for lie in LIES[kind] if lie["rule"] != "not-for-clients"]
    assert refused(package, lies) == {}


@pytest.mark.parametrize("kind", LIES)
def test_the_python_client_names_the_rule(kind: str) -> None:
    assert refused(python_client, LIES[kind]) == {}


def test_lies_regenerate_and_cover_every_rule() -> None:
    made = files()
    assert made == {path.name: path.read_text() for path in HERE.glob("*.json")}
    counts = Counter(lie["rule"] for lies in LIES.values() for lie in lies)
    assert set(counts) == set(RULES)
    assert sum(counts.values()) >= 800


def test_the_specification_lists_every_rule_in_order() -> None:
    text = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
    table = text.partition("| rule | a contract satisfies it if |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", table, flags=re.MULTILINE) == list(RULES)


def test_no_contract_hangs_the_python_client_or_fills_its_memory() -> None:
    """All limits together take a process of 1 GiB, which interpreters and imports need most of, some seconds."""
    program = (
        "import json, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from tacit.client.interpreter import Interpreter\n"
        "from tacit.errors import ContractError\n"
        "for lie in json.load(open(sys.argv[1])):\n"
        "    try:\n"
        "        Interpreter(lie['contract'])\n"
        "    except ContractError as refusal:\n"
        "        assert refusal.rule == lie['rule']\n"
    )
    subprocess.run([sys.executable, "-c", program, str(HERE / "limits.json")], check=True, timeout=60)


def test_sound_contracts_of_every_kind_are_accepted(typescript: TypeScriptClient) -> None:
    for name, text in originals().items():
        verdicts = [package(text), python_client(text), typescript(text)]
        assert verdicts == ["", *["not-for-clients" if name == "double rounding" else ""] * 2], name
        assert objections(text) == [], name


def test_the_judge_sees_what_leaves() -> None:
    """The exact loss objects to one flip fewer, to a smaller total, and to a sensitive value that is public, too."""
    text = originals()["oracle grr"]
    fewer = re.sub(r'"flip": (\d+)', lambda found: f'"flip": {int(found[1]) - 1}', text)
    again = text.replace('"kind": "ordinal"', '"kind": "public"}, {"name": "x", "kind": "ordinal"')
    smaller = text.replace('"epsilon": "1.9",\n', '"epsilon": "1.8",\n')
    for forged in (fewer, again, smaller):
        assert forged != text
        assert objections(forged)


@pytest.mark.parametrize("kind", LIES)
def test_the_typescript_client_names_the_rule(kind: str, typescript: TypeScriptClient) -> None:
    assert refused(typescript, LIES[kind]) == {}


def test_three_validators_decide_alike(typescript: TypeScriptClient, seed: int) -> None:
    rng = random.Random(seed)
    texts = [*originals().values(), *random_collections(rng, RANDOM)]
    rules = decide_alike(typescript, texts, rng, MUTANTS)
    assert rules[""] > MUTANTS / 25  # of those that were left as sound as they were
    assert len(rules) > 15
    print(f"{MUTANTS} mutants, {rules['']} accepted, {len(rules) - 1} rules: {dict(rules.most_common())}")


TYPED = tc.Service(
    "users",
    key="uid",
    attributes=[tc.Ordinal("age", 0, 9), tc.Public("os", values=["ios", "web"]), tc.Public("n", type=int)],
)


def test_the_python_client_checks_public_values_before_it_draws(tmp_path: Path) -> None:
    collection = tc.Collection(tc.Schema([TYPED]), 1)
    wallet = Wallet(tmp_path / "wallet.db")
    client = Client(Transport("http://127.0.0.1:1"), wallet, collection.id, collection.to_json(), "", 9, 0)  # type: ignore[arg-type]
    me = client.person("me")
    for row in ({"os": "canary", "n": 1}, {"os": "ios", "n": "canary"}, {"os": "ios", "n": 1.5}, {"os": None, "n": 1}):
        with pytest.raises(RecordError) as caught:
            me.record("users", {"age": 3} | row)
        assert caught.value.code == "wrong-public"
        assert caught.value.column in ("os", "n")
        assert "canary" not in str(caught.value)
    assert me.history() == []
    me.record("users", {"age": 3, "os": "ios", "n": 1})
    client.close()


def test_public_values_that_collectors_refuse_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    """4,096 bytes of values as JSON are stored, however many codes a report has; the client counts as collectors do."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, 9), tc.Public("os")])])
    collection = tc.Collection(schema, 2.0)
    wallet = Wallet(tmp_path / "wallet.db")
    client = Client(Transport("http://127.0.0.1:1"), wallet, collection.id, collection.to_json(), "", 6, 0)  # type: ignore[arg-type]
    for number, (text, fits) in enumerate(
        {"x" * 4092: True, "x" * 4093: False, "é" * 2046: True, "é" * 2047: False}.items()
    ):
        if fits:
            [body] = client.person(number).record("t", {"x": 1, "os": text}).bodies
            assert isinstance(validate.Validator(collection.contract)(json.loads(body)), validate.Report)
        else:
            with pytest.raises(RecordError, match="4,096 bytes") as caught:
                client.person(number).record("t", {"x": 1, "os": text})
            assert text not in str(caught.value)
            assert wallet.spent(number) == 0
    client.close()


@pytest.mark.parametrize("service", ["users", "orders"])
def test_columns_that_are_not_declared_are_refused(tmp_path: Path, service: str) -> None:
    """Whoever passes a column believes that it is collected; neither its name nor its value is repeated."""
    wallet, text = Wallet(tmp_path / "wallet.db"), COLLECTION.to_json()
    client = Client(Transport("http://127.0.0.1:1"), wallet, COLLECTION.id, text, "", 6, 0)
    row = {"users": {"age": 3, "os": "ios"}, "orders": {"pay": 3}}[service]
    names = {"users": ("agee", "age"), "orders": ("payy", "pay")}[service]
    me = client.person("ada")
    for more in ({names[0]: "canary"}, {"uid": "canary"}, {7: "canary"}, {"canary": 1}):
        with pytest.raises(RecordError) as caught:
            me.rows(service, [row, row | more] if service == "orders" else [row | more])
        assert caught.value.code == "unknown-column"
        assert "canary" not in str(caught.value)
        assert (f"Did you mean {names[1]!r}?" in str(caught.value)) == (names[0] in more)
    assert me.history() == []
    me.rows(service, [row])
    client.close()


def test_errors_name_the_rule() -> None:
    with pytest.raises(ContractError) as caught:
        tc.Collection.from_json(originals()["public"].replace('"name": "os"', '"name": "X"'))
    assert (caught.value.code, caught.value.rule) == ("contract-damaged", "duplicate-name")
    assert "duplicate-name" in str(caught.value)
