"""The command line: one file per verb.

Exit codes: 0 done, 1 a failed audit or a mistake of ours, 2 a mistake of the user's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType

import tacit
from tacit.cli import (
    advise,
    audit,
    demo,
    doctor,
    encode,
    export,
    init,
    keys,
    load,
    marginal,
    plan,
    query,
    release,
    restore,
    serve,
    shell,
    synthesize,
)
from tacit.errors import BudgetError, InternalError, PrivacyError, TacitError

__all__ = ["main", "parser"]

VERBS: dict[str, ModuleType] = {
    "demo": demo,
    "init": init,
    "plan": plan,
    "audit": audit,
    "encode": encode,
    "load": load,
    "query": query,
    "marginal": marginal,
    "synthesize": synthesize,
    "shell": shell,
    "serve": serve,
    "keys": keys,
    "doctor": doctor,
    "export": export,
    "import": restore,
    "release": release,
    "advise": advise,
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command and all its verbs."""
    epilog = "Exit codes: 0 done, 1 a failed audit or a mistake of ours, 2 a mistake of the user's."
    command = argparse.ArgumentParser(prog="tacit", description="Analytics on data you never see.", epilog=epilog)
    command.add_argument("--version", action="version", version=f"tacit {tacit.__version__}")
    verbs = command.add_subparsers(dest="verb", required=True, metavar="verb")
    for name, module in VERBS.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        module.configure(verbs.add_parser(name, help=summary, description=summary))
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return int(VERBS[options.verb].run(options))
    except TacitError as error:
        print(f"tacit {options.verb}: {type(error).__name__} {error}", file=sys.stderr)
        ours = isinstance(error, PrivacyError | InternalError) and not isinstance(error, BudgetError)
        return 1 if ours else 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        return 0
