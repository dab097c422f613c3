"""Before a client encodes anything it audits the contract it fetched; weakened ones are refused, by both clients alike.

The mutants are those of the TypeScript client's tests.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.client.audit import budget
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
from tacit.contract.contract import Contract
from tacit.contract.wire import read_contract
from tacit.errors import ContractError, PrivacyError, TacitError

VECTORS = {
    path.stem: json.loads(path.read_text())["contract"]
    for path in sorted((Path(__file__).parents[1] / "vectors" / "v1").glob("*.json"))
}


def opened(text: str, folder: Path) -> str:
    """Do what `connect` does with a contract whose hash is the pinned one; return how the client names itself."""
    name = hashlib.sha256(text.encode()).hexdigest()
    client = Client(Transport("http://127.0.0.1:1"), Wallet(folder / "w.db"), name, text, "", Fraction(9), 0)
    client.close()
    return repr(client)


@pytest.mark.parametrize("name", VECTORS)
def test_sound_contracts_pass(name: str, tmp_path: Path) -> None:
    services = [service["name"] for service in json.loads(VECTORS[name])["services"]]
    assert opened(VECTORS[name], tmp_path).endswith(f"services: {', '.join(services)})")


def put(pattern: str, by: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, by, text, count=1)


MUTANTS: dict[str, tuple[str, Callable[[str], str], type[TacitError]]] = {
    "less flipping": ("oracle_grr", put(r'"flip": (\d+)', lambda m: f'"flip": {int(m[1]) - 9}'), PrivacyError),
    "one flip fewer": ("oracle_grr", put(r'"flip": (\d+)', lambda m: f'"flip": {int(m[1]) - 1}'), PrivacyError),
    "no flipping": ("oracle_grr", put(r'"flip": \d+', '"flip": 0'), PrivacyError),
    "more lies than truth": ("oracle_grr", put(r'"flip": \d+', f'"flip": {2**52}'), PrivacyError),
    "flips beyond all draws": ("oracle_grr", put(r'"flip": \d+', f'"flip": {2**53}'), ContractError),
    "a flip that is not whole": ("oracle_grr", put(r'"flip": \d+', '"flip": 0.5'), ContractError),
    "a missing flip": ("oracle_lh", put(r'"flip": \d+, ', ""), ContractError),
    "g that is no prime": ("oracle_lh", put(r'"g": \d+', '"g": 4'), ContractError),
    "g of one": ("oracle_lh", put(r'"g": \d+', '"g": 1'), ContractError),
    "a multiplier that folds cells": ("oracle_lh", put(r'("multipliers": \{"\d+"): \d+', r"\1: 3"), ContractError),
    "fewer draws": ("oracle_oue", put(r'"draws": \d+', '"draws": 3'), ContractError),
    "a bit that is always true": ("oracle_oue", put(r'"one": \d+', f'"one": {2**53}'), PrivacyError),
    "sets of the true cell only": ("oracle_ss", put(r'"outside": \d+', '"outside": 0'), PrivacyError),
    "less hashing": ("oracle_olh", put(r'"flip": (\d+)', lambda m: f'"flip": {int(m[1]) - 1}'), PrivacyError),
    "another alphabet": ("layout_hio", put(r'"codes": (\d+)', lambda m: f'"codes": {int(m[1]) - 1}'), ContractError),
    "an oracle nobody knows": ("oracle_grr", put('"grr", "flip"', '"none", "flip"'), ContractError),
    "a smaller total": ("many_three_slots", put('"epsilon": "3"', '"epsilon": "2.9"'), PrivacyError),
    "a smaller share": ("layout_hio", put('"epsilon": "1", "draws"', '"epsilon": "0.99", "draws"'), PrivacyError),
    "a negative share": ("layout_sc", put('"epsilon": "[^"]+", "draws"', '"epsilon": "-1", "draws"'), ContractError),
    "an endless budget": ("layout_hio", put('"epsilon": "1"', f'"epsilon": "{"9" * 39}"'), ContractError),
    "a budget by exponent": ("layout_hio", put('"epsilon": "1"', '"epsilon": "1e0"'), ContractError),
    "fewer values": ("layout_hio", put('"count": 100', '"count": 99'), ContractError),
    "a level too many": ("layout_am_1", put(r'"widths": \[(\d+), ', '"widths": ['), ContractError),
    "levels that do not exist": ("layout_hio", put(r'"product": \[\[0', '"product": [[-1'), ContractError),
    "fewer than no reports": ("many_three_slots", put(r'"sends": \d', '"sends": -3'), ContractError),
    "a value without a cell": ("values", put(r'"values": \["', '"values": ["more", "'), ContractError),
    "smaller draws": ("layout_hio", put('"draw_bits": 53', '"draw_bits": 52'), ContractError),
    "another version": ("layout_hio", put('"tacit": 1', '"tacit": 2'), ContractError),
    "half a text": ("layout_hio", lambda text: text[: len(text) // 2], ContractError),
    "no object": ("layout_hio", lambda _: "null", ContractError),
    "no services": ("layout_hio", put('"services"', '"servants"'), ContractError),
}  # fmt: skip


@pytest.mark.parametrize("what", MUTANTS)
def test_weakened_contracts_are_refused(what: str, tmp_path: Path) -> None:
    name, mutate, error = MUTANTS[what]
    mutant = mutate(VECTORS[name])
    assert mutant != VECTORS[name]
    with pytest.raises(error) as caught:
        opened(mutant, tmp_path)
    if error is PrivacyError:
        assert caught.value.code == "audit-failed"


def test_the_bound_is_just_below_the_exponential() -> None:
    """The client's own series, against the package's 200 digits: never above, and finer than any threshold."""
    from tacit.client.audit import _exp_below
    from tacit.contract.budget import exp_below

    for text in ("0.001", "1/3", "1", "7.5", "30"):
        mine, sharp = _exp_below(budget(text)), exp_below(Fraction(text), 200)
        assert sharp * (1 - Fraction(1, 10**100)) < mine
        assert mine < sharp * (1 + Fraction(1, 10**100))


def test_both_audits_agree_on_the_compiled_contracts(tmp_path: Path) -> None:
    """Whatever the package's audit passes, the client's passes, and the other way round for a moved threshold."""
    from tacit.contract.audit import audit_contract

    for name, text in VECTORS.items():
        contract: Contract = read_contract(text)
        assert audit_contract(contract).ok, name
    flipped = put(r'"flip": (\d+)', lambda m: f'"flip": {int(m[1]) - 1}')(VECTORS["oracle_grr"])
    assert not audit_contract(read_contract(flipped)).ok
    with pytest.raises(PrivacyError):
        opened(flipped, tmp_path)
