"""Every channel keeps its promise exactly, in fractions; broken ones are caught. Nothing here is sampled."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.channels import enumerable, oracle_matrix, person_ratio
from support.tiers import keeping
from tacit.contract.audit import audit_contract, every_column
from tacit.contract.budget import exp_below, parse_epsilon, within
from tacit.contract.contract import Channel, Contract, compile_contract
from tacit.contract.oracles import ORACLES, Grr, LinearHash, LocalHash, Oracle, Subset, Unary, best
from tacit.errors import LayoutError, PrivacyError, UsageError

EPSILONS = ["0.1", "0.5", "1", "2", "4", "8"]
DOMAINS = [2, 3, 10, 100, 1000]


def in_range(name: str, domain: int, epsilon: str) -> Oracle | None:
    try:
        return ORACLES[name]((domain,), exp_below(parse_epsilon(epsilon)))
    except LayoutError:
        return None


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ORACLES)
def test_every_oracle_within_its_range_keeps_epsilon_and_wastes_little(name: str, epsilon: str) -> None:
    accepted = 0
    for domain in DOMAINS:
        oracle = in_range(name, domain, epsilon)
        if oracle is None:
            continue
        accepted += 1
        worst = max(column.ratio or Fraction(0) for column in oracle.columns() if column.most)
        assert within(worst, parse_epsilon(epsilon))
        assert worst >= exp_below(parse_epsilon(epsilon)) * (1 - Fraction(1, 10**9)), "epsilon is wasted"
        assert oracle.keep > oracle.lie
    assert accepted >= 2


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize("bits", [10, 53])
@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (5,), (7,), (2, 3), (3, 3), (2, 2, 2)])
@pytest.mark.parametrize("name", enumerable())
def test_structure_agrees_with_enumeration_and_supports_are_exact(
    name: str, sizes: tuple[int, ...], bits: int, epsilon: str
) -> None:
    try:
        oracle = ORACLES[name](sizes, exp_below(parse_epsilon(epsilon)), bits)
    except LayoutError as refusal:
        assert refusal.code.endswith(("-domain-too-large", "-out-of-range", "-too-coarse"))  # noqa: PT017
        return
    matrix = oracle_matrix(oracle)
    assert all(sum(row) == 1 for row in matrix)
    by_structure = max(column.ratio for column in oracle.columns() if column.most)
    by_enumeration = max(column.ratio for column in every_column(oracle) if column.most)
    assert by_structure == by_enumeration
    marks = oracle.support(np.arange(oracle.alphabet))
    for true_cell, row in enumerate(matrix):
        for cell in range(oracle.domain):
            supported = sum((p for p, mark in zip(row, marks[:, cell], strict=True) if mark), Fraction(0))
            assert supported == (oracle.keep if cell == true_cell else oracle.lie)


def test_local_hash_is_exact_for_each_seed() -> None:
    oracle = LocalHash.build((4,), exp_below(Fraction(1)))
    for seed in range(200):
        codes = [seed * oracle.g + reply for reply in range(oracle.g)]
        rows = [[oracle.weight(cell, code) for code in codes] for cell in range(4)]
        assert all(sum(row) == oracle.span for row in rows)
        worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
        assert within(worst, Fraction(1))


def test_local_hash_is_unbiased_over_all_hash_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With seeds that enumerate all g**4 functions from four cells, support rates are exactly keep and lie."""
    oracle = LocalHash.build((4,), exp_below(Fraction(1)))
    functions = oracle.g**4
    monkeypatch.setattr(
        LocalHash, "hash", lambda self, seeds, cell: np.asarray(seeds) // self.g ** np.asarray(cell) % self.g
    )
    codes = np.arange(functions * oracle.g)
    marks = oracle.support(codes)
    for true_cell in range(4):
        weights = [Fraction(oracle.weight(true_cell, int(code)), oracle.span * functions) for code in codes]
        for cell in range(4):
            rate = sum((p for p, mark in zip(weights, marks[:, cell], strict=True) if mark), Fraction(0))
            assert rate == (oracle.keep if cell == true_cell else oracle.lie)


def test_outside_their_range_oracles_refuse_by_name() -> None:
    cases = [("grr", 100, "1"), ("ss", 100, "1"), ("ss", 1, "1"), ("oue", 53, "1"), ("olh", 10, "15"), ("lh", 10, "15")]
    for name, domain, epsilon in cases:
        with pytest.raises(LayoutError) as caught:
            ORACLES[name]((domain,), exp_below(parse_epsilon(epsilon)))
        assert caught.value.message.startswith(f"{name}: ")
    with pytest.raises(LayoutError) as coarse:
        Grr.build((9,), exp_below(parse_epsilon(1)), bits=2)
    assert coarse.value.code == "draws-too-coarse"
    for domain in (0, -3, 2.5, True):
        with pytest.raises(UsageError):
            best(domain, 1)  # type: ignore[arg-type]


