"""The n-th call on a file of the store fails: what a collector then says, keeps, and needs to recover.

A round arms one fault in one phase of a collector's life: while it starts on a new or an existing folder, while it
runs, or while it ends. Then the fault is removed, the collector must recover by itself, and after a clean restart
everything that was acknowledged must be there once.
"""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.faults.collector import Collector, NotStartedError, Zygote, twice_stored
from bench.faults.people import People
from bench.faults.shim import FOREVER, Fault, Shim

__all__ = ["PHASES", "Cell", "Rehearsal", "Round", "Rounds", "cells_of"]

Phase = Literal["creating", "starting", "running", "ending"]
PHASES: tuple[Phase, ...] = ("creating", "starting", "running", "ending")
STEPS = 400
"""Steps in which a fault of a running collector must have happened."""

SILENT_STEPS, SILENT_SECONDS = 20, 2.5
"""Steps and seconds without a call on the file after which no more are expected."""

RECOVERY_SECONDS = 15.0
VERIFIED_TOGETHER = 20
"""Rounds of a running collector until it is killed and compared; each must recover and count everybody first."""

APPROACH = {"store/inbox.db": 60, "store/inbox.db-wal": 30}
"""Calls before the n-th from which on ordinary requests are sent; before, requests that cost least for a call."""

CODED = re.compile(r"\w+Error \[[a-z][a-z-]+\] ")


@dataclass(frozen=True)
class Cell:
    """A file, a call and an error in one phase; rounds differ by n."""

    phase: Phase
    file: str
    call: str
    error: str
    forever: bool

    def fault(self, folder: Path, n: int) -> Fault:
        """Return the fault of the n-th round."""
        return Fault(f"{folder}/{self.file}", self.call, n, self.error, self.times)

    @property
    def times(self) -> int:
        """How many calls fail."""
        return FOREVER if self.forever else 1

    @property
    def exports(self) -> bool:
        """Whether calls are those of one export, counted from its beginning."""
        return self.phase == "running" and ("unfinished-*" in self.file or self.call == "open")

    def __str__(self) -> str:
        often = "from the n-th on" if self.forever else "the n-th"
        return f"{self.phase} {self.file} {self.call} {self.error} {often}"


