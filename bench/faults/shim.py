"""Build the shim that makes file operations fail, and say which ones shall."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CALLS", "FOREVER", "Fault", "Shim", "has_compiler"]

CALLS = {"open": 1, "read": 2, "write": 4, "sync": 8, "truncate": 16, "rename": 32, "unlink": 64}
"""Kinds of calls, as in shim.c: `write` includes pwrite, writev and fallocate; `sync` is fsync and fdatasync."""

FOREVER = 2**62
LAYOUT = struct.Struct("<IiQQQQq464s")
CLOCK = struct.Struct("<q")
COUNTS = struct.Struct("<QQ")
WHICH = struct.Struct("<QQ")
FIRED = struct.Struct("<Q")
WHICH_AT, COUNTS_AT, FIRED_AT, CLOCK_AT = 8, 24, 32, 40


@dataclass(frozen=True)
class Fault:
    """The n-th call of a kind on a file fails, once or from then on."""

    file: str
    """A pattern for the whole path, as the shell matches."""

    call: str
    n: int
    error: str = "EIO"
    times: int = 1


class Shim:
    """A compiled shim with the control file that it shares with the processes it is loaded into."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._library, self._trace, control = folder / "shim.so", folder / "trace", folder / "control"
        source = Path(__file__).with_name("shim.c")
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(source), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
        control.write_bytes(bytes(LAYOUT.size))
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), LAYOUT.size)
        self._path = control

    def environment(self, root: Path | None = None) -> dict[str, str]:
        """Return the environment of a process whose calls may fail; calls below ``root`` are also traced."""
        made = dict(os.environ) | {"LD_PRELOAD": str(self._library), "FAULTS_CONTROL": str(self._path)}
        return made | ({"FAULTS_TRACE": str(self._trace), "FAULTS_ROOT": str(root)} if root else {})

    def arm(self, fault: Fault) -> None:
        """Let a fault happen; calls count from now on."""
        self.disarm()
        number = getattr(errno, fault.error)
        pattern = fault.file.encode()
        whole = LAYOUT.pack(CALLS[fault.call], number, fault.n, fault.times, 0, 0, 0, pattern)
        self._control[4:] = whole[4:]
        self._control[:4] = whole[:4]  # last, because it switches the rest on

    def arm_again(self, n: int, times: int) -> None:
        """Let the fault that was armed last happen at another call, counted as before."""
        FIRED.pack_into(self._control, FIRED_AT, 0)
        WHICH.pack_into(self._control, WHICH_AT, n, times)

    def spare(self) -> None:
        """Let no more calls fail, but count them."""
        WHICH.pack_into(self._control, WHICH_AT, FOREVER, 0)

    def disarm(self) -> None:
        """Let no more faults happen; the counts stay."""
        self._control[:4] = bytes(4)

    def set_clock(self, seconds: int) -> None:
        """Set the wall clock of the processes ahead, or back."""
        CLOCK.pack_into(self._control, CLOCK_AT, seconds)

    @property
    def seen(self) -> int:
        """Matching calls since the fault was armed."""
        return int(COUNTS.unpack_from(self._control, COUNTS_AT)[0])

    @property
    def fired(self) -> int:
        """Calls that failed since the fault was armed."""
        return int(COUNTS.unpack_from(self._control, COUNTS_AT)[1])

    def traced(self) -> list[tuple[str, str]]:
        """Return the calls below the root so far, each as its kind and the path."""
        if not self._trace.exists():
            return []
        lines = self._trace.read_text(encoding="utf-8", errors="replace").splitlines()
        return [(call, path) for call, _, path in (line.partition(" ") for line in lines)]


def has_compiler() -> bool:
    """Tell whether the shim can be built here."""
    return shutil.which("cc") is not None and os.uname().sysname == "Linux"
