"""EXPLAIN: how a question is answered: functionals, views read, contributions, SQL and the predicted error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.estimate.batch import batch_of
from tacit.estimate.functional import Functional, Vector
from tacit.sql.plan import Plan, why_no_rollup
from tacit.sql.printing import condition_text, print_query
from tacit.sql.scope import Scope
from tacit.sql.totals import Total
from tacit.sql.vectors import Sensitive, shown_value

__all__ = ["describe", "explain_plan"]

MOST_TERMS = 6
"""Maximum terms of a formula that are shown."""


def describe(scope: Scope, total: Total) -> str:
    """Return a total as a readable formula."""
    pieces = []
    for piece in total.pieces:
        parts = [f"[{condition_text(guard)}]" for guard in piece.guards]
        powers = [(condition_text(column), power) for column, power in piece.powers.items() if power]
        parts += [f"{column}^{power}" if power != 1 else column for column, power in powers]
        pieces.append(" × ".join([*parts, f"({_functional(scope, piece.functional)})"]))
    return " + ".join(pieces) or "0"


def _functional(scope: Scope, functional: Functional) -> str:
    attributes = {
        source.first + i: attribute for source in scope.sources for i, attribute in enumerate(source.service.sensitive)
    }
    presence = {source.presence: source.service.name for source in scope.sources if source.service.extras}
    terms = []
    for term in functional.terms[:MOST_TERMS]:
        factors = [
            _vector(attributes[i], vector) if i in attributes else f"rows of {presence[i]} × {vector.max():.6g}"
            for i, vector in sorted(term.factors.items())
        ]
        coefficient = [f"{term.coefficient:.6g}"] if term.coefficient != 1 or not factors else []
        terms.append(" · ".join([*coefficient, *factors]))
    more = len(functional.terms) - MOST_TERMS
    return " + ".join(terms) + (f" + {more} more terms" if more > 0 else "")


def _vector(attribute: Sensitive, vector: Vector) -> str:
    """Describe a vector over values: which values it marks, or the range of its numbers."""
    if not set(np.unique(vector)) <= {0.0, 1.0}:
        return f"{attribute.name} as numbers from {vector.min():.6g} to {vector.max():.6g}"
    marks = np.flatnonzero(vector)
    runs = np.split(marks, np.flatnonzero(np.diff(marks) > 1) + 1)
    shown = [
        str(shown_value(attribute, int(run[0])))
        if len(run) == 1
        else f"{shown_value(attribute, int(run[0]))}..{shown_value(attribute, int(run[-1]))}"
        for run in runs[:4]
    ]
    return f"{attribute.name} ∈ {{{', '.join(shown)}{', …' if len(runs) > 4 else ''}}}"


def explain_plan(plan: Plan, totals: Sequence[Total]) -> str:
    """Return the explanation of one round's plan."""
    lines = [f"round {plan.round.name}"]
    for number, stored in enumerate(plan.round.stored):
        service, (factors, views) = stored.service, _reads(plan, number)
        count = sum(len(channel.views) for channel in service.channels)
        codes = sum(service.channels[channel].alphabet for channel in {channel for channel, _ in views})
        lines.append(
            f"service {service.service.name}: mechanism {service.layout}, decoder {stored.decoder.name}; "
            f"views read: {len(views)} of {count}; contributions: {factors} per code, {codes:,} codes"
        )
    lines.append(_rollup_line(plan))
    lines += [f"total {i}: {describe(plan.scope, total)}" for i, total in enumerate(totals[:12])]
    if len(totals) > 12:
        lines.append(f"and {len(totals) - 12} more totals")
    if plan.by_code is not None and not plan.from_tables:
        way = "the engine counts codes; tacit weights them"
    elif plan.by_code is not None:
        way = "the engine sums by code; tacit reads all totals from the views' tables"
    else:
        way = "the engine joins and sums contributions"
    text, parameters = print_query(plan.query)
    return "\n".join([*lines, f"{way}; parameters: {len(parameters)}", text])


def _reads(plan: Plan, number: int) -> tuple[int, set[tuple[int, int]]]:
    """Return how many factors a service's codes have, and the channels and views that these read."""
    batch, functionals = None, [total.functional for total in plan.totals]
    if plan.from_tables and len(plan.round.stored) == 1:  # many totals: decoding them one by one takes seconds
        batch = batch_of(plan.round.stored[0].decoder, [functional for functional in functionals if functional])
    if batch is not None and None not in functionals:
        return len({total.key for total in plan.totals}), {(0, view) for view in batch.views}
    factors = plan.decoding.factors[number]
    return len(factors), {
        (channel, view)
        for factor in factors
        for channel, reading in factor.readings.items()
        for view in reading.products
    }


def _rollup_line(plan: Plan) -> str:
    rollup = plan.round.stored[0].rollup
    if rollup is not None and plan.reports.people.join.rollup:
        return f"rollup: used, by {', '.join(('code', *rollup.by))}"
    return f"rollup: not used, {why_no_rollup(plan.reports, plan.round)}"
