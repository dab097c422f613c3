"""The work of `tacit query`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.adapters.connect import connect
from tacit.adapters.remote.address import is_address
from tacit.adapters.remote.database import RemoteDatabase
from tacit.answers.forecast.verdicts import Forecast
from tacit.central.release import Release
from tacit.database import Database
from tacit.engines import is_there
from tacit.errors import UsageError
from tacit.estimate.answer import Answer, shift_text
from tacit.tables.places import place_text

__all__ = ["draw", "open_existing", "print_answer", "run"]


def run(options: argparse.Namespace) -> int:
    """Answer one question."""
    answer = _answer(options)
    print_answer(answer, as_json=options.json)
    if options.plot:
        draw(answer, options.plot)
    if options.explain and not options.json:
        print(answer.explain())
    return 0


def _answer(options: argparse.Namespace) -> Answer:
    """Query a release, or the reports of a database."""
    settings = {"confidence": options.confidence, "simultaneous": options.simultaneous}
    if Path(options.database).suffix.lower() == ".parquet":
        return Release.load(options.database).sql(options.question, **settings)
    database = open_existing(options.database, options.key_file)
    try:
        answer = database.sql(options.question, decoder=options.decoder, consistent=options.consistent, **settings)
        _ = (options.json or options.explain) and answer.privacy  # people are counted while the database is open
        return answer
    finally:
        database.close()


def draw(answer: Answer | Forecast, path: str) -> None:
    """Write a chart of an answer or a forecast to a file."""
    try:
        answer.plot(path=path)
    except OSError as cause:
        message = f"{Path(path).name} cannot be written ({type(cause).__name__})."
        raise UsageError(message, code="unwritable-file") from None


def open_existing(path: str, key_file: str | None) -> Database | RemoteDatabase:
    """Open a collector or an existing database: a question must not create one."""
    if is_address(path):
        return connect(path, key_file=key_file)
    if key_file is not None:
        message = "--key-file is for collectors, whose addresses start with https://. A file needs no key."
        raise UsageError(message, code="bad-option")
    if not is_there(path):
        message = f"There is no database {Path(place_text(path)).name!r}. Create one with tacit load."
        raise UsageError(message, code="no-database")
    return connect(path)


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print an answer for people or for programs."""
    print(answer.to_json() if as_json else answer)
    if not as_json:
        for name, shift in answer.shifts().items():
            print(shift_text(name, shift))
