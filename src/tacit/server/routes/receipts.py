"""The route for receipts: which of a person's reports the collector has, for holders of that person's token.

A client that lost its wallet asks before it sends, and does not send a second draw.
"""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from tacit.client.record import is_person
from tacit.errors import AccessError, BodyError
from tacit.server.http.endpoints import PERSON, Call, Endpoint, Server
from tacit.server.http.proof import check_token, is_signed
from tacit.server.keys import AccessKey
from tacit.server.store.validate import Person

__all__ = ["RECEIPTS"]


async def receipts(server: Server, call: Call) -> Response:
    """Return the slots that accept no more reports of a person: a lost wallet may have drawn in another tier."""
    person, name = call.body.get("key"), call.body.get("collection")
    if not is_person(person):
        message = "key must be a person: text or a whole number."
        raise BodyError(message)
    if not isinstance(name, str):
        message = "collection must be a collection's id."
        raise BodyError(message)
    signer = _signer(server, call.body.get("token"), name, person)
    server.telling.take(signer, 1, person)
    services = server.keys.services_of(signer.name)
    slots = await server.receipts.do(server.collector.reported_slots, name, person, services, of_round=True)
    return JSONResponse({"taken": [{"service": service, "slot": slot} for service, slot in slots]})


def _signer(server: Server, value: object, collection: str, person: Person) -> AccessKey:
    """Return the key that signed a token, if its service may send reports."""
    signers = [key for key in server.keys.signers() if server.keys.services_of(key.name) is not None]
    if not signers:
        message = "This collector has no signing keys, so receipts are not available."
        raise AccessError(message, code="no-receipts")
    token = check_token(value)
    for key in signers:
        if is_signed(token, [key.secret], collection, person):
            return key
    message = "The token is for another person or collection, or its service sends no reports here."
    raise AccessError(message, code="bad-token")


RECEIPTS = (
    Endpoint(
        "POST",
        "/v1/receipts",
        receipts,
        "The slots of a person that are already reported. The person's token is the only credential.",
        takes={"collection": {"type": "string"}, "key": PERSON, "token": {"type": "string"}},
        required=("collection", "key", "token"),
        versioned=False,
        returns={
            "type": "object",
            "required": ["taken"],
            "properties": {
                "taken": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["service", "slot"],
                        "properties": {"service": {"type": "string"}, "slot": {"type": "integer", "minimum": 0}},
                    },
                }
            },
        },
    ),
)
