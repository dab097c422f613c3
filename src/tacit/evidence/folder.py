"""Evidence as a folder: `evidence.json` with the claims, `index.html`, the contracts and the log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.collection import Collection
from tacit.contract.hash_chain import Head, read_chain
from tacit.errors import TacitError, UsageError
from tacit.evidence.claims import audited, code_hash, gather, read_trials, total_claims
from tacit.evidence.page import page, shown_loss, to_text
from tacit.evidence.readers import Readership, central_claims
from tacit.evidence.trials import Trials, expectations
from tacit.tables.atomic import write_atomically

__all__ = ["Verdict", "verify", "write"]

Claims = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One verified claim: whether it holds, or None if this program cannot verify it."""

    claim: str
    ok: bool | None
    detail: str = ""


def write(folder: Path, claims: Claims, collections: Sequence[Collection], log: Sequence[str] | None = None) -> None:
    """Write an evidence folder."""
    (folder / "contracts").mkdir(parents=True, exist_ok=True)
    for collection in collections:
        write_atomically(folder / "contracts" / f"{collection.id}.json", collection.to_json().encode())
    if log is not None:
        write_atomically(folder / "log.jsonl", "".join(f"{line}\n" for line in log).encode())
    write_atomically(folder / "index.html", page(claims).encode())
    write_atomically(folder / "evidence.json", to_text(claims).encode())  # last: it refers to the other files


def verify(folder: Path, *, log: Sequence[str] | None = None) -> list[Verdict]:
    """Verify every claim of a folder against the contracts and the log; ``log`` is the collector's current log."""
    try:
        claims = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
        if claims["evidence"] != 1:
            message = "This evidence has an unsupported version. Use the version of tacit that wrote it."
            raise UsageError(message, code="evidence-version")
        return list(_verdicts(folder, claims, log))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as cause:
        if isinstance(cause, TacitError):
            raise
        message = (
            f"{folder.name} has no readable evidence ({type(cause).__name__}). Name a folder written with --report."
        )
        raise UsageError(message, code="no-evidence") from None


def _verdicts(folder: Path, claims: Claims, log: Sequence[str] | None) -> Iterator[Verdict]:
    collections = []
    for claimed in claims["collections"]:
        name = claimed["collection"]
        collection = _contract(folder, name)
        yield Verdict(f"contract {name[:16]} has the hash it is named by", collection is not None)
        if collection is None:
            continue
        collections.append(collection)
        computed = audited(collection)
        for mine, stated in zip(computed["channels"], claimed["channels"], strict=False):
            where = f"{mine['service']}, {mine['channel']}"
            yield Verdict(
                f"channel {where}: worst ratio, exactly", mine == stated, f"realised {shown_loss(mine['realised'])}"
            )
        yield Verdict("channels are complete", len(computed["channels"]) == len(claimed["channels"]))
        same = all(computed[word] == claimed[word] for word in ("ok", "epsilon", "worst_loss", "ratio"))
        yield Verdict(f"total of {name[:16]}", same and computed["ok"], f"at most {shown_loss(computed['worst_loss'])}")
    described = gather(collections, made=claims["made"])["collections"]
    yield Verdict("services, what is public, rounds and tiers", described == claims["collections"])
    yield Verdict("a person's total over all of it", total_claims(collections) == claims["total"])
    if "readers" in claims:
        again = central_claims(collections, Readership.of(claims["readers"]["given"]))
        yield Verdict("what readers of answers learn, with certified rounding", again == claims["readers"])
    yield _code(claims["program"])
    for name, data in claims.get("trials", {}).items():
        trials = read_trials(data)
        complete = any(collection.id == name and _is_complete(trials, collection) for collection in collections)
        yield Verdict(f"trials of {name[:16]}", trials.ok and complete, "; ".join(trials.problems))
    if "log" in claims:
        yield from _log(folder, claims["log"], log)
    text = (folder / "index.html").read_text(encoding="utf-8")
    yield Verdict("the page agrees with the claims", text == page(claims))


def _is_complete(trials: Trials, collection: Collection) -> bool:
    """Return whether there are trials of every channel, with the budgets and probabilities of the contract."""
    expected = expectations(collection)
    if len(trials.found) != len(expected):
        return False
    stated = {
        (trial.service, trial.channel, trial.first, trial.second): (trial.epsilon, trial.expected)
        for trial in trials.found
    }
    return stated == {place: (epsilon, chances) for place, (epsilon, _, chances) in expected.items()}


def _contract(folder: Path, name: str) -> Collection | None:
    """Return a contract of the folder if its hash matches its name."""
    try:
        collection = Collection.from_json((folder / "contracts" / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, TacitError):
        return None
    return collection if collection.id == name else None


def _code(program: Claims) -> Verdict:
    """Compare programs: the same version must be identical; another version can only verify the other claims."""
    mine = gather((), made="")["program"]["packages"].get("tacit")
    same = program["code"] == code_hash()
    if same or mine == program["packages"].get("tacit"):
        return Verdict("the program is identical to this one", same)
    return Verdict(
        "the program is identical to this one", None, "another version of tacit wrote this; its numbers were recomputed"
    )


def _log(folder: Path, claimed: Claims, now: Sequence[str] | None) -> Iterator[Verdict]:
    head = Head(claimed["entries"], claimed["head"])
    chain = read_chain((folder / "log.jsonl").read_text(encoding="utf-8").splitlines()).since(head)
    where = f"line {chain.position}: {chain.problem}" if chain.problem else f"{head.entries} entries"
    yield Verdict("the log is an unbroken chain up to its recorded head", chain.ok and chain.head == head, where)
    counted: dict[str, int] = {}
    for entry in chain.entries:
        counted[entry["event"]] = counted.get(entry["event"], 0) + 1
    yield Verdict("events of the log", counted == claimed["events"])
    if now is not None:
        later = read_chain(now).since(head)
        where = f"line {later.position}: {later.problem}" if later.problem else f"{len(now)} entries now"
        yield Verdict("the collector's log goes on from there", later.ok, where)
