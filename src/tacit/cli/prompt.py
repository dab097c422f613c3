"""Read questions from a terminal or a pipe: over several lines, with history and completion on a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from tacit.errors import UsageError

__all__ = ["HISTORY", "KEYWORDS", "Prompt"]

HISTORY = "TACIT_HISTORY"
"""Environment variable that names another file of history; empty for none."""

MOST_LINES = 1_000
"""Maximum lines of the history file."""

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "USING", "BETWEEN", "AND", "OR"),
    *(
        "NOT",
        "IN",
        "IS NULL",
        "AS",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "DESC",
        "EXPLAIN",
        "COUNT(*)",
        "SUM(",
        "AVG(",
    ),
    *("STDDEV(", "VARIANCE("),
)


class Prompt:
    """Yields questions and commands. On a terminal a question ends with a semicolon or an empty line.

    From a pipe, every line is a question, unless it is followed by lines up to a semicolon.
    """

    def __init__(self, words: Iterable[str]) -> None:
        if sys.stdin is None:
            message = "Standard input is closed, so no questions can be read. Use tacit query for one question."
            raise UsageError(message, code="closed-input")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # undecodable bytes make an invalid question
        self.is_terminal = sys.stdin.isatty()
        self._words = sorted({*words, *KEYWORDS})
        self._readline = _readline() if self.is_terminal else None
        if self._readline:
            self._start(self._readline)

    def _start(self, readline: ModuleType) -> None:
        readline.set_completer(self.complete)
        readline.set_completer_delims(" \t\n,()<>=;")
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
        readline.set_history_length(MOST_LINES)
        path = _history_file()
        if path:
            with contextlib.suppress(OSError):
                readline.read_history_file(path)

    def complete(self, start: str, number: int) -> str | None:
        """Return the next word that begins as the one being typed, ignoring case; None after the last."""
        near = [word for word in self._words if word.lower().startswith(start.lower())]
        return near[number] if number < len(near) else None

    def __iter__(self) -> Iterator[str]:
        """Yield each question or command; end with the input."""
        lines: list[str] = []
        while True:
            try:
                line = input(("   ...> " if lines else "tacit> ") if self.is_terminal else "")
            except KeyboardInterrupt:
                if not self.is_terminal:
                    raise
                print()
                lines = []  # discard the typed text, as other shells do
                continue
            except EOFError:
                break
            statement = "\n".join([*lines, line]).strip()
            if not lines and statement.startswith("."):
                yield statement
            elif self._ends(line, statement):
                lines = []
                yield from (text for text in (statement.rstrip("; \n\t\r"),) if text)
            else:
                lines = [statement] if statement else []
        if lines:
            yield lines[0]
        if self.is_terminal:
            print()

    def _ends(self, line: str, statement: str) -> bool:
        """Return whether a question is complete."""
        if not line.strip() or line.rstrip().endswith(";"):
            return bool(statement)
        return not self.is_terminal and not _waits(statement)

    def close(self) -> None:
        """Write the history, readable by this user only."""
        path = _history_file()
        if self._readline and path:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                self._readline.write_history_file(path)


def _waits(text: str) -> bool:
    """Return whether a line of a pipe is clearly incomplete: a SELECT without FROM, or with an open bracket."""
    words = text.upper().split()
    unfinished = bool(words) and words[0] in ("SELECT", "WITH", "EXPLAIN") and "FROM" not in words
    return unfinished or text.count("(") > text.count(")")


def _history_file() -> Path | None:
    chosen = os.environ.get(HISTORY)
    if chosen is not None:
        return Path(chosen) if chosen else None
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "tacit" / "history"


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:  # there is none on Windows
        return None
    return readline
