"""Messages of the protocol: JSON-RPC 2.0, one object per line, over standard input and output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tacit.adapters.mcp.tools import TOOLS, Source
from tacit.errors import TacitError

__all__ = ["VERSIONS", "answers"]

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Supported versions of the protocol, newest first; their part about tools is the same."""

LONGEST_LINE = 1 << 20
"""Maximum bytes of a request."""

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
"""Error codes of JSON-RPC 2.0."""

TYPES = {"string": str, "number": int | float, "integer": int}


def answers(lines: Iterable[str], source: Source, version: str) -> Iterator[str]:
    """Yield a line for each request; notifications have no answer."""
    for line in lines:
        if line.strip():
            answer = _answer(line, source, version)
            if answer is not None:
                yield json.dumps(answer)


def _answer(line: str, source: Source, version: str) -> dict[str, Any] | None:
    try:
        request = json.loads(line) if len(line) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "This line is not JSON.")
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
        return _error(None, INVALID_REQUEST, "A request is a JSON-RPC 2.0 object of at most 1 MiB.")
    if "id" not in request:
        return None
    number, parameters = request["id"], request.get("params", {})
    if not isinstance(number, str | int) or not isinstance(parameters, Mapping):
        return _error(None, INVALID_REQUEST, "An id is a text or a whole number, and parameters are an object.")
    method = request["method"]
    if method == "initialize":
        return _result(number, _greeting(parameters, version))
    if method == "ping":
        return _result(number, {})
    if method == "tools/list":
        return _result(number, {"tools": [_description(name) for name in TOOLS]})
    if method == "tools/call":
        return _call_result(number, parameters, source)
    return _error(number, NO_METHOD, "Methods are initialize, ping, tools/list and tools/call.")


def _greeting(parameters: Mapping[str, Any], version: str) -> dict[str, Any]:
    wanted = parameters.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "tacit", "version": version},
        "instructions": "Answers are estimates from perturbed reports. State the interval with every number.",
    }


def _description(name: str) -> dict[str, Any]:
    tool = TOOLS[name]
    hints = {"readOnlyHint": True, "openWorldHint": False}
    return {"name": name, "description": tool.description, "inputSchema": tool.schema, "annotations": hints}


def _call_result(number: str | int, parameters: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Return a tool's result; errors in the question go to the agent, which can correct it."""
    name, arguments = parameters.get("name"), parameters.get("arguments", {})
    if not isinstance(name, str) or name not in TOOLS:
        return _error(number, BAD_PARAMS, f"Tools are {', '.join(TOOLS)}.")
    if not isinstance(arguments, dict) or not _fits(arguments, TOOLS[name].schema):
        return _error(number, BAD_PARAMS, f"{name} takes {', '.join(TOOLS[name].takes) or 'nothing'}.")
    try:
        text, failed = TOOLS[name].run(source, arguments), False
    except TacitError as refusal:
        text, failed = f"{type(refusal).__name__} {refusal}", True
    except Exception as cause:  # the next question must still be answered; a library's message may repeat values
        text, failed = f"InternalError: {type(cause).__name__}. This is a bug in tacit.", True
    return _result(number, {"content": [{"type": "text", "text": text}], "isError": failed})


def _fits(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    known = schema["properties"]
    if not set(schema["required"]) <= set(arguments) <= set(known):
        return False
    return all(
        isinstance(value, TYPES[known[name]["type"]]) and not isinstance(value, bool)
        for name, value in arguments.items()
    )


def _result(number: str | int, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _error(number: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
