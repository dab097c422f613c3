"""The client of an app: takes people's rows, perturbs them locally, and sends the reports.

Reports are sent at ticks of a clock with a random phase, and on `flush`; the time never depends on a value. Pass rows
at times that do not depend on them, such as once per round.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.client.audit import refuse_unsafe
from tacit.client.cap import Cap, day_of
from tacit.client.delivery import Delivery, Outbox, Token
from tacit.client.entropy import draws, fraction
from tacit.client.fetching import fetch_contract, fetch_dictionary
from tacit.client.interpreter import Interpreter
from tacit.client.panel import Turn, turn_of
from tacit.client.preview import NOTHING_LEAVES, Preview, guarantee, service_cost
from tacit.client.public import MOST_PUBLIC, allowed_text, public_bytes, takes
from tacit.client.receipts import ask_coin, ask_receipts, taken_services
from tacit.client.scalars import plain_rows, plain_scalar
from tacit.client.transport import Answered, Transport
from tacit.client.wallet import Claim, Entry, Person, Wallet
from tacit.errors import RecordError, UnknownNameError, UsageError

__all__ = ["Client", "Delivery", "PersonClient", "Preview", "connect"]

LOG = logging.getLogger("tacit.client")
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
"""Seconds between retries: doubled each time, times a random factor from 0.5 to 1."""


def connect(
    url: str,
    *,
    collection: str,
    store: str | Path,
    key: str = "",
    token: Token = "",
    cap: float | str | Fraction = 4,
    per: str | int | None = None,
    every: float = 300.0,
    round: int | None = None,  # noqa: A002
) -> Client:
    """Return a client of one collection.

    Parameters
    ----------
    url : str
        The collector's address.
    collection : str
        The SHA-256 of the reviewed contract; any other contract is refused.
    store : str or Path
        A file for the wallet. Each person needs one wallet: two are two budgets, and after losing one reports are drawn
        again, unless a token lets the client ask the collector first.
    key : str
        The service's key, if the collector requires one.
    token : str or function
        Proof of who a person is, if the collector requires it: a token signed by the service's server (with
        `tacit.client.tokens.sign`), or a function that returns a new one for a person.
    cap : number
        What each person may spend, over all services and rounds in this wallet.
    per : "week", "month", "quarter", "year", a number of days, or None
        The period of the cap: in any period of this length, at most the cap is spent. What anyone can learn is then
        bounded per period, not in total. Without it the cap never renews.
    every : float
        Seconds between background deliveries; with 0 only `flush` sends.
    round : int
        For a panel: which of its rounds, from 1 on, this client reports to. `Client.asks` says whether a person does.
    """
    if not isinstance(collection, str) or len(collection) != 64 or set(collection) - set("0123456789abcdef"):
        message = "collection is the SHA-256 of a contract: 64 hexadecimal digits in lower case."
        raise UsageError(message, code="bad-option")
    limit = Cap.per(cap, per)
    transport, wallet = Transport(url), Wallet(store)
    text = wallet.contract(collection)
    if text is None or hashlib.sha256(text.encode()).hexdigest() != collection:
        text = fetch_contract(transport, collection)
        wallet.keep_contract(collection, text)
    interpreter, _ = _read(text)
    for sha256 in interpreter.dictionaries:
        interpreter.load_dictionary(fetch_dictionary(transport, wallet, sha256))
    turn = turn_of(interpreter.data, text, round)
    name = turn.id if turn else collection
    return Client(transport, wallet, name, text, key, limit, every, token, turn=turn, interpreter=interpreter)


def _read(text: str) -> tuple[Interpreter, dict[str, Any]]:
    """Return a contract that passes the client's audit."""
    interpreter = Interpreter(text)
    refuse_unsafe(interpreter)
    return interpreter, interpreter.data


