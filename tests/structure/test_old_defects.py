"""Old defects can still be put back: the text that each replaces is in its file, and its tests exist."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEFECTS = tomllib.loads((ROOT / "tests" / "old_defects.toml").read_text())["defect"]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: f"{defect['line']} {defect['what']}")
def test_it_can_be_put_back(defect: dict[str, str]) -> None:
    path = ROOT / defect["path"]
    assert path.exists()
    assert "before" not in defect or path.read_text().count(defect["before"]) == 1
    for test in defect["tests"].split():
        file, _, name = test.partition("::")
        assert (ROOT / file).exists()
        assert f"def {name}" in (ROOT / file).read_text() if name else True, test
