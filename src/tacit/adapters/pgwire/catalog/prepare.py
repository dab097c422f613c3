"""Prepare a catalog question: its columns, its parameters, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.facts import written_type
from tacit.adapters.pgwire.catalog.select import Queries
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.catalog.values import Number, Relation
from tacit.errors import UnsupportedSqlError

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """A prepared catalog question: names and types of its columns, types of its parameters, and how to run it."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    parameters: tuple[str, ...]
    run: Callable[[], Relation]


def prepare(node: exp.Expr, catalog: PgCatalog, parameters: Sequence[Any] | None, kinds: Sequence[str]) -> Prepared:
    """Compile a question; ``parameters`` are None while it is only described."""
    result = list(kinds)
    queries = Queries(catalog, parameters, result)
    with _not_too_deep():
        shape, run = queries.query(node, None, {})
    known = tuple("text" if kind == "unknown" else kind for kind in result)
    types = tuple("text" if kind == "unknown" else kind for kind in shape.types)

    def answer() -> Relation:
        with _not_too_deep():
            return _with_names(run(None), catalog)

    return Prepared(shape.names, types, known, answer)


def _with_names(result: Relation, catalog: PgCatalog) -> Relation:
    """Return rows in which oids of relations and types are shown by name, as in PostgreSQL."""
    named = {place: kind for place, kind in enumerate(result.types) if kind in ("regclass", "regtype")}
    if not named:
        return result

    def show(place: int, value: Any) -> Any:
        if place not in named or not isinstance(value, int):
            return value
        number = Number(value)
        number.shown = written_type(value) if named[place] == "regtype" else catalog.name_of(value) or str(value)
        return number

    rows = [tuple(show(place, value) for place, value in enumerate(row)) for row in result.rows]
    return Relation(result.names, result.types, rows)


@contextmanager
def _not_too_deep() -> Iterator[None]:
    """Refuse statements that are nested too deeply."""
    try:
        yield
    except RecursionError:
        message = "This question about the catalog is nested too deeply."
        raise UnsupportedSqlError(message, code="too-deep") from None
