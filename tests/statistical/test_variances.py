"""VAR where the squares of a person's totals have no estimates: several rows per person, joins, and rounded values."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.chances import assert_mean
from tacit.testing import identity_collection, reveal

BATCHES, PEOPLE, ROWS = 2_500, 25, 2


def rows() -> dict[str, np.ndarray]:
    """Return two rows of each of 25 people: values from 0 to 15, not independent of the person's category."""
    source = np.random.default_rng(5)
    category = source.integers(0, 2, PEOPLE)
    owner = np.repeat(np.arange(PEOPLE), ROWS)
    value = np.clip(source.normal(7 + 2 * category[owner], 3), 0, 15).astype(np.int64)
    return {"category": category, "owner": owner, "value": value}


def joined(attribute: tc.Ordinal, scale: int) -> tc.Database:
    """Return 2,500 batches of the same people, as groups of a public column of the other service."""
    known = rows()
    schema = tc.Schema(
        [
            tc.Service("users", key="uid", attributes=[tc.Ordinal("category", 0, 1), tc.Public("batch")]),
            tc.Service("orders", key="uid", at_most=ROWS, attributes=[attribute]),
        ]
    )
    collection = tc.Collection(schema, 6.0, mechanism="fc")
    batch, everybody = np.repeat(np.arange(BATCHES), PEOPLE), np.arange(BATCHES * PEOPLE)
    owner = (np.arange(BATCHES)[:, None] * PEOPLE + known["owner"]).ravel()
    users = {"uid": everybody, "category": np.tile(known["category"], BATCHES), "batch": batch}
    orders = {"uid": owner, "x": scale * np.tile(known["value"], BATCHES)}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users=users, orders=orders, rng=tc.insecure_rng(3)))
    return db


@pytest.mark.parametrize(
    ("attribute", "scale"),
    [(tc.Ordinal("x", 0, 15), 1), (tc.Ordinal("x", 0, 150, cells=16, dither=True, step=1), 10)],
    ids=["rows", "rounded rows"],
)
def test_variances_of_joined_rows_are_unbiased(attribute: tc.Ordinal, scale: int) -> None:
    """The mean over batches is right (1e-9); without the noise of the mean it is too small by Var(AVG), as it was."""
    db, values = joined(attribute, scale), scale * rows()["value"]

    def asked(column: str) -> np.ndarray:
        question = f"SELECT batch, {column} AS v FROM orders JOIN users USING (uid) GROUP BY batch"
        return np.array([estimate.value for _, estimate in db.sql(question)])

    found, means = asked("VAR_POP(x)"), asked("AVG(x)")
    error = found.std() / math.sqrt(BATCHES)
    assert_mean(found.mean(), values.var(), error, mutant=values.var() - means.var())
    sample = asked("VAR_SAMP(x)")
    assert abs(sample.mean() - values.var(ddof=1)) < 6.11 * error


def test_exact_variances_of_rows_stay_exact() -> None:
    """Without noise nothing is added but what people differ by, and that is taken off again."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, 150, cells=16, step=1)])])
    collection = identity_collection(schema)
    db = tc.connect()
    db.create(collection)
    x = 10 * rows()["value"]
    db.load(reveal(collection, t=pa.table({"uid": range(len(x)), "x": x})))
    assert db.sql("SELECT VAR_POP(x) AS v FROM t")["v"].value == pytest.approx(x.var(), rel=1e-9)
    assert db.sql("SELECT VAR_SAMP(x) AS v FROM t")["v"].value == pytest.approx(x.var(ddof=1), rel=1e-9)
