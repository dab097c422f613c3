"""P10: whatever is asked, and however one question depends on the answers before, a target loses no more than epsilon.

Exact: the target's code takes every value, all others stay, and an attacker who singles the target out asks about each
database. A transcript's probability is the sum of those of the codes that lead to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.channels import all_records, channel_row
from tacit.contract.budget import exp_below

QUESTIONS = 1_000
"""Adaptive questions about each code of the target."""
SERVICE = tc.Service("s", key="uid", attributes=[tc.Ordinal("age", 0, 3), tc.Public("os", values=["tv", "web"])])
PEOPLE, TARGET = 60, 17
"""The target alone has the value tv, as an attacker knows."""

SHAPES = (
    "SELECT COUNT(*) AS x FROM s WHERE os = 'tv' AND age = {0}",
    "SELECT COUNT(*) AS x FROM s WHERE os <> 'tv' AND age <= {0}",
    "SELECT COUNT(*) AS x FROM s WHERE age BETWEEN {1} AND {0}",
    "SELECT SUM(age * {0}) AS x FROM s WHERE NOT (os = 'web' AND age >= {1})",
    "SELECT os, COUNT(*) AS x FROM s WHERE age > {1} OR age = {0} GROUP BY os",
    "SELECT AVG(age) AS x, COUNT(*) FILTER (WHERE os = 'tv' AND age = {1}) AS y FROM s",
)


def transcript(database: tc.Database) -> tuple[str, ...]:
    """Return the answers to a fixed number of questions, each chosen by all answers before it."""
    answers: list[str] = []
    for _ in range(QUESTIONS):
        choice = zlib.crc32("\n".join(answers).encode())
        high, low = choice // 7 % 4, choice // 31 % 2
        answer = database.sql(SHAPES[choice % len(SHAPES)].format(max(high, low), low))
        answers.append(repr([[getattr(cell, "value", cell) for cell in row] for row in answer.rows]))
    return tuple(answers)


def with_code(reports: pa.Table, code: int) -> pa.Table:
    """Return the reports with another code of the target."""
    codes = np.where(np.asarray(reports["uid"]) == TARGET, code, np.asarray(reports["code"]))
    return reports.set_column(reports.column_names.index("code"), "code", pa.array(codes))


def worst_ratio(rows: Sequence[Sequence[Fraction]], transcripts: Sequence[Any]) -> Fraction | None:
    """Return the largest ratio of probabilities of one transcript given two records; None if it has no bound."""
    worst = Fraction(1)
    for one in set(transcripts):
        leading = [place for place, own in enumerate(transcripts) if own == one]
        chances = [sum((row[place] for place in leading), Fraction(0)) for row in rows]
        if max(chances) > 0 and min(chances) == 0:
            return None
        worst = max(worst, max(chances) / min(chances)) if max(chances) else worst
    return worst


@pytest.mark.parametrize("mechanism", ["fc", "hio"])
def test_no_sequence_of_questions_tells_more_than_the_code(mechanism: str) -> None:
    collection = tc.Collection(tc.Schema([SERVICE]), 1.0, mechanism=mechanism, oracle="grr")
    compiled = collection.contract["s"]
    [channel] = compiled.channels
    rows = [channel_row(compiled, channel, record) for record in all_records(compiled)]
    os = ["tv" if uid == TARGET else "web" for uid in range(PEOPLE)]
    people = {"uid": list(range(PEOPLE)), "age": [uid % 4 for uid in range(PEOPLE)], "os": os}
    reports = collection.encode(s=people, rng=tc.insecure_rng(3))["s"]
    transcripts = []
    for code in range(len(rows[0])):
        with closing(tc.connect()) as database:
            database.create(collection)
            database.load({"s": with_code(reports, code)})
            transcripts.append(transcript(database))
    worst = worst_ratio(rows, transcripts)
    assert worst is not None
    assert worst <= exp_below(Fraction(1))
    assert len(set(transcripts)) == len(rows[0]), "the attacker reads the code itself, and still learns no more"
    raw = [[Fraction(int(value == record)) for value in range(4)] for record in range(4)]
    assert worst_ratio(raw, range(4)) is None, "answers from the raw value would be seen"
