"""The TypeScript client: its own tests, the files they compare with, and random contracts in both languages."""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.browser import CHROMIUM, MISSING
from support.meeting import assert_assigned_views_are_followed, assert_two_clients_meet
from support.npm import install
from support.tiers import how_many
from tacit.client import Interpreter
from tacit.errors import ContractError

FOLDER = Path(__file__).parents[2] / "sdk" / "typescript"
FIXTURES = FOLDER / "test" / "fixtures"

CONTRACTS = how_many(5, 80, "random contracts, encoded in both languages")
PEOPLE = 25

SHAPES: list[dict[str, Any]] = [{}, {}, {"optional": True}, {"at_most": 1}, {"at_most": 3}, {"at_most": 6, "sends": 4}]
MECHANISMS = ["auto", "hio", "hi", "sc", "fc", "am(1)", "am(2)", "pairs", "partitions", "srhio", "ahio", "ehio", "amg"]
EPSILONS = ["0.05", "0.5", "1", "1.7", "3", "8", "20"]
DAY = datetime.date(2026, 2, 27)


def test_the_files_that_typescript_compares_with_regenerate() -> None:
    spec = importlib.util.spec_from_file_location("typescript_fixtures", FIXTURES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.files() == {path.name: path.read_text() for path in sorted(FIXTURES.glob("*.json"))}


def test_the_typescript_client_passes_its_tests(source: np.random.Generator, tmp_path: Path) -> None:
    """One test, because everything works in one folder: two workers would build over each other.

    Without a browser it is tested in Node, and skipped in the end, so that this is said.
    """
    install(FOLDER)
    assert "ℹ fail 0" in run("npm", "test")
    assert_codes_agree(source)  # with the bundle that was just built and tested
    assert_two_clients_meet(FOLDER / "dist", tmp_path, source)
    assert_assigned_views_are_followed(FOLDER / "dist", tmp_path / "assigned", source)
    if CHROMIUM is None:
        pytest.skip(MISSING)


def run(*command: str, text: str = "") -> str:
    result = subprocess.run(
        [str(shutil.which(command[0])), *command[1:]],
        cwd=FOLDER,
        env=os.environ | {"CI": "1", "NO_UPDATE_NOTIFIER": "1"} | ({"CHROMIUM": CHROMIUM} if CHROMIUM else {}),
        input=text,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert result.returncode == 0, f"{command} failed:\n{result.stdout[-8000:]}\n{result.stderr[-2000:]}"
    return result.stdout


def assert_codes_agree(source: np.random.Generator) -> None:
    """Random contracts and rows give the same codes in both languages, and both accept the contract."""
    asked, expected = [], []
    while len(asked) < CONTRACTS:
        collection, attributes = random_collection(source)
        if collection is None or not is_for_clients(collection):
            continue
        interpreter = Interpreter(collection.to_json())
        people, codes = [], []
        for _ in range(PEOPLE):
            rows = [
                {a.name: random_value(a, source) for a in attributes} for _ in range(count_of_rows(collection, source))
            ]
            draws = [int(draw) for draw in source.integers(0, 2**53, interpreter.draws("s"))]
            codes.append(interpreter.encode_rows("s", rows, draws))
            as_json = [{name: plain(value) for name, value in row.items()} for row in rows]
            people.append({"rows": as_json, "draws": draws})
        asked.append({"contract": collection.to_json(), "people": people})
        expected.append(codes)
    answers = json.loads(run("node", "test/encode-stdin.mjs", text=json.dumps(asked)))
    assert answers == expected


def random_collection(source: np.random.Generator) -> tuple[tc.Collection | None, list[Any]]:
    """Return a collection of one service, or None where the mechanism does not fit the attributes."""
    kinds = [
        tc.Ordinal("age", 0, 99, null=bool(source.integers(2))),
        tc.Ordinal("spend", "-10.5", "499.5", cells=17, outside="clamp"),
        tc.Ordinal("rate", "0.0", "2.5", fanout=int(source.integers(2, 7))),
        tc.Ordinal("band", 0, 999, cells=13, dither=False),
        tc.Ordinal("day", DAY, DAY + datetime.timedelta(days=400), cells=20),
        tc.Ordinal("leap", DAY, DAY + datetime.timedelta(days=8)),
        tc.Categorical("state", ["CA", "NY", "Ωß", "雪"], other="rest", null=bool(source.integers(2))),
        tc.Categorical("level", [-3, 10, 2**52]),
        tc.Ordinal("one", 5, 5),
    ]
    attributes = [kinds[i] for i in source.permutation(len(kinds))[: source.integers(1, 4)]]
    shape = SHAPES[source.integers(len(SHAPES))]
    options = {"mechanism": str(source.choice(MECHANISMS)), "epsilon": str(source.choice(EPSILONS))}
    if source.integers(4) == 0:
        options["oracle"] = str(source.choice(["grr", "ss", "lh", "olh", "oue"]))
    try:
        schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes, **shape)])
        return tc.Collection(schema, **options), attributes  # type: ignore[arg-type]
    except tc.TacitError:
        return None, attributes


def is_for_clients(collection: tc.Collection) -> bool:
    try:
        Interpreter(collection.to_json())
    except ContractError:
        return False
    return True


def count_of_rows(collection: tc.Collection, source: np.random.Generator) -> int:
    service = collection.schema.services[0]
    most = 1 if service.at_most is None else 2 * service.at_most
    return 1 if service.one_to_one else int(source.integers(0, most + 1))


def random_value(attribute: Any, source: np.random.Generator) -> Any:
    if attribute.null and source.integers(5) == 0:
        return None
    if isinstance(attribute, tc.Categorical):
        values = [*attribute.values, "ZZ"] if attribute.other else attribute.values
        return source.choice(values).item()
    if attribute.is_date:
        return attribute.low + datetime.timedelta(days=int(source.integers(attribute.ticks)))
    if attribute.name == "spend":
        return float(source.uniform(-20, 520)) if source.integers(2) else int(source.integers(-20, 520))
    if attribute.name == "rate":
        return int(source.integers(26)) / 10
    return int(source.integers(int(attribute.low), int(attribute.high) + 1))


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value
