"""The work of `tacit audit`; its options are in `cli.options`."""

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
from tacit.server.shared_keys import is_address, open_log

__all__ = ["run"]

MAX_TRIALS = 1_000_000_000
"""Maximum people encoded of each kind: some hours of work."""


def run(options: argparse.Namespace) -> int:
    """Print the audit, or check evidence; exit code 1 if anything fails."""
    log = _log(options.store) if options.store else None
    if options.verify:
        return _verify(options.verify, log, as_json=options.json)
    if not options.files:
        message = "Pass a collection file or a contract, or --verify DIR."
        raise UsageError(message, code="bad-option")
    if options.trials is not None and not 1 <= options.trials <= MAX_TRIALS:
        message = f"--trials is {options.trials:g}; it must be a number from 1 to {MAX_TRIALS:,}."
        raise UsageError(message, code="bad-option")
    collections = [Collection.from_file(path) for path in options.files]
    trials = (
        {collection.id: run_trials(collection, int(options.trials)) for collection in collections}
        if options.trials
        else {}
    )
    readers = _readers(options)
    if options.json:
        shown = [_data(collection, trials, readers) for collection in collections]
        print(json.dumps(shown[0] if len(shown) == 1 else shown, indent=1))
    else:
        for collection in collections:
            audit = replace(collection.audit(), central=readers.loss(collection)) if readers else collection.audit()
            print(f"collection {collection.id}\n{audit}")
        for trial in trials.values():
            _print_trials(trial)
    if options.report:
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        write(options.report, gather(collections, made=time, log=log, trials=trials, readers=readers), collections, log)
        if not options.json:
            print(f"evidence written to {options.report}; verify it with tacit audit --verify {options.report}")
    fine = all(collection.audit().ok for collection in collections) and all(trial.ok for trial in trials.values())
    return 0 if fine else 1


def _readers(options: argparse.Namespace) -> Readership | None:
    if options.people is None:
        return None
    return Readership(options.people, parse_delta(options.delta), options.alike, options.known)


def _data(collection: Collection, trials: Mapping[str, Trials], readers: Readership | None) -> dict[str, object]:
    data = audited(collection) | ({"central": readers.loss(collection).to_data()} if readers else {})
    if collection.id in trials:
        result = trials[collection.id]
        data |= {"trials": {"ok": result.ok, "lower_bound": result.lower_bound, "problems": result.problems}}
    return data


def _print_trials(trials: Trials) -> None:
    for where, bound in trials.lower_bound.items():
        print(f"{where}: the encoded reports show that epsilon is at least {bound:.6f}")
    for problem in trials.problems:
        print(f"FAILED: {problem}")


def _log(place: str) -> list[str]:
    """Return the lines of the log of a folder, or of a database that collectors share."""
    if not is_address(place) and not (Path(place) / "log.db").is_file():
        message = f"{Path(place).name!r} is not a folder of tacit serve: it has no log."
        raise UsageError(message, code="no-store")
    log = open_log(place)
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
