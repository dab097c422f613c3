"""The command line: the options of all verbs in one light file, the work of each in its own, loaded when called.

Exit codes: 0 success, 1 a failed audit or a bug in tacit, 2 a usage error, 130 interrupted by Ctrl-C. This file imports
almost nothing, so that Ctrl-C while libraries load is caught too.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of a program ended by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    try:
        from tacit.cli.interrupts import remember

        remember()
        from tacit.cli.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the cleanup
        print("\ntacit: interrupted", file=sys.stderr)
        return INTERRUPTED
