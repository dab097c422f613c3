"""Routes for questions: SQL in, estimates with errors out; marginal tables and synthetic rows.

Answers are JSON, or Arrow streams for clients that accept them, which carry every number as computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from starlette.responses import Response

from tacit.adapters.remote.answers import MEDIA_TYPE, stream_of_answer, stream_of_table
from tacit.errors import BodyError
from tacit.estimate.answer import Answer
from tacit.server.http.bodies import text_in
from tacit.server.http.endpoints import Call, Endpoint, Server

__all__ = ["QUESTIONS"]

MOST_ROWS = 200_000
"""Maximum synthetic rows of one request: about 50 MB with thirty attributes."""

MOST_ATTRIBUTES = 16
"""Maximum attributes of a marginal."""

LONGEST_NUMBER = 64
"""Maximum digits of a decimal parameter."""

FLAGS = ("simultaneous", "superpopulation", "consistent")


async def query(server: Server, call: Call) -> Response:
    """Answer a question."""
    text = text_in(call.body, "sql")
    options = _options(call.body)
    asker = _take(server, call)

    def answer() -> bytes:
        return _content(call, server.collector.query(text, asker=asker, **options))

    return _response(call, await server.workers.do(answer))


async def marginal(server: Server, call: Call) -> Response:
    """Return the table of some attributes."""
    names = call.body.get("attributes")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        message = "attributes must be a list of names."
        raise BodyError(message)
    if len(names) > MOST_ATTRIBUTES:
        message = f"A table has at most {MOST_ATTRIBUTES} attributes here."
        raise BodyError(message)
    options = _texts(call.body, "service", "method") | {"confidence": call.body.get("confidence", 0.95)}
    asker = _take(server, call)

    def compute() -> bytes:
        return _content(call, server.collector.marginal(names, asker=asker, **options))

    return _response(call, await server.workers.do(compute))


async def synthesize(server: Server, call: Call) -> Response:
    """Return synthetic rows, as an Arrow stream."""
    rows, seed = call.body.get("rows"), call.body.get("seed")
    if type(rows) is not int or not 1 <= rows <= MOST_ROWS:
        message = f"rows must be a whole number from 1 to {MOST_ROWS:,}. Ask several times, with other seeds, for more."
        raise BodyError(message)
    if seed is not None and (type(seed) is not int or not 0 <= seed < 1 << 63):
        message = "seed must be a whole number from 0 below 2**63."
        raise BodyError(message)
    options = _texts(call.body, "service", "method")
    asker = _take(server, call)

    def compute() -> bytes:
        return stream_of_table(server.collector.synthesize(rows, seed=seed, asker=asker, **options))

    return Response(await server.workers.do(compute), media_type=MEDIA_TYPE)


def _take(server: Server, call: Call) -> str:
    """Count a question against its key's rate, and return the key's name."""
    server.asking.take(call.key, 1)
    server.counts["questions"] += 1
    return call.key.name if call.key else ""


def _wants_arrow(call: Call) -> bool:
    return MEDIA_TYPE in call.request.headers.get("accept", "")


def _content(call: Call, answer: Answer) -> bytes:
    return stream_of_answer(answer) if _wants_arrow(call) else answer.to_json().encode()


def _response(call: Call, content: bytes) -> Response:
    return Response(content, media_type=MEDIA_TYPE if _wants_arrow(call) else "application/json")


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a question, with the defaults of `Database.sql`."""
    for name in FLAGS:
        if not isinstance(body.get(name, False), bool):
            message = f"{name} must be true or false."
            raise BodyError(message)
    options = {name: body[name] for name in ("confidence", "decoder", *FLAGS) if name in body}
    parameters = body.get("parameters", [])
    if not isinstance(parameters, list):
        message = "parameters must be a list, one value for each ? of the question."
        raise BodyError(message)
    return options | {"parameters": [_parameter(value) for value in parameters]}


def _parameter(value: Any) -> Any:
    """Return a constant; an exact decimal is an object, because JSON's numbers may lose digits."""
    if not isinstance(value, dict):
        return value
    text = value.get("number")
    try:
        if set(value) == {"number"} and isinstance(text, str) and len(text) <= LONGEST_NUMBER:
            return Decimal(text)
    except InvalidOperation:
        pass
    message = 'A parameter is a number, a text, true, false, null, or {"number": "0.10"}.'
    raise BodyError(message)


def _texts(body: Mapping[str, Any], *names: str) -> dict[str, str | None]:
    result = {name: body.get(name) for name in names}
    for name, value in result.items():
        if value is not None and not isinstance(value, str):
            message = f"{name} must be text."
            raise BodyError(message)
    return result


ROWS = {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}}
CONFIDENCE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
TEXT = {"type": ["string", "null"]}

QUESTIONS = (
    Endpoint(
        "POST",
        "/v1/query",
        query,
        "Answer one SELECT: rows with errors and intervals.",
        "query",
        takes={
            "sql": {"type": "string"},
            "parameters": {"type": "array"},
            "confidence": CONFIDENCE,
            "decoder": {"type": "string", "default": "blue"},
            **{name: {"type": "boolean", "default": False} for name in FLAGS},
        },
        required=("sql",),
        returns=ROWS,
    ),
    Endpoint(
        "POST",
        "/v1/marginal",
        marginal,
        "The table of some attributes: how many people have each combination of values.",
        "query",
        takes={
            "attributes": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_ATTRIBUTES},
            "service": TEXT,
            "method": TEXT,
            "confidence": CONFIDENCE,
        },
        required=("attributes",),
        returns=ROWS,
    ),
    Endpoint(
        "POST",
        "/v1/synthesize",
        synthesize,
        "Synthetic rows of a service, which follow its marginals: nobody's record.",
        "query",
        takes={
            "rows": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS},
            "seed": {"type": ["integer", "null"], "minimum": 0},
            "service": TEXT,
            "method": TEXT,
        },
        required=("rows",),
        returns=MEDIA_TYPE,
    ),
)
