"""Compute what anyone can learn at most about a person from everything the person sends, exactly."""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tacit.collection import Collection
from tacit.contract.amplification import parse_delta
from tacit.errors import UsageError
from tacit.evidence import Readership, Trials, audited, gather, run_trials, verify, write
from tacit.server.store.log import Log

__all__ = ["configure", "run"]

MAX_TRIALS = 1_000_000_000
"""People encoded of each kind: some hours of work."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("files", nargs="*", metavar="file", help="contracts (.json) or collection files (.toml)")
    parser.add_argument(
        "--trials", type=float, metavar="N", help="also encode N people of each kind, and look at what came out"
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write evidence: one page, JSON, contracts and the log"
    )
    parser.add_argument("--people", type=int, metavar="N", help="people who report: also bound what answers tell")
    parser.add_argument("--delta", type=float, default=1e-8, help="chance that this bound fails (default 1e-8)")
    parser.add_argument("--alike", type=int, metavar="N", help="people of the smallest class by public columns")
    parser.add_argument("--known", type=int, default=0, metavar="N", help="people whose reports a reader may know")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="the folder of `tacit serve`, for its log")
    parser.add_argument("--verify", type=Path, metavar="DIR", help="check all claims of such a folder again")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the audit, or check evidence; exit code 1 if anything fails."""
    log = _log(options.store) if options.store else None
    if options.verify:
        return _verify(options.verify, log, as_json=options.json)
    if not options.files:
        message = "Name a collection file or a contract, or give --verify DIR."
        raise UsageError(message, code="bad-option")
    if options.trials is not None and not 1 <= options.trials <= MAX_TRIALS:
        message = f"--trials is {options.trials:g}; it must be a number from 1 to {MAX_TRIALS:,}."
        raise UsageError(message, code="bad-option")
    collections = [Collection.from_file(path) for path in options.files]
    trials = {one.id: run_trials(one, int(options.trials)) for one in collections} if options.trials else {}
    readers = _readers(options)
    if options.json:
        shown = [_data(one, trials, readers) for one in collections]
        print(json.dumps(shown[0] if len(shown) == 1 else shown, indent=1))
    else:
        for one in collections:
            audit = replace(one.audit(), central=readers.loss(one)) if readers else one.audit()
            print(f"collection {one.id}\n{audit}")
        for found in trials.values():
            _print_trials(found)
    if options.report:
        made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        write(options.report, gather(collections, made=made, log=log, trials=trials, readers=readers), collections, log)
        if not options.json:
            print(f"evidence is in {options.report}; check it with tacit audit --verify {options.report}")
    fine = all(one.audit().ok for one in collections) and all(found.ok for found in trials.values())
    return 0 if fine else 1


def _readers(options: argparse.Namespace) -> Readership | None:
    if options.people is None:
        return None
    return Readership(options.people, parse_delta(options.delta), options.alike, options.known)


def _data(collection: Collection, trials: Mapping[str, Trials], readers: Readership | None = None) -> dict[str, object]:
    data = audited(collection) | ({"central": readers.loss(collection).to_data()} if readers else {})
    if collection.id in trials:
        found = trials[collection.id]
        data |= {"trials": {"ok": found.ok, "lower_bound": found.lower_bound, "problems": found.problems}}
    return data


def _print_trials(trials: Trials) -> None:
    for where, bound in trials.lower_bound.items():
        print(f"{where}: by what was encoded, epsilon is at least {bound:.6f}")
    for problem in trials.problems:
        print(f"FAILED: {problem}")


def _log(folder: Path) -> list[str]:
    if not (folder / "log.db").is_file():
        message = f"{folder.name!r} is no folder of tacit serve: it has no log."
        raise UsageError(message, code="no-store")
    log = Log(folder / "log.db")
    try:
        return log.lines()
    finally:
        log.close()


def _verify(folder: Path, log: Sequence[str] | None, *, as_json: bool) -> int:
    verdicts = verify(folder, log=log)
    words = {True: "PASS", False: "FAIL", None: "NOTE"}
    if as_json:
        print(json.dumps([{"claim": v.claim, "result": words[v.ok], "detail": v.detail} for v in verdicts], indent=1))
    else:
        for verdict in verdicts:
            print(f"{words[verdict.ok]}  {verdict.claim}{verdict.detail and f'  ({verdict.detail})'}")
    return 1 if any(verdict.ok is False for verdict in verdicts) else 0
