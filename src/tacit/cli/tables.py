"""Tables named on the command line as service=table."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.errors import UsageError

__all__ = ["named_tables"]


def named_tables(items: Iterable[str]) -> dict[str, str]:
    """Return the path of each service's table."""
    tables: dict[str, str] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals:
            message = f"{item!r} is not of the form service=table, such as users=users.parquet."
            raise UsageError(message, code="bad-option")
        if name in tables:
            message = f"There are two tables for {name!r}. Pass one table per service."
            raise UsageError(message, code="bad-option")
        tables[name] = path
    return tables
