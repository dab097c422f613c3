"""All methods of the paper and tacit's default: from a population to the tables of some questions, for many runs.

FC, AM, FT and EM are drawn question by question, each from its exact distribution: what the people in each cell of the
question report is a multinomial draw. Their tables are made non-negative by norm-sub, which only helps them. CALM and
tacit collect once per run, and all questions are read from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bench.calm.noise import Oue, collect, paper_oracle, read
from bench.calm.populations import Population
from tacit.contract.budget import exp_below, parse_epsilon
from tacit.contract.layouts.calm import view_sets
from tacit.contract.layouts.covering import covering, spread
from tacit.contract.layouts.tables import together
from tacit.contract.oracles import Grr
from tacit.model.calm import Calm
from tacit.model.em import likeliest
from tacit.model.evidence import Attribute, NoisyTable
from tacit.model.model import Model
from tacit.model.nonnegative import norm_sub

__all__ = ["METHODS", "calm_of", "held_by", "priview", "questions", "squared_errors"]

Question = tuple[int, ...]
Tables = Callable[[Question], np.ndarray]
"""From a question to (runs, *cells)."""

MOST_USEFUL = 1.0
"""Views or coefficients per person above which a method is left out: most would be reported by nobody."""

LARGE = 8
"""Attributes of PriView's views, as its authors advise."""


def held_by(people: Population, asked: Question) -> np.ndarray:
    """Return how many people have each combination of values."""
    dims = [people.sizes[i] for i in asked]
    flat = np.ravel_multi_index(people.rows[:, list(asked)].astype(np.int64).T, dims)
    return np.bincount(flat, minlength=math.prod(dims)).reshape(dims)


def questions(people: Population, size: int, count: int) -> list[Question]:
    """Return sets of attributes drawn by a fixed seed."""
    rng = np.random.default_rng(size)
    return [tuple(sorted(rng.choice(len(people.sizes), size, replace=False).tolist())) for _ in range(count)]


def squared_errors(people: Population, tables: Tables, asked: Sequence[Question]) -> np.ndarray:
    """Return the sum of squared errors of each run, averaged over questions."""
    total = 0.0
    for one in asked:
        truth = held_by(people, one) / len(people.rows)
        total = total + ((tables(one) - truth) ** 2).reshape(-1, truth.size).sum(axis=1)
    return np.atleast_1d(total) / len(asked)


