"""The page of promises names each of them once, with files that exist; what is called kept is tested in every run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "promises.md"
NUMBERS = {"P": 13, "R": 17, "S": 14}
FILE = re.compile(r"`((?:tests|bench|sdk)/[^`\s]+)`")


def rows() -> dict[str, tuple[str, str]]:
    """Return the state of each promise, and where it is kept."""
    cells = [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.read_text().splitlines() if re.match(r"\| [PRS]\d", line)
    ]
    assert len({name for name, *_ in cells}) == len(cells)
    return {name.strip(): (state.strip(), where) for name, _, state, where in cells}


def test_every_promise_is_on_the_page() -> None:
    assert list(rows()) == [f"{kind}{number}" for kind, most in NUMBERS.items() for number in range(1, most + 1)]


@pytest.mark.parametrize("name", rows())
def test_the_files_that_keep_a_promise_exist(name: str) -> None:
    state, where = rows()[name]
    files = FILE.findall(where)
    assert files
    for file in files:
        assert (ROOT / file).is_file(), file
    assert state in ("kept", "partly", "not kept")
    if state == "kept":
        assert any(Path(file).name.startswith("test_") or file.endswith(".test.ts") for file in files)
    else:
        assert re.search(r"\b(not|no|but|only)\b", FILE.sub("", where), re.IGNORECASE), "it says what is missing"


def test_the_threat_model_leads_to_the_page() -> None:
    assert "](reference/promises.md)" in (ROOT / "docs" / "threat-model.md").read_text()
