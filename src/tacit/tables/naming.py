"""Names that SQL and files allow, and such names for the columns of any table."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from tacit.errors import SchemaError

__all__ = ["NAME", "RESERVED", "allowed_name", "with_allowed_names"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")
RESERVED = frozenset({"slot", "channel", "code", "people", "rng", "progress", "round", "self", "tier"})


def allowed_name(name: str, taken: Iterable[str] = (), instead: str = "data") -> str:
    """Return a name as it is if it is allowed, else the nearest one that is allowed and not taken.

    ``instead`` is the name where no letter and no digit is allowed, as in Greek or Chinese.

    Examples
    --------
    >>> allowed_name("Hours per week"), allowed_name("code"), allowed_name("2026 sales")
    ('Hours_per_week', 'code_', '_2026_sales')
    >>> allowed_name("Größe"), allowed_name("prénom")
    ('Groe', 'prenom')
    >>> allowed_name("年齢", instead="column_3")
    'column_3'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    cleaned = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_") if not NAME.match(name) else name
    cleaned = cleaned or instead
    if cleaned[0].isdigit():
        cleaned = f"_{cleaned}"
    cleaned = cleaned[:60]
    used = {other.lower() for other in taken} | RESERVED
    while cleaned.lower() in used:
        cleaned += "_"
    return cleaned


def with_allowed_names(table: pa.Table) -> pa.Table:
    """Return a table whose columns have allowed names, those of a record on their own; refuse two of one name."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()  # device = {os: …} becomes device.os
    counts = Counter(name.lower() for name in table.column_names)
    if len(counts) != len(table.column_names):
        [(name, _)] = counts.most_common(1)
        message = f"Two columns are called {name[:40]!r} (case is ignored). Rename one in the file."
        raise SchemaError(message, code="duplicate-name")
    names: list[str] = []
    for name in table.column_names:
        names.append(allowed_name(name, names, f"column_{len(names) + 1}"))
    return table if names == table.column_names else table.rename_columns(names)