@dataclass
class Round:
    """What one fault did."""

    n: int
    fired: int = 0
    seen: int = 0
    """Calls on the file from when the fault was armed."""

    codes: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    short: int = 0
    """Answers that left acknowledged people out without saying so."""

    mistakes: int = 0
    """Failures without a code, or that the collector calls its own mistake."""

    tracebacks: int = 0
    refused_to_start: int = 0
    died: int = 0
    restart_needed: int = 0
    hung: int = 0
    unstartable: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        """Whether anything happened that must not happen."""
        wrong = (self.lost, self.twice, self.short, self.mistakes, self.tracebacks, self.died, self.hung)
        return bool(any(wrong) or self.unstartable or self.restart_needed)

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, without zeros."""
        return {name: value for name, value in asdict(self).items() if value}


class Rounds:
    """Rounds of one cell on one folder."""

    def __init__(self, shim: Shim, zygote: Zygote, folder: Path) -> None:
        self._shim, self._zygote, self._folder = shim, zygote, folder
        self._people = People()
        self._collector: Collector | None = None
        self._unverified = 0
        self._counted: Cell | None = None

    @property
    def seen(self) -> int:
        """Calls of the cell's kind since they were counted from 0; a round of a greater n may go on with the count."""
        return self._shim.seen if self._counted else 0

    def close(self) -> None:
        """End what runs."""
        self._shim.disarm()
        self._counted = None
        if self._collector is not None:
            self._collector.end(signal.SIGKILL)

    def run(self, cell: Cell, n: int) -> Round:
        """Run one round; if its fault was not reached, nothing else is in it."""
        made = Round(n)
        before = len(self._people.acknowledged)
        if cell.phase == "creating":
            self.close()
            self._collector, self._people, before = None, People(), 0
            shutil.rmtree(self._folder, ignore_errors=True)
        elif self._collector is None or cell.phase != "running":  # a running round leaves people behind for the next
            self._collector = self._collector or self._start()
            self._feed(self._collector)
        if cell.phase in ("creating", "starting"):
            self._fail_at_start(cell, made)
        elif cell.phase == "running":
            self._fail_while_running(cell, made)
        else:
            self._fail_at_end(cell, made)
        made.fired, made.seen = self._shim.fired, self._shim.seen
        self._shim.spare()
        self._recover(made)
        self._unverified += 1
        if cell.phase != "running" or made.bad or self._unverified >= VERIFIED_TOGETHER:
            self._verify(made)
        made.acknowledged = len(self._people.acknowledged) - before
        return made

    def _start(self) -> Collector:
        return Collector(self._zygote, self._folder, "--log", str(self._folder / "requests.log"))

    def _feed(self, collector: Collector) -> None:
        """Store a few people and leave one pending, so that every file has something to lose."""
        for _ in range(2):
            people = self._people.new(2)
            self._people.note(people, collector.send(people))
        collector.count()
        people = self._people.new(1)
        self._people.note(people, collector.send(people))

    def _fail_at_start(self, cell: Cell, made: Round) -> None:
        if self._collector is not None:
            self._collector.end()
            self._collector = None
        self._shim.arm(cell.fault(self._folder, made.n))
        try:
            self._collector = self._start()
        except NotStartedError as refusal:
            made.refused_to_start = 1
            made.hung += refusal.code is None
            made.tracebacks += "Traceback" in refusal.printed
            made.mistakes += not CODED.search(refusal.printed) or refusal.code not in (1, 2)
            made.problems.append(refusal.printed[-500:])
            return
        if not self._shim.fired:
            return
        self._step(self._collector, made, ask=True)

    def _fail_while_running(self, cell: Cell, made: Round) -> None:
        """Send what makes calls on the file until the n-th has failed, and then a little more."""
        assert self._collector is not None
        if self._counted == cell and self._shim.seen < made.n and not cell.exports:
            self._shim.arm_again(made.n, cell.times)
        else:
            self._shim.arm(cell.fault(self._folder, made.n))
            self._counted = cell
        if cell.exports:
            self._note(made, self._collector.ask("/v1/export", {}).code)
        left, steps, seen, changed, at = 4 if cell.forever else 2, 0, self._shim.seen, 0, time.monotonic()
        asks = 1 if "log.db" in cell.file or "reports" in cell.file else 4
        while left and steps < (4 if cell.exports else STEPS):
            if self._shim.seen + APPROACH.get(cell.file, 6) < made.n and not cell.exports:
                self._approach(cell, self._collector, made)
            else:
                self._step(self._collector, made, ask=steps % asks == 0, forget=steps % 16 == 15)
            steps, left = steps + 1, left - bool(self._shim.fired)
            if self._shim.seen > seen:
                seen, changed, at = self._shim.seen, steps, time.monotonic()
            elif steps - changed > SILENT_STEPS and time.monotonic() - at > SILENT_SECONDS:
                return
            if cell.file == "store/inbox.db" and not self._shim.fired:
                time.sleep(0.02)  # only the mover's checkpoints, twice a second, write to it

    def _approach(self, cell: Cell, collector: Collector, made: Round) -> None:
        """Make calls on a file with as little work as possible; every answer is looked at."""
        if "log.db" in cell.file:
            self._note(made, collector.ask("/v1/query", {"sql": "SELECT"}).code)  # logged, and then refused
        elif "reports" in cell.file:
            self._step(collector, made, ask=True)
        else:
            many = 30 if cell.file == "store/inbox.db" else 1
            people = self._people.new(many)
            answer = collector.send(people)
            self._people.note(people, answer)
            self._note(made, answer.code)

    def _step(self, collector: Collector, made: Round, *, ask: bool, forget: bool = False) -> None:
        """Do what clients and analysts do, and look at every answer."""
        people = self._people.new(1)
        answer = collector.send(people)
        self._people.note(people, answer)
        self._note(made, answer.code)
        if ask:
            least = self._people.least
            answer = collector.count()
            self._note(made, answer.code)
            count = answer.count
            made.short += count is not None and count < least and not answer.is_qualified
            made.twice += max(0, count - self._people.most) if count is not None else 0
        if forget and self._people.acknowledged:
            person = max(self._people.acknowledged)
            answer = collector.forget(person)
            self._people.note_deletion(person, answer)
            self._note(made, answer.code)

    def _note(self, made: Round, code: str) -> None:
        made.codes[code] = made.codes.get(code, 0) + 1
        made.mistakes += code in ("internal", "uncoded", "no-answer")

    def _fail_at_end(self, cell: Cell, made: Round) -> None:
        assert self._collector is not None
        self._shim.arm(cell.fault(self._folder, made.n))
        code = self._collector.end()
        made.hung += code is None
        made.mistakes += code not in (0, None)
        made.tracebacks += "Traceback" in self._collector.printed
        if code != 0:
            made.problems.append(f"exit code {code}: {self._collector.printed[-500:]}")
        self._collector = None

    def _recover(self, made: Round) -> None:
        """Without the fault, a collector that still runs must work again, without a restart."""
        if self._collector is None:
            return
        if not self._collector.is_running:
            made.died = 1
            made.problems.append(f"exit code {self._collector.code}: {self._collector.printed[-500:]}")
            self._collector = None
            return
        until, problem = time.monotonic() + RECOVERY_SECONDS, "nothing"
        while problem and time.monotonic() < until:
            problem = self._working(self._collector)
            if problem:
                time.sleep(0.1)
        if problem:
            made.restart_needed = 1
            made.problems.append(problem)
        made.tracebacks += "Traceback" in self._collector.printed

    def _working(self, collector: Collector) -> str:
        """Return what does not work, or nothing."""
        settled = self._people.settle(collector)
        if settled.status != 200:
            return f"sending again: {settled.code}"
        people = self._people.new(1)
        sent = collector.send(people)
        self._people.note(people, sent)
        asked = collector.count()
        if sent.status != 200 or asked.status != 200:
            return f"sending: {sent.code}, asking: {asked.code}"
        return "" if asked.count == self._people.least else f"counted {asked.count} of {self._people.least}"

    def _verify(self, made: Round) -> None:
        """Kill what runs, start anew without faults, and compare."""
        self._unverified = 0
        if self._collector is not None:
            self._collector.end(signal.SIGKILL)
        try:
            self._collector = self._start()
        except NotStartedError as refusal:
            made.unstartable = 1
            made.problems.append(refusal.printed[-500:])
            self._collector, self._people = None, People()
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        known = sorted(self._people.acknowledged)
        for start in range(0, len(known), 300):
            statuses = self._collector.send(known[start : start + 300]).statuses
            gone = Counter(one for one in statuses if one != "again")
            made.lost += gone.total() + 3 * len(known[start : start + 300]) - len(statuses)
            made.problems += [f"sent again: {dict(gone)}"] if gone else []
        self._people.settle(self._collector)
        for person in sorted(self._people.deleted)[-5:]:
            made.lost += set(self._collector.send([person]).statuses) != {"forgotten"}
        answer = self._collector.count()
        counted = answer.count or 0  # a store without reports answers no question
        if counted != self._people.least or self._people.unknown:
            made.problems.append(f"after the restart: counted {counted} of {self._people.least} ({answer.code})")
            made.lost += max(0, self._people.least - counted)
            made.twice += max(0, counted - self._people.least)
            self._collector.end(signal.SIGKILL)
            self._collector, self._people = None, People()
            shutil.rmtree(self._folder, ignore_errors=True)

    def last(self) -> Round:
        """Verify what is not verified yet, end the collector, and look for rows that its store has twice."""
        made = Round(0)
        if self._unverified and self._collector is not None:
            self._verify(made)
        if self._collector is not None:
            self._collector.end()
            self._collector = None
        made.twice += twice_stored(self._folder)
        return made


