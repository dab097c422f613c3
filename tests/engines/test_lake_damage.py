"""Files of a lake that are cut off, altered or gone, and manifests that name others: found, and never counted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.lakes import COLLECTION, COUNTED, QUESTIONS, engine_of, lake_with
from tacit.engines.lake import copies
from tacit.engines.lake.storage import Folder
from tacit.errors import EngineError


@pytest.mark.parametrize("damage", ["fewer rows", "half a file", "no file"])
def test_no_answer_comes_from_a_file_that_is_not_the_one_that_was_written(damage: str, tmp_path: Path) -> None:
    """A file of half the rows is a sound file: without the size that was written down, the answer would be short."""
    database = tc.connect(f"{tmp_path}/lake/")
    schema = tc.Schema([tc.Service(name, key="uid", attributes=[tc.Ordinal(name[0], 0, 9)]) for name in ("a", "b")])
    collection = tc.Collection(schema, 4)
    database.create(collection)
    ids = list(range(400))
    rows = {name: {"uid": ids, name: [i % 10 for i in ids]} for name in ("a", "b")}
    database.load(collection.encode(**rows, rng=tc.insecure_rng(1)))
    question = "SELECT COUNT(*) AS n FROM a JOIN b USING (uid)"
    assert database.sql(question)["n"].value == 400
    database.close()
    victim = next((tmp_path / "lake").glob("reports_*_a/*.parquet"))
    if damage == "fewer rows":
        pq.write_table(pq.read_table(victim).slice(200), victim)
    elif damage == "half a file":
        victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    else:
        victim.unlink()
    database = tc.connect(f"{tmp_path}/lake/")
    with pytest.raises(EngineError, match="lake verify") as refused:
        database.sql(question)
    assert refused.value.code == "damaged-store"
    database.close()


def test_no_altered_bit_is_ever_counted(tmp_path: Path) -> None:
    """Of 81 altered bits of a file of counts, DuckDB read four as other counts, without an error."""
    lake_with(tmp_path / "lake", (0, 300)).close()
    source = np.random.default_rng(8)
    files = sorted((tmp_path / "lake").rglob("*.parquet")) + sorted((tmp_path / "lake" / "contracts").iterdir())
    assert len(files) == 4  # reports of both services, counts of one, a contract
    for victim in files * 4:
        whole = victim.read_bytes()
        altered = bytearray(whole)
        altered[int(source.integers(len(whole)))] ^= 1 << int(source.integers(8))
        victim.write_bytes(altered)
        assert "damaged-store" in codes_when_read(tmp_path / "lake") <= {"damaged-store", ""}, victim
        victim.write_bytes(whole)
    assert codes_when_read(tmp_path / "lake") == {""}


def codes_when_read(folder: Path) -> set[str]:
    """Return how questions that read every file fail, each with a database of its own."""
    return {code_of(folder, partial(tc.Database.sql, text=text)) for text in (COUNTED, *QUESTIONS[1::2])}


def code_of(folder: Path, work: Callable[[tc.Database], object]) -> str:
    try:
        with closing(tc.connect(folder)) as database:
            work(database)
    except EngineError as refusal:
        return refusal.code
    return ""


def test_altered_reports_are_neither_counted_again_nor_rewritten(tmp_path: Path) -> None:
    """What is computed from them would have a digest of its own, and a person might not be found among them."""
    lake_with(tmp_path / "lake", (0, 300)).close()
    victim = next((tmp_path / "lake").glob("reports_*_users/*.parquet"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    for work in (lambda one: one.rollup("users", by=["os"]), lambda one: one.forget(7)):
        assert code_of(tmp_path / "lake", work) == "damaged-store"


@pytest.mark.parametrize("name", ["{outside}", "../outside/file", "contracts/../../outside/file", "x\\..\\y.json", ""])
def test_a_manifest_names_no_file_outside_of_its_lake(name: str, tmp_path: Path) -> None:
    """Whoever can write to a bucket or a backup could have files read, overwritten or removed by those who open it."""
    lake_with(tmp_path / "lake", (0, 300)).close()
    copies.back_up(Folder(tmp_path / "lake"), Folder(tmp_path / "backup"))
    outside = tmp_path / "outside" / "file"
    outside.parent.mkdir()
    outside.write_bytes(b"precious")
    for place in ("lake", "backup"):
        newest = max((tmp_path / place / "manifests").iterdir())
        values = json.loads(newest.read_text())
        [[_, file]] = values["contracts"]
        file[:] = [name.format(outside=outside), 1, 8, hashlib.sha256(b"precious").hexdigest()]
        newest.write_text(json.dumps(values))
    for work in (
        lambda: tc.connect(tmp_path / "lake"),
        lambda: copies.back_up(Folder(tmp_path / "lake"), Folder(tmp_path / "again")),
        lambda: copies.restore(Folder(tmp_path / "backup"), Folder(tmp_path / "restored")),
        lambda: copies.verify(Folder(tmp_path / "backup")),
    ):
        with pytest.raises(EngineError) as refused:
            work()
        assert refused.value.code == "damaged-store"
    assert outside.read_bytes() == b"precious"


@pytest.mark.parametrize("damage", ["altered", "missing", "manifest"])
def test_damage_is_found_by_digest(damage: str, tmp_path: Path) -> None:
    lake_with(tmp_path / "lake", (0, 300))
    engine = engine_of(tmp_path / "lake")
    engine.read_all()
    latest = engine.versions.latest()
    victim = tmp_path / "lake" / latest.tables[f"reports_{COLLECTION.id[:16]}_users"].files[0].name
    if damage == "altered":
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    elif damage == "missing":
        victim.unlink()
    else:
        victim = sorted((tmp_path / "lake" / "manifests").iterdir())[-2]
        victim.write_text(victim.read_text().replace('"since":1', '"since": 1'))
    with pytest.raises(EngineError) as failure:
        engine.read_all()
    assert failure.value.code == "damaged-store"
    if damage == "missing":
        with pytest.raises(EngineError):
            tc.connect(tmp_path / "lake").sql(QUESTIONS[2])
