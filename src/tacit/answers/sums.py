"""Sums over people, fetched from the engine: by code, or by joining reports with contributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from sqlglot import exp

from tacit.answers.code_sums import plan_by_code
from tacit.answers.code_values import plan_code_values
from tacit.answers.columns import Values, numbers_of, rows_of
from tacit.answers.group_sums import GroupSums, SumsRequest
from tacit.answers.rounds import without_rounding
from tacit.engines.base import Engine
from tacit.sql.plan import Plan
from tacit.sql.printing import print_query
from tacit.sql.rounds import Round
from tacit.sql.scope import LABELS, BoundColumn, Scope
from tacit.sql.stored_types import StoredTypes

__all__ = ["Fetch", "Values", "fetch_by_code", "fetch_sums", "over_rounds", "stored_types"]

Fetch = Callable[
    ["JoinedReports", "SumsRequest", Sequence[BoundColumn], Sequence[exp.Expr]],
    "tuple[dict[Values, GroupSums], list[Plan]] | None",
]
"""From people, request, keys and conditions to sums and plans."""


class JoinedReports(Protocol):
    """Joined services in one or more rounds, and the engine that has their reports."""

    engine: Engine
    scope: Scope
    rounds: Sequence[Round]


def fetch_sums(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> tuple[dict[Values, GroupSums], list[Plan]]:
    """Return the sums of each group of public values, over all rounds, and the plans that were run."""
    fetched = fetch_by_code(people, request, keys, conditions)
    if fetched is not None:
        return fetched
    plans = list(_plans_of(people, request, keys, conditions))
    return over_rounds([_sum_in_engine(people.engine, plan, request) for plan in plans], people.rounds), plans


def _plans_of(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> Iterator[Plan]:
    """Yield the plan of each round."""
    pairs = sorted(request.pairs)
    for round_, types in zip(people.rounds, stored_types(people.engine, people.rounds), strict=True):
        yield Plan(people.scope, round_, request.totals, pairs, keys, conditions, types)


def fetch_by_code(
    people: JoinedReports, request: SumsRequest, keys: Sequence[BoundColumn], conditions: Sequence[exp.Expr]
) -> tuple[dict[Values, GroupSums], list[Plan]] | None:
    """Return sums and plans as `fetch_sums` does, for any number of totals; None where sums by code do not suffice."""
    pairs = sorted(request.pairs)
    plans, by_round = [], []
    for plan in _plans_of(people, request, keys, conditions):
        ways = (make(plan) for make in BY_CODE)
        tried = ((way, way.run(people.engine)) for way in ways if way is not None)
        way, moments = next(((way, moments) for way, moments in tried if moments is not None), (None, None))
        if way is None or moments is None:
            return None
        squared, noisy, tier = sorted({i for i, _ in pairs}), way.noisy(), plan.round.labels["tier"]
        by_round.append(
            {
                values: GroupSums(
                    moment.count,
                    moment.totals,
                    dict(zip(pairs, moment.products.tolist(), strict=True)),
                    dict(zip(squared, moment.fourths.tolist(), strict=True)),
                    noisy,
                    request,
                    tier,
                )
                for values, moment in moments.items()
            }
        )
        plans.append(replace(plan, by_code=way.query, from_tables=way.from_tables))
    return over_rounds(by_round, people.rounds), plans


BY_CODE = (plan_by_code, plan_code_values)
"""Ways to compute totals from sums by code: from tables of the views or, for other decoders, code by code."""


def over_rounds(by_round: Sequence[dict[Values, GroupSums]], rounds: Sequence[Round]) -> dict[Values, GroupSums]:
    """Add up the sums of rounds and tiers; those of a panel refer to all its members."""
    total: dict[Values, GroupSums] = {}
    for by_group, round_ in zip(by_round, rounds, strict=True):
        for values, sums in without_rounding(by_group).items():
            of_round = sums.of_panel(round_.design) if round_.design else sums
            total[values] = total[values].plus(of_round) if values in total else of_round
    return total


def stored_types(engine: Engine, rounds: Sequence[Round]) -> list[StoredTypes]:
    """Return which public columns the tables of each round hold as text."""
    texts = [
        [
            engine.text_columns(stored.table).union(LABELS) if stored.service.service.public else frozenset(LABELS)
            for stored in round_.stored
        ]
        for round_ in rounds
    ]
    anywhere = [frozenset[str]().union(*of_source) for of_source in zip(*texts, strict=True)]
    return [StoredTypes(text, anywhere) for text in texts]


def _sum_in_engine(engine: Engine, plan: Plan, request: SumsRequest) -> dict[Values, GroupSums]:
    """Let the engine join reports with contributions and add up."""
    query = plan.sums
    table = engine.fetch(*print_query(query), plan.uploads(engine.codes, engine.whole_alphabet))
    keys = rows_of(table, len(plan.keys))
    numbers = np.array([numbers_of(table.column(i)) for i in range(len(plan.keys), table.num_columns)])
    first = 1 + len(query.measures)
    second = first + len(query.pairs)
    return {
        values: GroupSums(
            int(row[0]),
            row[1:first],
            dict(zip(query.pairs, row[first:second].tolist(), strict=True)),
            dict(zip(query.fourths, row[second:].tolist(), strict=True)),
            plan.decoding.reads_codes,
            request,
            plan.round.labels["tier"],
        )
        for values, row in zip(keys, numbers.T, strict=True)
    }
