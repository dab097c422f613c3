"""Guidance: the paper's bounds, the advisor, and the two verbs of the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.chances import FALSE_ALARM
from tacit import central
from tacit.central.noise import Laplace, OpenDp
from tacit.cli import main
from tacit.contract.budget import parse_epsilon
from tacit.errors import UsageError

COLLECTION = """
epsilon = 1
[[services]]
name = "persons"
key = "uid"
attributes = [
  { name = "age", low = 0, high = 78 },
  { name = "income", low = 0, high = 99 },
]
"""


def test_the_bound_on_epsilon_is_the_papers() -> None:
    """Corollary 31, and that the posterior of the worst answer of real noise meets it: exactly the ratio of chances."""
    bound = central.sufficient_epsilon(prior=0.05, queries=4)
    assert bound == pytest.approx(-math.log(0.05) / 4)
    assert central.posterior_bound(0.05, bound * 0.999, queries=4) < 1
    assert central.posterior_bound(0.05, bound * 1.001, queries=4) == 1
    assert central.sufficient_epsilon(factor=3, queries=2) == pytest.approx(math.log(3) / 2)
    law = Laplace(parse_epsilon("0.7"))
    likely, unlikely = 1.0, math.exp(-1 / law.scale)  # the answer far above both counts
    posterior = 0.05 * likely / (0.05 * likely + 0.95 * unlikely)
    assert posterior <= central.posterior_bound(0.05, 0.7)


def test_the_usefulness_bound_holds_and_is_the_papers() -> None:
    """Corollary 41 for 100 cells, alpha = delta = 0.05; n = 400 releases, of which at most 5 % may break it.

    The chance that more than 60 of 400 break a bound that holds with 95 % is below 1e-9; a bound 40 times lower breaks.
    """
    assert central.useful_error(100, 0.05, delta=0.05) == pytest.approx(100 * math.log(2000) / 0.05)
    assert central.useful_rows(100, 0.05, 0.5) == math.ceil(100 * math.log(2000) / 0.05 / 0.5)
    noise = OpenDp().draws(400 * 100, Laplace(parse_epsilon("0.05")).scale).reshape(400, 100)
    worst = np.abs(noise).sum(axis=1)  # no range is worse than all noise of one sign
    bound = central.useful_error(100, 0.05)
    assert FALSE_ALARM == 1e-9
    assert (worst > bound).sum() <= 60
    assert (worst > bound / 40).sum() > 60


@pytest.mark.parametrize(
    "ask",
    [
        lambda: central.sufficient_epsilon(),
        lambda: central.sufficient_epsilon(prior=0.1, factor=2),
        lambda: central.sufficient_epsilon(prior=0),
        lambda: central.sufficient_epsilon(factor=1),
        lambda: central.posterior_bound(1.5, 1),
        lambda: central.posterior_bound(0.1, -1),
        lambda: central.useful_error(0, 1),
        lambda: central.useful_rows(10, 1, 0),
        lambda: central.advise(SERVICE, 1, 0),
    ],
)
def test_bad_guidance_is_refused(ask) -> None:
    with pytest.raises(UsageError):
        ask()


SERVICE = tc.Service("persons", key="uid", attributes=[tc.Ordinal("age", 0, 78), tc.Ordinal("income", 0, 99)])


def table(rows: int) -> dict[str, object]:
    source = np.random.default_rng(5)
    return {
        "uid": np.arange(rows),
        "age": source.integers(0, 79, rows),
        "income": np.minimum(source.geometric(0.05, rows), 99),
    }


def test_the_advisor_follows_people_epsilon_and_cells() -> None:
    rich, poor = central.advise(SERVICE, 1, 10_000_000), central.advise(SERVICE, "0.1", 10_000)
    assert rich.method == "blue"
    assert poor.method == "multiscale"
    assert rich.expected["blue"] < rich.expected["cells"]
    assert "enough to estimate every cell" in str(rich)


@pytest.mark.long("trials of every method; the expected error of two stays")
def test_the_advisor_tries_methods_on_a_table_that_is_not_private() -> None:
    service = tc.Service("persons", key="uid", attributes=[tc.Ordinal("age", 0, 15), tc.Ordinal("income", 0, 19)])
    rows = table(2_000)
    rows |= {"age": np.asarray(rows["age"]) // 5, "income": np.asarray(rows["income"]) // 5}
    advice = central.advise(service, "0.1", 2_000, like=rows)
    errors = {trial.method: trial.error for trial in advice.trials}
    assert set(errors) == set(central.METHODS) - {"auto"}
    assert errors[advice.method] == min(errors.values())
    assert errors["adaptive"] < errors["hierarchical"]  # by a factor of ten and more; cells and adaptive are close here


def test_the_expected_error_of_blue_and_cells_is_what_they_state() -> None:
    """The advisor's figures against stated errors on its own workload: the same up to the sample of ranges."""
    rows = table(2_000)
    expected = central.advise(SERVICE, 1, 2_000).expected
    from tacit.central.advisor import random_ranges

    asked = random_ranges((79, 100), 300, np.random.default_rng(1))
    for name in ("cells", "blue"):
        body = central.release(rows, SERVICE, 1, method=name).body
        mean = math.sqrt(np.mean([body.deviation(functional)[0] ** 2 for functional in asked]))
        assert 0.6 < mean / expected[name] < 1.5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table(table(20_000)), tmp_path / "data.parquet")
    (tmp_path / "data.toml").write_text(COLLECTION)
    return tmp_path


