"""Routes of the analyst's screen: what can be queried, draft questions, curves, and tuples.

A draft is text or a builder model; the response has both, the position of the problem if it is invalid, and the
expected error if it is valid. It reads no reports, except to count people. Tuples are single reports, and therefore
only for auditors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from sqlglot import exp
from starlette.responses import JSONResponse, Response

from tacit.answers.forecast.curves import curves as predicted_curves
from tacit.answers.forecast.curves import half_width, no_interval
from tacit.contract.files import service_data
from tacit.database import Database
from tacit.errors import BodyError, OverloadedError, QueryError, TacitError, UnanswerableError, UnknownNameError
from tacit.server.http.bodies import text_in
from tacit.server.http.endpoints import Call, Endpoint, Server
from tacit.sql.builder import model_of, text_of
from tacit.sql.parse import parse, span_of
from tacit.tables.statements import compose

__all__ = ["ANALYST"]

DRAFT = 0.1
"""What a draft counts as, in questions; the screen sends one whenever typing pauses."""


async def catalogue(server: Server, call: Call) -> Response:
    """List what can be queried."""
    server.asking.take(call.key, DRAFT)
    return JSONResponse(await server.workers.do(_catalogue, server))


async def draft(server: Server, call: Call) -> Response:
    """Check a draft question, given as text or model, and predict its error."""
    server.asking.take(call.key, DRAFT)
    return _json(await server.workers.do(_draft, server, call.body))


async def curves(server: Server, call: Call) -> Response:
    """Predict errors for other budgets and other numbers of people."""
    text, confidence = _read_question(call.body)
    server.asking.take(call.key, 1)

    def work() -> dict[str, Any]:
        collection, people, question = server.collector.read_settled(lambda database: database.forecast_inputs(text))
        return asdict(predicted_curves(collection, question, people=people, confidence=confidence))

    return _json(await server.workers.do(work))


async def contributions(server: Server, call: Call) -> Response:
    """Show the contributions of tuples to one row of an answer."""
    text, _ = _read_question(call.body)
    server.asking.take(call.key, 1)
    group = call.body.get("group") or {}
    if not isinstance(group, Mapping):
        message = "group must be an object: the columns of GROUP BY with the values of one row."
        raise BodyError(message)
    page = {word: call.body[word] for word in PAGE if word in call.body}
    asker = call.key.name if call.key else ""
    work = partial(server.collector.contributions, text, asker=asker, group=group, **page)
    answered, watermark = await server.workers.do(work)
    rows = [
        {"person": str(person), "contributions": added, "reports": [asdict(report) for report in reports]}
        for person, added, reports in answered.rows
    ]
    values = {name: _finite(value) for name, value in answered.values.items()}
    return _json(vars(answered) | {"rows": rows, "values": values, "watermark": watermark})


def _json(data: object) -> Response:
    return Response(json.dumps(_readable(data), default=str, allow_nan=False), media_type="application/json")


def _readable(data: Any) -> Any:
    """Return data that browsers can parse: JSON has neither NaN nor infinity, so they become null."""
    if isinstance(data, float):
        return _finite(data)
    if isinstance(data, Mapping):
        return {name: _readable(value) for name, value in data.items()}
    return [_readable(value) for value in data] if isinstance(data, list | tuple) else data


def _read_question(body: Mapping[str, Any]) -> tuple[str, float]:
    return text_in(body, "sql"), body.get("confidence", 0.95)


def _catalogue(server: Server) -> dict[str, Any]:
    return server.collector.read_settled(partial(_describe, server))


def _describe(server: Server, database: Database) -> dict[str, Any]:
    dimensions = [
        {"name": dimension.name, "key": dimension.key, "columns": dimension.table.column_names}
        for dimension in database.dimensions()
    ]
    services = [service_data(service) | _count(server, service.name) for service in database.services()]
    tables = [asdict(table) for table in database.tables()]
    return {"services": services, "dimensions": dimensions, "tables": tables}


def _count(server: Server, service: str) -> dict[str, Any]:
    """Return a service's people and, if reports are not counted, notes like those of answers."""
    text = compose("SELECT COUNT(*) FROM {table}", table=service)
    (collection, people, _), mark = server.collector.read_marked(text, lambda database: database.forecast_inputs(text))
    about = {"epsilon": float(collection.contract.epsilon), "round": collection.contract.round}
    return about | {"people": people, "notes": list(mark.notes), "collection": collection.id}


