"""Routes for people's reports: validated and stored one by one, and deleted on request."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

from starlette.responses import JSONResponse, Response

from tacit.client.record import is_person
from tacit.errors import AccessError, BodyError
from tacit.server.http.bodies import person_in
from tacit.server.http.endpoints import PERSON, Call, Endpoint, Server
from tacit.server.http.proof import proven_collections, proven_people
from tacit.server.store.validate import Person, Report

__all__ = ["REPORTING"]

MOST_REPORTS = 1_000
"""Maximum reports of a request."""

NOBODY = ""
"""Whose rate requests take from that have a token and name nobody: it is no person's id."""


async def reports(server: Server, call: Call) -> Response:
    """Validate and store reports."""
    listed = call.body.get("reports")
    if not isinstance(listed, list):
        message = "reports must be a list."
        raise BodyError(message)
    if len(listed) > MOST_REPORTS:
        message = f"{len(listed)} reports in one request; at most {MOST_REPORTS} are allowed."
        raise BodyError(message, code="too-large")
    name, services = call.request.path_params["id"], call.key.services if call.key else ()
    people = (report["person"] for report in listed if isinstance(report, dict) and is_person(report.get("person")))
    about = proven_people(server, call, name, people)
    server.ingest.take(call.key, max(1, len(listed)), None if about is None else next(iter(about), NOBODY))

    def objection(report: Report) -> str | None:
        if services and report.service not in services:
            return "wrong-service"
        return None if about is None or report.person in about else "token-mismatch"

    limited = objection if services or about is not None else None
    await server.collection(name)
    accept = partial(server.collector.accept, name, listed, limited, proven=about is not None)
    waits = about is None and server.collector.is_to_note(name)  # for the store: once per collection
    statuses = await asyncio.wrap_future(await server.lookups.do(accept) if waits else accept())
    for word, more in Counter(status["status"] for status in statuses).items():
        server.counts[word] += more
    return JSONResponse({"statuses": statuses})


async def forget(server: Server, call: Call) -> Response:
    """Delete a person."""
    person = person_in(call.body)
    collection = call.body.get("collection")
    if collection is not None and not isinstance(collection, str):
        message = "collection must be a collection's id; without it, the person is deleted from all collections."
        raise BodyError(message)
    names = [(await server.collection(collection)).id] if collection else list(server.collector.collections)
    deleted = await server.deletions.do(_delete, server, call, names, person)
    server.counts["forgotten"] += 1
    return JSONResponse({"deleted": deleted})


def _delete(server: Server, call: Call, names: list[str], person: Person) -> int:
    """Delete a person within the scope of the request's key and token.

    An admin deletes anybody from anything, a token its person from its collection, and a service's key those who have
    reported to that service: nobody can block a person from reporting by guessing an id.
    """
    key = call.key
    if key is None or "admin" in key.scopes:
        server.deleting.take(key, 1)
        return sum(server.collector.forget(person, name, asker=key.name if key else "") for name in names)
    rounds = [part.id for name in names for part in server.collector.collection(name).parts]
    about = proven_collections(server, call, dict.fromkeys([*names, *rounds]), person)
    server.deleting.take(key, 1, None if about is None else person)
    if about is None:
        about = [name for name in names if server.collector.reported_slots(name, person, key.services)]
    if not about:
        message = "This person has no reports in the services of this key. Use the person's token, or an admin key."
        raise AccessError(message, code="nothing-to-delete")
    return sum(server.collector.forget(person, name, key.services, asker=key.name) for name in about)


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
        "Store reports of any number of people; returns a status for each report.",
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
        "Delete a person from the collections and services of the key or token; later reports are refused there.",
        "ingest",
        also=("admin",),
        takes={"token": TOKEN, "person": PERSON, "collection": {"type": "string"}},
        required=("person",),
        returns={"type": "object", "required": ["deleted"], "properties": {"deleted": {"type": "integer"}}},
    ),
)
