"""Collectors that speak the PostgreSQL protocol, and clients that speak it badly."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg

from support.collectors import COLLECTION, collector_here, reports_of, served_here
from tacit.adapters.pgwire.questions import PARTS, columns_of
from tacit.adapters.pgwire.values import type_of_value
from tacit.cli.tls import server_context
from tacit.database import Database
from tacit.estimate.answer import Answer
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.postgres import Listening

TLS = Path(__file__).parents[1] / "data" / "tls"


@dataclass(frozen=True)
class Place:
    """A collector, the port of its PostgreSQL protocol, and its keys by name."""

    collector: Collector
    port: int
    keys: Keys
    made: dict[str, str] = field(default_factory=dict)

    def connect(self, name: str = "analyst", **options: Any) -> psycopg.Connection[Any]:
        """Return a connection of psycopg."""
        given = {"sslmode": "disable", "password": self.made.get(name, "none"), "connect_timeout": 10} | options
        return psycopg.connect(host="127.0.0.1", port=self.port, user=name, dbname="tacit", autocommit=True, **given)


@contextmanager
def port_of(folder: Path, *, has_keys: bool = True, with_tls: bool = False, **settings: Any) -> Iterator[Place]:
    """Lend a collector with 400 people."""
    keys = Keys(folder / "keys.json")
    made = {}
    if has_keys:
        made = {"analyst": keys.create("analyst", ["query"]), "shop": keys.create("shop", ["ingest"])}
    listening = socket.create_server(("127.0.0.1", 0))
    tls = server_context(str(TLS / "localhost.pem"), str(TLS / "localhost-key.pem")) if with_tls else None
    with collector_here(folder) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 400)).result(60)
        collector.move()
        chosen = Settings(**{"questions_per_minute": 1e6} | settings)
        app = make_app(collector, keys, settings=chosen, postgres=Listening(listening, tls))
        with served_here(app):
            yield Place(collector, listening.getsockname()[1], keys, made)


def described_otherwise(database: Database, text: str, answer: Answer) -> str:
    """Return how an answer differs from what clients are told before it runs; empty if it does not."""
    told = columns_of(database, text, ())
    names = [name + part for name in answer.columns for part in (PARTS if name in answer.estimates else ("",))]
    if [column.name for column in told] != names:
        return f"described as {told}, but it has {names}"
    kinds = {column.name: column.type for column in told}
    for name in answer.columns:
        if name not in answer.estimates:
            place = list(answer.columns).index(name)
            found = {type_of_value(row[place]) for row in answer.rows if row[place] is not None}
            if not found <= {kinds[name]} and kinds[name] != "text" and not found <= {"int8", "float8"}:
                return f"{name} is described as {kinds[name]}, but is {found}"
    return ""


class Raw:
    """A socket that sends what it is told."""

    def __init__(self, port: int, seconds: float = 20.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def message(self, kind: bytes, content: bytes = b"") -> None:
        self.send(kind + struct.pack("!i", len(content) + 4) + content)

    def start(self, **parameters: str) -> None:
        """Send the first message of a session."""
        text = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items()) + b"\0"
        self.send(struct.pack("!ii", len(text) + 8, 196_608) + text)

    def take(self, count: int) -> bytes:
        """Return so many bytes; fewer if the connection ends."""
        found = b""
        while len(found) < count and (piece := self.socket.recv(count - len(found))):
            found += piece
        return found

    def read(self) -> tuple[str, bytes]:
        """Return a message; an empty kind at the end of the connection."""
        head = self.take(5)
        if len(head) < 5:
            return "", b""
        return chr(head[0]), self.take(struct.unpack("!i", head[1:])[0] - 4)

    def until(self, kind: str) -> list[tuple[str, bytes]]:
        """Return messages up to one of a kind, or to the end of the connection."""
        found = []
        while True:
            found.append(self.read())
            if found[-1][0] in (kind, ""):
                return found


def fields(content: bytes) -> dict[str, str]:
    """Return the fields of an error."""
    return {part[:1].decode(): part[1:].decode() for part in content.split(b"\0") if part}