SCHEMAS = {
    1: [tc.Ordinal("a", 0, 25)],
    2: [tc.Ordinal("a", 0, 24), tc.Categorical("c", ["x", "y", "z"], null=True)],
    3: [tc.Ordinal("a", 0, 9, fanout=3), tc.Categorical("c", ["x", "y"]), tc.Ordinal("b", 0, 124)],
    4: [
        tc.Ordinal("a", 0, 24),
        tc.Ordinal("b", 0, 24),
        tc.Categorical("c", ["x", "y"]),
        tc.Ordinal("d", 0, 6, fanout=2),
    ],
}


@pytest.mark.parametrize("attributes", SCHEMAS)
@pytest.mark.parametrize("mechanism", ["hio", "hi", "sc", "fc", "am(1)", "pairs", "partitions"])
@pytest.mark.parametrize("epsilon", keeping(EPSILONS[::3], EPSILONS, "budgets whose totals are audited"))
def test_layouts_keep_a_persons_total(mechanism: str, attributes: int, epsilon: str) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=SCHEMAS[attributes])])
    audit = tc.Collection(schema, epsilon, mechanism=mechanism).audit()
    assert audit.ok
    assert audit.worst_loss <= float(epsilon)
    assert sum(channel.epsilon for channel in audit.channels) == parse_epsilon(epsilon)


def test_services_share_one_budget_and_the_audit_agrees_with_an_independent_composition() -> None:
    one = tc.Service("one", key="uid", attributes=[tc.Categorical("c", ["x", "y", "z"])])
    two = tc.Service("two", key="uid", attributes=[tc.Ordinal("a", 0, 3, fanout=2), tc.Categorical("c", ["x", "y"])])
    for mechanism in ("hio", "hi", "sc"):
        contract = tc.Collection(tc.Schema([one, two]), 1.5, mechanism=mechanism).contract
        audit = audit_contract(contract)
        assert audit.ok
        assert audit.ratio == person_ratio(contract)


def with_oracle(contract: Contract, change: object) -> Contract:
    """Return the contract with every oracle replaced by a changed one."""
    services = []
    for service in contract.services:
        channels = []
        for channel in service.channels:
            views = tuple(replace(view, oracle=change(view.oracle)) for view in channel.views)  # type: ignore[operator]
            channels.append(replace(channel, views=views))
        services.append(replace(service, channels=tuple(channels)))
    return replace(contract, services=tuple(services))


def contract_of(oracle: str, values: int, epsilon: float = 1.0) -> Contract:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Categorical("c", list(range(values)))])])
    return tc.Collection(schema, epsilon, mechanism="fc", oracle=oracle).contract


MUTANTS = {
    "grr keeps one draw too many": (contract_of("grr", 5), lambda o: replace(o, flip=o.flip - 1)),
    "grr p and q swapped": (contract_of("grr", 2), lambda o: replace(o, flip=o.stay)),
    "grr p and q swapped, many cells": (contract_of("grr", 5), lambda o: replace(o, flip=o.stay)),
    "grr epsilon times 1.1": (contract_of("grr", 5), lambda o: Grr.build(o.sizes, exp_below(Fraction(11, 10)))),
    "grr p rounded up to 8 bits": (contract_of("grr", 2), lambda o: replace(o, flip=o.flip >> 45 << 45)),
    "ss inside weight one too many": (
        contract_of("ss", 6),
        lambda o: replace(o, inside=o.inside + 1, outside=o.outside - 1),
    ),
    "ss weights swapped": (contract_of("ss", 6), lambda o: replace(o, inside=o.outside, outside=o.inside)),
    "lh keeps one draw too many": (contract_of("lh", 100), lambda o: replace(o, flip=o.flip - 1)),
    "lh p and q swapped": (contract_of("lh", 100), lambda o: replace(o, flip=(o.span - o.flip) // (o.g - 1))),
    "lh without noise": (contract_of("lh", 100), lambda o: replace(o, flip=0)),
    "olh keeps one draw too many": (contract_of("olh", 100), lambda o: replace(o, flip=o.flip - 1)),
    "oue q rounded down": (contract_of("oue", 10), lambda o: replace(o, zero=o.zero - 1)),
    "oue p above one half": (contract_of("oue", 10), lambda o: replace(o, one=o.one + 2**20)),
    "oue p and q swapped": (contract_of("oue", 10), lambda o: replace(o, one=o.zero, zero=o.one)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught_where_the_original_passes(name: str) -> None:
    contract, change = MUTANTS[name]
    assert audit_contract(contract).ok
    assert not audit_contract(with_oracle(contract, change)).ok


def test_a_budget_that_is_not_split_is_caught() -> None:
    services = [tc.Service(name, key="uid", attributes=[tc.Categorical("c", ["x", "y"])]) for name in ("one", "two")]
    honest = compile_contract(tc.Schema(services), Fraction(1), mechanism="hio", oracle="auto", round_name="")
    whole = [
        compile_contract(tc.Schema([service]), Fraction(1), mechanism="hio", oracle="auto", round_name="").services[0]
        for service in services
    ]
    greedy = replace(honest, services=tuple(whole))
    assert audit_contract(honest).ok
    assert all(channel.ok for channel in audit_contract(greedy).channels)
    assert not audit_contract(greedy).ok


def test_channels_of_one_service_that_do_not_split_are_caught() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 24)])])
    honest = tc.Collection(schema, 1.0, mechanism="hi").contract
    whole = tc.Collection(schema, 2.0, mechanism="hi").contract
    assert not audit_contract(replace(honest, services=whole.services)).ok


