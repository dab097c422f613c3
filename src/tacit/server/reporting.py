"""Routes for people's reports: judged and stored one by one, and deleted when a person wants to be forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from starlette.responses import JSONResponse, Response

from tacit.client.record import LONGEST_PERSON, is_person
from tacit.errors import BodyError
from tacit.server.access import proven
from tacit.server.endpoints import Call, Endpoint, Server
from tacit.server.judge import Report

__all__ = ["REPORTING"]

MOST_REPORTS = 1_000


async def reports(server: Server, call: Call) -> Response:
    """Judge and store reports."""
    given = call.body.get("reports")
    if not isinstance(given, list):
        message = "reports must be a list."
        raise BodyError(message)
    if len(given) > MOST_REPORTS:
        message = f"{len(given)} reports in one request; at most {MOST_REPORTS}."
        raise BodyError(message, code="too-large")
    server.ingest.take(call.key, max(1, len(given)))
    name, services = call.request.path_params["id"], call.key.services if call.key else ()
    people = (one["person"] for one in given if isinstance(one, dict) and is_person(one.get("person")))
    about = proven(server, call, [name], people)

    def objection(report: Report) -> str | None:
        if services and report.service not in services:
            return "wrong-service"
        return None if about is None or report.person in about else "token-mismatch"

    limited = objection if services or about is not None else None
    statuses = await asyncio.wrap_future(server.collector.accept(name, given, limited))
    for word, more in Counter(status["status"] for status in statuses).items():
        server.counts[word] += more
    return JSONResponse({"statuses": statuses})


async def forget(server: Server, call: Call) -> Response:
    """Delete a person."""
    person = call.body.get("person")
    if not is_person(person):
        message = "person must be text or a whole number."
        raise BodyError(message)
    collection = call.body.get("collection")
    if collection is not None and not isinstance(collection, str):
        message = "collection must be the id of one; without it, a person is forgotten in all of them."
        raise BodyError(message)
    public = call.key is not None and bool(call.key.origin)  # a browser's key is in everybody's hands
    proven(server, call, [collection] if collection else server.collector.collections, [person], needed=public)
    asker = call.key.name if call.key else ""
    deleted = await asyncio.to_thread(server.collector.forget, person, collection, asker=asker)
    server.counts["forgotten"] += 1
    return JSONResponse({"deleted": deleted})


PERSON: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "minLength": 1, "maxLength": LONGEST_PERSON},
        {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    ]
}
TOKEN = {"type": "string"}
REPORT = {
    "type": "object",
    "required": ["person", "service", "slot", "codes"],
    "properties": {
        "person": PERSON,
        "service": {"type": "string"},
        "slot": {"type": "integer", "minimum": 0},
        "codes": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "public": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
    },
}
STATUS_OF_ONE = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"enum": ["stored", "again", "refused"]}, "code": {"type": "string"}},
}

REPORTING = (
    Endpoint(
        "POST",
        "/v1/collections/{id}/reports",
        reports,
        "Store reports of any number of people; a status for each.",
        "ingest",
        takes={"token": TOKEN, "reports": {"type": "array", "maxItems": MOST_REPORTS, "items": REPORT}},
        required=("reports",),
        returns={
            "type": "object",
            "required": ["statuses"],
            "properties": {"statuses": {"type": "array", "items": STATUS_OF_ONE}},
        },
    ),
    Endpoint(
        "POST",
        "/v1/forget",
        forget,
        "Delete a person, in one collection or in all; later reports of hers are refused there.",
        "ingest",
        takes={"token": TOKEN, "person": PERSON, "collection": {"type": "string"}},
        required=("person",),
        returns={"type": "object", "required": ["deleted"], "properties": {"deleted": {"type": "integer"}}},
    ),
)
