"""Node packages of a folder, installed once, whoever of several test processes is first."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["install"]


def install(folder: Path) -> None:
    """Install what a folder's lock file names, unless it is there; skip the test where there is no npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no node and npm: the TypeScript client is not tested")
    with (folder / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = folder / "node_modules" / ".package-lock.json"
        if installed.exists() and installed.stat().st_mtime >= (folder / "package-lock.json").stat().st_mtime:
            return
        environment = os.environ | {"CI": "1", "NO_UPDATE_NOTIFIER": "1"}
        subprocess.run([npm, "ci"], cwd=folder, env=environment, check=True, capture_output=True, timeout=600)
