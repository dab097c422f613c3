"""The parity example runs and finds what it looks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "parity.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)


def test_the_hidden_vector_is_found() -> None:
    """600 votes per bit, each right with probability 0.6 or more: the chance of one wrong bit of 7 is below 1e-5, and
    people and learning have a fixed seed; only the noise is fresh."""
    result = run()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "sufficient number of people" in result.stdout


def test_without_a_pattern_nothing_is_found() -> None:
    """The mutant: labels that are wrong for half of the people hold no parity."""
    assert run("--flipped", "0.499999", "--votes", "50").returncode == 1
