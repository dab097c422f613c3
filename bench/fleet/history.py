"""What clients were told, and whether the database agrees: acknowledged means stored, exactly once, as it was sent."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psycopg

__all__ = ["History", "read_wallets"]

Identity = tuple[str, str, int]
"""A person, a service and a slot."""


class History:
    """Everything that clients were told by whichever collector answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.told: dict[Identity, list[int]] = {}
        """Acknowledged reports, with their codes."""

        self.sent: set[Identity] = set()
        self.deleted: set[str] = set()
        self.deleting: set[str] = set()
        self.users = 0
        """People whose report to users was acknowledged and whose deletion was not begun."""

        self.counts: Counter[str] = Counter()

    def send(self, reports: Iterable[Mapping[str, Any]]) -> None:
        """Note that reports leave."""
        with self._lock:
            self.sent.update(_identity(report) for report in reports)

    def hear(self, reports: Iterable[Mapping[str, Any]], statuses: Iterable[str]) -> None:
        """Note the answer to reports."""
        with self._lock:
            for report, status in zip(reports, statuses, strict=True):
                self.counts[status] += 1
                if status in ("stored", "again") and _identity(report) not in self.told:
                    self.told[_identity(report)] = list(report["codes"])
                    self.users += report["service"] == "users" and report["person"] not in self.deleting

    def begin_deletion(self, person: str) -> None:
        """Note that a deletion is asked for: from now on answers may count the person or not."""
        with self._lock:
            if person not in self.deleting:
                self.deleting.add(person)
                self.users -= (person, "users", 0) in self.told

    def end_deletion(self, person: str) -> None:
        """Note that a deletion was acknowledged."""
        with self._lock:
            self.deleted.add(person)

    def check(self, store: str) -> dict[str, int]:
        """Compare with the database; every number but the first three must be 0."""
        with psycopg.connect(store) as connection:
            query = (
                "SELECT k.person, p.service, k.slot, r.content FROM tacit_known k JOIN tacit_places p USING (place) "
                "LEFT JOIN tacit_reports r ON r.number = k.number"
            )
            known = {(person, service, slot): content for person, service, slot, content in _rows(connection, query)}
            [(twice,)] = _rows(connection, _repeated("tacit_reports", "place, person, slot"))
            [(reports,)] = _rows(connection, "SELECT count(*) FROM tacit_reports")
            tables = _rows(
                connection, "SELECT tablename FROM pg_tables WHERE tablename ~ '^reports_' AND tablename !~ '_[0-9]+$'"
            )
            moved_twice = 0
            for (table,) in tables:
                [(more,)] = _rows(connection, _repeated(table, "uid, slot, channel"))
                moved_twice += more
            counted = {person for (person,) in _rows(connection, _people(tables))} if tables else set()
            sizes = _rows(
                connection, "SELECT sum(known)::bigint, sum(damaged)::bigint, sum(lost)::bigint FROM tacit_sizes"
            )[0]
        wrong = sum(
            json.loads(content)[0] != self.told[identity]
            for identity, content in known.items()
            if identity in self.told and content is not None
        )
        gone = self.deleted | self.deleting
        return {
            "acknowledged": len(self.told),
            "stored": len(known),
            "deleted": len(self.deleted),
            "lost": sum(identity not in known and identity[0] not in gone for identity in self.told),
            "wrong": wrong,
            "twice": twice + abs(reports - len(known)) + abs(sizes[0] - len(known)),
            "counted_twice": moved_twice,
            "came_back": sum(identity[0] in self.deleted for identity in known) + len(self.deleted & counted),
            "never_sent": len(known.keys() - self.sent),
            "damaged": sizes[1] + sizes[2],
        }


def _repeated(table: str, by: str) -> str:
    return f'SELECT count(*) FROM (SELECT 1 FROM "{table}" GROUP BY {by} HAVING count(*) > 1) AS repeated'


def _people(tables: list[tuple[Any, ...]]) -> str:
    return " UNION ".join(f'SELECT DISTINCT uid FROM "{table}"' for (table,) in tables)


def _rows(connection: psycopg.Connection[tuple[Any, ...]], query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()  # type: ignore[arg-type]


def _identity(report: Mapping[str, Any]) -> Identity:
    return report["person"], report["service"], report["slot"]


def read_wallets(history: History, folder: Path) -> tuple[int, int]:
    """Note what the outboxes of both clients say was delivered; return how many reports wait, and were rejected."""
    import sqlite3

    waiting = rejected = 0
    for path in folder.glob("python-*/wallet.db"):
        with sqlite3.connect(path) as file:
            for body, status in file.execute("SELECT body, status FROM reports"):
                report = json.loads(body)
                history.send([report])
                waiting, rejected = waiting + (status == "waiting"), rejected + (status == "refused")
                if status in ("stored", "taken"):
                    history.hear([report], ["stored"])
        file.close()
    for path in folder.glob("typescript-*/history"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            reports = [json.loads(one["body"]) for own in entry["history"] for one in own["reports"]]
            history.send(reports)
            history.hear(reports, ["stored"] * len(reports))
            waiting, rejected = waiting + entry["pending"], rejected + entry["rejected"]
    return waiting, rejected
