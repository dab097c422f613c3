"""What a collector sees, for many runs at once: drawn from exactly the distribution that real encodings have.

Given the cells of the people who drew a view, their codes are independent draws from the oracle's rows. So the codes of
the people in one cell are a multinomial draw (GRR, subset selection), and OUE's bits, which are independent, give a
binomial count for each cell. Nothing is approximated; `check` compares with real encodings. Where an oracle has very
many codes, people are encoded one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.calm.populations import Population
from tacit.contract.budget import exp_below, parse_epsilon
from tacit.contract.oracles import Grr, Oracle, choose
from tacit.contract.randomness import insecure_rng
from tacit.model.em import rows_of
from tacit.model.reports import decode_frequencies

__all__ = ["Collected", "Oue", "check", "collect", "oracle_for", "paper_oracle", "read"]

FEW_CODES = 5_000
"""Codes of an oracle up to which draws are multinomial."""


@dataclass(frozen=True, eq=False)
class Collected:
    """Tables of views, a row for each run, and the precision of a cell of each."""

    sizes: tuple[int, ...]
    views: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]
    precisions: tuple[np.ndarray, ...]


def oracle_for(cells: int, epsilon: float) -> Oracle:
    """Return what tacit takes for a view of so many cells."""
    bound = exp_below(parse_epsilon(str(epsilon)))
    return choose(cells, bound)((cells,), bound)


@dataclass(frozen=True)
class Oue:
    """OUE over any number of cells: one bit for each, all independent."""

    domain: int
    epsilon: float
    keep: float = 0.5

    @property
    def lie(self) -> float:
        """Chance of a false bit."""
        return 1 / (math.exp(self.epsilon) + 1)

    @property
    def noise(self) -> float:
        """Variance of a cell per report."""
        return self.lie * (1 - self.lie) / (self.keep - self.lie) ** 2


def paper_oracle(cells: int, epsilon: float) -> Oracle | Oue:
    """Return what the paper takes: GRR for few cells, else OUE."""
    bound = exp_below(parse_epsilon(str(epsilon)))
    return Grr.build((cells,), bound) if cells - 2 < 3 * bound else Oue(cells, epsilon)


def collect(
    people: Population,
    sets: Sequence[tuple[int, ...]],
    epsilon: float,
    runs: int,
    rng: np.random.Generator,
    *,
    paper: bool,
) -> Collected:
    """Let everybody draw a view and report it, ``runs`` times."""
    sizes, count = np.array(people.sizes), len(sets)
    chosen = np.array(sets)
    strides = np.ones_like(chosen)
    for k in range(chosen.shape[1] - 2, -1, -1):
        strides[:, k] = strides[:, k + 1] * sizes[chosen[:, k + 1]]
    cells = strides[:, 0] * sizes[chosen[:, 0]]
    starts = np.concatenate([[0], np.cumsum(cells)])
    seen = np.empty((runs, starts[-1]), dtype=np.int64)
    for run in range(runs):
        view = rng.integers(0, count, len(people.rows))
        place = starts[view]
        for k in range(chosen.shape[1]):
            place += people.rows[np.arange(len(view)), chosen[view, k]] * strides[view, k]
        seen[run] = np.bincount(place, minlength=starts[-1])
    oracles: dict[int, Oracle | Oue] = {
        size: paper_oracle(size, epsilon) if paper else oracle_for(size, epsilon) for size in np.unique(cells).tolist()
    }
    tables: list[np.ndarray] = [np.empty(0)] * count
    reports = list(tables)
    for size, oracle in oracles.items():
        mine = np.flatnonzero(cells == size)
        held = seen[:, starts[mine][:, None] + np.arange(size)]  # (runs, views, cells)
        read_out = read(oracle, held, rng)
        for place, own in enumerate(mine):
            tables[own] = read_out[:, place].reshape(runs, *sizes[chosen[own]])
            reports[own] = held[:, place].sum(axis=-1).astype(np.float64)
    noise = {size: float(oracle.noise) + 1 / size for size, oracle in oracles.items()}
    precisions = tuple(np.maximum(own, 1e-9) / noise[int(size)] for own, size in zip(reports, cells, strict=True))
    return Collected(people.sizes, tuple(sets), tuple(tables), precisions)


def read(oracle: Oracle | Oue, held: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the reports of people in given cells, the last axis, and decode them into frequencies."""
    people = held.sum(axis=-1, keepdims=True)
    keep, lie = float(oracle.keep), float(oracle.lie)
    if isinstance(oracle, Oue):
        support = rng.binomial(held, keep) + rng.binomial(people - held, lie)
    elif oracle.alphabet <= FEW_CODES:
        chances = rows_of(oracle).T
        codes = sum(rng.multinomial(held[..., cell], own / own.sum()) for cell, own in enumerate(chances))
        support = codes @ oracle.support(np.arange(oracle.alphabet)).astype(np.int64)
    else:
        return np.stack([_encoded(oracle, own, rng) for own in held.reshape(-1, oracle.domain)]).reshape(held.shape)
    return (support / np.maximum(people, 1) - lie) / (keep - lie)


def _encoded(oracle: Oracle, held: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Encode people one by one, by tacit's own sampler."""
    cells = np.repeat(np.arange(oracle.domain), held)
    if not len(cells):
        return np.full(oracle.domain, 1 / oracle.domain)
    source = insecure_rng(int(rng.integers(2**31)))
    draws = source.draws(len(cells) * (1 + oracle.answers)).reshape(len(cells), -1)
    answers = draws[:, 1] if oracle.answers == 1 else draws[:, 1:]
    codes, times = np.unique(oracle.randomise([cells], draws[:, 0], answers), return_counts=True)
    return decode_frequencies(oracle, codes, times).ravel()


def check(people: Population, sets: Sequence[tuple[int, ...]], epsilon: float) -> float:
    """Return the ratio of mean squared errors of one-way tables: draws by this module over real encodings."""
    runs, rng = 300, np.random.default_rng(1)
    found = collect(people, sets, epsilon, runs, rng, paper=False)
    truth = [_truth(people, own) for own in sets]
    ours = math.fsum(float(((table - own) ** 2).mean()) for table, own in zip(found.tables, truth, strict=True))
    theirs = 0.0
    for _ in range(runs):
        view = rng.integers(0, len(sets), len(people.rows))
        for number, own in enumerate(sets):
            rows = people.rows[view == number][:, list(own)].astype(np.int64)
            dims = [people.sizes[i] for i in own]
            held = np.bincount(np.ravel_multi_index(rows.T, dims), minlength=math.prod(dims))
            real = _encoded(oracle_for(math.prod(dims), epsilon), held, rng).reshape(dims)
            theirs += float(((real - truth[number]) ** 2).mean()) / runs
    return ours / theirs


def _truth(people: Population, own: tuple[int, ...]) -> np.ndarray:
    dims = [people.sizes[i] for i in own]
    flat = np.ravel_multi_index(people.rows[:, list(own)].astype(np.int64).T, dims)
    return (np.bincount(flat, minlength=math.prod(dims)) / len(people.rows)).reshape(dims)