class Rehearsal:
    """A collector's life without faults, traced: which files it touches in which phase, and how."""

    def __init__(self, shim: Shim, folder: Path) -> None:
        self._shim, self._folder = shim, folder
        self.touched: set[tuple[Phase, str, str]] = set()
        zygote = Zygote(shim.environment(folder))
        rounds = Rounds(shim, zygote, folder)
        seen = 0
        for phase, act in self._acts(rounds):
            act()
            calls = shim.traced()
            self.touched |= {(phase, self._pattern(path), call) for call, path in calls[seen:]}
            seen = len(calls)
        zygote.close()

    def _acts(self, rounds: Rounds) -> Iterator[tuple[Phase, Any]]:
        collector: list[Collector] = []

        def run() -> None:
            made = Round(0)
            for step in range(6):
                rounds._step(collector[-1], made, ask=True, forget=step == 5)  # noqa: SLF001
            collector[-1].ask("/v1/export", {})
            time.sleep(1.5)  # the mover's checkpoint

        yield "creating", lambda: collector.append(rounds._start())  # noqa: SLF001
        yield "running", run
        yield "ending", lambda: collector[-1].end()
        yield "starting", lambda: collector.append(rounds._start())  # noqa: SLF001
        yield "running", run
        yield "ending", lambda: collector[-1].end()

    def _pattern(self, path: str) -> str:
        """Return a path below the folder, with what changes from run to run as a pattern."""
        own = path.removeprefix(f"{self._folder}/")
        own = re.sub(r"(/(?:unfinished-|tmp|\.[a-z.]+\.))[a-z0-9_]{8}(?=/|$)", r"\1*", own)
        return re.sub(r"\.\d+$", ".*", own)


def cells_of(touched: set[tuple[Phase, str, str]], calls: set[str]) -> list[Cell]:
    """Return a cell for every file, call and phase: the n-th fails with EIO, and all from the n-th on with ENOSPC."""
    kinds = {"open": ("EIO", "EMFILE"), "read": ("EIO",), "unlink": ("EIO",)}
    wanted = sorted(one for one in touched if one[2] in calls and one[1].rpartition("/")[2] not in ("output", "store"))
    return [
        Cell(phase, file, call, error, forever=error != "EIO")
        for phase, file, call in wanted
        for error in kinds.get(call, ("EIO", "ENOSPC"))
    ]