class Client:
    """Sends reports of any number of people to one collection."""

    def __init__(
        self,
        transport: Transport,
        wallet: Wallet,
        collection: str,
        text: str,
        key: str,
        cap: Cap | Fraction,
        every: float,
        token: Token = "",
        clock: Callable[[], float] = time.time,
        turn: Turn | None = None,
        interpreter: Interpreter | None = None,
    ) -> None:
        self._transport, self._wallet = transport, wallet
        self.cap = cap if isinstance(cap, Cap) else Cap(Fraction(cap))
        self.collection, self._clock, self._turn = collection, clock, turn
        self._interpreter = interpreter or _read(text)[0]
        self._contract = self._interpreter.data
        self._services = {service["name"]: service for service in self._contract["services"]}
        self._outbox = Outbox(transport, wallet, collection, key, token, self._ask)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._tick, args=(every,), name="tacit-client", daemon=True)
        if every > 0:
            self._thread.start()

    def __repr__(self) -> str:
        return f"Client({self.collection[:12]}…, services: {', '.join(self._services)})"

    def person(self, person: Person) -> PersonClient:
        """Return the client of one person."""
        return PersonClient(self, plain_scalar(person))

    def asks(self, person: Person) -> bool:
        """Return whether a person is asked in this round: in a panel, a public coin decides; otherwise everybody is."""
        return self._turn is None or self._turn.asks(person)

    @property
    def today(self) -> str:
        """The day to charge, in UTC."""
        return day_of(self._clock())

    def claim(self, person: Person, service: str, rows: Sequence[Mapping[str, Any]], *, held: bool) -> Entry:
        """Return a person's reports to a service: newly drawn, charged and stored, or those drawn before."""
        if service not in self._services:
            raise UnknownNameError("service", service, self._services)
        if not self.asks(person):
            message = "This person is not asked in this round of the panel. Nothing was drawn."
            raise UsageError(message, code="not-asked")
        rows = plain_rows(rows)
        _refuse_undeclared(self._services[service], rows)
        is_new = not self._wallet.is_done(self.collection, person, service, held=held)
        asked = not (is_new and self._outbox.has_tokens) or self._ask(person) is None
        public = _public(self._services[service], rows)
        coin = self._coin(person) if self._interpreter.is_assigned and is_new else None

        def draw() -> list[str]:
            drawn = draws(self._interpreter.draws(service))
            if coin is not None:
                drawn = self._interpreter.assign(service, coin, drawn)
            codes = self._interpreter.encode_rows(service, rows, drawn)
            return [_body(person, service, slot, report, public) for slot, report in enumerate(codes)]

        return self._wallet.claim(self._claim(service), person, self.cap, draw, held=held, asked=asked)

    def _coin(self, person: Person) -> str:
        """Return the coin that assigns a person's views and seeds: kept from before, or fetched and kept."""
        coin = self._wallet.coin(self.collection, person)
        if coin is None:
            request = self._outbox.request(person, person=person)
            coin = self._wallet.keep_coin(self.collection, person, ask_coin(self._transport, self.collection, request))
        return coin

    def _claim(self, service: str) -> Claim:
        labels = {word: str(self._contract.get(word, "")) for word in ("round", "tier")}
        labels |= {"round": self._turn.label} if self._turn else {}
        cost, names = service_cost(self._services[service]), ",".join(self._services)
        return Claim(self.collection, service, cost, services=names, url=self._transport.url, day=self.today, **labels)

    def _ask(self, person: Person) -> Answered | None:
        """Ask which reports of a person the collector has; return the response if that fails."""
        taken: set[str] = set()
        if token := self._outbox.token(person):
            answered = ask_receipts(self._transport, collection=self.collection, person=person, token=token)
            reported = taken_services(answered, self._services)
            if reported is None:
                return answered
            taken = reported
        self._wallet.note_taken([self._claim(service) for service in sorted(taken)], self.collection, person)
        return None

    def sentences(self, service: str) -> tuple[str, ...]:
        """Return sentences on what a report to a service reveals and hides."""
        return tuple(guarantee(self._contract, self._services[service]))

    @property
    def wallet(self) -> Wallet:
        """The wallet: what was drawn and spent."""
        return self._wallet

    def flush(self, seconds: float = 10.0) -> Delivery:
        """Send waiting reports, with retries for some seconds, and return the result."""
        before, deadline, wait, problem = (
            self._outbox.counts(),
            time.monotonic() + seconds,
            FIRST_WAIT,
            "",
        )
        while True:
            answered = self._outbox.send()
            if answered is None:
                problem = ""
                break
            problem = answered.code or "no-answer"
            pause = max(answered.retry_after, wait * (1 + fraction()) / 2)
            if answered.is_final or time.monotonic() + pause > deadline or self._closed.wait(pause):
                break
            wait = min(2 * wait, LONGEST_WAIT)
        after = self._outbox.counts()
        stored, refused = (after.get(word, 0) - before.get(word, 0) for word in ("stored", "refused"))
        return Delivery(stored, refused, after["waiting"], problem)

    def _tick(self, every: float) -> None:
        """Send periodically, at a random phase."""
        wait = every * fraction()
        while not self._closed.wait(wait):
            try:
                self._outbox.send()
            except Exception as cause:  # the app's token function or the disk failed: retry later
                LOG.error("reports wait in the wallet: %s", type(cause).__name__)
            wait = every

    def close(self) -> None:
        """Stop; waiting reports are kept for the next start."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(timeout=60)
        self._wallet.close()


class PersonClient:
    """One person's rows and budget."""

    def __init__(self, client: Client, person: Person) -> None:
        self._client, self._person = client, person

    def record(self, service: str, record: Mapping[str, Any]) -> Entry:
        """Report the one row of a service; only the first call in a round counts."""
        return self.rows(service, [record])

    def rows(self, service: str, rows: Sequence[Mapping[str, Any]]) -> Entry:
        """Report all rows of a service, once per round: none or many look the same."""
        return self._client.claim(self._person, service, rows, held=False)

    def preview(self, service: str, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Preview:
        """Draw and charge, but send nothing yet; `record` or `rows` releases exactly these reports."""
        listed = [rows] if isinstance(rows, Mapping) else list(rows)
        entry = self._client.claim(self._person, service, listed, held=True)
        sentences = self._client.sentences(service) if entry.bodies else (NOTHING_LEAVES,)
        return Preview(rows, tuple(map(json.loads, entry.bodies)), float(entry.epsilon), sentences)

    def budget(self) -> dict[str, Any]:
        """Return the budget spent, and the cap; with a period, also its days and when the oldest charge expires."""
        cap, charges, today = self._client.cap, self._client.wallet.charges(self._person), self._client.today
        budget: dict[str, Any] = {"spent": float(cap.total(charges, today)), "cap": float(cap.limit)}
        if cap.days is not None:
            budget |= {"days": cap.days, "renews": cap.renews_on(charges, today)}
        return budget

    def history(self) -> list[Entry]:
        """Return everything that was drawn."""
        return self._client.wallet.history(self._person)

    def forget(self) -> None:
        """Delete all reports here and, with the next delivery, at the collector; the spent budget stays spent.

        The next delivery deletes in every collection of this collector that the wallet knows the person from, if a key
        allows it. A token is for one collection: deletions in others wait until a client of those delivers.
        """
        rounds = {entry.collection for entry in self._client.wallet.history(self._person)}
        for collection in rounds | {self._client.collection}:
            self._client.wallet.forget(collection, self._person)


def _refuse_undeclared(rules: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a column that the service does not declare: whoever passes it believes that it is collected.

    Its name is not repeated: it is not of the contract, and may say something about the person.
    """
    known = [str(column["name"]) for column in rules["attributes"]]
    for name in {name: None for row in rows if isinstance(row, Mapping) for name in row if name not in known}:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        problem = f"a column is not declared.{hint} Pass only: {', '.join(known)}."
        raise RecordError(problem, code="unknown-column", service=rules["name"])


def _public(rules: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the public columns of a service's row, unchanged."""
    columns = {column["name"]: column for column in rules["attributes"] if column["kind"] == "public"}
    names = list(columns)
    missing = [name for name in names if not rows or name not in rows[0]]
    if missing:
        problem = "the column is missing."
        raise RecordError(problem, code="missing-column", service=rules["name"], column=missing[0])
    for name in names:
        if not takes(columns[name], rows[0][name]):
            problem = f"the public column takes {allowed_text(columns[name])}."
            raise RecordError(problem, code="wrong-public", service=rules["name"], column=name)
    public = {name: rows[0][name] for name in names}
    if len(public_bytes([*public.values()])) > MOST_PUBLIC:
        problem = f"the public columns have more than {MOST_PUBLIC:,} bytes, which no collector stores."
        raise RecordError(problem, code="wrong-public", service=rules["name"])
    return public


def _body(person: Person, service: str, slot: int, codes: Sequence[int], public: Mapping[str, Any]) -> str:
    report: dict[str, Any] = {"person": person, "service": service, "slot": slot, "codes": list(codes)}
    if public:
        report["public"] = dict(public)
    return json.dumps(report, separators=(",", ":"))
