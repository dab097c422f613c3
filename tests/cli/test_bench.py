"""`tacit bench`: numbers of this machine, and an alarm where intervals do not hold."""

from __future__ import annotations

import json

import pytest

from tacit.cli import main
from tacit.cli.bench import FALSE_ALARM, QuestionRun


def test_a_short_run_measures_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--people", "1000", "--encodings", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["ok"], result["people"], result["encodings"]) == (True, 1_000, 2)
    assert min(result["reports_encoded_per_second"], result["reports_loaded_per_second"]) > 0
    assert [question["intervals"] for question in result["questions"]] == [2, 2, 4, 2, 6]
    assert all(min(one["seconds"], one["seconds_of_plain_sql"]) > 0 for one in result["questions"])


@pytest.mark.parametrize(("hold", "alarm"), [(100, False), (88, False), (70, True)])
def test_intervals_that_hold_too_rarely_are_an_alarm(hold: int, alarm: bool) -> None:
    """Of 100 intervals 95 should; one number of several is enough, however well the others do."""
    good, other = {"covered": True}, [{"covered": number < hold} for number in range(100)]
    measured = QuestionRun("SELECT", cells=[[good, cell, good] for cell in other])
    assert measured.is_improbable(FALSE_ALARM) == alarm


@pytest.mark.parametrize("words", [["--people", "10"], ["--encodings", "1"], ["--epsilon", "0"], ["--people", "9" * 9]])
def test_impossible_numbers_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    assert words[0].strip("-") in capsys.readouterr().err
