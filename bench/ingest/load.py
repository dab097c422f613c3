"""Send reports to a collector at a steady rate, in a process of its own, and say how long each answer took.

Requests are written when they are due, whether or not earlier ones are answered; times count from when they were due.
A request that finds no free connection and too long a queue is not sent, and counted as that.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import uvloop

QUESTION = "SELECT COUNT(*) AS n FROM users WHERE age BETWEEN 20 AND 40"


@dataclass
class Load:
    """What is sent: so many requests a second (0 for as many as are answered) of so many reports each."""

    address: str
    collection: str
    alphabet: int
    rate: float
    batch: int
    seconds: float
    connections: int
    seed: int
    question_every: float = 1.0
    latencies: list[float] = field(default_factory=list)
    questions: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    stored: int = 0
    unsent: int = 0

    def requests(self) -> list[bytes]:
        """Return the requests as bytes, made before anything is sent."""
        count = int((self.rate or 1_000) * self.seconds)
        source = np.random.default_rng(self.seed)
        keys = source.integers(0, 2**63, (count, self.batch)).tolist()
        codes = source.integers(0, self.alphabet, (count, self.batch)).tolist()
        made = []
        for some, own in zip(keys, codes, strict=True):
            reports = ",".join(
                f'{{"person":"{key:016x}","service":"users","slot":0,"codes":[{code}]}}'
                for key, code in zip(some, own, strict=True)
            )
            path = f"/v1/collections/{self.collection}/reports"
            made.append(self.request(path, f'{{"tacit":1,"reports":[{reports}]}}'.encode()))
        return made

    def request(self, path: str, body: bytes) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async def run(self) -> dict[str, Any]:
        waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        made = self.requests()
        workers = [asyncio.create_task(self.work(waiting)) for _ in range(self.connections)]
        asking = asyncio.create_task(self.ask())
        start = time.perf_counter() + 0.2
        for number, data in enumerate(made):
            due = start + number / self.rate if self.rate else start
            if (delay := due - time.perf_counter()) > 0:
                await asyncio.sleep(delay)
            if waiting.qsize() > 4 * self.connections and self.rate:
                self.unsent += 1
            else:
                waiting.put_nowait((due if self.rate else 0.0, data))
            if not self.rate and waiting.qsize() > self.connections:
                await asyncio.sleep(0)
                while waiting.qsize() > self.connections and time.perf_counter() < start + self.seconds:
                    await asyncio.sleep(0.001)
            if time.perf_counter() > start + self.seconds:
                break
        for _ in workers:
            waiting.put_nowait(None)
        await asyncio.gather(*workers)
        asking.cancel()
        took = time.perf_counter() - start
        return {
            "seconds": took,
            "answers": dict(sorted(self.statuses.items())),
            "stored_per_second": self.stored / took,
            "unsent": self.unsent,
            "latency": percentiles(self.latencies),
            "question": percentiles(self.questions),
        }

    async def work(self, waiting: asyncio.Queue[tuple[float, bytes] | None]) -> None:
        connection = await self.connect()
        while (item := await waiting.get()) is not None:
            due, data = item
            due = due or time.perf_counter()
            try:
                status, content = await answered(connection, data)
            except (OSError, asyncio.IncompleteReadError):
                self.statuses[0] += 1
                connection = await self.connect()
                continue
            self.statuses[status] += 1
            if status == 200:
                self.latencies.append(time.perf_counter() - due)
                self.stored += content.count(b'"stored"')
            elif b"connection: close" in content[:400].lower():
                connection = await self.connect()

    async def ask(self) -> None:
        connection = await self.connect()
        body = json.dumps({"tacit": 1, "sql": QUESTION}).encode()
        while True:
            start = time.perf_counter()
            status, _ = await answered(connection, self.request("/v1/query", body))
            if status == 200:
                self.questions.append(time.perf_counter() - start)
            await asyncio.sleep(max(0.0, self.question_every - (time.perf_counter() - start)))

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(self.address)
        return await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20)


async def answered(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], data: bytes) -> tuple[int, bytes]:
    reader, writer = connection
    writer.write(data)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Return percentiles in milliseconds."""
    if not seconds:
        return {"count": 0}
    found = np.percentile(np.array(seconds) * 1_000, [50, 90, 99, 100])
    named = zip(("p50", "p90", "p99", "most"), found.tolist(), strict=True)
    return {"count": len(seconds)} | {name: round(value, 2) for name, value in named}


if __name__ == "__main__":
    print(json.dumps(uvloop.run(Load(**json.loads(sys.argv[1])).run())))
