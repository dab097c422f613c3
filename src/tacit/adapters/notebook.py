"""The magic of notebooks: ``%load_ext tacit``, then ``%tacit shop.tacit`` and cells that begin with ``%%tacit``.

It registers a function with the running IPython and imports nothing of it, so notebooks need no extra.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from tacit.adapters.connect import connect
from tacit.adapters.remote.database import RemoteDatabase
from tacit.database import Database
from tacit.errors import TacitError, UsageError

__all__ = ["Magic", "load_ipython_extension"]

USE = "%%tacit [name] [--confidence 0.9] [--consistent] [--users N], with the question in the lines below"


class Magic:
    """The magic of one shell, with its open database."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.database: Database | RemoteDatabase | None = None

    def run(self, line: str, cell: str | None = None) -> Any:
        """Open a database (``%tacit PLACE``), or ask a question (``%%tacit``) and return its answer."""
        try:
            return self._open(line.strip()) if cell is None else self._ask(line, cell)
        except TacitError as error:
            message = f"{type(error).__name__} {error}"
            error._render_traceback_ = lambda: [message]  # type: ignore[attr-defined]  # IPython shows this instead
            raise

    def _open(self, place: str) -> None:
        """Open a file or a collector, or use an open database by the name of its variable."""
        if not place:
            message = "Name a database: %tacit shop.tacit, %tacit https://host, or a variable that holds one."
            raise UsageError(message, code="bad-option")
        known = self.shell.user_ns.get(place)
        self.database = known if isinstance(known, Database | RemoteDatabase) else connect(place)

    def _ask(self, line: str, question: str) -> Any:
        parser = _Parser(prog="%%tacit", add_help=False)
        parser.add_argument("name", nargs="?")
        parser.add_argument("--confidence", type=float, default=0.95)
        parser.add_argument("--consistent", action="store_true")
        parser.add_argument("--users", type=int)
        options = parser.parse_args(shlex.split(line))
        if self.database is None:
            message = "No database is open. Open one first: %tacit shop.tacit, or %tacit https://host."
            raise UsageError(message, code="no-database")
        if options.users is not None:
            answer = self._predict(question, options.users)
        else:
            answer = self.database.sql(question, confidence=options.confidence, consistent=options.consistent)
        if options.name:
            self.shell.user_ns[options.name] = answer
        return answer

    def _predict(self, question: str, users: int) -> Any:
        """Predict the error of a question for the database's only collection."""
        collections = self.database.collections if self.database else []
        if len(collections) != 1:
            message = "--users predicts for the only collection of a database. Use collection.predict."
            raise UsageError(message, code="bad-option")
        return collections[0].predict(question, users=users)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise an error of this package instead of ending the kernel."""
        text = f"{message}. Write {USE}."
        raise UsageError(text, code="bad-option")


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; IPython calls this for ``%load_ext tacit``."""
    shell.register_magic_function(Magic(shell).run, magic_kind="line_cell", magic_name="tacit")
