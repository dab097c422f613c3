"""The command line: exit codes, JSON, and errors without tracebacks."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.cli import main
from tacit.contract.budget import exp_below
from tacit.contract.oracles import Grr
from tacit.datasets import market, town, town_schema


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
    assert [item["rows"] for item in runs[0]["examples"]] == [item["rows"] for item in runs[1]["examples"]]
    assert [item["code"] for item in runs[0]["examples"]] != [item["code"] for item in runs[1]["examples"]]
    assert len(runs[0]["questions"]) == 5
    first, second = ([row["orders"] for row in run["questions"][4]["rows"]] for run in runs)
    assert [cell["truth"] for cell in first] == [cell["truth"] for cell in second]
    assert [cell["value"] for cell in first] != [cell["value"] for cell in second]
    assert all(cell["low"] < cell["value"] < cell["high"] for cell in first)


def test_the_demo_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--people", "2000"]) == 0  # no terminal here, so nothing is served
    printed = capsys.readouterr().out
    for part in (
        "device are sent unchanged",
        "ok: a person's total loss",
        "98.3 %",
        "truth",
        "intervals contain the truth",
    ):
        assert part in printed
    assert "listening" not in printed


def test_the_market_is_made_by_its_seed_alone() -> None:
    assert all(market(50)[name].equals(market(50)[name]) for name in market(50))
    assert not market(50)["shop"].equals(market(50, seed=2)["shop"])


def test_encode_load_query_plan_and_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.toml").write_text(
        "epsilon = 3\n[[services]]\nname = 'users'\nkey = 'uid'\n"
        "attributes = [{ name = 'age', low = 0, high = 9 }, { name = 'os', kind = 'public' }]\n"
    )
    (tmp_path / "users.csv").write_text("uid,age,os\n" + "".join(f"{i},{i % 10},ios\n" for i in range(500)))
    collection, out, db = (str(tmp_path / name) for name in ("shop.toml", "out", "shop.tacit"))
    assert main(["encode", collection, f"users={tmp_path / 'users.csv'}", "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == {"users": 500}
    assert main(["encode", collection, f"users={tmp_path / 'users.csv'}", "--out", out]) == 2  # never a second report
    assert main(["encode", collection, "users", "--out", out]) == 2
    capsys.readouterr()
    for stored, refused in ((500, 0), (0, 500)):
        assert main(["load", db, out, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["users"] == {"stored": stored, "refused": refused}
    question = "SELECT COUNT(*) AS n FROM users WHERE age < 5"
    assert main(["query", db, question, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert abs(row["n"] - 250) < 8 * row["n_error"]  # fresh randomness: a false alarm is below 1e-12
    assert main(["query", db, question, "--explain", "--decoder", "cover"]) == 0
    assert 'SELECT s0.code AS "0code0", COUNT(*) AS "0sum0"' in capsys.readouterr().out
    assert main(["plan", collection, question, "--users", "500", "--json"]) == 0
    [planned] = json.loads(capsys.readouterr().out)["rows"]
    assert 0.8 < planned["n_error"] / row["n_error"] < 1.25
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{question}\nSELECT nothing FROM users\n".encode())))
    assert main(["shell", db]) == 0
    printed = capsys.readouterr()
    assert "±" in printed.out
    assert "unknown-column" in printed.err
    assert main(["query", str(tmp_path / "absent.tacit"), question]) == 2
    assert main(["query", db, "DROP TABLE users"]) == 2


def test_the_town_is_made_by_its_seed_alone() -> None:
    assert all(town(50)[name].equals(town(50)[name]) for name in town(50))
    assert not town(50)["shop"].equals(town(50, seed=2)["shop"])


def test_init_writes_a_file_to_start_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table(
        {
            "id": range(100),
            "age": [17, 93] * 50,
            "pay": pa.array([0.5, 12_345.25] * 50),
            "os": pa.array(["a", None] * 50),
            "note": [f"text {i % 99}" for i in range(100)],
            "flag": [True, False] * 50,
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    made = tmp_path / "made.toml"
    assert main(["init", str(made), f"users={tmp_path / 't.parquet'}", "--epsilon", "1.5", "--json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["left_out"]
    assert [line.partition(":")[0] for line in left_out] == ["users.note"]
    collection = tc.Collection.from_file(made)
    assert [a.name for a in collection.schema["users"].attributes] == ["age", "pay", "os", "flag"]
    text = made.read_text()
    assert "17" not in text, "the youngest person's age is in a public file"
    assert "12345" not in text
    assert main(["init", str(made)]) == 2  # nothing is overwritten
    assert main(["init", str(tmp_path / "x.json")]) == 2
    assert main(["init", str(tmp_path / "x.toml"), f"users={tmp_path / 'none.csv'}"]) == 2
    assert main(["init", str(tmp_path / "example.toml")]) == 0
    assert main(["plan", str(tmp_path / "example.toml"), "SELECT AVG(age) FROM users", "--error", "1"]) == 0
    assert "people" in capsys.readouterr().out
