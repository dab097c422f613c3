"""A condition that the declared domains decide alone is answered with a note that says so."""

from __future__ import annotations

import datetime

import pytest

import tacit as tc

SCHEMA = tc.Schema(
    [
        tc.Service(
            "users",
            key="uid",
            attributes=[
                tc.Ordinal("age", 0, 124),
                tc.Ordinal("income", 0, 200_000, cells=100, outside="clamp"),
                tc.Ordinal("born", datetime.date(2026, 1, 1), datetime.date(2026, 12, 31)),
                tc.Categorical("state", ["CA", "NY"]),
                tc.Ordinal("kids", 0, 9, null=True, outside="clamp"),
                tc.Public("os"),
            ],
        )
    ]
)
COLLECTION = tc.Collection(SCHEMA, epsilon=4, mechanism="pairs", round="r1")


@pytest.fixture(scope="module")
def database() -> tc.Database:
    made = tc.connect()
    made.create(COLLECTION)
    rows = {"uid": range(100), "age": [30] * 100, "income": [0] * 100, "state": ["CA"] * 100, "kids": [1] * 100}
    made.load(COLLECTION.encode(users=rows | {"os": ["ios"] * 100, "born": [datetime.date(2026, 5, 1)] * 100}))
    return made


IMPOSSIBLE = {
    "age > 500": "age ranges from 0 to 124 in steps of 1",
    "500 < age": "age ranges from 0 to 124",
    "age < 0": "age ranges from 0 to 124",
    "age = -1": "age ranges from 0 to 124",
    "age = 3.5": "in steps of 1",
    "age BETWEEN 40 AND 20": "age ranges from 0 to 124",
    "age BETWEEN 200 AND 300": "age ranges from 0 to 124",
    "age IN (500, 600)": "age ranges from 0 to 124",
    "age IS NULL": "age was collected without NULL",
    "kids > 9": "values outside are clamped to the nearest end",
    "born > '2030-01-01'": "born ranges from 2026-01-01 to 2026-12-31",
}


@pytest.mark.parametrize("condition", IMPOSSIBLE)
def test_a_condition_that_nobody_can_meet_is_named(condition: str, database: tc.Database) -> None:
    for asked in (condition, f"state = 'CA' AND {condition}"):
        question = f"SELECT COUNT(*) AS n FROM users WHERE {asked}"
        answer = database.sql(question)
        assert answer["n"].value == 0
        notes = [note for note in answer.notes if "is true for nobody" in note]
        assert len(notes) == 1
        assert IMPOSSIBLE[condition] in notes[0]
        assert notes[0] in COLLECTION.predict(question, users=1_000).notes
        assert notes[0] in database.sql(question, consistent=True).notes
        assert f"note: {notes[0]}" in str(answer)


def test_notes_reach_filters_cases_and_other_branches(database: tc.Database) -> None:
    for text in (
        "SELECT COUNT(*) FILTER (WHERE age > 500) AS n FROM users",
        "SELECT SUM(CASE WHEN age > 500 THEN 1 ELSE 0 END) AS n FROM users",
        "SELECT COUNT(*) AS n FROM users WHERE age > 500 OR age < 20",
        "SELECT COUNT(*) AS n FROM users WHERE NOT age > 500",
        "SELECT COUNT(*) AS n FROM users WHERE age IN (20, 500)",
    ):
        assert [note for note in database.sql(text).notes if "500 is true for nobody" in note], text


def test_a_constant_beyond_the_domain_is_named_where_everybody_meets_it(database: tc.Database) -> None:
    for condition in ("age <= 500", "age <> 500", "age > -3", "kids < 70"):
        answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
        assert [note for note in answer.notes if note.startswith(f"{condition} is true for every value: ")], condition


def test_conditions_that_exclude_each_other_are_named(database: tc.Database) -> None:
    for condition in ("age > 50 AND age < 20", "state = 'CA' AND state = 'NY'"):
        answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
        assert answer["n"].value == 0
        assert "the conditions in WHERE exclude each other, so the answer is exact" in (answer.notes)


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("NOT age <= 124", "NOT age <= 124 is true for nobody: age"),
        ("NOT age BETWEEN 0 AND 124 AND state = 'NY'", "NOT age BETWEEN 0 AND 124 is true for nobody: age"),
        ("age NOT IN (20, NULL)", "NOT age IN (20, NULL) is true for nobody: age"),
        ("NOT NOT age > 500", "age > 500 is true for nobody: age"),
    ],
)
def test_the_negation_of_what_everybody_meets_is_named(database: tc.Database, condition: str, named: str) -> None:
    answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
    assert answer["n"].value == 0
    assert [note for note in answer.notes if note.startswith(named)], answer.notes
    assert not [note for note in answer.notes if "exclude each other" in note]


