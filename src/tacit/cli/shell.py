"""The work of `tacit shell`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from tacit.adapters.remote.database import RemoteDatabase
from tacit.cli.interrupts import has_happened, remember
from tacit.cli.prompt import Prompt
from tacit.cli.query import open_existing, print_answer
from tacit.database import Database
from tacit.errors import TacitError, UnknownNameError, UsageError
from tacit.sql.columns import Shape

__all__ = ["run"]

HELP = """\
Questions are SQL and end with ; or an empty line. Tab completes names, Ctrl-C cancels, Ctrl-D ends.
  .tables               the services and dimensions, with their columns
  .consistent on | off  answers that add up and are never negative, but biased (now {consistent})
  .confidence LEVEL     the level of intervals (now {confidence:g})
  .timing on | off      how long each answer took (now {timing})
  .json on | off        answers as JSON (now {as_json})
  .help                 this
  .quit                 end"""


def run(options: argparse.Namespace) -> int:
    """Read questions from the terminal or a pipe, and print their answers."""
    shell = Shell(open_existing(options.database, options.key_file), options.confidence, as_json=options.json)
    try:
        prompt = Prompt(shell.words())
        if prompt.is_terminal:
            print("Ask in SQL; end a question with ; or an empty line. .help lists commands.")
        for text in prompt:
            if not shell.take(text, cancels=prompt.is_terminal):
                break
        prompt.close()
    finally:
        shell.database.close()
    return 0


class Shell:
    """A database, and options for its answers."""

    def __init__(self, database: Database | RemoteDatabase, confidence: float, *, as_json: bool) -> None:
        self.database, self.confidence = database, confidence
        self.switches = {"consistent": False, "timing": False, "json": as_json}
        self._commands: dict[str, Callable[[str], None]] = {
            ".help": self._help,
            ".tables": self._tables,
            ".confidence": self._set_confidence,
            ".consistent": lambda word: self._switch("consistent", word),
            ".timing": lambda word: self._switch("timing", word),
            ".json": lambda word: self._switch("json", word),
        }

    def words(self) -> list[str]:
        """Return the words for completion: commands, tables and columns."""
        return [*self._commands, ".quit", *(name for shape in self._shapes() for name in _names(shape))]

    def take(self, text: str, *, cancels: bool) -> bool:
        """Answer a question or run a command; return whether the shell continues."""
        if text.split()[0] in (".quit", ".exit"):
            return False
        remember()
        try:
            self._obey(text) if text.startswith(".") else self._ask(text)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) or has_happened():  # libraries convert it to their own errors
                if not cancels:
                    raise KeyboardInterrupt from None
                print("\ncancelled", file=sys.stderr)
            elif isinstance(error, TacitError):
                print(f"{type(error).__name__} {error}", file=sys.stderr)
            else:
                raise
        return True

    def _ask(self, question: str) -> None:
        started = time.perf_counter()
        settings = {"confidence": self.confidence, "consistent": self.switches["consistent"]}
        answer = self.database.sql(question, **settings)  # type: ignore[arg-type]
        print_answer(answer, as_json=self.switches["json"])
        if self.switches["timing"]:
            print(f"({time.perf_counter() - started:.2f} s)")

    def _obey(self, text: str) -> None:
        name, _, word = text.rstrip("; ").partition(" ")
        if name not in self._commands:
            raise UnknownNameError("command", name, (*self._commands, ".quit"))
        self._commands[name](word.strip().lower())

    def _help(self, _: str) -> None:
        states = {name: "on" if state else "off" for name, state in self.switches.items()}
        print(HELP.format(confidence=self.confidence, as_json=states.pop("json"), **states))

    def _tables(self, _: str) -> None:
        for shape in self._shapes():
            columns = ", ".join(
                f"{c.name} {c.type}{'' if c.role == 'sensitive' else f' ({c.role})'}" for c in shape.columns
            )
            print(f"{shape.name} ({shape.kind}): {columns}")

    def _shapes(self) -> list[Shape]:
        try:
            return self.database.tables()
        except TacitError:  # a collector without reports, or a key that may not list them
            return []

    def _switch(self, name: str, word: str) -> None:
        if word not in ("on", "off"):
            message = f".{name} takes on or off, not {word!r}. Type .{name} on."
            raise UsageError(message, code="bad-option")
        self.switches[name] = word == "on"

    def _set_confidence(self, word: str) -> None:
        try:
            level = float(word)
        except ValueError:
            level = 0.0
        if not 0 < level < 1:
            message = f".confidence takes a level between 0 and 1, not {word!r}. Type .confidence 0.95."
            raise UsageError(message, code="bad-option")
        self.confidence = level


def _names(shape: Shape) -> list[str]:
    return [shape.name, *(column.name for column in shape.columns)]
