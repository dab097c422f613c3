"""Gaussian noise: its distribution, what a rho says in epsilon and delta, and that releases draw what they charge."""

from __future__ import annotations

import math
import sqlite3
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.test_marginals import people
from support.chances import assert_distribution
from support.tape import Tape
from support.tiers import keeping
from tacit import central
from tacit.central.charges import Charge
from tacit.central.concentrated import largest_rho
from tacit.central.marginals import MarginalTables
from tacit.central.noise import Gaussian, OpenDp
from tacit.errors import BudgetError, InternalError, UsageError

DELTA = Fraction(1, 10**9)


def chances(scale: float, reach: int) -> np.ndarray:
    """Return P(Z = -reach..reach) of discrete Gaussian noise, tails added to the ends."""
    k = np.arange(-reach * 3, reach * 3 + 1)
    mass = np.exp(-(k**2) / (2 * scale**2))
    mass /= mass.sum()
    inside = mass[reach * 2 : -reach * 2].copy()
    inside[[0, -1]] += mass[: reach * 2].sum()
    return inside


@pytest.mark.parametrize("rho", keeping(["1/2"], ["1/2", "1/50"], "200,000 draws of Gaussian noise"))
def test_the_library_draws_the_stated_distribution(rho: str) -> None:
    """n = 200,000, false alarms 1e-9; fresh randomness of the system. The mutant has a scale 5 % larger."""
    law = Gaussian(Fraction(rho))
    reach = int(4 * law.scale) + 1
    drawn = np.clip(OpenDp().noisy(np.full(200_000, 40), law) - 40, -reach, reach)
    observed = np.bincount(drawn + reach, minlength=2 * reach + 1)
    assert_distribution(observed, chances(law.scale, reach), mutant=chances(1.05 * law.scale, reach))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=400))
def test_the_exact_loss_is_at_most_rho(rho: Fraction) -> None:
    law = Gaussian(rho)
    assert law.loss <= rho < law.loss * (1 + Fraction(1, 2**49))


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "4", "20"])
@pytest.mark.parametrize("delta", [Fraction(1, 10**5), DELTA, Fraction(1, 10**20)])
def test_the_stated_epsilon_and_delta_hold_for_gaussian_noise(epsilon: str, delta: Fraction) -> None:
    """The exact delta of a Gaussian of this rho, by the normal distribution, is at most that stated; and for a mutant
    with 1.6 times the rho it is above."""
    stated, normal = Fraction(epsilon), NormalDist()

    def exact(rho: float) -> float:
        shift, at = math.sqrt(2 * rho), float(stated)
        return normal.cdf(shift / 2 - at / shift) - math.exp(at) * normal.cdf(-shift / 2 - at / shift)

    rho = float(largest_rho(stated, delta))
    if float(delta) > 1e-14:  # differences of smaller numbers lose their digits
        assert exact(rho) <= float(delta)
        assert exact(1.6 * rho) > float(delta)
    assert rho >= (math.sqrt(math.log(1 / delta) + float(stated)) - math.sqrt(math.log(1 / delta))) ** 2  # Bun, Steinke


def test_a_release_draws_what_it_charges_and_says_so(tmp_path: Path) -> None:
    """Tables and choices cost rho together, and no more; the guarantee, the ledger and the file state both numbers."""
    table, service = people(3_000, 5)
    tape, ledger = Tape(), central.Ledger(tmp_path / "people.ledger", 2, delta="0.000001")
    made = central.release(
        table, service, 1, method="marginals", noise="gaussian", delta=1e-9, ledger=ledger, source=tape
    )
    assert isinstance(made.body, MarginalTables)
    drawn = sum((own.law.rho for own in made.body.tables), Fraction(0))
    choices = len(tape.asked) - len(made.body.tables)
    assert choices == sum(len(own.attributes) == 2 for own in made.body.tables)
    total = largest_rho(Fraction(1), DELTA)
    assert total * Fraction(7, 12) < drawn < total
    assert (ledger.spent, ledger.spent_delta) == (1, DELTA)
    assert "1 of 2 spent, delta 1e-09 of 1e-06" in str(ledger)
    assert "(1, 1e-09)-differential privacy" in made.guarantee
    made.save(tmp_path / "made.parquet")
    again = central.Release.load(tmp_path / "made.parquet")
    assert (again.guarantee, again.id, again.delta) == (made.guarantee, made.id, DELTA)
    text = "SELECT c0, COUNT(*) AS n FROM t GROUP BY c0"
    assert str(again.sql(text)) == str(made.sql(text))


def test_a_mutant_that_draws_less_noise_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.central import marginals

    table, service = people(300, 4)
    monkeypatch.setattr(marginals, "largest_rho", lambda epsilon, delta: largest_rho(epsilon, delta) * 2)
    with pytest.raises(InternalError):
        central.release(table, service, 1, method="marginals", noise="gaussian", delta=1e-9)


def test_gaussian_noise_is_smaller_where_there_are_many_tables() -> None:
    """Twelve columns, epsilon 1: less noise in every table of one column than Laplace noise has."""
    table, service = people(2_000, 12)
    laplace = central.release(table, service, 1, method="marginals").body
    gaussian = central.release(table, service, 1, method="marginals", noise="gaussian", delta=1e-9).body
    assert isinstance(laplace, MarginalTables)
    assert isinstance(gaussian, MarginalTables)
    assert gaussian.tables[0].law.variance < 0.5 * laplace.tables[0].law.variance


@pytest.mark.parametrize(
    "options", [{"noise": "gaussian"}, {"delta": 1e-9}, {"noise": "cauchy"}, {"noise": "gaussian", "delta": 0.5}]
)
def test_wrong_options_are_named(options: dict[str, object]) -> None:
    table, service = people(50, 3)
    with pytest.raises(UsageError):
        central.release(table, service, 1, method="marginals", **options)


def test_a_ledger_without_delta_refuses_and_an_older_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with sqlite3.connect(path) as file:  # as version 1 wrote it
        file.execute("CREATE TABLE ledger (version INTEGER NOT NULL, epsilon TEXT NOT NULL)")
        file.execute(
            "CREATE TABLE events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, place TEXT NOT NULL, "
            "epsilon TEXT NOT NULL, what TEXT NOT NULL)"
        )
        file.execute("INSERT INTO ledger VALUES (1, '2')")
        file.execute("INSERT INTO events VALUES (1, '2026-01-01T00:00:00+00:00', '[]', '0.5', 'a release')")
    file.close()
    ledger = central.Ledger(path)
    assert (ledger.spent, ledger.epsilon, ledger.delta) == (Fraction(1, 2), 2, 0)
    with pytest.raises(BudgetError) as caught:
        ledger.charge([Charge(Fraction(1, 2), "Gaussian", delta=DELTA)])
    assert "delta" in str(caught.value)
    assert (ledger.spent, ledger.spent_delta) == (Fraction(1, 2), 0)
    ledger.charge([Charge(Fraction(1, 2), "pure")])
    assert central.Ledger(path).spent == 1
    with pytest.raises(UsageError):
        central.Ledger(path, 2, delta="0.000001")


def test_tiny_budgets_are_refused_before_they_are_charged() -> None:
    table, service = people(50, 3)
    ledger = central.Ledger(None, 1, delta="0.001")
    with pytest.raises(UsageError):
        central.release(table, service, "0.00001", method="marginals", noise="gaussian", delta=1e-9, ledger=ledger)
    assert ledger.spent == 0
