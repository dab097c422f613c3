"""Verdicts before anything is collected: their words, their advice, and that the advice is true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.answers.forecast.likely import likely_questions
from tacit.cli import main
from tacit.estimate.population import mean_square


def attributes(count: int) -> list[tc.Ordinal]:
    return [tc.Ordinal("age", 0, 99), *(tc.Ordinal(f"x{i}", 0, 9) for i in range(count))]


def collection(count: int = 9) -> tc.Collection:
    return tc.Collection(tc.Schema([tc.Service("users", "uid", attributes(count))]), epsilon=1)


QUESTION = "SELECT AVG(age) AS average FROM users"


@pytest.mark.long("advice that is true, of ten attributes")
def test_verdicts_are_about_the_predicted_interval_and_advice_is_true() -> None:
    made = collection()
    [verdict] = made.report(QUESTION, users=20_000)
    predicted = made.predict(QUESTION, users=20_000)["average"]
    assert verdict.relative == pytest.approx(predicted.margin / predicted.value)
    assert verdict.word == "rough"
    assert str(predicted) in verdict.sentence
    [advice] = verdict.advice
    fewer, people, epsilon = (float(one) for one in re.findall(r"± ([\d.]+) %", advice))
    small = tc.Collection(tc.Schema([tc.Service("users", "uid", attributes(0))]), epsilon=1)
    for claimed, better, users in (
        (fewer, small, 20_000),
        (people, made, 200_000),
        (epsilon, made.with_epsilon(float(re.findall(r"epsilon ([\d.]+)", advice)[0])), 20_000),
    ):
        found = better.predict(QUESTION, users=users)["average"]
        assert claimed / 100 == pytest.approx(found.margin / found.value, rel=0.06)
        assert claimed <= 10
    assert "9 attributes fewer" in advice


def test_ten_questions_with_a_picture_and_as_json() -> None:
    report = collection(2).report(users=100_000)
    assert len(report) == 10
    assert {one.word for one in report} <= {"good", "rough", "too noisy", "not predictable"}
    drawn = report.plot()
    ElementTree.fromstring(drawn)
    assert drawn.count("<rect") == sum(one.relative == one.relative for one in report)
    assert len(json.loads(report.to_json())["questions"]) == 10
    assert report._repr_html_() == drawn


def test_likely_questions_join_services() -> None:
    many = tc.Service("orders", "uid", [tc.Ordinal("amount", 0, 99)], at_most=3)
    schema = tc.Schema([tc.Service("users", "uid", [tc.Categorical("os", ["a", "b"])]), many])
    assert any("JOIN" in one for one in likely_questions(schema))
    assert all(one.word != "not predictable" for one in tc.Collection(schema, epsilon=4).report(users=50_000))


def test_questions_that_cannot_be_predicted_say_why() -> None:
    [verdict] = collection(0).report("SELECT AVG(wage) AS w FROM users")
    assert verdict.word == "not predictable"
    assert "wage" in verdict.sentence
    panel = tc.Collection(
        tc.Schema([tc.Service("users", "uid", attributes(1))]), epsilon=1, panel="2026", rounds=4, reports=1
    )
    assert any(one.word != "not predictable" for one in panel.report(users=1_000_000)), "of one round"
    [by_round] = panel.report("SELECT round, COUNT(*) AS n FROM users GROUP BY round")
    assert (by_round.word, by_round.groups) == ("good", 4), "each round by itself"


def test_commands_that_init_prints_lead_to_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(18, 80, 3_000), "town": rng.choice(["Oslo", "Bergen"], 3_000)})
    pyarrow.parquet.write_table(table, tmp_path / "people.parquet")
    out = str(tmp_path / "p.toml")
    assert (
        main(["init", str(tmp_path / "people.parquet"), "--out", out, "--json", "--plot", str(tmp_path / "p.svg")]) == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    for command in printed["next"]:
        assert main(shlex.split(command)[1:]) == 0
    assert "±" in capsys.readouterr().out
    assert main(["plan", out]) == 0
    assert "what to expect" in capsys.readouterr().out
    assert main(["plan", out, "SELECT AVG(age) AS m FROM people_"]) == 0
    assert "verdict: expect" in capsys.readouterr().out
    assert main(["plan", out, "--budgets"]) == 2


@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 2), (0, 1, 2, 1, 2, 2)])
def test_mean_squares_equal_those_of_the_whole_table(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    frequencies = [rng.dirichlet(np.ones(size)) for size in (3, 4, 5)]
    terms = [
        (float(rng.normal()), {int(i): rng.normal(size=len(frequencies[i])) for i in rng.choice(3, k, replace=False)})
        for k in sizes
    ]
    table = np.zeros((3, 4, 5))
    for weight, vectors in terms:
        a, b, c = (vectors.get(i, np.ones(len(frequencies[i]))) for i in range(3))
        table += weight * a[:, None, None] * b[None, :, None] * c
    expected = np.einsum("ijk,i,j,k", table**2, *frequencies)
    assert mean_square(terms, frequencies) == pytest.approx(expected, rel=1e-12)


def test_init_says_what_it_wrote_before_it_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").write_text("uid,age\n" + "".join(f"{i},{20 + i % 50}\n" for i in range(100)))
    printed: list[str] = []

    def report(*_: object, **__: object) -> None:
        printed.append(capsys.readouterr().out)

    monkeypatch.setattr(tc.Collection, "report", report)
    assert main(["init", "u.csv"]) == 0
    assert "u.toml written" in printed[0]
    assert "100 people" in printed[0]
