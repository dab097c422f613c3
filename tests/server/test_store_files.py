"""The analytical file of a collector, opened by others: it says what its inbox holds, or is not opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, serving
from tacit.cli import main
from tacit.errors import EngineError

COUNT = "SELECT COUNT(*) AS n FROM users"


def test_the_file_of_a_stopped_collector_says_what_its_inbox_still_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    with collector_here(store) as made:
        made.accept(COLLECTION.id, reports_of(0, 510)).result()
        assert made.query(COUNT).watermark == (510, 510)
        made.mover.stop()
        made.accept(COLLECTION.id, reports_of(800, 10)).result()
    assert main(["query", str(store / "reports.tacit"), COUNT, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["watermark"] == {"acknowledged": 520, "counted": 510}
    assert "10 wait" in answer["notes"][-1]
    assert main(["query", str(store / "reports.tacit"), COUNT]) == 0
    assert "note: 520 reports were acknowledged, but 510 counted" in capsys.readouterr().out


def test_the_file_of_a_running_collector_is_not_opened_beside_it(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.client() as client:
        client.post(running.path, json=body_of(reports_of(0, 10)))
        with pytest.raises(EngineError) as refused:
            tc.connect(tmp_path / "store" / "reports.tacit")
        assert refused.value.code == "store-in-use"
