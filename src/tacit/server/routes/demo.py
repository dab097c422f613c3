"""Routes of a demo: whether this is one and, if so, exact answers from its raw rows."""

from __future__ import annotations

import asyncio
import json

from starlette.responses import JSONResponse, Response

from tacit.errors import BodyError
from tacit.server.demo_data import Demo
from tacit.server.http.endpoints import Call, Endpoint, Server

__all__ = ["DEMO", "EXACT", "Demo"]


async def demonstration(server: Server, call: Call) -> Response:
    """Return whether this is a demo and, if so, its people."""
    del call
    return JSONResponse(server.demo.to_json() if server.demo else {"demo": False})


async def exact(server: Server, call: Call) -> Response:
    """Answer a question from the raw rows, which only a demo has."""
    text = call.body.get("sql")
    if server.demo is None or not isinstance(text, str):
        message = "sql must be text."
        raise BodyError(message)
    answer = await asyncio.to_thread(server.demo.exact, text)
    return Response(json.dumps(answer, default=str), media_type="application/json")


DEMO = (
    Endpoint(
        "GET",
        "/demo",
        demonstration,
        "Whether this is a demo with synthetic people; if so, its people and questions.",
        returns={"type": "object", "required": ["demo"], "properties": {"demo": {"type": "boolean"}}},
    ),
)

EXACT = (
    Endpoint(
        "POST",
        "/demo/exact",
        exact,
        "In demos only: the exact answer to one SELECT, from raw rows.",
        "query",
        takes={"sql": {"type": "string"}},
        required=("sql",),
        returns={
            "type": "object",
            "required": ["columns", "rows"],
            "properties": {"columns": {"type": "array"}, "rows": {"type": "array"}},
        },
    ),
)
"""Registered by `tacit demo` only."""
