"""The command line: one file per verb. Exit code 2 for the user's mistakes, 1 for ours and for failed audits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import tacit
from tacit.cli import audit, demo
from tacit.errors import TacitError, UsageError

__all__ = ["main"]

VERBS = {"audit": audit, "demo": demo}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tacit", description="Analytics on data you never see.")
    parser.add_argument("--version", action="version", version=f"tacit {tacit.__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    for name, module in VERBS.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        module.configure(verbs.add_parser(name, help=summary, description=summary))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(VERBS[options.verb].run(options))
    except TacitError as error:
        print(f"tacit {options.verb}: {type(error).__name__} {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) or error.code in ("unreadable-file", "file-not-toml") else 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        return 0
