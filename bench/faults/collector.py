"""Real collectors in processes of their own, and what a harness asks of them: over HTTP, by public routes alone."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import tacit as tc

__all__ = ["COLLECTION", "Answer", "Collector", "Connection", "NotStartedError", "Zygote", "reports_of", "twice_stored"]

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)])
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=3, sends=2)
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 6.0)
COUNT = "SELECT COUNT(*) AS n FROM users"
POOL = 500
START_SECONDS, END_SECONDS = 60.0, 60.0
"""Far more than is needed, so that a busy machine is not taken for a fault."""


def _pool() -> list[list[tuple[str, int, list[int]]]]:
    """Return what people report, as services, slots and codes; people take turns with it."""
    keys = np.arange(POOL)
    raw = {"users": {"uid": keys, "age": keys % 10}, "orders": {"uid": keys[::2], "pay": keys[::2] % 5}}
    found: list[dict[tuple[str, int], list[int]]] = [{} for _ in keys]
    for name, table in COLLECTION.encode(**raw, rng=tc.insecure_rng(7)).items():
        for row in table.to_pylist():
            found[int(row["uid"])].setdefault((name, row["slot"]), []).append(row["code"])
    return [[(*place, codes) for place, codes in own.items()] for own in found]


_POOL = _pool()


def reports_of(people: Sequence[int]) -> list[dict[str, Any]]:
    """Return the three reports of each person, the same whenever they are asked for."""
    return [
        {"person": f"p-{person}", "service": service, "slot": slot, "codes": codes}
        for person in people
        for service, slot, codes in _POOL[person % POOL]
    ]


@dataclass(frozen=True)
class Answer:
    """What came back: status 0 if nothing did."""

    status: int
    data: Any = None

    @property
    def code(self) -> str:
        """The problem's code; a failure without one is told from others by its name."""
        if self.status == 200:
            return "ok"
        code = self.data.get("code") if isinstance(self.data, dict) else None
        return str(code) if code else "uncoded" if self.status else "no-answer"

    @property
    def statuses(self) -> list[str]:
        """The statuses of reports."""
        found = self.data.get("statuses", []) if self.status == 200 and isinstance(self.data, dict) else []
        return [one["status"] if one["status"] != "refused" else one["code"] for one in found]

    @property
    def count(self) -> int | None:
        """The answer to COUNT(*)."""
        return round(self.data["rows"][0]["n"]) if self.status == 200 else None

    @property
    def is_qualified(self) -> bool:
        """Whether the answer says that it leaves reports out: by a note, or by a watermark whose ends differ."""
        if not isinstance(self.data, dict):
            return False
        marks = self.data.get("watermark") or {}
        numbers = {value for value in marks.values() if isinstance(value, int)} if isinstance(marks, dict) else set()
        return bool(self.data.get("notes")) or len(numbers) > 1


class NotStartedError(Exception):
    """A collector that ended before it listened."""

    def __init__(self, code: int | None, printed: str) -> None:
        super().__init__(f"exit code {code}: {printed[-2000:]}")
        self.code, self.printed = code, printed


class Zygote:
    """Starts processes; see zygote.py."""

    def __init__(self, environment: Mapping[str, str], *, mutation: Path | None = None) -> None:
        words = [sys.executable, str(Path(__file__).with_name("zygote.py")), *([str(mutation)] if mutation else [])]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(environment)
        )

    def ask(self, **asked: Any) -> Any:
        """Return the answer to one line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it; its children are ended by whoever started them."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Connection:
    """One connection to a collector, made again when it breaks."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, path: str, body: Mapping[str, Any] | None = None, seconds: float = 20.0) -> Answer:
        """Send one request."""
        method, content = ("GET", None) if body is None else ("POST", json.dumps({"tacit": 1, **body}))
        reused = self._connection is not None
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
            self._connection.request(method, path, content)
            response = self._connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException):
            self.hang_up()
            if reused:  # a collector closes idle connections; clients try again on a new one
                return self.ask(path, body, seconds)
            return Answer(0)
        try:
            return Answer(response.status, json.loads(raw))
        except ValueError:  # an archive, a page, or a failure that is no problem+json
            return Answer(response.status, raw[:1000].decode(errors="replace"))

    def hang_up(self) -> None:
        """Close the connection; the next request makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def send(self, people: Sequence[int]) -> Answer:
        """Send all reports of some people."""
        return self.ask(f"/v1/collections/{COLLECTION.id}/reports", {"reports": reports_of(people)})

    def count(self) -> Answer:
        """Ask how many people there are."""
        return self.ask("/v1/query", {"sql": COUNT})

    def forget(self, person: int) -> Answer:
        """Delete a person."""
        return self.ask("/v1/forget", {"person": f"p-{person}", "collection": COLLECTION.id})


class Collector(Connection):
    """A running collector with one connection to it."""

    def __init__(self, zygote: Zygote, folder: Path, *options: str) -> None:
        super().__init__(0)
        folder.mkdir(parents=True, exist_ok=True)
        contract, self._output, self._zygote = folder / "contract.json", folder / "output", zygote
        if not contract.exists():
            contract.write_text(COLLECTION.to_json(), encoding="utf-8")
        self._output.unlink(missing_ok=True)
        words = ["serve", str(folder / "store"), str(contract), "--port", "0", *options]
        self.pid = int(zygote.ask(run=words, output=str(self._output)))
        self.code: int | None = None
        self._folder = folder
        self.port = self._wait_for_port()

    def _wait_for_port(self) -> int:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            running = self.is_running
            for line in self.printed.splitlines():
                if line.startswith("listening on "):
                    return int(line.rpartition(":")[2])
            if not running:
                raise NotStartedError(self.code, self.printed)
            time.sleep(0.005)
        self.end(signal.SIGKILL)
        raise NotStartedError(None, f"{self.printed}\nIt did not listen within {START_SECONDS:g} s.")

    @property
    def printed(self) -> str:
        """What it has written so far."""
        return self._output.read_text(encoding="utf-8", errors="replace") if self._output.exists() else ""

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        if self.code is None:
            self.code = self._zygote.ask(poll=self.pid)
        return self.code is None

    def end(self, how: signal.Signals = signal.SIGTERM) -> int | None:
        """End the process by its id and return its exit code; None if only SIGKILL could end it."""
        self.hang_up()
        until = time.monotonic() + END_SECONDS
        if self.is_running:
            os.kill(self.pid, how)
        while self.is_running:
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
                while self.is_running:
                    time.sleep(0.005)
                return None
            time.sleep(0.005)
        return self.code

    def twice_stored(self) -> int:
        """Return how many rows of the ended collector's store are there more than once."""
        return twice_stored(self._folder)


def twice_stored(folder: Path) -> int:
    """Return how many rows of a closed store's analytical file are there more than once: the one look into a file."""
    path = folder / "store" / "reports.tacit"
    if not path.exists():
        return 0
    found = 0
    with duckdb.connect(str(path), read_only=True) as file:
        listed = "SELECT table_name FROM duckdb_columns() WHERE column_name = 'channel' AND table_name LIKE 'reports%'"
        for (table,) in file.execute(listed).fetchall():
            rows = f'SELECT count(*) - count(DISTINCT (uid, slot, channel)) FROM "{table}"'
            found += file.execute(rows).fetchall()[0][0]
    return found
