"""Deliver what waits in a wallet to its collector: deletions, questions about lost wallets, then reports."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.client.transport import PROTOCOL, Answered, Transport
from tacit.client.wallet import Person, Waiting, Wallet

__all__ = ["Ask", "Delivery", "Outbox", "Token"]

BATCH = 100
"""Reports in one request."""

Token = str | Callable[[Person], str]

Ask = Callable[[Person], Answered | None]
"""Finds out which reports of a person the collector has; returns the response if it does not say."""


@dataclass(frozen=True)
class Delivery:
    """The result of a delivery: reports acknowledged and refused, and reports and deletions that wait."""

    sent: int
    rejected: int
    pending: int
    problem: str = ""


class Outbox:
    """What waits in a wallet for one collection, and the credentials to send it with."""

    def __init__(self, transport: Transport, wallet: Wallet, collection: str, key: str, token: Token, ask: Ask) -> None:
        self._transport, self._wallet, self._collection = transport, wallet, collection
        self._key, self._token, self._ask = key, token, ask
        self._sending = threading.Lock()

    @property
    def has_tokens(self) -> bool:
        """Whether requests carry a token, so that each is about one person."""
        return bool(self._token)

    def token(self, person: Person) -> str:
        """Return a person's token, or nothing."""
        return self._token(person) if callable(self._token) else self._token

    def request(self, who: Person, **members: Any) -> str:
        """Return the body of a request for a person, with the credentials."""
        access = {name: text for name, text in (("key", self._key), ("token", self.token(who))) if text}
        return json.dumps({"tacit": PROTOCOL, **access, **members}, separators=(",", ":"))

    def counts(self) -> dict[str, int]:
        """Return how many reports have each status; deletions that wait are counted with waiting reports."""
        counts = self._wallet.counts(self._collection)
        return counts | {"waiting": counts.get("waiting", 0) + len(self._deletions())}

    def send(self) -> Answered | None:
        """Send everything that waits; return the response that stopped it, or None."""
        with self._sending:
            failed = self._send_deletions()
            if failed is None or failed.status:
                failed = self._ask_again() or failed
            if failed is not None and not failed.status:
                return failed  # no response
            most, after = BATCH, 0
            while waiting := self._wallet.waiting(self._collection, most, after):
                if self._token:  # about one person only
                    waiting = [report for report in waiting if report.person == waiting[0].person]
                answered = self._transport.post(f"/v1/collections/{self._collection}/reports", self._batch(waiting))
                if answered.status in (413, 500) and len(waiting) > 1:
                    most = len(waiting) // 2  # a report that cannot be accepted must not block others
                elif answered.status == 500 or (self._token and answered.status == 403):
                    after, failed = waiting[0].number, answered  # nor a person whose token has expired
                elif not self._settle(waiting, answered):
                    return answered
            return failed

    def _deletions(self) -> list[tuple[str, Person]]:
        """Return the deletions that can be asked for from here: with a token, those of its collection alone."""
        return self._wallet.pending_deletions(self._collection, "" if self._token else self._transport.url)

    def _send_deletions(self) -> Answered | None:
        """Ask for deletions that the collector has not confirmed; return what failed, which keeps no report back."""
        failed = None
        for collection, person in self._deletions():
            answered = self._transport.post("/v1/forget", self.request(person, person=person, collection=collection))
            if answered.status == 200 or answered.code == "nothing-to-delete":
                self._wallet.mark_forgotten(collection, person)
                continue
            failed = answered
            if not answered.is_final:
                break
        return failed

    def _ask_again(self) -> Answered | None:
        """Ask about people whose reports were drawn without asking; return what failed.

        Reports of people about whom the collector says nothing stay here: it may have others of theirs, and a second
        draw must not be sent.
        """
        failed = None
        for person in self._wallet.people_to_ask(self._collection):
            answered = self._ask(person)
            if answered is not None:
                failed = answered
                if not answered.status:
                    break
        return failed

    def _batch(self, waiting: Sequence[Waiting]) -> str:
        """Return a request that contains the stored bytes unchanged."""
        reports = ",".join(report.body for report in waiting)
        return f'{self.request(waiting[0].person)[:-1]},"reports":[{reports}]}}'

    def _settle(self, waiting: Sequence[Waiting], answered: Answered) -> bool:
        """Record the result of a batch; return whether anything was decided."""
        if answered.status in (410, 413):
            code = answered.code or "collection-closed"
            self._wallet.settle(self._collection, [(report, "refused", code) for report in waiting])
            return True
        data = answered.data if answered.status == 200 else None
        statuses = data.get("statuses") if isinstance(data, dict) else None
        if not isinstance(statuses, list) or len(statuses) != len(waiting):
            return False
        outcomes = []
        for report, status in zip(waiting, statuses, strict=True):
            word = status.get("status") if isinstance(status, dict) else None
            if word in ("stored", "again"):
                outcomes.append((report, "stored", ""))
            elif word == "refused":
                outcomes.append((report, "refused", str(status.get("code", ""))[:64]))
        self._wallet.settle(self._collection, outcomes)
        return bool(outcomes)
