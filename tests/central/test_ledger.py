"""The ledger: exact, all or nothing, durable, and composed as it says."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.tiers import how_many
from tacit import central
from tacit.central.charges import Charge
from tacit.errors import BudgetError, PrivacyError, UsageError


def recomputed(path: Path) -> Fraction:
    """Compose a ledger's events independently: read the file with sqlite alone, and apply the two theorems."""
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT place, epsilon FROM events").fetchall()
    return composed([(json.loads(place), Fraction(epsilon)) for place, epsilon in rows])


def composed(charges: Sequence[tuple[Sequence[Sequence[object]], Fraction]]) -> Fraction:
    """Sequential charges add up; of a partition, the worst part counts."""
    inside: dict[object, dict[object, list[tuple[Sequence[Sequence[object]], Fraction]]]] = defaultdict(dict)
    total = Fraction(0)
    for place, epsilon in charges:
        if not place:
            total += epsilon
        else:
            (name, part), rest = place[0], place[1:]
            inside[name].setdefault(part, []).append((rest, epsilon))
    return total + sum((max(map(composed, parts.values())) for parts in inside.values()), Fraction(0))


budgets = st.integers(1, 40).map(lambda n: Fraction(n, 100))
places = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=3).map(tuple)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.builds(Charge, budgets, st.just("x"), places), min_size=1, max_size=4), max_size=12))
def test_any_order_of_charges_composes_and_never_overspends(groups: list[list[Charge]]) -> None:
    ledger, made = central.Ledger(None, 2), []
    for group in groups:
        before = ledger.spent
        wanted = composed([(c.place, c.epsilon) for c in (*made, *group)])
        if wanted > 2:
            with pytest.raises(BudgetError):
                ledger.charge(group)
            assert ledger.spent == before
        else:
            ledger.charge(group)
            made += group
            assert ledger.spent == wanted
    assert [event.charge for event in ledger.events] == made


def test_composition_by_hand() -> None:
    """Two parts of a partition at 0.2 and 0.3, one of them partitioned again, and 0.1 on the whole: 0.1 + 0.3 + 0.05.

    Mutants: adding up all parts (0.65), taking the worst of everything (0.35).
    """
    ledger = central.Ledger(None, 1)
    charges = [
        Charge(Fraction(1, 10), "whole"),
        Charge(Fraction(2, 10), "part", (("p", 0),)),
        Charge(Fraction(3, 10), "part", (("p", 1),)),
        Charge(Fraction(5, 100), "part of a part", (("p", 1), ("q", 7))),
    ]
    ledger.charge(charges)
    assert ledger.spent == Fraction(45, 100)
    assert ledger.remaining == Fraction(55, 100)


def test_decimals_are_exact() -> None:
    """Ten tenths are one; a ledger of doubles would refuse the last or leave something."""
    ledger = central.Ledger(None, "1")
    for _ in range(10):
        ledger.charge([Charge(Fraction(1, 10), "count")])
    assert ledger.remaining == 0
    with pytest.raises(BudgetError) as caught:
        ledger.charge([Charge(Fraction(1, 10**12), "count")])
    assert caught.value.code == "budget-spent"
    assert sum([0.1] * 10) != 1


def test_a_file_is_kept_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    first = central.Ledger(path, "0.7")
    first.charge([Charge(Fraction(1, 3), "a third"), Charge(Fraction(1, 5), "a fifth", (("p", 4),))])
    second = central.Ledger(path)  # at the same time
    assert second.epsilon == Fraction(7, 10)
    second.charge([Charge(Fraction(1, 10), "from elsewhere")])
    assert first.spent == second.spent == recomputed(path) == Fraction(1, 3) + Fraction(1, 5) + Fraction(1, 10)
    assert [str(event.charge.epsilon) for event in first.events] == ["1/3", "1/5", "1/10"]
    first.close()
    second.close()


def test_bad_budgets_and_files_are_named(tmp_path: Path) -> None:
    for bad in (0, -1, float("inf"), float("nan"), "much", True):
        with pytest.raises(UsageError) as caught:
            central.Ledger(tmp_path / "new.ledger", bad)
        assert caught.value.code in ("epsilon-out-of-range", "epsilon-not-a-number")
    assert not (tmp_path / "new.ledger").exists()
    with pytest.raises(UsageError) as caught:
        central.Ledger(tmp_path / "new.ledger")
    assert caught.value.code == "no-ledger"
    central.Ledger(tmp_path / "one.ledger", 1).close()
    with pytest.raises(UsageError) as caught:
        central.Ledger(tmp_path / "one.ledger", 2)
    assert caught.value.code == "ledger-budget"
    (tmp_path / "bad.ledger").write_bytes(b"not a database" * 100)
    with pytest.raises(PrivacyError) as damaged:
        central.Ledger(tmp_path / "bad.ledger", 1)
    assert damaged.value.code == "ledger-damaged"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM events WHERE number = 1",
        "UPDATE events SET epsilon = '-1' WHERE number = 2",
        "UPDATE events SET place = '{' WHERE number = 2",
        "UPDATE ledger SET version = 99",
        "DELETE FROM ledger",
    ],
)
def test_a_damaged_ledger_gives_nothing_away(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "people.ledger"
    ledger = central.Ledger(path, 1)
    for _ in range(3):
        ledger.charge([Charge(Fraction(1, 10), "count")])
    ledger.close()
    with sqlite3.connect(path) as file:
        file.execute(damage)
    with pytest.raises(PrivacyError) as caught:
        central.Ledger(path)
    assert caught.value.code == "ledger-damaged"


SPENDER = """
import sys
from fractions import Fraction
from tacit import central
from tacit.central.charges import Charge
ledger = central.Ledger(sys.argv[1], "30")
pair = [Charge(Fraction(1, 1000), "first"), Charge(Fraction(2, 1000), "second", (("p", 0),))]
while True:
    try:
        ledger.charge(pair)
    except central.BudgetError:
        break
    print("charged", flush=True)
"""


def test_charges_survive_kill_9_whole(tmp_path: Path) -> None:
    """A process that charges pairs is killed at some moments: what it confirmed is there, and no pair is torn."""
    moments = how_many(2, 24, "kills of a process that charges")
    path, confirmed = tmp_path / "people.ledger", 0
    for moment in range(moments):
        with subprocess.Popen([sys.executable, "-c", SPENDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.12 * moment / moments)
            os.kill(process.pid, signal.SIGKILL)
            confirmed += 1 + len(process.stdout.read().splitlines())
    ledger = central.Ledger(path)
    stored = [event.charge.what for event in ledger.events]
    pairs = list(zip(stored[::2], stored[1::2], strict=True))
    assert set(pairs) == {("first", "second")}
    assert confirmed <= len(pairs) <= confirmed + moments
    places = sum(Fraction(1, 1000) for _ in pairs)
    assert ledger.spent == recomputed(path) == places + sum(Fraction(2, 1000) for _ in pairs)
    ledger.close()


def test_processes_together_never_overspend(tmp_path: Path) -> None:
    """Four processes spend 0.003 at a time from 0.3 until they are refused: together exactly 100 times."""
    path = tmp_path / "people.ledger"
    central.Ledger(path, "0.3").close()
    code = SPENDER.replace('"30"', '"0.3"')
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    confirmed = sum(len(process.communicate()[0].splitlines()) for process in started)
    ledger = central.Ledger(path)
    assert confirmed == 100
    assert ledger.spent == ledger.epsilon == recomputed(path)
    ledger.close()
