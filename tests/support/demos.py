"""The demo as people start it, in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def demo_served(people: int = 2_000) -> Iterator[str]:
    """Lend the address of a small demo."""
    words = [sys.executable, "-m", "tacit.cli", "demo", "--people", str(people), "--serve", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                if line.startswith("listening on "):
                    break
            else:
                raise AssertionError(process.stderr.read())
            yield line.split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
            assert process.stderr.read() == ""
