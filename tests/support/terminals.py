"""Drive a program through a real terminal: what a person types, and what they see."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence

__all__ = ["Terminal"]


class Terminal:
    """A program on a pseudo-terminal of its own session, so that Ctrl-C reaches it as a signal."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.seen, self._read = "", 0
        self._file, inside = pty.openpty()
        self.process = subprocess.Popen(
            words,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(inside), os.O_RDWR)),  # makes it the controlling terminal
        )
        os.close(inside)

    def type(self, text: str) -> None:
        """Send keys; a line ends with a carriage return, Ctrl-C is chr(3), Ctrl-D is chr(4)."""
        os.write(self._file, text.encode())

    def expect(self, pattern: str, seconds: float = 60) -> str:
        """Wait until something appears that was not read yet; return it."""
        end = time.monotonic() + seconds
        while not (match := re.compile(pattern, re.DOTALL).search(self.seen, self._read)):
            if time.monotonic() > end or not self._more(end):
                message = f"{pattern!r} did not appear; the screen says: {self.seen[self._read :]!r}"
                raise AssertionError(message)
        self._read = match.end()
        return match.group()

    def _more(self, end: float) -> bool:
        ready, _, _ = select.select([self._file], [], [], max(0.0, end - time.monotonic()))
        try:
            read = os.read(self._file, 65536) if ready else b""
        except OSError:  # the program has closed the terminal
            read = b""
        self.seen += read.decode(errors="replace")
        return bool(read)

    def close(self) -> int:
        """Wait for the program to end; return its exit code."""
        while self._more(time.monotonic() + 60):
            pass
        code = self.process.wait(timeout=60)
        os.close(self._file)
        return code
