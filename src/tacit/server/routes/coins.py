"""The route for coins, which assign a person's views and seeds, for clients that may report for that person.

A device asks once, before its first report, and keeps the coin. A coin reveals nothing about other people's coins.
"""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from tacit.server.http.bodies import person_in
from tacit.server.http.endpoints import PERSON, Call, Endpoint, Server
from tacit.server.http.proof import proven_people

__all__ = ["COINS"]


async def coin(server: Server, call: Call) -> Response:
    """Return a person's coin."""
    person, name = person_in(call.body), call.request.path_params["id"]
    about = proven_people(server, call, name, [person])
    server.ingest.take(call.key, 1, None if about is None else person)
    return JSONResponse({"coin": await asyncio.to_thread(server.collector.coin, name, person)})


COINS = (
    Endpoint(
        "POST",
        "/v1/collections/{id}/coin",
        coin,
        "The coin that assigns a person's views and seeds, if the contract says that they are assigned.",
        "ingest",
        takes={"token": {"type": "string"}, "person": PERSON},
        required=("person",),
        returns={
            "type": "object",
            "required": ["coin"],
            "properties": {"coin": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
        },
    ),
)
