"""The route for questions: SQL in, estimates with errors out."""

from __future__ import annotations

from starlette.responses import Response

from tacit.errors import BodyError
from tacit.server.http.endpoints import Call, Endpoint, Server

__all__ = ["QUESTIONS"]


async def query(server: Server, call: Call) -> Response:
    """Answer a question."""
    text, confidence = call.body.get("sql"), call.body.get("confidence", 0.95)
    if not isinstance(text, str):
        message = "sql must be text."
        raise BodyError(message)
    server.asking.take(call.key, 1)
    server.counts["questions"] += 1
    asker = call.key.name if call.key else ""

    def answer_json() -> str:
        return server.collector.query(text, asker=asker, confidence=confidence).to_json()

    return Response(await server.workers.do(answer_json), media_type="application/json")


QUESTIONS = (
    Endpoint(
        "POST",
        "/v1/query",
        query,
        "Answer one SELECT: rows with errors and intervals.",
        "query",
        takes={
            "sql": {"type": "string"},
            "confidence": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95},
        },
        required=("sql",),
        returns={"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}},
    ),
)