def test_a_release_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "data.parquet")
    assert main(["release", data, "--epsilon", "1", "--method", "kdtree", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["remaining"] == "0"
    assert told["release"] == "data.release.parquet"
    question = "SELECT COUNT(*) AS n FROM persons WHERE age < 40"
    assert main(["query", str(folder / "data.release.parquet"), question, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["n"] == pytest.approx(20_000 * 40 / 79, rel=0.1)
    assert main(["release", data, "--epsilon", "1", "--out", str(folder / "second.parquet")]) == 2
    assert "budget-spent" in capsys.readouterr().err
    assert not (folder / "second.parquet").exists()


def test_a_release_with_everything_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = str(folder / "data.parquet"), folder / "out.parquet"
    extra = ["--synthetic", str(folder / "rows.parquet"), "--compare", "age", "--budget", "3", "--out", str(out)]
    assert main(["release", data, "--epsilon", "1", *extra]) == 0
    assert "2 is left" in capsys.readouterr().out
    assert pq.read_table(folder / "rows.parquet").column_names == ["age", "income"]
    picture = (folder / "out.age.curator.svg").read_text()
    assert "never to be published" in picture
    assert picture.count("<circle") == 79
    assert main(["release", data, "--epsilon", "1", *extra]) == 2
    assert "file-exists" in capsys.readouterr().err


def test_mistakes_on_the_command_line_leave_no_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "data.parquet")
    assert main(["release", data, "--epsilon", "5", "--method", "kd"]) == 2
    assert main(["release", data, "--epsilon", "0"]) == 2
    assert main(["release", data, "--epsilon", "1", "--method", "cells", "--height", "3"]) == 2
    assert not (folder / "data.ledger").exists()
    (folder / "data.toml").unlink()
    assert main(["release", data, "--epsilon", "1"]) == 2
    assert "unreadable-file" in capsys.readouterr().err


def test_advice_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = str(folder / "data.toml")
    assert main(["advise", collection, "--epsilon", "8", "--rows", "1000000"]) == 0
    assert "use method='blue'" in capsys.readouterr().out
    assert main(["advise", collection, "--epsilon", "0.1", "--rows", "20000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "multiscale"
    assert told["cells"] == 7900
    assert told["useful_rows"] == central.useful_rows(7900, 0.1, 0.01)
