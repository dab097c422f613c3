"""The client's own audit, before anything is encoded: a contract's integers must keep the budgets that it claims.

A fetched contract is not trusted. The worst likelihood ratio of each oracle follows from its integers (the oracles of
`tacit.oracles` state the argument, and tests check it by enumeration) and is compared with a rational below
``e**epsilon``. Reports are drawn independently, so a person's losses add up: the channels' budgets, times the reports
of each service, must not exceed the contract's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import comb, isqrt, prod
from typing import Any

from tacit.client.answers import digit_count, seed_count
from tacit.client.interpreter import BITS, Interpreter
from tacit.client.shape import is_shaped, is_whole
from tacit.errors import ContractError, PrivacyError

__all__ = ["budget", "refuse_unsafe"]

MAX_EPSILON = 30
MAX_SUBSETS, MAX_PRIME, MAX_HASHES, MAX_CELLS = 2**22, 2**20, 2**21, 52
"""Limits of the oracles, as the package that compiles contracts has them."""

SPAN = 1 << BITS
SCALE = 512
"""Bits behind the point of the bound below e**epsilon: finer than what thresholds are built with."""

PLAIN = re.compile(r"\d{1,40}(\.\d{1,40})?|\d{1,400}/[1-9]\d{0,399}")

Data = dict[str, Any]


def budget(text: object) -> Fraction:
    """Return a budget of a contract: a plain decimal or fraction above 0 and at most 30."""
    if isinstance(text, str) and PLAIN.fullmatch(text) and 0 < Fraction(text) <= MAX_EPSILON:
        return Fraction(text)
    raise _damaged("epsilon")


def refuse_unsafe(interpreter: Interpreter, data: Data) -> None:
    """Refuse a contract whose thresholds are no channels, or give away more than it says."""
    if not is_shaped(data):
        raise _damaged("services")
    total = Fraction(0)
    for service in data["services"]:
        for rules, channel in zip(interpreter.channels(service["name"]), service["channels"], strict=True):
            epsilon = budget(channel["epsilon"])
            total += service.get("sends", 1) * epsilon
            if rules.codes != channel.get("codes"):
                raise _damaged("codes")
            bound = _exp_below(epsilon)
            for oracle, sizes in rules.oracles:
                _refuse_flawed(oracle, sizes, rules.draws)
                if prod(sizes) > 1:
                    _refuse_telling(f"{service['name']}, {channel['name']}", oracle, prod(sizes), bound)
    if total > budget(data["epsilon"]):
        raise _unsafe("the reports together exceed the budget")


def _refuse_telling(where: str, oracle: Data, domain: int, bound: Fraction) -> None:
    truth, lie = _weights(oracle, domain)
    if truth <= lie:
        problem = f"{where}: the truth is no more likely than a lie"
        raise _unsafe(problem)
    if truth > bound * lie:
        problem = f"{where}: a code tells more than its budget"
        raise _unsafe(problem)


def _weights(oracle: Data, domain: int) -> tuple[int, int]:
    """Return the weights of the best and the worst cell under the most telling code."""
    kind = oracle["oracle"]
    if kind == "ss":
        return oracle["inside"], oracle["outside"]
    if kind == "oue":
        one, zero = oracle["one"], oracle["zero"]
        return one * (SPAN - zero), zero * (SPAN - one)
    cells = domain if kind == "grr" else oracle["g"]
    return SPAN - (cells - 1) * oracle["flip"], oracle["flip"]


def _refuse_flawed(oracle: Data, sizes: list[int], draws: int) -> None:
    """Refuse integers that are no channel: one that is not a weight could switch the noise off."""
    kind, domain = oracle["oracle"], prod(sizes)
    good = draws >= 2 + (domain if kind == "oue" else 1) and SOUND[kind](oracle, sizes, domain)
    if not good:
        raise _damaged(kind)


def _sound_subsets(oracle: Data, sizes: list[int], domain: int) -> bool:
    del sizes
    w, inside, outside = oracle["w"], oracle["inside"], oracle["outside"]
    if not (is_whole(w, 1, domain - 1) and is_whole(inside, 0, SPAN) and is_whole(outside, 0, SPAN)):
        return False
    weight = comb(domain - 1, w - 1) * inside + comb(domain - 1, w) * outside
    return comb(domain, w) <= MAX_SUBSETS and weight <= SPAN


def _sound_hash(oracle: Data, sizes: list[int], domain: int) -> bool:
    del domain
    g = oracle["g"]
    if not is_whole(g, 2, MAX_PRIME) or any(g % n == 0 for n in range(2, isqrt(g) + 1)):
        return False
    permutes = all(_permutes(oracle["multipliers"].get(str(digit_count(size, g))), g, size) for size in sizes)
    return permutes and _is_flip(oracle["flip"], g) and seed_count(g, sizes) <= SPAN


def _permutes(factor: Any, g: int, size: int) -> bool:
    """Tell whether multiplying the cells maps no two of them to one."""
    digits = digit_count(size, g)
    return is_whole(factor, 1, g**digits) and (not digits or factor % g > 0)


SOUND: dict[str, Callable[[Data, list[int], int], bool]] = {
    "grr": lambda oracle, _, domain: _is_flip(oracle["flip"], domain),
    "ss": _sound_subsets,
    "lh": _sound_hash,
    "olh": lambda oracle, *_: is_whole(oracle["g"], 2, MAX_HASHES - 1) and _is_flip(oracle["flip"], oracle["g"]),
    "oue": lambda oracle, _, domain: (
        domain <= MAX_CELLS and all(is_whole(oracle[name], 0, SPAN) for name in ("one", "zero"))
    ),
}
"""Whether an oracle's integers are a channel over cells of these sizes, so many in all."""


def _is_flip(flip: Any, cells: int) -> bool:
    return is_whole(flip, 0, SPAN) and (cells - 1) * flip <= SPAN


def _exp_below(epsilon: Fraction) -> Fraction:
    """Return a rational at most ``e**epsilon``: every term of the series is rounded down."""
    x = (epsilon.numerator << SCALE) // epsilon.denominator
    total, term, number = 0, 1 << SCALE, 1
    while term:
        total += term
        term = term * x // (number << SCALE)
        number += 1
    return Fraction(total, 1 << SCALE)


def _damaged(what: str) -> ContractError:
    return ContractError(f"The contract is damaged ({what}). Nothing is encoded with it.", code="damaged-contract")


def _unsafe(problem: str) -> PrivacyError:
    return PrivacyError(f"The contract fails its audit: {problem}. Nothing is encoded with it.", code="audit-failed")
