"""S11: evidence is a page, JSON and contracts; every claim is checked again, and whatever was changed fails."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.tiers import how_many
from tacit.cli import main
from tacit.contract.hash_chain import START, next_line
from tacit.evidence import Readership, gather, run_trials, verify, write
from tacit.server.store.log import Log

ORDERS = tc.Service("orders", key="uid", at_most=2, attributes=[tc.Categorical("item", ["x", "y"])])
USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("os")])
SCHEMA = tc.Schema([USERS, ORDERS])
COLLECTIONS = [tc.Collection(SCHEMA, epsilon, tier=tier) for epsilon, tier in ((1.0, "careful"), (2.0, "open"))]
COLLECTIONS += [tc.Collection(SCHEMA, 0.5, round="<b>next</b>")]


def lines(count: int) -> list[str]:
    made, head = [], START
    for number in range(count):
        line, head = next_line(head, time="2026-11-15T00:00:00+00:00", event="question", details={"n": number})
        made.append(line)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trials = {COLLECTIONS[0].id: run_trials(COLLECTIONS[0], 2_000)}
    claims = gather(COLLECTIONS, made="2026-11-15T00:00:00+00:00", log=lines(5), trials=trials)
    write(tmp_path, claims, COLLECTIONS, lines(5))
    return tmp_path


def failing(folder: Path, log: list[str] | None = None) -> list[str]:
    return [verdict.claim for verdict in verify(folder, log=log) if verdict.ok is False]


def test_untouched_evidence_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(folder) == []
    assert failing(folder, lines(9)) == []
    assert main(["audit", "--verify", str(folder)]) == 0
    said = capsys.readouterr().out
    assert said.count("PASS") == len(said.splitlines()) > 12
    claims = json.loads((folder / "evidence.json").read_text())
    assert claims["total"]["epsilon"] == "2.5", "the larger tier of one round, and the other round"
    assert 2.4 < claims["total"]["worst_loss"] <= 2.5000001


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, key))
    else:
        yield path


def changed(data: Any, path: tuple[Any, ...]) -> Any:
    copy = json.loads(json.dumps(data))
    place = copy
    for key in path[:-1]:
        place = place[key]
    value = place[path[-1]]
    place[path[-1]] = (
        (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else value + "1"
    )
    return copy


CLAIMS = ("collections", "total", "log", "code", "epsilon", "expected")
"""What can be computed again; when evidence was made, and what was counted in trials, can not."""


def test_whatever_is_claimed_otherwise_fails_though_the_page_is_made_anew(tmp_path: Path) -> None:
    """Each leaf of the claims is changed alone, by one or by a letter, by somebody who also rewrites the page."""
    one = COLLECTIONS[:1]
    trials = {one[0].id: run_trials(one[0], 500)}
    claims = gather(one, made="2026-11-15T00:00:00+00:00", log=lines(3), trials=trials)
    paths = [path for path in leaves(claims) if set(CLAIMS) & set(path)]
    assert len(paths) > 60
    for path in paths[:: -(-len(paths) // how_many(12, 1_000, "claims that are changed, each alone"))]:
        write(tmp_path, changed(claims, path), one, lines(3))
        assert fails(tmp_path), path


def test_no_evidence_makes_its_verifier_compute_for_ever(tmp_path: Path) -> None:
    """A short text with an exponent is a number of any length."""
    one = COLLECTIONS[:1]
    claims = gather(one, made="2026-11-15T00:00:00+00:00", trials={one[0].id: run_trials(one[0], 500)})
    write(tmp_path, claims, one)
    [trial, *_] = claims["trials"][one[0].id]
    endless: list[dict[str, Any]] = [
        {"epsilon": "1e99999"},
        {"told": [math.inf, 2]},
        {"trials": 500.5},
        {"trials": 10**400},
        {"expected": ["1/0", "0"]},
    ]
    texts = [json.dumps(claims | {"trials": {one[0].id: [trial | change]}}) for change in endless]
    for text in (*texts, "[" * 100_000):
        (tmp_path / "evidence.json").write_text(text)
        with pytest.raises(tc.errors.UsageError) as refused:
            verify(tmp_path)
        assert refused.value.code == "no-evidence"


def fails(folder: Path) -> bool:
    try:
        return bool(failing(folder))
    except tc.errors.UsageError as refusal:
        return refusal.code == "no-evidence"


@pytest.mark.parametrize("name", ["index.html", "log.jsonl", "contract"])
def test_a_changed_file_fails(folder: Path, name: str) -> None:
    path = next((folder / "contracts").iterdir()) if name == "contract" else folder / name
    text = path.read_text()
    path.write_text(text.replace("1", "2", 1))
    assert failing(folder)
    path.write_text(text)
    assert not failing(folder)


def test_a_log_that_was_cut_or_rewritten_is_found_against_the_page(folder: Path) -> None:
    assert failing(folder, lines(4)) == ["the collector's log goes on from there"]
    assert failing(folder, [*lines(4), "{}"]) == ["the collector's log goes on from there"]
    claims = json.loads((folder / "evidence.json").read_text())
    (folder / "evidence.json").write_text(json.dumps(claims | {"made": "later"}, indent=1))
    assert failing(folder) == ["the page agrees with the claims"]
    (folder / "log.jsonl").write_text("".join(f"{line}\n" for line in lines(4)))
    assert "the log is an unbroken chain up to its recorded head" in failing(folder)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [str(value) for name, value in attrs if name in ("src", "href")]


def test_the_page_loads_nothing_and_names_are_text(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    page = Page()
    page.feed(text)
    assert page.loads == []
    assert "script" not in page.tags
    assert "b" not in page.tags, "the name of a round is not markup"
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    for collection in COLLECTIONS:
        assert collection.id in text
        assert str(collection.audit().ratio) in text


def test_the_command_writes_evidence_with_a_stores_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract, store, out = tmp_path / "c.json", tmp_path / "store", tmp_path / "evidence"
    contract.write_text(COLLECTIONS[0].to_json())
    store.mkdir()
    log = Log(store / "log.db")
    log.add("question", sql="0" * 64, key="analyst")
    words = ["audit", str(contract), "--report", str(out), "--store", str(store), "--trials", "2e3"]
    assert main(words) == 0
    assert main(["audit", "--verify", str(out), "--store", str(store), "--json"]) == 0
    capsys.readouterr()
    log.add("question", sql="1" * 64, key="analyst")
    assert main(["audit", "--verify", str(out), "--store", str(store)]) == 0
    assert "goes on from there  (2 entries now)" in capsys.readouterr().out
    log._file.execute("DELETE FROM log")
    assert main(["audit", "--verify", str(out), "--store", str(store)]) == 1
    assert "FAIL  the collector's log goes on from there  (line 1: 1 of 1 recorded entries" in capsys.readouterr().out
    log.close()
    assert main(["audit"]) == 2
    assert main(["audit", str(contract), "--store", str(tmp_path)]) == 2
    assert main(["audit", "--verify", str(tmp_path)]) == 2


def test_evidence_of_readers_is_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both numbers are in the folder; whoever lowers the second, or raises the crowd, is found."""
    plain = (
        tc.Collection(tc.Schema([ORDERS]), 2.0, round="first"),
        tc.Collection(tc.Schema([ORDERS]), 1.0, round="next"),
    )
    readers = Readership(people=50_000, known=500)
    write(tmp_path, gather(plain, made="now", readers=readers), plain)
    assert failing(tmp_path) == []
    claims = json.loads((tmp_path / "evidence.json").read_text())["readers"]
    each = [one["epsilon"] for one in claims["collections"].values()]
    assert claims["total"]["epsilon"] == pytest.approx(sum(each))
    assert claims["total"]["delta"] == "0.00000002"
    for word, change in (("epsilon", '"epsilon": 0.0'), ("people", '"people": 50001')):
        text = (tmp_path / "evidence.json").read_text()
        moved = text.replace(f'"{word}": {claims["total"][word] if word == "epsilon" else 50000}', change)
        assert moved != text
        (tmp_path / "evidence.json").write_text(moved)
        assert failing(tmp_path)
        (tmp_path / "evidence.json").write_text(text)
    file = tmp_path / "contracts" / f"{plain[0].id}.json"
    assert main(["audit", str(file), "--people", "50000", "--known", "500", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["central"]
    assert shown["epsilon"] == each[0]
    assert main(["audit", str(file), "--people", "50000", "--report", str(tmp_path / "more")]) == 0
    assert "hidden among 50,000 people" in capsys.readouterr().out
    assert "What readers of answers learn" in (tmp_path / "more" / "index.html").read_text()


def test_nothing_is_claimed_about_classes_nobody_counted(tmp_path: Path) -> None:
    """With a public column and no size of its classes, a round counts with its local loss."""
    claims = gather(COLLECTIONS, made="now", readers=Readership(people=50_000))["readers"]
    assert all(one["epsilon"] is None for one in claims["collections"].values())
    assert claims["total"] == {"epsilon": pytest.approx(2.5), "delta": "0"}
    write(tmp_path, gather(COLLECTIONS, made="now", readers=Readership(people=50_000)), COLLECTIONS)
    assert failing(tmp_path) == []


def test_a_panel_in_evidence_states_its_worst_case_and_both_numbers(tmp_path: Path) -> None:
    """A third party computes them again in under a minute; a report less in the claims is found."""
    panel = tc.Collection(tc.Schema([ORDERS]), 2.0, panel="2026", rounds=52, reports=2)
    write(tmp_path, gather([panel], made="now", readers=Readership(people=1_000_000)), [panel])
    start = time.process_time()
    assert failing(tmp_path) == []
    assert time.process_time() - start < 60
    claims = json.loads((tmp_path / "evidence.json").read_text())
    [one] = claims["collections"]
    assert one["panel"] == {"name": "2026", "rounds": 52, "reports": 2}
    assert sum(channel["reports"] for channel in one["channels"]) == 2
    assert claims["total"]["epsilon"] == "2"
    assert 0 < claims["readers"]["total"]["epsilon"] < 2
    text = (tmp_path / "evidence.json").read_text()
    (tmp_path / "evidence.json").write_text(text.replace('"reports": 2', '"reports": 1'))
    assert failing(tmp_path)
    assert "panel 2026: 2 of 52 rounds" in (tmp_path / "index.html").read_text()
