"""The TypeScript client: its own tests, run by npm, and the files they compare with."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "sdk" / "typescript"
FIXTURES = FOLDER / "test" / "fixtures"


def test_the_files_that_typescript_compares_with_regenerate() -> None:
    spec = importlib.util.spec_from_file_location("typescript_fixtures", FIXTURES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.files() == {path.name: path.read_text() for path in sorted(FIXTURES.glob("*.json"))}


def test_the_typescript_client_passes_its_tests() -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no node and npm: the TypeScript client is not tested")
    for command in (["ci"], ["test"]):
        result = subprocess.run(
            [npm, "--no-update-notifier", *command],
            cwd=FOLDER,
            env=os.environ | {"CI": "1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert result.returncode == 0, f"npm {command[0]} failed:\n{result.stdout[-8000:]}\n{result.stderr[-2000:]}"
    assert "# fail 0" in result.stdout.replace("ℹ", "#")