def test_a_condition_without_columns_is_not_said_to_exclude_another(database: tc.Database) -> None:
    for condition in ("NULL", "FALSE", "1 = 2"):
        answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
        assert "nobody meets the condition in WHERE, so the answer is exact" in answer.notes, condition


@pytest.mark.parametrize(
    "condition", ["age > 20", "age >= 0", "age <= 124", "kids IS NULL", "state = 'NY'", "age = 124", "age <> 3", "TRUE"]
)
def test_other_conditions_have_no_such_note(condition: str, database: tc.Database) -> None:
    answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
    assert not [note for note in answer.notes if "is true for" in note or "exclude" in note]


def test_a_range_between_the_values_of_coarse_cells_is_refused(database: tc.Database) -> None:
    for condition in ("income BETWEEN 2100 AND 2200", "income > 500000"):
        with pytest.raises(tc.TacitError) as caught:
            database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {condition}")
        assert caught.value.code == "between-cells"


def test_rounds_and_tiers_that_do_not_exist_are_named(database: tc.Database) -> None:
    for label, known in (("round", "r1"), ("tier", "none")):
        answer = database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {label} = 'nothing'")
        assert f"no reports have {label} 'nothing'; known: {known}" in answer.notes
    assert not [
        note for note in database.sql("SELECT COUNT(*) AS n FROM users WHERE round = 'r1'").notes if "no rep" in note
    ]


PUBLIC = {
    "SELECT COUNT(*) AS n FROM users WHERE os = 'nope'": "os = 'nope' is true for nobody: no report has such a value",
    "SELECT COUNT(*) AS n FROM users WHERE os IN ('x', 'y')": "os IN ('x', 'y') is true for nobody",
    "SELECT COUNT(*) FILTER (WHERE os = 'nope') AS n FROM users": "os = 'nope' is true for nobody",
    "SELECT os, COUNT(*) AS n FROM users WHERE 'nope' = os GROUP BY os": "'nope' = os is true for nobody",
    "SELECT COUNT(*) AS n FROM users WHERE os = 'ios' AND NOT os = 'ios'": "nobody meets all conditions",
}


@pytest.mark.parametrize("question", PUBLIC)
def test_a_public_value_that_no_report_has_is_named(question: str, database: tc.Database) -> None:
    """Public columns are known, so the zero is exact: but a mistyped value must not look like an answer."""
    answer = database.sql(question)
    assert [note for note in answer.notes if PUBLIC[question] in note], answer.notes
    assert all(row[-1].value == 0 for row in answer)


def test_public_conditions_that_somebody_meets_have_no_note(database: tc.Database) -> None:
    for asked in ("os = 'ios'", "os = 'ios' AND age > 20", "os <> 'web'"):
        assert not [
            note for note in database.sql(f"SELECT COUNT(*) AS n FROM users WHERE {asked}").notes if "nobody" in note
        ]


GROUPED = {
    "SELECT age, COUNT(*) AS n FROM users WHERE age < 5 GROUP BY age": [0, 1, 2, 3, 4],
    "SELECT state, COUNT(*) AS n FROM users WHERE state = 'NY' GROUP BY state": ["NY"],
    "SELECT kids, AVG(age) AS n FROM users WHERE kids > 7 GROUP BY kids": [8, 9],
    "SELECT age, COUNT(*) AS n FROM users WHERE age > 500 GROUP BY age": [],
    "SELECT CASE WHEN age < 10 THEN 'young' ELSE 'old' END AS c, COUNT(*) AS n FROM users WHERE age > 50 GROUP BY c": [
        "old"
    ],
}


@pytest.mark.parametrize("question", GROUPED)
def test_groups_that_where_excludes_are_not_listed(question: str, database: tc.Database) -> None:
    """Plain SQL does not list them: as rows of 0 ± 0 they would look like findings."""
    assert [row[0] for row in database.sql(question)] == GROUPED[question]
    assert [row[0] for row in database.sql(question, consistent=True)] == GROUPED[question]
    assert [row[0] for row in COLLECTION.predict(question, users=1000)] == GROUPED[question]
