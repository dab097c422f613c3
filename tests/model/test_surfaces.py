"""SQL, marginals, synthetic rows and a curator's release read one model: their tables agree to rounding."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit as tc
from bench.model.strangers import STRANGERS, Stranger
from support.tiers import keeping
from tacit import central
from tacit.answers import synthetic
from tacit.central import marginals
from tacit.estimate.estimate import Estimate
from tacit.model import questions

PEOPLE, MOST_CELLS = 4_000, 3_000

ROUNDING = 1e-9
"""Largest difference, as a share of the people; iterative fits stop at slightly different places."""


def kept(one: Stranger) -> tc.Database:
    """Return a database of the reports of a few thousand people."""
    collection = tc.Collection(one.schema(), one.epsilon, users=one.people)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(**one.tables(1), rng=tc.insecure_rng(1)))
    return db


def fitted(db: tc.Database | central.Release, names: Sequence[str], source: str, **options: Any) -> np.ndarray:
    """Return the fitted counts of all combinations of values."""
    listed = ", ".join(names)
    rows = db.sql(f"SELECT {listed}, COUNT(*) AS n FROM {source} GROUP BY {listed} ORDER BY {listed}", **options)
    return np.array([own.value for row in rows for own in row if isinstance(own, Estimate)])


def sets(one: Stranger, service: str | None = None) -> list[list[str]]:
    """Return sets of one and two sensitive attributes whose tables are small."""
    owned = one.attributes if service is None else one.services[service]
    sensitive = [own for own in owned if not isinstance(own, tc.Public)]
    chosen = [own for count in (1, 2) for own in itertools.combinations(sensitive, count)]
    return [[own.name for own in some] for some in chosen if np.prod([own.size for own in some]) <= MOST_CELLS]


class Seen:
    """The tables that synthetic rows are drawn from."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.table_of: Any = None
        draw_rows, sampler, seen = questions.draw_rows, synthetic.Sampler, self

        class Sampler(sampler):  # type: ignore[misc, valid-type]
            def __init__(self, sizes: Any, table_of: Any, *others: Any) -> None:
                super().__init__(sizes, table_of, *others)
                seen.table_of = table_of

        def draw(sizes: Any, table_of: Any, *others: Any) -> Any:
            self.table_of = table_of
            return draw_rows(sizes, table_of, *others)

        patched.setattr(synthetic, "Sampler", Sampler)
        patched.setattr(questions, "draw_rows", draw)
        patched.setattr(marginals, "draw_rows", draw)

    def counts(self, places: Sequence[int]) -> np.ndarray:
        """Return the counts that rows for all people are expected to have."""
        table = np.asarray(self.table_of(places))
        return PEOPLE * table.ravel() / table.sum()


@pytest.mark.parametrize(
    "name",
    keeping(["two visits"], ["salaries", "two visits", "digits", "derived", "orders"], "agreeing surfaces"),
)
def test_tables_of_all_surfaces_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One attribute and two, of services with and without public columns, alone and joined."""
    one, seen = replace(STRANGERS[name], people=PEOPLE), Seen(monkeypatch)
    db = kept(one)
    for service in one.services:
        names = [own.name for own in one.services[service] if not isinstance(own, tc.Public)]
        db.synthesize(1, seed=1, service=service)
        for some in sets(one, service):
            asked = fitted(db, some, service, consistent=True)
            assert np.allclose(asked, db.marginal(some, service=service).to_pandas()["count"], rtol=0, atol=1e-6)
            assert np.allclose(asked, seen.counts([names.index(own) for own in some]), rtol=0, atol=ROUNDING * PEOPLE)
    if len(one.services) > 1:
        db.synthesize_people(1, seed=1)
        names = [own.name for own in one.attributes]
        for some in sets(one):
            asked = fitted(db, some, " JOIN ".join(one.services) + " USING (uid)", consistent=True)
            assert np.allclose(asked, seen.counts([names.index(own) for own in some]), rtol=0, atol=ROUNDING * PEOPLE)
    for own in one.attributes:
        if isinstance(own, tc.Public):
            apart = fitted(db, [own.name, "grade"], "t", consistent=True).reshape(-1, 8).sum(axis=0)
            assert np.allclose(apart, fitted(db, ["grade"], "t", consistent=True), rtol=0, atol=ROUNDING * PEOPLE)
    db.close()


@pytest.mark.parametrize("name", keeping(["digits"], ["digits", "questionnaire"], "surfaces of a release"))
def test_tables_of_a_release_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, seen = replace(STRANGERS[name], people=PEOPLE), Seen(monkeypatch)
    [(service, rows)] = one.tables(1).items()
    [declared] = one.schema().services
    released = central.release(rows, declared, 1, method="marginals")
    released.synthesize(1, seed=1)
    people, names = released.body.people, [own.name for own in one.attributes]  # type: ignore[union-attr]
    for some in sets(one):
        expected = seen.counts([names.index(own) for own in some]) * people / PEOPLE
        assert np.allclose(fitted(released, some, service), expected, rtol=0, atol=ROUNDING * PEOPLE)
