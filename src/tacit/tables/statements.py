"""SQL statements composed from templates: names are quoted, and only text composed here is inserted as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["Sql", "compose", "quote_name"]


class Sql(str):
    """SQL that a template inserts unchanged: composed here, or written in the source code."""

    __slots__ = ()


def quote_name(name: str) -> str:
    """Return a name as SQL.

    Examples
    --------
    >>> quote_name("age")
    '"age"'
    """
    return '"' + name.replace('"', '""') + '"'


def compose(template: str, /, *, quote: Callable[[str], str] = quote_name, **parts: str | Iterable[str]) -> Sql:
    """Return a template with its parts: names are quoted, lists of names have commas between them, SQL stays as it is.

    Examples
    --------
    >>> compose("SELECT {columns} FROM {table}", columns=["id", "age"], table="users")
    'SELECT "id", "age" FROM "users"'
    >>> some = compose("SELECT {key} FROM {table}", key="id", table="users")
    >>> compose("DELETE FROM {table} WHERE id IN ({some})", table="orders", some=some)
    'DELETE FROM "orders" WHERE id IN (SELECT "id" FROM "users")'
    """

    def text_of(part: str | Iterable[str]) -> str:
        if isinstance(part, Sql):
            return part
        return quote(part) if isinstance(part, str) else ", ".join(map(quote, part))

    return Sql(template.format_map({name: text_of(part) for name, part in parts.items()}))
