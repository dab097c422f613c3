"""Reports whose views and seeds no honest devices send: attacks and made-up reports alarm, honest people do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.collectors import collector_here
from tacit.answers import watch
from tacit.cli import main
from tacit.collection import Collection
from tacit.estimate.evenness import evenness_of

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("x", 0, 15), tc.Ordinal("y", 0, 15)])
PEOPLE = 20_000
CASES = {
    "auto": {"epsilon": 1},
    "hio": {"epsilon": 1, "mechanism": "hio"},
    "olh": {"epsilon": 1, "mechanism": "hio", "oracle": "olh"},
    "lh": {"epsilon": 1, "mechanism": "fc", "oracle": "lh"},
}


def collection(name: str) -> Collection:
    return tc.Collection(tc.Schema([USERS]), **CASES[name])  # type: ignore[arg-type]


def drawn(own: Collection, seed: int, value: int = -1) -> pa.Table:
    ids = np.arange(PEOPLE)
    x = ids % 16 if value < 0 else np.full(PEOPLE, value)
    return own.encode(users={"uid": ids, "x": x, "y": ids // 16 % 16}, rng=tc.insecure_rng(seed))["users"]


def problem(own: Collection, codes: np.ndarray) -> str:
    distinct, people = np.unique(codes, return_counts=True)
    return evenness_of(own.contract["users"].channels[0], distinct, people.astype(np.float64)).problem


@pytest.mark.parametrize("name", CASES)
def test_honest_people_do_not_alarm_and_attackers_with_one_code_do(name: str) -> None:
    """20,000 people, two populations, four seeds; false alarms below 1e-5 each; attackers are 5 %."""
    own = collection(name)
    for seed, value in enumerate((-1, -1, 3, 3)):
        codes = np.asarray(drawn(own, seed, value)["code"]).copy()
        assert not problem(own, codes)
        codes[: PEOPLE // 20] = codes[-1]
        assert "too frequent" in problem(own, codes)


def test_reports_that_take_turns_are_too_even() -> None:
    own = collection("hio")
    [channel] = own.contract["users"].channels
    firsts = np.array([view.offset for view in channel.views])
    assert "too even" in problem(own, firsts[np.arange(PEOPLE) % len(firsts)])
    seeds = tc.Collection(tc.Schema([USERS]), 1, mechanism="fc", oracle="lh")
    oracle = seeds.contract["users"].channels[0].views[0].oracle
    assert "too even" in problem(seeds, 1 + np.arange(PEOPLE) % oracle.seeds * oracle.g)  # type: ignore[attr-defined]


def test_deviates_of_honest_reports_are_standard_normal() -> None:
    """300 draws of counts of views and seeds, dense and sparse: mean and spread within 1e-9 limits of normal ones."""
    own = collection("hio")
    [channel] = own.contract["users"].channels
    rng = np.random.default_rng(4)
    views, seeds = [], []
    for _ in range(300):
        draws = rng.integers(0, 2**53, (2, 3_000)).astype(np.uint64)
        picked = channel.pick_views(draws[0])
        codes = np.empty(3_000, np.int64)
        for index, view in enumerate(channel.views):
            mine = picked == index
            zero = [np.zeros(mine.sum(), np.int64)] * len(view.oracle.sizes)
            codes[mine] = view.offset + view.oracle.randomise(zero, draws[1][mine], draws[0][mine])
        distinct, people = np.unique(codes, return_counts=True)
        found = evenness_of(channel, distinct, people.astype(np.float64))
        views.append(found.views)
        seeds.append(found.seeds)
    for deviates, bias in ((views, 0.0), (seeds, 0.3)):  # of two tests the worse is taken
        assert abs(np.mean(deviates)) < 6.1 / np.sqrt(300) + bias
        assert 0.7 < np.std(deviates) < 1.5
        assert np.abs(deviates).max() < 5


def test_channels_of_one_view_without_seeds_cannot_be_tested() -> None:
    service = tc.Service("users", key="uid", attributes=[tc.Categorical("x", ["a", "b", "c"])])
    own = tc.Collection(tc.Schema([service]), 1, mechanism="fc", oracle="grr")
    assert not problem(own, np.zeros(PEOPLE, np.int64))


def forged(table: pa.Table) -> pa.Table:
    codes = np.asarray(table["code"]).copy()
    codes[: PEOPLE // 20] = codes[-1]
    place = table.column_names.index("code")
    return table.set_column(place, "code", pa.array(codes))


def test_answers_say_when_reports_look_made_up() -> None:
    own = collection("hio")
    question = "SELECT COUNT(*) AS n FROM users WHERE x < 4"
    for table, alarm in ((drawn(own, 1), False), (forged(drawn(own, 1)), True)):
        database = tc.connect()
        database.create(own)
        database.load({"users": table})
        notes = [note for note in database.sql(question).notes if "made up" in note]
        assert bool(notes) == alarm
        assert database.sql(question).notes == database.sql(question).notes


def test_the_watch_looks_again_when_a_tenth_more_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the sums by code that the question has read: it asks the engine nothing itself."""
    own = collection("hio")
    database = tc.connect()
    database.create(own)
    table = drawn(own, 1)
    database.load({"users": table.slice(0, 2_000)})
    asked: list[str] = []
    fetch = database._engine.fetch

    def counted(statement: str, parameters: object, uploads: object) -> pa.Table:
        asked.append(statement)
        return fetch(statement, parameters, uploads)  # type: ignore[arg-type]

    database._engine.fetch = counted  # type: ignore[method-assign]
    looks: list[str] = []
    problem_of = watch.problem_of
    monkeypatch.setattr(watch, "problem_of", lambda *given: (looks.append(given[1]), problem_of(*given))[1])
    for start, looked in ((2_000, 1), (2_050, 1), (2_100, 1), (2_300, 2)):
        database.sql(f"SELECT COUNT(*) AS n FROM users WHERE x < {start % 13 + 1}")
        assert len(looks) == looked
        assert not any("GROUP BY channel" in one for one in asked)
        stop = {2_000: 2_050, 2_050: 2_100, 2_100: 2_300}.get(start, start)
        database.load({"users": table.slice(start, stop - start)})


def test_the_watch_sees_what_others_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as another collector of a fleet: it leads and moves reports, and this one answers."""
    own = collection("hio")
    question = "SELECT COUNT(*) AS n FROM users WHERE x < 4"
    mine = tc.connect(tmp_path / "d.tacit")
    mine.create(own)
    other = tc.connect(tmp_path / "d.tacit")
    table = drawn(own, 1)
    mine.load({"users": table.slice(0, 1_000)})
    assert not [note for note in mine.sql(question).notes if "made up" in note]
    rest = table.slice(1_000)
    codes = np.asarray(rest["code"]).copy()
    codes[: PEOPLE // 20] = codes[-1]
    other.load({"users": rest.set_column(rest.column_names.index("code"), "code", pa.array(codes))})
    monkeypatch.setattr(watch, "COUNTED_SECONDS", 0.0)
    assert [note for note in mine.sql(question).notes if "made up" in note]
    for database in (mine, other):
        database.close()


def test_doctor_looks_at_views_and_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = collection("hio")
    for name, table, code in (("good", drawn(own, 1), 0), ("bad", forged(drawn(own, 1)), 1)):
        with collector_here(tmp_path / name, own) as collector:
            collector.load({"users": table})
        assert main(["doctor", str(tmp_path / name), "--reports"]) == code
        shown = capsys.readouterr().out
        assert ("consistent with honest devices" in shown) == (code == 0)
        assert ("too frequent" in shown) == (code == 1)
