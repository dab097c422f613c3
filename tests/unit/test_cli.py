"""The command line: exit codes, JSON, and errors without tracebacks."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.cli import main
from tacit.datasets import town, town_schema
from tacit.oracles import Grr
from tacit.privacy import exp_below


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    path = tmp_path / "town.json"
    path.write_text(tc.Collection(town_schema(), epsilon=2.0).to_json())
    return path


def test_audit_prints_the_total_and_exits_zero(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(contract)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("collection ")
    assert "ok: a person's total loss is at most 2 nats" in printed


def test_audit_as_json(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(contract), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ok"] is True
    assert result["worst_loss"] <= 2.0
    assert {channel["service"] for channel in result["channels"]} == {"shop", "clinic"}
    assert Fraction(result["channels"][0]["ratio"]) <= exp_below(Fraction(1), 100)


def test_a_failed_audit_exits_one(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip = Grr.build((4,), exp_below(Fraction(1))).flip
    text = contract.read_text()
    assert str(flip) in text
    contract.write_text(text.replace(str(flip), str(flip - 1)))
    assert main(["audit", str(contract)]) == 1
    assert "FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"), [("absent.json", None), ("bad.toml", "epsilon = "), ("bad2.toml", "epsilon = 1")]
)
def test_mistakes_exit_two_with_one_line(
    tmp_path: Path, name: str, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["audit", str(tmp_path / name)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("tacit audit: ")
    assert len(printed.splitlines()) == 1


def test_unknown_verbs_exit_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["audits"])
    assert caught.value.code == 2
    assert main(["demo", "--people", "0"]) == 2
    assert main(["demo", "--epsilon", "nothing"]) == 2
    assert "epsilon" in capsys.readouterr().err


def test_the_demo_encodes_afresh(capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for _ in range(2):
        assert main(["demo", "--people", "2000", "--json"]) == 0
        runs.append(json.loads(capsys.readouterr().out))
    assert runs[0]["ok"] is True
    assert runs[0]["collection"] == runs[1]["collection"]
    assert [item["record"] for item in runs[0]["examples"]] == [item["record"] for item in runs[1]["examples"]]
    assert [item["code"] for item in runs[0]["examples"]] != [item["code"] for item in runs[1]["examples"]]
    assert main(["demo", "--people", "2000"]) == 0
    printed = capsys.readouterr().out
    assert "What stays on the device" in printed
    assert "88.1%" in printed


def test_the_town_is_made_by_its_seed_alone() -> None:
    assert all(town(50)[name].equals(town(50)[name]) for name in town(50))
    assert not town(50)["shop"].equals(town(50, seed=2)["shop"])
