"""S11: the collector's log is a chain; whatever is edited, deleted, moved or cut off is found, with its position."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from tacit.contract.hash_chain import Head, next_line, read_chain
from tacit.server.store.log import Log

MUTATIONS = 1_000
ENTRIES = 60


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    log = Log(tmp_path / "log.db")
    for number in range(ENTRIES):
        log.add("question", sql=f"{number:064x}", key="analyst")
    found = log.lines()
    log.close()
    return found


def test_an_untouched_chain_holds(lines: list[str], tmp_path: Path) -> None:
    chain = read_chain(lines)
    assert chain.ok
    assert chain.head.entries == ENTRIES
    assert chain.since(chain.head).ok
    assert chain.since(read_chain(lines[:10]).head).ok
    again = Log(tmp_path / "log.db")
    again.add("key-revoked", digest="ab")
    assert again.read().since(chain.head).ok
    again.close()


def test_every_mutation_is_found_with_its_position(lines: list[str], source: np.random.Generator) -> None:
    """1,000 mutations of four kinds; a head that was recorded before finds those of the end, too."""
    head = read_chain(lines).head
    for number in range(MUTATIONS):
        kind, place = number % 4, int(source.integers(ENTRIES))
        changed = list(lines)
        if kind == 0:  # one letter of a line
            spot = int(source.integers(len(lines[place])))
            other = "x" if lines[place][spot] != "x" else "y"
            changed[place] = lines[place][:spot] + other + lines[place][spot + 1 :]
        elif kind == 1:  # a line
            del changed[place]
        elif kind == 2:  # the order of two lines
            with_it = (place + 1 + int(source.integers(ENTRIES - 1))) % ENTRIES
            changed[place], changed[with_it] = changed[with_it], changed[place]
            place = min(place, with_it)
        else:  # the end
            del changed[place:]
        found = read_chain(changed).since(head)
        assert not found.ok
        assert found.position == place + 1, (kind, place, found.problem)


def test_what_only_a_recorded_head_finds(lines: list[str]) -> None:
    """A cut end, or an end that was written anew, is a chain like any other: the limit that the docs state."""
    head = read_chain(lines).head
    cut = read_chain(lines[:-3])
    assert cut.ok
    assert not cut.since(head).ok
    forged = lines[:-1]
    line, _ = next_line(cut_head(lines), time="2026-11-15T00:00:00+00:00", event="question", details={})
    anew = read_chain([*forged, line])
    assert anew.ok
    assert anew.since(head).position == ENTRIES


def cut_head(lines: list[str]) -> Head:
    return read_chain(lines[:-1]).head


def test_processes_and_threads_add_one_after_the_other(tmp_path: Path) -> None:
    logs = [Log(tmp_path / "log.db") for _ in range(4)]
    threads = [threading.Thread(target=lambda log=log: [log.add("x", n=i) for i in range(20)]) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chain = logs[0].read()
    assert chain.ok
    assert len(chain.entries) == 80
    for log in logs:
        log.close()
