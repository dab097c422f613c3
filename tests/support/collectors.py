"""Real collectors: a process of `tacit serve` on loopback, and reports for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

import tacit as tc
from tacit.server.collector import Collector
from tacit.server.http.connections import HttpConnection

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("os")])
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=3, sends=2)
COLLECTION = tc.Collection.from_file(Path(__file__).parents[1] / "server" / "golden" / "contract.json")
"""Both services at epsilon 6, as version 0.1 compiled them: golden stores have this contract."""


def reports_of(first: int, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return the reports of some people, as a client would send them."""
    keys = np.arange(first, first + count)
    raw = {"users": {"uid": keys, "age": keys % 10, "os": np.where(keys % 2, "i", "a")}}
    raw |= {"orders": {"uid": keys[::2], "pay": keys[::2] % 5}}
    made = []
    for name, table in COLLECTION.encode(**raw, rng=tc.insecure_rng(seed)).items():
        rows: dict[tuple[str, int], dict[str, Any]] = {}
        for row in table.to_pylist():
            identity = f"u-{row['uid']}", row["slot"]
            report = {"person": identity[0], "service": name, "slot": row["slot"], "codes": []}
            if name == "users":
                report["public"] = {"os": row["os"]}
            rows.setdefault(identity, report)["codes"].append(row["code"])
        made += rows.values()
    return made


def body_of(reports: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"tacit": 1, "reports": reports} | more


class Serving:
    """A collector in a process of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        program: str = "",
        collection: tc.Collection = COLLECTION,
        options: Sequence[str] = (),
        errors: int = 0,
    ) -> None:
        contract = folder / "contract.json"
        folder.mkdir(parents=True, exist_ok=True)
        contract.write_text(collection.to_json(), encoding="utf-8")
        start = [program] if program else ["-m", "tacit.cli"]
        words = [sys.executable, *start, "serve", str(folder / "store"), str(contract), "--port", "0", *options]
        # a pipe that nobody reads would stop it
        self._errors = None if errors else tempfile.TemporaryFile("w+")  # noqa: SIM115  closed at the end
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors or self._errors, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), (line, self._read_errors())
        self.address, self.printed = line.split()[-1], line

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=60, trust_env=False)

    @property
    def path(self) -> str:
        return f"/v1/collections/{COLLECTION.id}/reports"

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process by its id and return its exit code."""
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        code = self.process.wait(30)
        if (stream := self.process.stdout) is not None and not stream.closed:
            self.printed += stream.read()
            stream.close()
        self.printed += self._read_errors()
        return code

    def _read_errors(self) -> str:
        """Return what was printed to the file of errors, once."""
        if self._errors is None or self._errors.closed:
            return ""
        with self._errors as file:
            file.seek(0)
            return file.read()


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[Serving]:
    """Lend a running collector."""
    started = Serving(folder, options=more)
    try:
        yield started
    finally:
        started.end()


@contextmanager
def collector_here(folder: Path, *collections: tc.Collection, **places: str) -> Iterator[Collector]:
    """Lend a collector of this process that publishes these collections, or the one above."""
    made = Collector(folder, **places)
    for collection in collections or (COLLECTION,):
        made.publish(collection)
    yield made
    made.close()


@contextmanager
def served_here(app: Any, **headers: str) -> Iterator[httpx.Client]:
    """Lend a client of an application that a thread of this process serves, so that tests can reach into it."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, http=HttpConnection))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=60, trust_env=False, headers=headers) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