def _draft(server: Server, body: Mapping[str, Any]) -> dict[str, Any]:
    model = body.get("model")
    text, confidence = _read_question(body if model is None else dict(body) | {"sql": text_of(model)})
    answer: dict[str, Any] = {"sql": text, "model": None, "outside": None, "problem": None, "expected": None}
    try:
        answer["model"] = model_of(text)
    except TacitError as refusal:
        answer["outside"] = refusal.message
    try:
        collection, people, question = server.collector.read_settled(lambda database: database.forecast_inputs(text))
    except OverloadedError:
        raise  # not a problem of the question
    except TacitError as refusal:
        with suppress(TacitError):
            server.collector.read(lambda database: database.asked_about(text))
            return answer | {
                "unforeseen": "It can be asked, but it has no forecast, because it is not a single "
                "question about people."
            }
        return answer | {"problem": _problem(text, refusal)}
    answer |= {"people": people, "epsilon": float(collection.contract.epsilon)}
    answer |= {"collection": collection.id, "asked": question}
    try:
        column, width = half_width(collection, question, people=people, confidence=confidence)
    except UnanswerableError as refusal:  # running it would raise the same error
        return answer | {"problem": _problem(text, refusal)}
    except TacitError as refusal:
        return answer | {"unforeseen": refusal.message}
    if math.isinf(width):
        return answer | {"unforeseen": no_interval(people)}
    return answer | {"expected": {"column": column, "half_width": _finite(width)}}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _problem(text: str, refusal: TacitError) -> dict[str, Any]:
    span = refusal.span if isinstance(refusal, QueryError) else None
    if isinstance(refusal, UnknownNameError):  # about a table, which has no span
        tables = (table for table in parse(text).find_all(exp.Table) if table.name == refusal.name)
        span = next((span_of(table) for table in tables), None)
    return {"code": refusal.code, "detail": refusal.message, "span": span}


PAGE = ("order", "measure", "descending", "offset", "limit", "part")
SQL = {
    "sql": {"type": "string"},
    "confidence": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95},
}
WHOLE = {"type": "integer", "minimum": 0}

ANALYST = (
    Endpoint(
        "GET",
        "/v1/catalogue",
        catalogue,
        "What can be queried: services with reports, their columns, epsilon and people.",
        "query",
        returns={"type": "object", "required": ["services"], "properties": {"services": {"type": "array"}}},
    ),
    Endpoint(
        "POST",
        "/v1/draft",
        draft,
        "Check a draft question, given as text or builder model: returns both, its problem, and the expected error.",
        "query",
        takes=SQL | {"model": {"type": "object"}},
        returns={"type": "object", "required": ["sql", "model", "problem", "expected"]},
    ),
    Endpoint(
        "POST",
        "/v1/curves",
        curves,
        "Half widths of a question's first estimate by epsilon and by number of people.",
        "query",
        takes=SQL,
        required=("sql",),
        returns={"type": "object", "required": ["epsilon", "people", "now", "central"]},
    ),
    Endpoint(
        "POST",
        "/v1/contributions",
        contributions,
        "Contributions of encoded tuples to one row of an answer, page by page. For auditors: shows single reports.",
        "audit",
        takes=SQL
        | {
            "group": {"type": "object"},
            "order": {"enum": ["size", "value", "person"]},
            "descending": {"type": "boolean", "default": True},
            "measure": WHOLE,
            "offset": WHOLE,
            "limit": {"type": "integer", "minimum": 1, "maximum": 500},
            "part": {"type": "integer"},
        },
        required=("sql",),
        returns={"type": "object", "required": ["rows", "totals", "values"], "properties": {"rows": {"type": "array"}}},
    ),
)
