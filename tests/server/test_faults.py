"""A slice of bench/faults: calls on files of the store fail, collectors are killed, deliveries are disturbed.

The whole of it, n = 1..200 on every file, takes hours: python -m bench.faults.run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.faults.collector import Collector, Zygote
from bench.faults.deliveries import run_deliveries
from bench.faults.kills import run_kills
from bench.faults.merge import merge
from bench.faults.people import People
from bench.faults.shim import Shim, has_compiler
from bench.faults.syscalls import Cell, Rounds
from support.tiers import keeping
from tacit.server.store.log import Log

CELLS = {
    Cell("creating", "store/inbox.db", "write", "EIO", forever=False): (1,),
    Cell("creating", "store/log.db-wal", "sync", "ENOSPC", forever=True): (1,),
    Cell("creating", "store/*reports.tacit", "write", "ENOSPC", forever=True): (1, 3),
    Cell("starting", "store/inbox.db", "open", "EIO", forever=False): (1,),
    Cell("starting", "store/log.db", "open", "EMFILE", forever=True): (1,),
    Cell("running", "store/inbox.db-wal", "write", "EIO", forever=False): (1, 9),
    Cell("running", "store/inbox.db-wal", "sync", "ENOSPC", forever=True): (1, 3),
    Cell("running", "store/reports.tacit.wal", "sync", "EIO", forever=False): (1,),
    Cell("running", "store/log.db-wal", "write", "EIO", forever=False): (1,),
    Cell("running", "requests.log", "write", "ENOSPC", forever=True): (1,),
    Cell("ending", "store/reports.tacit", "write", "EIO", forever=False): (1,),
    Cell("ending", "store/log.db", "sync", "EIO", forever=False): (1,),
}

ACKNOWLEDGES_TOO_EARLY = """
from tacit.server.store.inbox import Inbox
commit = Inbox._commit
def answer_first(self, group):
    for request in group:
        request.answer.set_result(["stored"] * len(request.reports))
        nobody = type("Nobody", (), {"set_result": lambda *_: None, "set_exception": lambda *_: None})()
        object.__setattr__(request, "answer", nobody)
    commit(self, group)
Inbox._commit = answer_first
"""

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="the shim needs cc and Linux")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    return Shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def zygote(shim: Shim) -> Iterator[Zygote]:
    with closing(Zygote(shim.environment())) as made:
        yield made


@needs_compiler
@pytest.mark.parametrize(
    "cell",
    keeping(
        [cell for cell in CELLS if cell.file.endswith(("inbox.db-wal", "*reports.tacit", "reports.tacit.wal"))],
        CELLS,
        "calls on files of a store that fail",
    ),
    ids=str,
)
def test_a_failing_call_loses_nothing_and_is_said(shim: Shim, zygote: Zygote, tmp_path: Path, cell: Cell) -> None:
    with closing(Rounds(shim, zygote, tmp_path / "collector")) as rounds:
        for n in CELLS[cell]:
            made = rounds.run(cell, n)
            assert made.fired, "the call is never made: the test would show nothing"
            assert not made.bad, made.plain()
        last = rounds.last()
        assert not last.bad, last.plain()


@needs_compiler
@pytest.mark.long("test_crashes catches the same mutant")
def test_acknowledging_before_the_commit_is_noticed(shim: Shim, tmp_path: Path) -> None:
    mutation = tmp_path / "mutation.py"
    mutation.write_text(ACKNOWLEDGES_TOO_EARLY, encoding="utf-8")
    cell = Cell("running", "store/inbox.db-wal", "write", "ENOSPC", forever=True)
    with (
        closing(Zygote(shim.environment(), mutation=mutation)) as zygote,
        closing(Rounds(shim, zygote, tmp_path / "collector")) as rounds,
    ):
        assert rounds.run(cell, 1).lost + rounds.last().lost > 0


@pytest.mark.long("kills of a forked collector; test_crashes kills one")
def test_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    with closing(Zygote(os.environ)) as zygote:
        found = run_kills(tmp_path, zygote, rounds=3, seconds=60)
    assert found["rounds"] >= 1
    assert found["acknowledged"] > 0
    assert {name: found[name] for name in ("lost", "twice", "short", "mistakes")} == dict.fromkeys(
        ("lost", "twice", "short", "mistakes"), 0
    )


def test_disturbed_deliveries_store_every_record_once(tmp_path: Path) -> None:
    with closing(Zygote(os.environ)) as zygote:
        found = run_deliveries(tmp_path, zygote, rounds=2, seconds=60)
    assert found["records"] > 0
    assert found["lost"] == found["twice"] == found["rejected"] == found["unfinished"] == 0


@needs_compiler
def test_a_clock_that_jumps_changes_nothing(shim: Shim, zygote: Zygote, tmp_path: Path) -> None:
    """Ten years ahead, back before 1970 and to now: reports are stored, questions answered, the log stays a chain."""
    people = People()
    collector = Collector(zygote, tmp_path, "--log", str(tmp_path / "requests.log"))
    years = 365 * 86_400
    try:
        for jump in (0, 10 * years, -60 * years, 3_600, 0):
            shim.set_clock(jump)
            some = people.new(3)
            people.note(some, collector.send(some))
            answer = collector.count()
            assert (answer.status, answer.count) == (200, len(people.acknowledged))
            assert collector.ask("/healthz").status == 200
        assert collector.forget(1).status == 200
        assert len(people.acknowledged) == 15
    finally:
        shim.set_clock(0)
        assert collector.end() == 0
    times = [json.loads(line)["time"] for line in (tmp_path / "requests.log").read_text().splitlines()]
    assert times != sorted(times), "the clock did jump"
    log = Log(tmp_path / "store" / "log.db")
    assert log.read().ok
    log.close()


def test_runs_are_put_together() -> None:
    """A later run replaces a file's rounds and says its commit; kills of several runs add up."""
    old = {"phase": "running", "file": "x", "call": "write", "error": "EIO", "rounds": 1}
    before = {
        "about": {"commit": "a" * 40},
        "syscalls": [old, old | {"call": "open"}],
        "kills": {"rounds": 9, "lost": 1},
    }
    runs: list[dict[str, Any]] = [
        {"about": {"commit": "b" * 40}, "syscalls": [old | {"rounds": 200}]},
        {"about": {"commit": "b" * 40}, "kills": {"rounds": 100, "lost": 0, "requests": {"cut": 1}}},
        {"about": {"commit": "c" * 40}, "kills": {"rounds": 50, "lost": 2, "requests": {"cut": 2}}},
    ]
    made = merge(before, runs)
    assert made["syscalls"] == [old | {"call": "open"}, old | {"rounds": 200, "commit": "b" * 12}]
    kills = {"rounds": 150, "lost": 2, "requests": {"cut": 3}, "commits": ["b" * 12, "c" * 12]}
    assert made["kills"] == kills
