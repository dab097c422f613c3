"""Ask a collector about a person: which reports it has, and the coin that assigns views and seeds.

After a lost wallet, reports that the collector has must not be drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Container

from tacit.client.coin import is_coin
from tacit.client.transport import Answered, Transport
from tacit.client.wallet import Person
from tacit.errors import EngineError

__all__ = ["ask_coin", "ask_receipts", "taken_services"]


def ask_coin(transport: Transport, collection: str, request: str) -> str:
    """Return the coin of the person that a request names; without it nothing can be drawn."""
    answered = transport.post(f"/v1/collections/{collection}/coin", request)
    data = answered.data if answered.status == 200 else None
    coin = data.get("coin") if isinstance(data, dict) else None
    if not is_coin(coin):
        message = (
            f"Views are assigned, but the collector did not return the coin ({answered.status or 'no answer'}). "
            "Nothing was drawn. Try again later."
        )
        raise EngineError(message, code=answered.code or "no-coin")
    return str(coin)


def ask_receipts(transport: Transport, *, collection: str, person: Person, token: str) -> Answered:
    """Ask which slots of a person are already reported; the person's token is the only credential."""
    body = {"collection": collection, "key": person, "token": token}
    return transport.post("/v1/receipts", json.dumps(body, separators=(",", ":")))


def taken_services(answered: Answered, services: Container[str]) -> set[str] | None:
    """Return the services with a reported slot; empty if the collector has no receipts; None if it did not answer."""
    if answered.status in (404, 405):
        return set()
    data = answered.data if answered.status == 200 else None
    taken = data.get("taken") if isinstance(data, dict) else None
    if not isinstance(taken, list):
        return None
    named = [slot.get("service") if isinstance(slot, dict) else None for slot in taken]
    return {name for name in named if isinstance(name, str) and name in services}
