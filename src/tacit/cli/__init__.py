"""The command line: the options of all verbs in one light file, the work of each in its own, loaded when called.

Exit codes: 0 done, 1 a failed audit or a mistake of ours, 2 a mistake of the user's, 130 interrupted by Ctrl-C. This
file imports next to nothing, so that Ctrl-C while libraries load is caught, too.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 128 + signal.SIGINT
"""The exit code that shells give a program ended by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    try:
        from tacit.cli.interrupts import remember

        remember()
        from tacit.cli.command import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt cleaning up
        print("\ntacit: interrupted", file=sys.stderr)
        return INTERRUPTED