def _positive(table: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    return norm_sub(table.reshape(len(table), -1)).reshape(-1, *dims)


def uniform(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables:  # noqa: ARG001
    """Guess that all combinations are equally likely."""

    def tables(asked: Question) -> np.ndarray:
        dims = [people.sizes[i] for i in asked]
        return np.full((1, *dims), 1 / math.prod(dims))

    return tables


def fc(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables:  # noqa: ARG001
    """Sum the full contingency table, reported by OUE: sums of its independent counts are binomial, too."""
    oracle = Oue(256, epsilon)
    keep, lie, n = oracle.keep, oracle.lie, len(people.rows)
    whole = math.prod(people.sizes)

    def tables(asked: Question) -> np.ndarray:
        held = np.broadcast_to(held_by(people, asked), (runs, *(people.sizes[i] for i in asked)))
        summed = whole // math.prod(people.sizes[i] for i in asked)
        support = rng.binomial(held, keep) + rng.binomial(summed * n - held, lie)
        return _positive((support / n - summed * lie) / (keep - lie), held.shape[1:])

    return tables


def am(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables | None:
    """Report one of all sets of ``size`` attributes."""
    sets = math.comb(len(people.sizes), size)
    if sets > MOST_USEFUL * len(people.rows):
        return None

    def tables(asked: Question) -> np.ndarray:
        dims = [people.sizes[i] for i in asked]
        mine = rng.binomial(np.broadcast_to(held_by(people, asked).ravel(), (runs, math.prod(dims))), 1 / sets)
        return _positive(read(paper_oracle(math.prod(dims), epsilon), mine, rng), dims)

    return tables


def ft(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables | None:
    """Report one parity of at most as many bits as a question has; other attributes are written in bits."""
    bits = [max(1, (own - 1).bit_length()) for own in people.sizes]
    most = sum(sorted(bits)[-size:])
    coefficients = sum(math.comb(sum(bits), order) for order in range(1, most + 1))
    if coefficients > MOST_USEFUL * len(people.rows):
        return None
    grown = math.exp(epsilon)
    truthful = grown / (grown + 1)

    def tables(asked: Question) -> np.ndarray:
        dims, own = [people.sizes[i] for i in asked], [bits[i] for i in asked]
        signs = np.ones((1, 1))
        for width, dim in zip(own, dims, strict=True):  # parities x cells, attribute by attribute
            parity = [[(-1) ** (mask & value).bit_count() for value in range(dim)] for mask in range(1 << width)]
            signs = np.kron(signs, np.array(parity))
        held = held_by(people, asked).ravel()
        parities = len(signs) - 1
        chance = [1 / coefficients] * parities + [1 - parities / coefficients]
        found = np.empty((runs, len(held)))
        for run in range(runs):
            drew = rng.multinomial(held, chance)[:, :-1]  # (cells, parities)
            plus, every = ((signs[1:].T > 0) * drew).sum(axis=0), drew.sum(axis=0)
            said = rng.binomial(plus, truthful) + rng.binomial(every - plus, 1 - truthful)
            means = np.divide(2 * said - every, every * (2 * truthful - 1), out=np.zeros(parities), where=every > 0)
            found[run] = (1 + means @ signs[1:]) / (1 << sum(own))
        return _positive(found, dims)

    return tables


def em(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables | None:
    """Report every attribute with its share of the budget; find the likeliest joint frequencies."""
    if size > 5:
        return None  # as in the paper: too slow
    bound = exp_below(parse_epsilon(str(epsilon)) / len(people.sizes))

    def tables(asked: Question) -> np.ndarray:
        dims = [people.sizes[i] for i in asked]
        oracles = [Grr.build((own,), bound) for own in dims]
        chances = np.ones((1, 1))
        for one in oracles:
            own = np.full((one.domain, one.domain), float(one.lie))
            np.fill_diagonal(own, float(one.keep))
            chances = np.kron(chances, own / own.sum(axis=1, keepdims=True))
        held = held_by(people, asked).ravel()
        drawn = [sum(rng.multinomial(n, row) for n, row in zip(held, chances, strict=True)) for _ in range(runs)]
        return likeliest(oracles, np.stack(drawn).reshape(runs, *dims)).table

    return tables


def calm_of(
    people: Population, sets: Sequence[Question], epsilon: float, runs: int, rng: np.random.Generator
) -> Tables:
    """Read given views as the paper does."""
    found = collect(people, sets, epsilon, runs, rng, paper=True)
    return Calm(found.sizes, found.views, found.tables, found.precisions).table


def calm(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables:
    """Take Algorithm 1's views."""
    return calm_of(people, view_sets(people.sizes, len(people.rows), epsilon, size), epsilon, runs, rng)


def priview(people: Population, epsilon: float, runs: int, rng: np.random.Generator) -> Tables:
    """Let a trusted curator publish large views that cover all pairs, with Laplace noise; read them as CALM does."""
    d, n = len(people.sizes), len(people.rows)
    sets = covering(d, min(LARGE, d), 2, d) or []
    scale = len(sets) / epsilon
    tables = [held + rng.laplace(0, scale, (runs, *held.shape)) for held in (held_by(people, own) for own in sets)]
    precisions = tuple(np.full(runs, n**2 / (2 * scale**2)) for _ in sets)
    return Calm(tuple(people.sizes), tuple(sets), tuple(table / n for table in tables), precisions).table


def tacit(people: Population, epsilon: float, size: int, runs: int, rng: np.random.Generator) -> Tables:
    """Take the views of ``tables(k)`` and read them by the model."""
    shown = together(people.sizes, len(people.rows), epsilon, size)
    sets = spread(len(people.sizes), shown, math.comb(len(people.sizes), shown))
    found = collect(people, sets, epsilon, runs, rng, paper=False)
    attributes = [Attribute(str(i), size) for i, size in enumerate(found.sizes)]
    models = []
    for run in range(runs):
        views = zip(found.views, found.tables, found.precisions, strict=True)
        models.append(
            Model(
                attributes,
                [
                    NoisyTable(own, tuple(np.arange(found.sizes[i]) for i in own), table[run], precision[run])
                    for own, table, precision in views
                ],
                1.0,
            )
        )
    return lambda asked: np.stack([model.table(asked) for model in models])


METHODS = {"tacit": tacit, "CALM": calm, "FT": ft, "AM": am, "FC": fc, "EM": em, "Uni": uniform}
"""In the order of importance."""
