"""Routes for contracts."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from tacit.answers.dictionaries import dictionaries_of
from tacit.collection import Collection
from tacit.contract.view_codes import view_codes
from tacit.errors import UnknownNameError
from tacit.server.http.endpoints import Call, Endpoint, Server
from tacit.server.store.ledger import declared_total

__all__ = ["CONTRACTS"]

LARGEST = 12
"""Maximum views that are listed with their codes."""


async def collections(server: Server, call: Call) -> Response:
    """List the published collections."""
    del call
    published = [
        {
            "id": name,
            "round": collection.contract.round,
            "tier": collection.contract.tier,
            "epsilon": float(collection.contract.epsilon),
            "services": [service.name for service in collection.schema.services],
            **(
                {"panel": collection.panel.name, "rounds": [part.id for part in collection.parts]}
                if collection.panel
                else {}
            ),
        }
        for name, collection in server.collector.collections.items()
    ]
    declared, total = declared_total(server.collector.collections.values()), server.collector.person_epsilon
    person = {"declared": float(declared), "total": None if total is None else float(total)}
    return JSONResponse({"collections": published, "person": person})


async def contract(server: Server, call: Call) -> Response:
    """Return a contract's exact bytes, whose hash is its id."""
    text = (await server.collection(call.request.path_params["id"])).to_json()
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(text.encode(), media_type="application/json", headers=headers)


async def dictionary(server: Server, call: Call) -> Response:
    """Return a dictionary's exact bytes: a list of values that a published contract names by its hash."""
    sha256 = call.request.path_params["sha256"]
    if sha256 not in server.dictionaries:
        server.dictionaries[sha256] = await server.audits.do(_read_dictionary, server, sha256)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(server.dictionaries[sha256], media_type="text/plain; charset=utf-8", headers=headers)


def _read_dictionary(server: Server, sha256: str) -> bytes:
    """Return a dictionary's bytes; of a million values, that takes a sixth of a second."""
    for collection in server.collector.collections.values():
        dictionary = dictionaries_of(collection.schema).get(sha256)
        if dictionary is not None:
            return dictionary.text.encode()
    raise UnknownNameError("dictionary", sha256[:64], None, code="unknown-dictionary")


async def audit(server: Server, call: Call) -> Response:
    """Return the exact audit: the most that a person's reports can reveal, and what answers reveal by now."""
    collection = await server.collection(call.request.path_params["id"])
    return JSONResponse(await server.audits.do(_audit, server, collection))


def _audit(server: Server, collection: Collection) -> dict[str, Any]:
    """Return an audit as JSON; what does not depend on reports is kept."""
    if collection.id not in server.view_codes:
        views = view_codes(collection.contract)
        largest = [view.to_data() for view in views[:LARGEST]]
        codes = {"views": len(views), "codes": sum(view.codes for view in views), "largest": largest}
        server.view_codes[collection.id] = codes
    central = server.collector.privacy(collection).central.to_data()
    beside = {"central": central, "codes": server.view_codes[collection.id]}
    return {"collection": collection.id} | collection.audit().to_data() | beside


COLLECTION = {
    "type": "object",
    "required": ["id", "round", "tier", "epsilon", "services"],
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "round": {"type": "string"},
        "tier": {"type": "string"},
        "epsilon": {"type": "number"},
        "services": {"type": "array", "items": {"type": "string"}},
        "panel": {"type": "string"},
        "rounds": {"type": "array", "items": {"type": "string"}},
    },
}

PERSON = {
    "type": "object",
    "description": "A person's maximum total epsilon: as the contracts declare, and as the operator allows.",
    "required": ["declared", "total"],
    "properties": {"declared": {"type": "number"}, "total": {"type": ["number", "null"]}},
}

CONTRACTS = (
    Endpoint(
        "GET",
        "/v1/collections",
        collections,
        "The published collections.",
        returns={
            "type": "object",
            "required": ["collections"],
            "properties": {"collections": {"type": "array", "items": COLLECTION}, "person": PERSON},
        },
    ),
    Endpoint(
        "GET",
        "/v1/collections/{id}",
        contract,
        "A contract's exact bytes, whose SHA-256 is its id.",
        returns={"type": "object", "required": ["services"]},
    ),
    Endpoint(
        "GET",
        "/v1/dictionaries/{sha256}",
        dictionary,
        "A dictionary's exact bytes, whose SHA-256 a contract names: UTF-8 text, a value on each line.",
        returns={"type": "string"},
    ),
    Endpoint(
        "GET",
        "/v1/collections/{id}/audit",
        audit,
        "The exact audit: the worst-case loss of a person and of every channel, and what answers reveal to readers.",
        returns={
            "type": "object",
            "required": ["ok", "epsilon", "worst_loss", "channels"],
            "properties": {"ok": {"type": "boolean"}, "channels": {"type": "array"}},
        },
    ),
)
