"""The verbs: their parser, and how their errors become one line and an exit code.

Exit codes: 0 success, 1 a failed audit or a bug in tacit, 2 a usage error, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import tacit
from tacit.cli import options
from tacit.cli.interrupts import has_happened
from tacit.errors import BudgetError, InternalError, PrivacyError, TacitError, UsageError

__all__ = ["VERBS", "parser", "run"]

VERBS: dict[str, str] = {
    "demo": "demo",
    "init": "init",
    "plan": "plan",
    "audit": "audit",
    "encode": "encode",
    "load": "load",
    "query": "query",
    "marginal": "marginal",
    "synthesize": "synthesize",
    "shell": "shell",
    "mcp": "mcp",
    "serve": "serve",
    "keys": "keys",
    "doctor": "doctor",
    "export": "export",
    "import": "restore",
    "lake": "lake",
    "bench": "bench",
    "release": "release",
    "advise": "advise",
}
"""Each verb and the name of the module that runs it, and of the function of `options` that declares its arguments."""

TRACEBACK = "TACIT_TRACEBACK"
"""Environment variable that shows the traceback of an unexpected error; its message may quote data."""


def parser(verbs: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """Return the parser of the command and some of its verbs (default: all)."""
    epilog = "Exit codes: 0 success, 1 a failed audit or a bug in tacit, 2 a usage error, 130 interrupted."
    command = argparse.ArgumentParser(prog="tacit", description="Analytics on data you never see.", epilog=epilog)
    command.add_argument("--version", action="version", version=f"tacit {tacit.__version__}")
    subparsers = command.add_subparsers(dest="verb", required=True, metavar="verb")
    for name in verbs:
        declare = getattr(options, VERBS[name])
        declare(subparsers.add_parser(name, help=declare.__doc__, description=declare.__doc__))
    return command


def run(words: Sequence[str]) -> int:
    """Run one verb and return its exit code."""
    verb = words[0] if words and words[0] in VERBS else None
    try:
        _check_streams(verb)
        options = parser([verb] if verb else VERBS).parse_args(words)
        work = importlib.import_module(f"tacit.cli.{VERBS[options.verb]}")
        code = int(work.run(options))
        sys.stdout.flush()  # here, where a full disk or a closed pipe can still be reported
    except BrokenPipeError:  # the reader of the output, such as `head`, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if has_happened():  # a library turned it into another error
            raise KeyboardInterrupt from None
        if os.environ.get(TRACEBACK) and not isinstance(error, TacitError):
            raise
        reported = _error_to_print(error)
        print(f"tacit {verb or ''}".strip() + f": {type(reported).__name__} {reported}", file=sys.stderr)
        return 1 if _is_ours(reported) else 2
    return code


def _check_streams(verb: str | None) -> None:
    """Escape what the terminal cannot show; refuse to compute a result that nobody could read."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  stays open as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
        if verb != "serve":  # the only verb whose work is not its output
            message = "Standard output is closed, so the result would be lost. Redirect it to a file or to /dev/null."
            raise UsageError(message, code="closed-output")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="backslashreplace")


def _is_ours(error: TacitError) -> bool:
    """Return whether an error is ours (a bug or a failed audit) rather than the user's, such as a wrong file."""
    if isinstance(error, BudgetError) or error.code.startswith("ledger-"):
        return False
    return isinstance(error, PrivacyError | InternalError)


def _error_to_print(error: Exception) -> TacitError:
    """Return the error to print. Messages of other libraries may quote data, so only their type and place are shown."""
    if isinstance(error, TacitError):
        return error
    if isinstance(error, OSError) and error.strerror:
        file = f"{Path(str(error.filename)).name}: " if error.filename is not None else ""
        return UsageError(f"{file}{error.strerror}.", code="unusable-file")
    if isinstance(error, MemoryError):
        message = "Not enough memory. Use fewer rows or coarser attributes."
        return UsageError(message, code="out-of-memory")
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "an unknown place"
    return InternalError(f"{type(error).__name__} at {place}. This is a bug; {TRACEBACK}=1 shows its traceback.")
