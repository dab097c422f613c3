"""The OpenAPI 3.1 description, generated from the table of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.client.transport import PROTOCOL
from tacit.server.http.endpoints import Endpoint

__all__ = ["describe_api"]

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"},
        "collection": {"type": "string"},
        "span": {"type": "array", "items": {"type": "integer"}},
    },
}


def describe_api(table: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the description; `x-tacit-scope` is the required scope of a key, `x-tacit-also` lists alternatives."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in table:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tacit collector",
            "version": str(PROTOCOL),
            "description": "Stores perturbed reports, and answers SQL with error bars. Errors are problem+json.",
        },
        "paths": paths,
        "components": {"schemas": {"Problem": PROBLEM}},
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    media, schema = ("application/json", endpoint.returns)
    if isinstance(endpoint.returns, str):
        media, schema = endpoint.returns, {}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.summary,
        "x-tacit-scope": endpoint.scope,
        **({"x-tacit-also": list(endpoint.also)} if endpoint.also else {}),
        "responses": {
            "200": {"description": "Done.", "content": {media: {"schema": schema}}},
            "default": {"description": "A problem with a stable code.", "content": problem},
        },
    }
    if endpoint.parameters:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in endpoint.parameters
        ]
    if endpoint.method == "POST":
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _body(endpoint)}}}
    return operation


def _body(endpoint: Endpoint) -> dict[str, Any]:
    members: dict[str, Any] = {"tacit": {"const": PROTOCOL}}
    if endpoint.scope is not None:
        members["key"] = {"type": "string"}
    return {
        "type": "object",
        "required": [*(["tacit"] if endpoint.versioned else []), *endpoint.required],
        "properties": members | dict(endpoint.takes or {}),
    }
