"""The claims as plain data: exact audits, a person's total over services, tiers and rounds, public columns, log."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tacit.errors
from tacit.collection import Collection
from tacit.contract.budget import decimal_text, log_above, read_fraction
from tacit.contract.files import schema_hash
from tacit.contract.hash_chain import read_chain
from tacit.evidence.readers import Readership, central_claims
from tacit.evidence.trials import Trial, Trials

__all__ = ["audited", "code_hash", "gather", "read_trials", "total_claims"]

Claims = dict[str, Any]

MOST_TRIALS = 2**53
"""Trials of a pair that evidence can state."""

PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb", "sqlglot", "starlette", "uvicorn")


def gather(
    collections: Sequence[Collection],
    *,
    made: str,
    log: Sequence[str] | None = None,
    trials: Mapping[str, Trials] | None = None,
    readers: Readership | None = None,
) -> Claims:
    """Return everything that is claimed.

    Parameters
    ----------
    collections : sequence of Collection
        Rounds and tiers that may contain the same people.
    made : str
        The date.
    log : sequence of str, optional
        Lines of a collector's log.
    trials : mapping, optional
        Trials of the encoder by the ids of collections.
    readers : Readership, optional
        The crowd that hides a person from readers of answers.
    """
    claims: Claims = {
        "evidence": 1,
        "made": made,
        "program": _program(),
        "collections": [_describe(collection) for collection in collections],
        "total": total_claims(collections),
    }
    if readers:
        claims["readers"] = central_claims(collections, readers)
    if trials:
        claims["trials"] = {name: [_trial(trial) for trial in result.found] for name, result in trials.items()}
    if log is not None:
        chain = read_chain(log)
        events = Counter(entry["event"] for entry in chain.entries)
        claims["log"] = {"entries": chain.head.entries, "head": chain.head.hash, "events": dict(sorted(events.items()))}
    return claims


def audited(collection: Collection) -> Claims:
    """Return the exact audit as plain data; ratios are fractions as text."""
    result = collection.audit()
    data: Claims = json.loads(json.dumps(result.to_data()))  # lists, as JSON reads them
    return {"collection": collection.id} | data | {"ratio": str(result.ratio)}


def _describe(collection: Collection) -> Claims:
    contract = collection.contract
    services = [
        {
            "service": service.service.name,
            "mechanism": service.layout,
            "reports": service.service.sends * len(service.channels),
            "sensitive": [attribute.name for attribute in service.service.sensitive],
            "public": [service.service.key, *(attribute.name for attribute in service.service.public)],
            "membership": "hidden" if service.service.extras else "public",
        }
        for service in contract.services
    ]
    panel = contract.panel
    seats = {"panel": {"name": panel.name, "rounds": panel.rounds, "reports": panel.reports}} if panel else {}
    labels = {"round": contract.round, "tier": contract.tier} | seats
    return labels | {"services": services} | audited(collection)


def total_claims(collections: Iterable[Collection]) -> Claims:
    """Return a person's total: one tier of a schema per round; over rounds and schemas, losses add up."""
    worst: dict[tuple[str, str], Fraction] = {}
    budget: dict[tuple[str, str], Fraction] = {}
    bounded = True
    for collection in collections:
        label = f"panel {collection.panel.name}" if collection.panel else collection.contract.round
        place, ratio = (label, schema_hash(collection.schema)), collection.audit().ratio
        bounded &= ratio is not None
        worst[place] = max(worst.get(place, Fraction(1)), ratio or Fraction(1))
        budget[place] = max(budget.get(place, Fraction(0)), collection.contract.epsilon)
    ratio = Fraction(1)
    for largest in worst.values():
        ratio *= largest
    return {
        "rounds": [
            {"round": name, "schema": schema, "epsilon": decimal_text(e)} for (name, schema), e in budget.items()
        ],
        "epsilon": decimal_text(sum(budget.values(), Fraction(0))),
        "worst_loss": log_above(ratio) if bounded else None,
        "ratio": str(ratio) if bounded else None,
    }


def _program() -> Claims:
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"code": code_hash(), "python": platform.python_version(), "packages": packages}


@cache
def code_hash() -> str:
    """Return the SHA-256 of the package's source files: names and contents, in order."""
    root, digest = Path(tacit.errors.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _trial(trial: Trial) -> Claims:
    return {
        "service": trial.service,
        "channel": trial.channel,
        "first": trial.first,
        "second": trial.second,
        "epsilon": decimal_text(trial.epsilon),
        "trials": trial.trials,
        "told": list(trial.told),
        "supported": list(trial.supported),
        "expected": [str(chance) for chance in trial.expected],
    }


def read_trials(data: Iterable[Mapping[str, Any]]) -> Trials:
    """Return trials from plain data, so that their bounds can be recomputed."""
    return Trials(
        tuple(
            Trial(
                trial["service"],
                trial["channel"],
                trial["first"],
                trial["second"],
                read_fraction(trial["epsilon"]),
                _count(trial["trials"]),
                (_count(trial["told"][0]), _count(trial["told"][1])),
                (trial["supported"][0], trial["supported"][1]),
                (read_fraction(trial["expected"][0]), read_fraction(trial["expected"][1])),
            )
            for trial in data
        )
    )


def _count(number: Any) -> int:
    """Return a number of trials, or raise: bounds of fractions and of numbers without end are never found."""
    if type(number) is not int or not 0 <= number <= MOST_TRIALS:
        raise ValueError
    return number
