"""Run programs in processes of their own that need not import tacit again: they are forked from one that has.

Importing takes longer than most programs of the documentation. The process that is forked has started no thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

__all__ = ["Forking"]

PARENT = """
import json, os, sys, traceback
import duckdb, numpy, pandas, pyarrow, pyarrow.compute, pyarrow.parquet, sqlglot
import tacit.answers.run, tacit.collection, tacit.database, tacit.engines.duckdb, tacit.model.model
import tacit.sql.plan, tacit.encode.everybody, tacit.adapters.connect
for line in sys.stdin:
    program, folder, log = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        code = 1
        with open(log, "w", buffering=1) as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv, sys.path[0:0] = ["-c"], [""]
            try:
                exec(compile(program, "<page>", "exec"), {"__name__": "__main__"})
                sys.stdout.flush()
                code = 0
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Forking:
    """A process that runs programs in its children, one at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-W", "error", "-c", PARENT]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, program: str, folder: Path) -> tuple[int, str]:
        """Return the exit code of a program and everything it printed."""
        log = folder / "printed.log"
        asked, answers = self._parent.stdin, self._parent.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps([program, str(folder), str(log)]) + "\n")
        asked.flush()
        return int(answers.readline()), log.read_text()

    def close(self) -> None:
        """End the process."""
        self._parent.communicate()
