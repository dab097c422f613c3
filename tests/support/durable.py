"""A store with acknowledged people, and answers that must count all of them."""

from __future__ import annotations

import time
from pathlib import Path

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from tacit.errors import OverloadedError
from tacit.server.collector import Collector

__all__ = ["COUNT", "answered", "assert_complete", "stopped_store"]

COUNT = "SELECT COUNT(*) AS n FROM users"


def stopped_store(folder: Path) -> Path:
    """Return the folder of a stopped collector that has acknowledged 510 people, one of them deleted since."""
    with collector_here(folder) as made:
        made.accept(COLLECTION.id, reports_of(0, 500)).result()
        assert made.query(COUNT)["n"].value == 500
        made.accept(COLLECTION.id, reports_of(500, 11)).result()
        made.forget("u-3")
        assert made.query(COUNT).watermark == (510, 510)
    return folder


def answered(collector: Collector, sql: str = COUNT) -> tc.Answer:
    """Return an answer as soon as there is one; until then every refusal must have a reason."""
    for _ in range(100):
        try:
            return collector.query(sql)
        except OverloadedError as refusal:
            if refusal.code not in ("rebuilding", "no-store", "store-replaced"):
                raise
            time.sleep(0.05)
    raise AssertionError("there never was an answer")


def assert_complete(collector: Collector, people: int = 510) -> None:
    answer = answered(collector)
    assert answer["n"].value == people
    assert answer.watermark == (people, people)
    assert not answer.notes
