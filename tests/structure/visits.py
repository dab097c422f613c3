"""Count the functions, files and rooms that a question, a fitted answer and a report over HTTP visit.

```text
PYTHONPATH=tests python tests/structure/visits.py
```
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.datasets import town, town_schema

PACKAGE = Path(tc.__file__).parent
JOIN = "SELECT AVG(income) AS m FROM shop JOIN clinic USING (uid) WHERE age BETWEEN 20 AND 40 AND smoker = 'yes'"
GROUPS = "SELECT region, COUNT(*) AS n FROM shop WHERE age < 40 GROUP BY region"


class Visits:
    """The functions of the package that are called while it records, in every thread that starts under it."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()
        self._recording = False

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record a call."""
        del argument
        code = frame.f_code
        if self._recording and event == "call" and code.co_filename.startswith(str(PACKAGE)):
            self._seen.add((code.co_filename, code.co_qualname.partition(".<locals>")[0]))

    def during(self, work: Callable[[], object]) -> dict[str, int]:
        """Return how much some work visits."""
        self._seen, self._recording = set(), True
        work()
        self._recording = False
        files = {Path(name).relative_to(PACKAGE) for name, _ in self._seen}
        rooms = {path.parts[0].removesuffix(".py") for path in files}
        return {"functions": len(self._seen), "files": len(files), "rooms": len(rooms)}


@contextmanager
def profiled() -> Iterator[Visits]:
    """Watch all calls."""
    visits = Visits()
    threading.setprofile(visits.note)
    sys.setprofile(visits.note)
    try:
        yield visits
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def count() -> dict[str, dict[str, int]]:
    """Return the counts, each of the second time."""
    collection = tc.Collection(town_schema(), epsilon=4.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**town(2_000, seed=1), rng=tc.insecure_rng(1)))
    result = {}
    with profiled() as visits:
        for name, text, options in (
            ("db.sql of a join", JOIN, {}),
            ("db.sql, consistent=True", GROUPS, {"consistent": True}),
        ):
            database.sql(text, **options)
            result[name] = visits.during(lambda: database.sql(text, **options))  # noqa: B023
        result["one HTTP report"] = _of_a_report(visits)
    return result


def _of_a_report(visits: Visits) -> dict[str, int]:
    from tacit.server.app import make_app
    from tacit.server.keys import Keys

    with tempfile.TemporaryDirectory() as name, collector_here(Path(name)) as collector:
        app = make_app(collector, Keys(Path(name) / "keys.json"))
        with served_here(app) as client:
            path = f"/v1/collections/{COLLECTION.id}/reports"
            client.post(path, json=body_of(reports_of(0, 1))).raise_for_status()
            return visits.during(lambda: client.post(path, json=body_of(reports_of(1, 1))).raise_for_status())


if __name__ == "__main__":
    for name, counts in count().items():
        print(f"{name}: {counts}")
