"""Tiers, caps and sentences: cases that the Python and the TypeScript client must decide alike."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tacit.client.cap import Cap
from tacit.client.preview import guarantee
from tacit.client.wallet import Claim, Wallet
from tacit.errors import PrivacyError, UsageError

FOLDER = Path(__file__).parents[1] / "vectors" / "client"
WALLET_CASES = json.loads((FOLDER / "wallet.json").read_text())
SENTENCES = json.loads((FOLDER / "sentences.json").read_text())
CODES = {"cap-exceeded": "cap"}
"""The code of the clients, the same in both, as the shared file names the refusal."""


def outcome(wallet: Wallet, cap: Cap, step: dict[str, Any]) -> str:
    """Return what became of a claim: drawn, again, or the code of a refusal."""
    words = ("collection", "service", "round", "tier", "services", "url", "day")
    claim = Claim(epsilon=Fraction(step["epsilon"]), **{word: step[word] for word in words})
    drawn = []

    def draw() -> list[str]:
        drawn.append(step["service"])
        return ["{}"]

    try:
        wallet.claim(claim, "ada", cap, draw, held=False)
    except PrivacyError as refusal:
        assert not drawn
        return CODES.get(refusal.code, refusal.code)
    return "drawn" if drawn else "again"


@pytest.mark.parametrize("case", WALLET_CASES, ids=lambda case: case["name"])
def test_wallets_decide_as_the_shared_cases_say(case: dict[str, Any], tmp_path: Path) -> None:
    cap = Cap(Fraction(case["cap"]), case["days"])
    for step in case["steps"]:
        wallet = Wallet(tmp_path / "w.db")  # each step after a restart
        assert outcome(wallet, cap, step) == step["expect"], step
        charges, today = wallet.charges("ada"), step["day"]
        if "spent" in step:
            assert cap.total(charges, today) == Fraction(step["spent"]), step
        if "renews" in step:
            assert cap.renews_on(charges, today) == step["renews"], step
        wallet.close()


def test_a_refusal_says_when_there_is_enough_again(tmp_path: Path) -> None:
    wallet, cap = Wallet(tmp_path / "w.db"), Cap(Fraction(2), 30)
    for number, day in enumerate(("2026-01-01", "2026-01-11")):
        wallet.claim(Claim(f"c{number}", "s", Fraction(1), day=day), "ada", cap, lambda: ["{}"], held=False)
    with pytest.raises(PrivacyError, match=r"0 of 2 per 30 days is left .* enough again on 2026-01-31"):
        wallet.claim(Claim("c2", "s", Fraction(1), day="2026-01-12"), "ada", cap, lambda: ["{}"], held=False)
    with pytest.raises(PrivacyError, match=r"enough again on 2026-02-10"):
        wallet.claim(Claim("c2", "s", Fraction(2), day="2026-01-12"), "ada", cap, lambda: ["{}"], held=False)
    wallet.close()


@pytest.mark.parametrize("period", ["fortnight", 0, -1, True, 1.5, 10**6])
def test_periods_that_cannot_be_meant_are_refused(period: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Cap.per(4, period)
    assert caught.value.code == "bad-option"
    assert Cap.per("0.5", "year") == Cap(Fraction(1, 2), 365)


@pytest.mark.parametrize("case", SENTENCES, ids=lambda case: case["name"])
def test_previews_say_what_leaves_before_what_is_hidden(case: dict[str, Any]) -> None:
    contract = case["contract"]
    service = next(one for one in contract["services"] if one["name"] == case["service"])
    found = guarantee(contract, service)
    assert found == case["sentences"]
    for attribute in service["attributes"]:
        assert (attribute["name"] in found[0]) is (attribute["kind"] == "public")
