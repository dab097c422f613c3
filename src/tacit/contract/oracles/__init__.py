"""Channels over the cells of one view: one file each, with its card; a catalogue you can read.

How a report is drawn is a closed set of steps that all clients know, `STEPS`. An oracle chooses a step's integers for a
budget, so that a new one (CONTRIBUTING says how to add it) changes no client.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tacit.contract.budget import BudgetLike, exp_below, parse_epsilon
from tacit.contract.oracles.base import Build, Extremes, Oracle, Reader, are_integers
from tacit.contract.oracles.grr import Grr
from tacit.contract.oracles.linear_hash import LinearHash
from tacit.contract.oracles.local_hash import LocalHash
from tacit.contract.oracles.subset import Subset
from tacit.contract.oracles.unary import Unary
from tacit.contract.randomness import DRAW_BITS, DRAW_SPAN
from tacit.errors import LayoutError, UnknownNameError, UsageError

__all__ = [
    "ORACLES",
    "STEPS",
    "Build",
    "Extremes",
    "Grr",
    "LinearHash",
    "LocalHash",
    "Oracle",
    "Reader",
    "Subset",
    "Unary",
    "best",
    "choose",
    "oracle_named",
]

STEPS: dict[str, type[Oracle]] = {
    "grr": Grr,
    "ss": Subset,
    "lh": LinearHash,
    "olh": LocalHash,
    "oue": Unary,
}
"""How reports are drawn, by the names of wire version 1. A step that is not among them needs a new wire version."""

ORACLES: dict[str, Build] = {
    "grr": Grr.build,
    "ss": Subset.build,
    "lh": LinearHash.build,
    "olh": LocalHash.build,
    "oue": Unary.build,
}
"""How a step's integers are chosen, by the names that users write."""

CANDIDATES: tuple[Build, ...] = (Grr.build, Subset.build, LinearHash.build)
"""What ``best`` chooses from; the others are baselines, asked for by name."""


CODE_COST = 0.01
"""Penalty on large alphabets: the choice minimises noise times codes to this power."""

MANY_CODES = 2**17
"""Number of codes of a view above which any oracle with fewer codes is preferred."""


def oracle_named(name: str) -> Build:
    """Return the oracle of a name."""
    if not isinstance(name, str) or name not in ORACLES:
        raise UnknownNameError("oracle", str(name), ORACLES)
    return ORACLES[name]


@lru_cache(maxsize=4096)
def choose(domain_size: int, bound: Fraction, bits: int = DRAW_BITS, *, frugal: bool = False) -> Build:
    """Return the oracle with the least exact noise on zero-sum contrasts among those that accept the domain.

    Codes cost memory and time wherever reports are counted. A ``frugal`` choice weighs noise against them: a tenfold
    alphabet must have 2.3 % less noise, and one of more than 131,072 codes is taken only if there is no other.
    """
    built: dict[Build, Oracle] = {}
    refusals: list[LayoutError] = []
    for candidate in CANDIDATES:
        try:
            built[candidate] = candidate((domain_size,), bound, bits)
        except LayoutError as refusal:
            refusals.append(refusal)
    if not built:
        raise refusals[-1]
    if not frugal:
        return min(built, key=lambda candidate: built[candidate].noise)
    few = {candidate: oracle for candidate, oracle in built.items() if oracle.alphabet <= MANY_CODES} or built
    return min(few, key=lambda candidate: float(few[candidate].noise) * few[candidate].alphabet ** CODE_COST)


def best(domain_size: int, epsilon: BudgetLike) -> Oracle:
    """Return the least noisy channel for a domain, never grr above 3e**eps + 2 cells.

    Examples
    --------
    >>> best(4, 1.0).name, best(1000, 1.0).name
    ('grr', 'lh')
    """
    if not are_integers(domain_size, low=1, high=DRAW_SPAN):
        message = f"A domain of {domain_size!r} cells; pass a whole number of at least 1."
        raise UsageError(message, code="empty-domain")
    bound = exp_below(parse_epsilon(epsilon))
    return choose(domain_size, bound)((domain_size,), bound)
