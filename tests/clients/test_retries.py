"""R7: however often a report is sent again, over restarts, it is the same bytes."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from support.collectors import COLLECTION
from tacit.client import connect

PEOPLE, FLUSHES, RESTARTS = 7, 480, 16
"""Each flush sends the reports of all people again: 3 of each, 10,080 in all."""


class Deaf(BaseHTTPRequestHandler):
    """Gives the contract away, notes every batch, and never says that it has it."""

    batches: list[bytes]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(COLLECTION.to_json().encode())

    def do_POST(self) -> None:
        self.batches.append(self.rfile.read(int(self.headers["Content-Length"])))
        kind = len(self.batches) % 3
        if kind == 0:
            self.close_connection = True  # no answer at all
            return
        self.send_response(503 if kind == 1 else 200)
        self.end_headers()
        self.wfile.write(b"" if kind == 1 else b'{"statuses": []}')  # an answer that answers nothing

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def deaf() -> Iterator[tuple[str, list[bytes]]]:
    batches: list[bytes] = []
    handler = type("Noting", (Deaf,), {"batches": batches})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", batches
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def bodies(batch: bytes) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield identity and exact bytes of the reports in a batch."""
    text = batch.decode()
    start = text.index('"reports":[') + len('"reports":[')
    decoder = json.JSONDecoder()
    while text[start] != "]":
        report, end = decoder.raw_decode(text, start)
        yield (report["person"], report["service"], report["slot"]), text[start:end]
        start = end + (text[end] == ",")


def test_ten_thousand_retries_are_the_same_bytes(tmp_path: Path) -> None:
    seen: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    sends = 0
    with deaf() as (address, batches):
        for start in range(RESTARTS):
            client = connect(address, collection=COLLECTION.id, store=tmp_path / "w.db", cap=6, every=0)
            for person in range(PEOPLE):
                me = client.person(person)
                me.record("users", {"age": (person + start) % 10, "os": "ios"})  # the app says something new each time
                me.rows("orders", [{"pay": start % 5}] * (start % 4))
            for _ in range(FLUSHES // RESTARTS):
                assert client.flush(seconds=0).pending == 3 * PEOPLE
            client.close()
        for batch in batches:
            for identity, body in bodies(batch):
                seen[identity].add(body)
                sends += 1
    assert sends >= 10_000
    assert len(seen) == 3 * PEOPLE
    assert all(len(distinct) == 1 for distinct in seen.values())
