"""The work of `tacit mcp`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import io
import sys

import tacit
from tacit.adapters.mcp.server import answers
from tacit.cli.query import open_existing
from tacit.errors import UsageError

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Answer requests until standard input ends."""
    if sys.stdin is None:
        message = "Standard input is closed, so there are no requests to read. Let the agent's program start this."
        raise UsageError(message, code="closed-input")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    database = open_existing(options.database, options.key_file)
    try:
        for line in answers(sys.stdin, database, tacit.__version__):
            print(line, flush=True)
    finally:
        database.close()
    return 0