def test_a_tampered_contract_fails_its_audit_and_encodes_nothing() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Categorical("c", ["x", "y"])])])
    text = tc.Collection(schema, 1.0).to_json()
    flip = Grr.build((2,), exp_below(Fraction(1))).flip
    tampered = tc.Collection.from_json(text.replace(str(flip), str(flip - 1)))
    assert tampered.to_json() != text
    assert not tampered.audit().ok
    assert "exceeds its budget" in str(tampered.audit())
    with pytest.raises(PrivacyError) as caught:
        tampered.encode(s={"uid": [1], "c": ["x"]})
    assert caught.value.code == "audit-failed"


def test_the_audit_names_a_pair_and_a_code_that_really_are_the_worst() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 99), tc.Ordinal("b", 0, 30)])])
    for mechanism in ("hio", "sc", "fc"):
        collection = tc.Collection(schema, 1.0, mechanism=mechanism)
        for channel, item in zip(collection.contract.services[0].channels, collection.audit().channels, strict=True):
            assert isinstance(channel, Channel)
            view, code = channel.locate(item.code)
            most, least = (view.oracle.weight(cell, code) for cell in item.cells)
            assert Fraction(most, least) == item.ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_best_has_the_least_noise_and_never_grr_on_large_domains(epsilon: str) -> None:
    bound = exp_below(parse_epsilon(epsilon))
    for domain in [*range(1, 31), 100, 1000, 4096]:
        chosen = best(domain, epsilon)
        for kind in (Grr, Subset, LinearHash):
            try:
                assert chosen.noise <= kind.build((domain,), bound).noise
            except LayoutError:
                continue
        assert chosen.name != "grr" or domain <= 3 * bound + 2


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_subset_size_is_the_best_of_all_and_grr_is_size_one(epsilon: str) -> None:
    bound = exp_below(parse_epsilon(epsilon))
    for domain in range(2, 17):
        noises = [Subset.of_size((domain,), w, bound).noise for w in range(1, domain)]
        assert Subset.build((domain,), bound).noise == min(noises)
        if domain <= 3 * bound + 2:
            assert noises[0] == Grr.build((domain,), bound).noise


def test_noise_formulas_of_the_theory() -> None:
    bound = exp_below(Fraction(1))
    oracle = Subset.of_size((12,), 3, bound)
    D, w, p, q = 12, 3, oracle.keep, oracle.lie
    textbook = Fraction(w * (D - w), D * (D - 1)) / (p - q) ** 2 - Fraction(1, D)
    assert abs(oracle.noise - textbook) < Fraction(1, 10**12)
    for kind in (LinearHash, LocalHash):
        hashed = kind.build((4096,), bound)
        about = hashed.false_variance + (hashed.true_variance - hashed.false_variance) / 4096
        assert abs(hashed.noise / about - 1) < Fraction(1, 100)
    unary = Unary.build((50,), bound)
    assert abs(float(unary.false_variance) - 4 * 2.718281828459045 / (2.718281828459045 - 1) ** 2) < 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_prime_is_hardly_behind_the_best_integer(epsilon: str) -> None:
    bound = exp_below(parse_epsilon(epsilon))
    g = LinearHash.build((1000,), bound).g

    def noise(integer: int) -> Fraction:
        return (bound + integer - 1) ** 2 / (integer - 1)  # 2.12 % at epsilon 1, less elsewhere

    best_integer = min(range(2, int(bound) + 4), key=noise)
    assert noise(g) <= noise(best_integer) * Fraction(1022, 1000)
