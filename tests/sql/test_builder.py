"""Questions as data: text to model and back changes nothing; what has no place in a model stays text."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tacit as tc
from engines.test_conformance import ONE_SERVICE, SHAPES
from sql.test_planner_is_exact import REFUSED
from sql.test_rows_and_joins import join_questions
from support.adult import SCHEMA, adult_table
from support.questions import Questions
from support.tiers import how_many
from tacit.errors import TacitError, UnsupportedSqlError, UsageError
from tacit.sql.builder import model_of, normalise, text_of
from tacit.sql.parse import parse

Model = dict[str, Any]


def generated() -> list[str]:
    questions = Questions(np.random.default_rng(2026))
    made = [questions.question() for _ in range(how_many(40, 260, "generated questions, to menus and back"))]
    return [*made, *join_questions(np.random.default_rng(8), 75), *SHAPES, *ONE_SERVICE]


def test_generated_questions_come_back_with_the_same_meaning() -> None:
    """All of them fit, five of six by menus alone; the others have a column of arithmetic, which menus show as text."""
    asked, menus = generated(), 0
    for question in asked:
        model = json.loads(json.dumps(model_of(question)))
        written = text_of(model)
        assert normalise(parse(written)) == normalise(parse(question)), (question, written)
        assert model_of(written) == model
        menus += all(output["kind"] != "formula" for output in model["outputs"])
    assert menus >= 0.8 * len(asked)


def test_both_texts_have_the_same_answer() -> None:
    """Equal trees are one argument; this is another, which trusts no normal form."""
    collection = tc.Collection(SCHEMA, 2.0, mechanism="pairs")
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(adult=adult_table(), rng=tc.insecure_rng(5)))
    questions = Questions(np.random.default_rng(11))
    answered = 0
    for _ in range(40):
        question = questions.question()
        try:
            expected = database.sql(question).to_json()
        except TacitError:
            continue
        assert database.sql(text_of(model_of(question))).to_json() == expected
        answered += 1
    assert answered >= 15


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("age < 3", "age <= 3"),
        ("age < 3", "3 < age"),
        ("age = 1 AND (edu = 1 OR sex = 'Male')", "(age = 1 AND edu = 1) OR sex = 'Male'"),
        ("NOT (age = 1 AND edu = 1)", "NOT age = 1 AND edu = 1"),
        ("work = '1'", "work = 1"),
    ],
)
def test_normal_forms_tell_meanings_apart(left: str, right: str) -> None:
    first, second = (normalise(parse(f"SELECT COUNT(*) FROM adult WHERE {text}")) for text in (left, right))
    assert first != second


OUTSIDE = [
    "SELECT COUNT(*) AS n -- of everybody\nFROM adult",
    "SELECT COUNT(*) AS n FROM adult WHERE age + 1 = 2",
    "SELECT COUNT(*) AS n FROM adult WHERE work LIKE 'p%'",
    "SELECT COUNT(*) AS n FROM adult WHERE TRUE",
    "SELECT work, COUNT(*) AS n FROM adult GROUP BY work HAVING COUNT(*) > 5",
    "SELECT COUNT(*) AS n FROM adult LEFT JOIN other USING (uid)",
    "SELECT COUNT(*) AS n FROM adult, other",
    "SELECT COUNT(*) AS n FROM adult GROUP BY ROLLUP (work)",
    "SELECT work, COUNT(*) AS n FROM adult GROUP BY work ORDER BY n NULLS FIRST",
    "SELECT COUNT(*) AS n FROM adult WHERE uid IN (SELECT uid FROM other)",
]


@pytest.mark.parametrize("question", OUTSIDE)
def test_what_has_no_place_stays_text(question: str) -> None:
    with pytest.raises(UnsupportedSqlError) as caught:
        model_of(question)
    assert caught.value.code == "outside-builder"


@pytest.mark.parametrize(("code", "question"), REFUSED)
def test_bad_questions_never_break_the_reader(code: str, question: str) -> None:
    """A model of a question that cannot be answered still means the same."""
    del code
    try:
        model = model_of(question)
    except TacitError:
        return
    assert normalise(parse(text_of(model))) == normalise(parse(question))


COLUMNS = ["age", "adult.age", '"select"', "work"]
CONSTANTS: list[Model] = [
    {"number": "3"},
    {"number": "-2.50"},
    {"number": "1e6"},
    {"text": "it's <b>"},
    {"text": ""},
    {"text": "-- x /* y"},
    {"date": "2026-01-31"},
    {"flag": True},
    {"column": "edu"},
]


class Models:
    """Random models."""

    def __init__(self, source: np.random.Generator) -> None:
        self._source = source

    def pick(self, options: list[Any]) -> Any:
        return options[self._source.integers(len(options))]

    def condition(self, depth: int, outside: str = "") -> Model:
        kind = self.pick([word for word in ("all", "any", "not", "leaf") if word != outside]) if depth else "leaf"
        if kind == "not":
            return {"not": self.condition(depth - 1)}
        if kind != "leaf":
            return {kind: [self.condition(depth - 1, kind) for _ in range(self._source.integers(2, 4))]}
        sign = self.pick(["=", "<>", "<", "<=", ">", ">=", "between", "in", "not in", "is null", "is not null"])
        made = {"column": self.pick(COLUMNS), "op": sign}
        if sign in ("between", "in", "not in"):
            return made | {"values": [self.pick(CONSTANTS) for _ in range(2)]}
        return made if sign.startswith("is") else made | {"value": self.pick(CONSTANTS)}

    def output(self) -> Model:
        name = self.pick(["", "n", "mean of <i>age</i>", 'a "b"', "group"])
        if self.pick([True, False]):
            return {"kind": "group", "column": self.pick(COLUMNS), "name": name}
        function = self.pick(["COUNT", "SUM", "AVG", "STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"])
        of = self.pick(["*"] if function == "COUNT" else [*COLUMNS, "2 * age + 1"])
        where = self.condition(1) if self._source.random() < 0.3 else None
        return {"kind": "measure", "function": function, "of": of, "name": name, "distinct": False, "where": where}

    def model(self) -> Model:
        tables: list[Model] = [{"name": "adult", "alias": self.pick(["", "a"])}]
        if self._source.random() < 0.4:
            join = self.pick([{"using": "uid"}, {"on": ["adult.uid", "o.owner"]}])
            tables.append({"name": self.pick(["other", "order"]), "alias": "o"} | join)
        return {
            "outputs": [self.output() for _ in range(self._source.integers(1, 4))],
            "tables": tables,
            "where": self.condition(3) if self._source.random() < 0.8 else None,
            "group": [self.pick([*COLUMNS, "1"]) for _ in range(self._source.integers(0, 3))],
            "having": self.condition(1) if self._source.random() < 0.2 else None,
            "order": [{"by": self.pick([*COLUMNS, "2"]), "descending": self.pick([True, False])}],
            "limit": self.pick([None, 0, 10]),
        }


def test_random_models_come_back_as_they_were() -> None:
    models = Models(np.random.default_rng(3))
    for _ in range(how_many(80, 500, "random models, to text and back")):
        model = models.model()
        assert model_of(text_of(model)) == model


GOOD = {"outputs": [{"kind": "measure", "function": "COUNT", "of": "*"}], "tables": [{"name": "adult"}]}
LEAF = {"column": "age", "op": "=", "value": {"number": "1"}}


def deep(levels: int) -> Model:
    return LEAF if not levels else {"not": deep(levels - 1)}


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": []},
        {"outputs": "COUNT(*)"},
        {"tables": []},
        {"outputs": [{"kind": "measure", "function": "DROP", "of": "*"}]},
        {"outputs": [{"kind": "group", "column": "age FROM adult; DROP TABLE adult --"}]},
        {"outputs": [{"kind": "formula", "text": "1 FROM other --"}]},
        {"outputs": [{"kind": "formula", "text": "COUNT(*) AS a, SUM(age)"}]},
        {"outputs": [{"kind": "formula", "text": "1) FROM x WHERE (1"}]},
        {"outputs": [{"kind": "other"}]},
        {"tables": [{"name": "adult"}, {"name": "other"}]},
        {"where": {"all": []}},
        {"where": deep(60)},
        {"where": LEAF | {"op": "LIKE"}},
        {"where": LEAF | {"value": {"number": "1; DROP TABLE adult"}}},
        {"where": LEAF | {"value": {"number": 1}}},
        {"where": LEAF | {"column": "age = 1 OR age"}},
        {"limit": "1"},
        {"group": ["age /* hidden */"]},
    ],
)
def test_what_is_no_model_is_refused(change: Model) -> None:
    assert text_of(GOOD) == "SELECT COUNT(*)\nFROM adult"
    with pytest.raises(UsageError) as caught:
        text_of(GOOD | change)
    assert caught.value.code == "bad-model"


def spoiled(model: Any, source: np.random.Generator) -> Any:
    """Return a model of which one part, somewhere, is something else."""
    if source.random() < 0.25 or not isinstance(model, dict | list) or not model:
        return [None, 3, -1.5, True, "", "x y", "(", [], [[]], {}, {"a": 1}][source.integers(11)]
    place = source.integers(len(model))
    if isinstance(model, list):
        return [spoiled(part, source) if i == place else part for i, part in enumerate(model)]
    return {word: spoiled(part, source) if i == place else part for i, (word, part) in enumerate(model.items())}


def test_spoiled_models_are_refused_or_written_but_never_break() -> None:
    source = np.random.default_rng(4)
    models, refused = Models(source), 0
    count = how_many(200, 1_000, "spoiled models")
    for _ in range(count):
        try:
            parse(text_of(spoiled(models.model(), source)))
        except TacitError:
            refused += 1
    assert refused >= 0.5 * count
