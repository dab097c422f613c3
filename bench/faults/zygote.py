"""Start `tacit` commands quickly: a process that has imported everything and forks for each command.

It reads a JSON object a line: `{"run": [words], "output": file}` is answered with a process id, `{"poll": id}` with the
exit code, or null while the process runs.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys

from tacit.cli import main

IMPORTED = (
    "pandas",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "tacit.adapters.pgwire.connection",
    "tacit.answers.forecast.curves",
    "tacit.cli.serve",
    "tacit.contract.view_codes",
    "tacit.engines.duckdb",
    "tacit.server.app",
    "tacit.server.archive",
    "tacit.server.store.sqlite",
    "tacit.sql.builder",
    "tacit.sql.writing",
)
"""What a collector imports until it has answered a question: once, here, instead of in every child."""


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "poll" in asked:
            pid, status = os.waitpid(asked["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                _redirect(asked["output"])
                sys.exit(main(asked["run"]))
        print(json.dumps(answer), flush=True)


def _redirect(output: str) -> None:
    """Give a child a session and an output of its own."""
    os.setsid()
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(handle, 1)
    os.dup2(handle, 2)


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    for mutation in sys.argv[1:]:  # a program that breaks something, by which tests see that it is noticed
        runpy.run_path(mutation)
    serve()
