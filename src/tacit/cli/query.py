"""Ask a question in SQL over the reports of a database; every aggregate comes with its error."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from tacit.answers.crowds import OPEN, privacy_of
from tacit.central.release import Release
from tacit.database import Database, connect
from tacit.errors import UsageError
from tacit.estimate.answer import Answer
from tacit.server.store.verification import mark_of

__all__ = ["configure", "draw", "open_existing", "print_answer", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("database", help="a database file that `tacit load` wrote, or a release (.parquet)")
    parser.add_argument("question", help="SELECT … FROM service …")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--decoder", default="blue", help="blue (default), cover or rdc")
    parser.add_argument("--simultaneous", action="store_true", help="let all intervals hold together (Bonferroni)")
    parser.add_argument(
        "--consistent", action="store_true", help="post-process: never negative, adding up, any attributes; biased"
    )
    parser.add_argument("--plot", metavar="FILE", help="also draw the first estimates, as an SVG file")
    parser.add_argument("--explain", action="store_true", help="also print the SQL that the engine ran")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


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
    """Ask a release, or the reports of a database."""
    settings = {"confidence": options.confidence, "simultaneous": options.simultaneous}
    if Path(options.database).suffix.lower() == ".parquet":
        return Release.load(options.database).sql(options.question, **settings)
    database = open_existing(options.database)
    try:
        answer = database.sql(options.question, decoder=options.decoder, consistent=options.consistent, **settings)
        mark = mark_of(Path(options.database), database, options.question)
        if mark is None:
            _ = (options.json or options.explain) and answer.privacy  # people are counted while the database is open
            return answer
        rounds = [one for one, _ in database.asked_about(options.question)]
        answer = answer.with_privacy(partial(privacy_of, rounds, lambda _: OPEN))
        return answer.with_watermark(mark.watermark, *mark.notes)
    finally:
        database.close()


def draw(answer: Answer, path: str) -> None:
    """Draw an answer into a file."""
    try:
        answer.plot(path=path)
    except OSError as cause:
        message = f"{Path(path).name} cannot be written ({type(cause).__name__})."
        raise UsageError(message, code="unwritable-file") from None


def open_existing(path: str) -> Database:
    """Open a database file that exists: a question must not make one."""
    if not Path(path).is_file():
        message = f"There is no database {Path(path).name!r}. Make one with tacit load."
        raise UsageError(message, code="no-database")
    return connect(path)


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print an answer for people or for programs."""
    print(answer.to_json() if as_json else answer)
    if not as_json:
        for name, shift in answer.shifts().items():
            print(f"1 % fake people could shift {name} by at most {shift:,.4g}")
