"""Both packages, built from what is committed, and installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from deploy.release import ROOT, build
from support.npm import install

__all__ = ["Installed", "installed_in"]


@dataclass(frozen=True)
class Installed:
    """Where they are."""

    python: Path
    """The interpreter of an environment that has the wheel and what it requires."""
    npm: Path
    """A folder whose node_modules have the npm package."""


def installed_in(folder: Path) -> Installed:
    """Build and install both; the index that pip is configured for has the requirements."""
    install(ROOT / "sdk" / "typescript")
    packages = build(folder / "build")
    [wheel], [npm] = packages.glob("*.whl"), packages.glob("*.tgz")
    environment, place = folder / "environment", folder / "app"
    place.mkdir()
    (place / "package.json").write_text('{"name": "app", "type": "module", "private": true}')
    without = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for words in (
        [sys.executable, "-m", "venv", str(environment)],
        [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)],
        ["npm", "install", "--no-audit", "--no-fund", str(npm)],
    ):
        subprocess.run(words, cwd=place, env=without, check=True, capture_output=True, timeout=600)
    return Installed(environment / "bin" / "python", place)
