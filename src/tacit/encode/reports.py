"""Validate reports for storage: columns, types, codes, and that a person's reports are complete."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tacit.contract.contract import ServiceContract
from tacit.errors import ReportError

__all__ = ["Loaded", "check_reports", "report_table"]


@dataclass(frozen=True)
class Loaded:
    """The result of loading: reports stored, and refused because their people had already reported."""

    stored: int
    refused: int


def report_table(collection: str, service: str) -> str:
    """Return the name of the table with the reports of a collection's service."""
    return f"reports_{collection[:16]}_{service}"


def check_reports(compiled: ServiceContract, table: pa.Table) -> None:
    """Refuse reports that do not fit the contract or are incomplete for a person."""
    service = compiled.service
    name = service.name
    expected = [service.key, "slot", "channel", "code", *(attribute.name for attribute in service.public)]
    if not isinstance(table, pa.Table) or table.column_names != expected:
        message = f"Reports of {name!r} must be an Arrow table with the columns {', '.join(expected)}."
        raise ReportError(message, code="wrong-columns")
    whole = all(pa.types.is_integer(table.schema.field(word).type) for word in ("slot", "channel", "code"))
    if not whole or any(table[word].null_count for word in expected[:4]):
        message = f"A report of {name!r} lacks its key, slot, channel or code, or they are not whole numbers."
        raise ReportError(message, code="wrong-columns")
    alphabets = np.array([channel.alphabet for channel in compiled.channels])
    channel, code, slot = (np.asarray(table[word]).astype(np.int64) for word in ("channel", "code", "slot"))
    known = (channel >= 0) & (channel < len(alphabets)) & (slot >= 0) & (slot < service.sends)
    if not known.all() or not ((code >= 0) & (code < alphabets[channel])).all():
        message = f"A report of {name!r} has a slot, channel or code outside the collection's range."
        raise ReportError(message, code="unknown-code")
    kind = table.schema.field(service.key).type
    if not (pa.types.is_int64(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        message = f"Keys of {name!r} must be 64-bit integers or text."
        raise ReportError(message, code="wrong-columns")
    if len(alphabets) * service.sends > 1:
        _check_complete(compiled, table)


def _check_complete(compiled: ServiceContract, table: pa.Table) -> None:
    """Refuse people who lack a channel or a slot, or whose public columns differ between channels."""
    service = compiled.service
    shared = [service.key, *(attribute.name for attribute in service.public)]
    ordered = table.sort_by([(word, "ascending") for word in ("channel", "slot", service.key)])
    count, sends = len(compiled.channels) * service.sends, service.sends
    rows = table.num_rows // count
    even = np.array_equal(np.asarray(ordered["channel"]), np.repeat(np.arange(count) // sends, rows))
    even = even and np.array_equal(np.asarray(ordered["slot"]), np.repeat(np.arange(count) % sends, rows))
    people = ordered.slice(0, rows).select(shared)
    if not even or any(not ordered.slice(i * rows, rows).select(shared).equals(people) for i in range(1, count)):
        message = (
            f"A person's reports of {service.name!r} are incomplete, or their public columns differ. "
            "Load all slots and channels of a person together."
        )
        raise ReportError(message, code="incomplete-reports")
