"""Answers as Arrow streams, written by collectors and read by their clients, with every number as computed.

An estimate is a struct of its value, error, interval, people, degrees of freedom, confidence and robustness; groups
have their own types. Notes, the watermark, both guarantees and which columns are estimates are metadata of the schema.
Covariances are not sent, so estimates that were read cannot be combined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from tacit.contract.readers import Privacy
from tacit.errors import EngineError
from tacit.estimate.answer import Answer, Watermark
from tacit.estimate.estimate import Estimate

__all__ = [
    "ABOUT",
    "MEDIA_TYPE",
    "answer_from_stream",
    "not_a_collector",
    "stream_of_answer",
    "stream_of_table",
    "table_from_stream",
]

MEDIA_TYPE = "application/vnd.apache.arrow.stream"

PARTS = ("value", "error", "low", "high", "freedom", "confidence", "max_shift_per_1pct")
ESTIMATE = pa.struct([("n", pa.int64()), *((part, pa.float64()) for part in PARTS)])
ABOUT = b"tacit.answer"
"""Key of the schema's metadata that holds the notes and guarantees of the whole answer."""

ROUNDING = 1e-12
"""Relative difference between two ways to compute the ends of one interval."""


def stream_of_table(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_from_stream(content: bytes) -> pa.Table:
    """Return the table of an Arrow stream; refuse other bytes."""
    try:
        table = pa.ipc.open_stream(content).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise not_a_collector() from None
    return table


def stream_of_answer(answer: Answer) -> bytes:
    """Return an answer as bytes."""
    columns = []
    for index, name in enumerate(answer.columns):
        cells = [row[index] for row in answer.rows]
        columns.append(pa.array(map(_parts, cells), ESTIMATE) if name in answer.estimates else pa.array(cells))
    watermark = answer.watermark and list(answer.watermark)
    privacy = answer.privacy.to_data() if answer.privacy else None
    about = {"estimates": answer.estimates, "notes": answer.notes, "watermark": watermark, "privacy": privacy}
    table = pa.table(columns, names=list(answer.columns))
    return stream_of_table(table.replace_schema_metadata({ABOUT: json.dumps(about)}))


def _parts(cell: Estimate) -> dict[str, float]:
    return {"n": cell.n} | {part: float(getattr(cell, part)) for part in PARTS}


def answer_from_stream(content: bytes, plan: Callable[[], str] | None = None) -> Answer:
    """Return the answer of an Arrow stream, with its explanation; refuse other bytes."""
    table = table_from_stream(content)
    try:
        about = json.loads((table.schema.metadata or {})[ABOUT])
        estimates = tuple(about["estimates"])
        columns = [
            [_estimate(cell) for cell in column.to_pylist()] if name in estimates else column.to_pylist()
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        rows = list(zip(*columns, strict=True))
        answer = Answer(table.column_names, rows, notes=about["notes"], plan=plan, estimates=estimates)
        if privacy := about.get("privacy"):
            read = Privacy.from_data(privacy)
            answer = answer.with_privacy(lambda: read)
        watermark = about["watermark"]
        return answer.with_watermark(Watermark(*watermark)) if watermark else answer
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise not_a_collector() from None


def _estimate(parts: dict[str, Any]) -> Estimate:
    """Return an estimate with its transmitted interval, which its error alone need not determine."""
    shift, interval = float(parts["max_shift_per_1pct"]), (float(parts["low"]), float(parts["high"]))
    build = partial(
        Estimate,
        float(parts["value"]),
        float(parts["error"]),
        int(parts["n"]),
        float(parts["confidence"]),
        float(parts["freedom"]),
        shift=lambda: shift,
    )
    plain = build()
    if _is_same(interval[0], plain.low) and _is_same(interval[1], plain.high):
        return plain
    return build(interval=interval)


def _is_same(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=ROUNDING) or (math.isnan(left) and math.isnan(right))


def not_a_collector() -> EngineError:
    """Return the error for content that no collector of this version would have sent."""
    message = "The answer does not come from a collector of a compatible version. Check the address."
    return EngineError(message, code="not-a-collector")
