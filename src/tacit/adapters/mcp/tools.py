"""The tools for agents: catalogue, prediction, question, explanation. None shows a person's report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tacit.adapters.remote.database import RemoteDatabase
from tacit.database import Database
from tacit.errors import UsageError

__all__ = ["TOOLS", "Tool"]

Source = Database | RemoteDatabase

SQL = {"type": "string", "description": "One SELECT with COUNT, SUM or AVG; GROUP BY, WHERE and joins on the key."}
CONFIDENCE = {"type": "number", "description": "Level of the intervals, between 0 and 1.", "default": 0.95}
USERS = {"type": "integer", "description": "Number of people; default: those who have reported.", "minimum": 1}


@dataclass(frozen=True)
class Tool:
    """A function that agents call: its description, the JSON schema of its arguments, and what it returns as text."""

    description: str
    takes: dict[str, Any]
    run: Callable[[Source, dict[str, Any]], str]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        required = [name for name in self.takes if name == "sql"]
        return {"type": "object", "properties": self.takes, "required": required, "additionalProperties": False}


def _catalogue(source: Source, arguments: dict[str, Any]) -> str:
    del arguments
    return json.dumps([asdict(table) for table in source.tables()], indent=1)


def _ask(source: Source, arguments: dict[str, Any]) -> str:
    return source.sql(arguments["sql"], confidence=arguments.get("confidence", 0.95)).to_json()


def _explain(source: Source, arguments: dict[str, Any]) -> str:
    return "\n".join(str(line) for (line,) in source.sql(f"EXPLAIN {arguments['sql']}"))


def _predict(source: Source, arguments: dict[str, Any]) -> str:
    users, confidence = arguments.get("users"), arguments.get("confidence", 0.95)
    if isinstance(source, RemoteDatabase):
        result = source.predict(arguments["sql"], users=users, confidence=confidence)
        if isinstance(result, int):
            message = "A prediction needs a number of people."
            raise UsageError(message, code="bad-option")
        return result.to_json()
    collection, people, question = source.forecast_inputs(arguments["sql"])
    return collection.predict(
        question, users=max(1, people) if users is None else users, confidence=confidence
    ).to_json()


TOOLS: dict[str, Tool] = {
    "catalogue": Tool(
        "List the tables that can be queried: services (sensitive columns give estimates) and public dimensions.",
        {},
        _catalogue,
    ),
    "predict": Tool(
        "Predict the error of a question before asking it: expected values with standard errors and intervals.",
        {"sql": SQL, "users": USERS, "confidence": CONFIDENCE},
        _predict,
    ),
    "ask": Tool(
        "Answer a question in SQL. An estimate x comes with x_error, x_low and x_high: always report the interval.",
        {"sql": SQL, "confidence": CONFIDENCE},
        _ask,
    ),
    "explain": Tool("Explain how a question is answered, and its expected error.", {"sql": SQL}, _explain),
}
"""Each tool by its name."""
