"""Manifests of a lake that somebody else wrote, or a disk altered: refused by a code, never an internal error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.tiers import how_many
from tacit.cli import main
from tacit.engines.lake import copies
from tacit.engines.lake.storage import Folder
from tacit.errors import EngineError, TacitError

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 4), tc.Public("os", values=["i", "a"])])
COLLECTION = tc.Collection(tc.Schema([USERS]), 4.0)
QUESTIONS = ["SELECT COUNT(*) AS n FROM users", "SELECT os, COUNT(*) AS n FROM users WHERE age < 3 GROUP BY os"]
TABLE = f"reports_{COLLECTION.id[:16]}_users"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    """Lend a lake of forty people and a public table."""
    with closing(tc.connect(f"{tmp_path}/lake/")) as database:
        database.create(COLLECTION)
        for first in (0, 20):
            keys = np.arange(first, first + 20)
            users = {"uid": keys, "age": keys % 5, "os": np.where(keys % 3, "i", "a")}
            database.load(COLLECTION.encode(users=users, rng=tc.insecure_rng(first)))
        database.dimension("systems", {"os": ["i", "a"], "maker": ["x", "y"]}, key="os")
    return tmp_path / "lake"


def newest(lake: Path) -> Path:
    return max((lake / "manifests").iterdir())


def ask(lake: Path) -> list[list[float]]:
    with closing(tc.connect(lake)) as database:
        return [[row[-1].value for row in database.sql(question).rows] for question in QUESTIONS]


def set_at(*path: Any) -> Callable[[Any], None]:
    """Return a change of the member that a path leads to; its last element is the new value."""

    def change(values: Any) -> None:
        for name in path[:-2]:
            values = values[name]
        values[path[-2]] = path[-1]

    return change


def repeat(name: str) -> Callable[[Any], None]:
    return lambda values: values["tables"][TABLE][name].extend(values["tables"][TABLE][name][:1])


FILE = ("tables", TABLE, "files", 0)
FORGED: dict[str, Callable[[Any], None]] = {
    "another number": set_at("number", 1),
    "a number that is text": set_at("number", "2"),
    "a deletion that is text": set_at("since", "1"),
    "a later deletion": set_at("since", 99),
    "a time that is none": set_at("time", "\x1b[31myesterday"),
    "no identity": set_at("identity", None),
    "no list of files": set_at("tables", []),
    "rows that are text": set_at(*FILE, 1, "9"),
    "rows below nothing": set_at(*FILE, 1, -9),
    "no digest": set_at(*FILE, 3, None),
    "an unknown type": set_at("tables", TABLE, "columns", 3, 1, "int64); DROP TABLE x"),
    "no codes": set_at("tables", TABLE, "columns", 3, 0, "kode"),
    "counts by what is no column": set_at("tables", TABLE, "by", ["browser"]),
    "reports twice": repeat("files"),
    "counts twice": repeat("rollups"),
    "no counts": set_at("tables", TABLE, "rollups", []),
}
NO_OBJECTS = [b"null", b"7", b'"text"', b"[]", b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000]


@pytest.mark.parametrize("case", [*FORGED, *range(len(NO_OBJECTS))])
def test_forged_manifests_are_refused(case: str | int, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = newest(lake)
    if isinstance(case, int):
        path.write_bytes(NO_OBJECTS[case])
    else:
        values = json.loads(path.read_text())
        FORGED[case](values)
        path.write_text(json.dumps(values))
    with pytest.raises(EngineError) as refused:
        ask(lake)
    assert refused.value.code == "damaged-store"
    for words in (["versions"], ["verify"], ["backup", str(lake.parent / "b")], ["restore", str(lake.parent / "r")]):
        assert main(["lake", words[0], str(lake), *words[1:]]) == 2
        assert "[damaged-store]" in capsys.readouterr().err


def test_no_altered_bit_of_a_manifest_changes_an_answer(lake: Path) -> None:
    """It is refused by a code, or the answer is the same: times and sizes of merged files are in it too."""
    path, expected, source = newest(lake), ask(lake), np.random.default_rng(16)
    whole = path.read_bytes()
    codes = []
    for _ in range(how_many(60, 1_000, "altered bits of a manifest")):
        altered = bytearray(whole)
        altered[int(source.integers(len(whole)))] ^= 1 << int(source.integers(8))
        path.write_bytes(altered)
        try:
            assert ask(lake) == expected, bytes(altered)
        except TacitError as refusal:
            codes.append(refusal.code)
    assert {*codes} <= {"damaged-store", "no-reports"}  # the latter if the name of a table is another
    assert len(codes) > 30


def test_files_of_other_programs_beside_manifests_are_not_versions(lake: Path) -> None:
    expected = ask(lake)
    for name in ("desktop.ini", "zz.json", f"{newest(lake).name}.tmp", "-1.json"):
        (lake / "manifests" / name).write_text("x")
    assert ask(lake) == expected
    assert copies.verify(Folder(lake)) == []


def test_altered_public_tables_are_not_read(lake: Path) -> None:
    [victim] = (lake / "dimensions").iterdir()
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(EngineError) as refused:
        tc.connect(lake)
    assert refused.value.code == "damaged-store"


def test_a_digest_of_one_version_alone_is_compared_too(lake: Path) -> None:
    """Earlier versions name the same file with the right digest."""
    values = json.loads(newest(lake).read_text())
    set_at(*FILE, 3, "0" * 64)(values)
    newest(lake).write_text(json.dumps(values))
    assert copies.verify(Folder(lake)) == [f"{values['tables'][TABLE]['files'][0][0]} was altered"]
