"""Mistakes that analysts make: each message names the thing, says what is allowed, and points at the place."""

from __future__ import annotations

import pytest

import tacit as tc
from support.corpora import HOSPITAL, hospital_tables
from tacit.errors import TacitError
from tacit.testing import identity_collection, reveal

MISTAKES = [
    ("SELECT ward, COUNT(*) FROM admissions WHERE COUNT(*) > 5 GROUP BY ward", "COUNT", "after HAVING"),
    ("SELECT COUNT(*) FROM patients WHERE AVG(age) > 5", "AVG(age", "is an aggregate"),
    ("SELECT MEDAN(age) FROM patients", "MEDAN(age", "Did you mean MEDIAN?"),
    (
        "SELECT COUNT(*) FROM admissions WHERE admitted > '1/2/2024'",
        "admitted > '1/2/2024'",
        "such as '2024-01-01'",
    ),
    ("SELECT COUNT(*) FROM patients WHERE age = 'old'", "age = 'old'", "its values are 0 to 9"),
    ("SELECT * FROM patients", "*", "Rows are private"),
    ("SELECT COUNT(*) FROM patients WHERE sex = ‘f’", "‘", "typographic quotes"),
    ("SELECT COUNT(*) FROM “patients” -- it’s", "“", "typographic quotes"),
    ("SELECT COUNT(*) FROM patients /* it’s ‘fine’ */ WHERE sex = 'f’s'", "sex = 'f’s'", "sex has no value"),
    ("SELECT TOP 5 ward, COUNT(*) FROM admissions GROUP BY ward", "5", "LIMIT 5"),
    ("SELECT p.* FROM patients p", "*", "Rows are private"),
    ("SELECT SUM(*) FROM patients", "", "only COUNT takes"),
    ("SELECT sex FROM patients EXCEPT SELECT sex FROM patients", "", "EXCEPT compares sets"),
    ("SELECT sex, FIRST_VALUE(icd) OVER (ORDER BY COUNT(*)) FROM patients GROUP BY sex, icd", "FIRST_VALUE", "QUALIFY"),
    ("SELECT MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM admissions GROUP BY 1) t", "n", "ORDER BY … DESC LIMIT 1"),
    ("SELECT COUNT(*) FROM patients WHERE diabetic = 'maybe'", "diabetic = 'maybe'", "Values: false, true"),
]


@pytest.fixture(scope="module")
def database() -> tc.Database:
    collection = identity_collection(HOSPITAL)
    made = tc.connect()
    made.create(collection)
    made.load(reveal(collection, **hospital_tables()))
    return made


@pytest.mark.parametrize(("question", "place", "words"), MISTAKES)
def test_a_mistake_is_named_with_what_to_do(database: tc.Database, question: str, place: str, words: str) -> None:
    with pytest.raises(TacitError) as caught:
        database.sql(question)
    assert words in caught.value.message
    span = getattr(caught.value, "span", None)
    assert (question[slice(*span)] if span else "").startswith(place)


def test_words_for_true_and_false_are_read_as_duckdb_does(database: tc.Database) -> None:
    question = "SELECT COUNT(*) AS n FROM patients WHERE diabetic = "
    counts = [database.sql(question + word)["n"].value for word in ("'yes'", "1", "TRUE")]
    assert counts[0] == pytest.approx(counts[1]) == pytest.approx(counts[2])
