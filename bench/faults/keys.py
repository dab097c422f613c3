"""The n-th call fails while `tacit keys` runs: a key that was shown stays, and one that was revoked stays away."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.common import say
from bench.faults.collector import Zygote
from bench.faults.shim import FOREVER, Fault, Shim

__all__ = ["run_keys"]

CODED = re.compile(r"\w+Error \[[a-z][a-z-]+\] ")


class Commands:
    """Runs `tacit keys` on one folder."""

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self._zygote, self._folder = zygote, folder
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code and the output of one command."""
        output = self._folder / "output"
        output.unlink(missing_ok=True)
        command = ["keys", str(self._folder / "store"), *words, "--json"]
        process = self._zygote.ask(run=command, output=str(output))
        while (code := self._zygote.ask(poll=process)) is None:
            time.sleep(0.005)
        return int(code), output.read_text(encoding="utf-8") if output.exists() else ""

    def names(self) -> set[str]:
        """Return the names of all keys."""
        code, text = self.run("list")
        return {key["name"] for key in json.loads(text.splitlines()[-1])} if code == 0 else set()

    def digest(self, name: str) -> str:
        """Return the digest of a key."""
        keys = json.loads(self.run("list")[1].splitlines()[-1])
        return str(next(key["digest"] for key in keys if key["name"] == name))


def run_keys(work: Path, shim: Shim, zygote: Zygote, most: int, seconds: float) -> dict[str, Any]:
    """Fail one call in each command, until no call is left to fail."""
    total, until, number = Counter[str](), time.monotonic() + seconds, 0
    commands = Commands(zygote, work)
    kept = set[str]()
    for call in ("write", "sync", "rename", "open"):
        for error in ("EIO", "ENOSPC"):
            for n in range(1, most + 1):
                name, number = f"key-{number}", number + 1
                fault = Fault(f"{work}/store/*keys*", call, n, error, 1 if error == "EIO" else FOREVER)
                shim.arm(fault)
                code, text = commands.run("create", name)
                shim.disarm()
                if not shim.fired or time.monotonic() > until:
                    break
                total["rounds"] += 1
                _note(total, code, text)
                kept |= {name} if code == 0 else set()
                names = commands.names()
                total["lost"] += len(kept - names)
                kept = names
                _revoke(commands, shim, fault, kept, total)
    say(f"{total['rounds']} commands with a fault: {dict(total)}")
    return {name: total[name] for name in ("rounds", "revocations", "lost", "came_back", "mistakes", "tracebacks")}


def _revoke(commands: Commands, shim: Shim, fault: Fault, kept: set[str], total: Counter[str]) -> None:
    """Revoke the oldest key under the same fault, once there are some."""
    if len(kept) < 3:
        return
    oldest = min(kept, key=lambda name: int(name.partition("-")[2]))
    digest = commands.digest(oldest)
    shim.arm(fault)
    code, text = commands.run("revoke", digest)
    shim.disarm()
    total["revocations"] += 1
    _note(total, code, text)
    names = commands.names()
    total["came_back"] += code == 0 and oldest in names
    total["lost"] += len(kept - names - {oldest})
    kept &= names


def _note(total: Counter[str], code: int, text: str) -> None:
    total["tracebacks"] += "Traceback" in text
    total["mistakes"] += code != 0 and (code not in (1, 2) or not CODED.search(text))
