"""Every generated question is unbiased in every layout and decoder: E[contribution | record] = functional, exactly."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Hashable

import numpy as np
import pytest

import tacit as tc
from support.adult import SCHEMA
from support.channels import plain_layouts
from support.decoding import oracle_table
from support.questions import Questions
from support.tiers import how_many, keeping
from tacit.contract.contract import ServiceContract
from tacit.contract.oracles import Oracle
from tacit.errors import UnanswerableError
from tacit.estimate.decoder import Decoded, Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.reading import Factor, Reading, contributions
from tacit.sql.bind import bind
from tacit.sql.parse import parse
from tacit.sql.tables import scope_of, tables_of

QUESTIONS = how_many(12, 520, "generated questions, exact in every layout and decoder")

LAYOUTS = [*plain_layouts(), "mg(2)", "am(3)"]


def functionals() -> list[Functional]:
    """Return what the questions need, their squares included, each once."""
    questions = Questions(np.random.default_rng(2026))
    found: dict[Hashable, Functional] = {}
    for _ in range(QUESTIONS):
        text = questions.question()
        statement = parse(text)
        bound = bind(statement, scope_of(tables_of(statement, text), SCHEMA, text))
        for group in bound.groups():
            totals = [total for made in bound.formulas(group) if made for total in made.totals]
            for piece in [piece for total in totals for piece in (*total.pieces, *(total * total).pieces)]:
                found[piece.functional.key] = piece.functional
    return list(found.values())


class Table:
    """Means of contributions for all records at once: a view's codes are summed with their exact probabilities."""

    def __init__(self, service: ServiceContract) -> None:
        self.service = service
        self.shape = tuple(levels.size for levels in service.levels)
        self._rows: dict[Oracle, np.ndarray] = {}
        indices = np.indices(self.shape).reshape(len(self.shape), -1)
        self.cells = {}
        for channel in service.channels:
            for view in channel.views:
                columns = [service.levels[i][view.levels[i]].table()[indices[i]] for i in view.active]
                self.cells[view.levels] = np.ravel_multi_index(columns, view.oracle.sizes)

    def _channel(self, oracle: Oracle) -> np.ndarray:
        if oracle not in self._rows:
            self._rows[oracle] = oracle_table(oracle)
        return self._rows[oracle]

    def factors(self, factors: list[Factor]) -> np.ndarray:
        """Return a column for each factor with its mean for every record."""
        mean = np.tile([factor.constant for factor in factors], (math.prod(self.shape), 1))
        for c, channel in enumerate(self.service.channels):
            readings = [factor.readings.get(c) for factor in factors]
            values = contributions(channel, readings)
            for index, view in enumerate(channel.views):
                if any(reading and index in reading.products for reading in readings):
                    part = values[view.offset : view.offset + view.oracle.alphabet]
                    share = channel.view_weight(index) / view.oracle.span
                    mean += share * (self._channel(view.oracle) @ part)[self.cells[view.levels]]
        return mean

    def means(self, decoded: list[Decoded]) -> np.ndarray:
        """Return a column for each decoded functional with the mean of its contributions for every record."""
        means = self.factors([factor for one in decoded for _, used in one.products for factor in used])
        result, start = np.zeros((len(means), len(decoded))), 0
        for column, one in enumerate(decoded):
            for coefficient, used in one.products:
                stop = start + len(used)
                result[:, column] += coefficient * means[:, start:stop].prod(axis=1)
                start = stop
        return result

    def truth(self, functional: Functional) -> np.ndarray:
        total = np.zeros(self.shape)
        for term in functional.terms:
            product = np.full(self.shape, term.coefficient)
            for i, vector in term.factors.items():
                product = product * vector.reshape([-1 if k == i else 1 for k in range(len(self.shape))])
            total += product
        return total.ravel()


@pytest.fixture(scope="module")
def asked() -> list[Functional]:
    return functionals()


@pytest.mark.parametrize(
    ("layout", "decoder"),
    keeping(
        list(itertools.product(LAYOUTS, ["blue"])),
        itertools.product(LAYOUTS, ["blue", "cover", "rdc"]),
        "layouts whose means are functionals, of every decoder",
    ),
)
def test_expectations_are_the_functionals(layout: str, decoder: str, asked: list[Functional]) -> None:
    service = tc.Collection(SCHEMA, 1.0, mechanism=layout, oracle="lh").contract["adult"]
    table, reader = Table(service), Decoder(service, decoder)  # type: ignore[arg-type]
    answered: list[tuple[Functional, Decoded]] = []
    for functional in asked:
        with contextlib.suppress(UnanswerableError):
            answered.append((functional, reader.decode(functional)))
    for start in range(0, len(answered), 400):
        some = answered[start : start + 400]
        truth = np.stack([table.truth(functional) for functional, _ in some], axis=1)
        off = np.abs(table.means([decoded for _, decoded in some]) - truth).max(axis=0)
        assert (off <= 1e-9 * np.maximum(1.0, np.abs(truth).max(axis=0))).all()
    joint = layout not in ("mg(2)", "am(3)", "pairs", "partitions")
    assert len(answered) == len(asked) if joint else len(answered) > len(asked) // 8


def test_the_check_can_fail(asked: list[Functional]) -> None:
    """A decoder that forgets one view is caught."""
    service = tc.Collection(SCHEMA, 1.0, mechanism="hio", oracle="lh").contract["adult"]
    functional = next(f for f in asked if len(f.attributes) == 2)
    [(coefficient, [factor])] = Decoder(service).decode(functional).products
    views = dict(factor.readings[0].products)
    views.pop(max(views))
    forgetful = Factor(factor.constant, {0: Reading(service.channels[0], views)})
    wrong = Table(service).means([Decoded(((coefficient, (forgetful,)),))])[:, 0]
    assert np.abs(wrong - Table(service).truth(functional)).max() > 1e-3
