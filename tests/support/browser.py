"""The browser of tests: the machine's Chromium, or one that `make test` has put beside the virtual environment.

``python tests/support/browser.py`` gets one where there is none: Playwright's own build into .venv/browsers, else, as
root, Debian's package. Where neither works, browser tests are skipped, and the last line of `make test` says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["CHROMIUM", "MISSING", "find"]

BROWSERS = Path(__file__).parents[2] / ".venv" / "browsers"
MISSING = "no Chromium: install Debian's chromium, or set CHROMIUM"
PROGRAMS = ("headless_shell", "chrome-headless-shell", "chrome")
SECONDS = 300


def find() -> str | None:
    """Return the path of a Chromium."""
    given = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    own = [str(path) for path in sorted(BROWSERS.glob("chrom*/*/*")) if path.name in PROGRAMS]
    return given or next(iter(own), None)


CHROMIUM = find()


def install() -> None:
    """Try the ways to get one, the one that changes nothing outside of this folder first."""
    playwright = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    debian = ["sh", "-c", "apt-get update && apt-get install --yes --no-install-recommends chromium"]
    environment = os.environ | {"PLAYWRIGHT_BROWSERS_PATH": str(BROWSERS), "DEBIAN_FRONTEND": "noninteractive"}
    for words in (playwright, debian if os.geteuid() == 0 and shutil.which("apt-get") else None):
        if words is not None and find() is None:
            print(f"No Chromium for the browser tests: trying {' '.join(words[2:])} …", flush=True)
            try:
                subprocess.run(words, env=environment, timeout=SECONDS, check=False, capture_output=True)
            except (OSError, subprocess.TimeoutExpired) as failure:
                print(f"  {type(failure).__name__}")
    print(f"Chromium: {find() or 'none, so the browser tests are skipped'}")


if __name__ == "__main__" and CHROMIUM is None:
    install()
