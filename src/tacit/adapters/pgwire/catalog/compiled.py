"""Compile expressions in catalog questions to functions of a row.

A compiled expression has a function, a result type, and whether it returns several rows. Constants in quotes have the
type
``unknown`` until they are compared with something, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.facts import oid_of_type, type_of_oid, written_type
from tacit.adapters.pgwire.catalog.functions import FUNCTIONS, SETS
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.catalog.values import Budget, Relation, plain_cast
from tacit.errors import UnsupportedSqlError, UsageError

__all__ = [
    "TEXTS",
    "CompiledAggregate",
    "CompiledExpression",
    "Compiler",
    "Method",
    "arguments_of",
    "type_name",
    "unsupported_error",
]

TEXTS = ("text", "name", "varchar", "char", "bpchar", "unknown")


@dataclass(frozen=True)
class CompiledExpression:
    """A compiled expression."""

    run: Callable[[Env], Any]
    type: str = "text"
    is_set: bool = False


@dataclass(frozen=True)
class CompiledAggregate:
    """The value of an aggregate for a group of rows; for a window, a list with a value for each row."""

    run: Callable[[Sequence[Env]], Any]
    type: str


class Compiler:
    """Compiles expressions of one question.

    Parameters
    ----------
    catalog : Catalog
        The relations.
    parameters : sequence
        Values of the parameters, or None while the question is only described.
    kinds : list of str
        Types of the parameters, ``unknown`` where the client does not declare them; filled in as they are inferred.
    subquery : function
        Runs a query within a scope and a row.
    methods : mapping
        The compiler of each kind of node; the first match applies.
    """

    def __init__(
        self,
        catalog: PgCatalog,
        parameters: Sequence[Any] | None,
        kinds: list[str],
        subquery: Callable[[exp.Expr, CatalogScope], tuple[Relation, Callable[[Env], Relation]]],
        methods: Mapping[type[exp.Expr], Method],
    ) -> None:
        self.catalog, self.parameters, self.kinds = catalog, parameters, kinds
        self.subquery, self._methods, self.budget = subquery, methods, Budget()
        self.aggregates: list[CompiledAggregate] | None = None

    def compile(self, node: exp.Expr | None, scope: CatalogScope) -> CompiledExpression:
        """Compile an expression."""
        if node is None:
            message = "A part of the question is missing."
            raise UnsupportedSqlError(message)
        for kind, method in self._methods.items():
            if isinstance(node, kind):
                return method(self, node, scope)
        if isinstance(node, exp.Func):
            return self.call(node.sql_name().lower(), arguments_of(node), scope)
        raise unsupported_error(node)

    def number_of_parameter(self, node: exp.Expr) -> int | None:
        """Return the place of a parameter, from 0."""
        inner = node.this if isinstance(node, exp.Parameter) else None
        return int(inner.name) - 1 if isinstance(inner, exp.Literal) and str(inner.name).isdigit() else None

    def coerce(self, compiled: CompiledExpression, kind: str, node: exp.Expr | None = None) -> CompiledExpression:
        """Convert an unknown constant to the type it is used with."""
        place = self.number_of_parameter(node) if node is not None else None
        if place is not None and self.kinds[place] == "unknown" and kind != "unknown":
            self.kinds[place] = kind
        if compiled.type != "unknown" or kind == "unknown":
            return compiled
        return self.cast(compiled, kind)

    def alike(
        self, node: exp.Expr, other: exp.Expr, scope: CatalogScope
    ) -> tuple[CompiledExpression, CompiledExpression]:
        """Return both sides of a comparison, with a common type."""
        left, right = self.compile(node, scope), self.compile(other, scope)
        return self.coerce(left, right.type, node), self.coerce(right, left.type, other)

    def cast(self, compiled: CompiledExpression, kind: str) -> CompiledExpression:
        """Convert a value to another type."""
        catalog, run, before = self.catalog, compiled.run, compiled.type

        def cast(env: Env) -> Any:
            return cast_value(catalog, run(env), before, kind)

        return CompiledExpression(cast, kind, compiled.is_set)

    def call(self, name: str, arguments: Sequence[exp.Expr], scope: CatalogScope) -> CompiledExpression:
        """Return a call of a function by its name."""
        known = FUNCTIONS.get(name) or SETS.get(name)
        if known is None:
            message = f"There is no function {name[:63]}() in this catalog."
            raise UnsupportedSqlError(message, code="unknown-function")
        kind, work = known
        compiled_arguments = [self.compile(argument, scope) for argument in arguments]
        runs, catalog = [compiled.run for compiled in compiled_arguments], self.catalog
        counted = self.budget.count_memory
        if name in ("unnest", "explode") and compiled_arguments and compiled_arguments[0].type.startswith("_"):
            kind = compiled_arguments[0].type[1:]

        def call(env: Env) -> Any:
            try:
                return counted(work(catalog, *(run(env) for run in runs)))
            except (TypeError, AttributeError, ValueError, LookupError):
                message = f"{name}() takes other arguments."
                raise UsageError(message, code="bad-parameter") from None

        return CompiledExpression(call, kind, name in SETS)

    def rows_of(self, node: exp.Expr, scope: CatalogScope) -> CompiledExpression:
        """Return the first column of a query as an array."""
        shape, run = self.subquery(node, scope)
        return CompiledExpression(lambda env: [row[0] for row in run(env).rows], f"_{shape.types[0]}")


Method = Callable[[Compiler, Any, CatalogScope], CompiledExpression]


def cast_value(catalog: PgCatalog, value: Any, before: str, kind: str) -> Any:
    """Convert a value to a type; names of tables and types become their oids, and back."""
    if value is None:
        return None
    if kind in ("regclass", "regtype") and isinstance(value, str) and not value.isdigit():
        result = catalog.oid_of(value) if kind == "regclass" else oid_of_type(value)
        if result is None:
            noun = "relation" if kind == "regclass" else "type"
            message = f"There is no {noun} of this name."
            raise UsageError(message, code="unknown-table" if kind == "regclass" else "unknown-type")
        return result
    if kind in ("regclass", "regtype"):
        return int(value)
    if kind in ("_regclass", "_regtype"):
        return [cast_value(catalog, member, "text", kind[1:]) for member in plain_cast(value, "_text")]
    if kind == "regproc":
        return str(value).removeprefix("pg_catalog.")
    if kind in TEXTS and before == "regclass" and isinstance(value, int):
        return catalog.name_of(value) or str(value)
    if kind in TEXTS and before == "regtype" and isinstance(value, int):
        return written_type(value)
    return plain_cast(value, kind)


def type_name(node: exp.Expr) -> str:
    """Return the name of a cast's type."""
    text = node.sql(dialect="postgres").lower()
    text = text.partition("(")[0].strip() + ("[]" if text.endswith("[]") and "(" in text else "")
    result = oid_of_type("bpchar" if text == "char" else text)
    named = type_of_oid(result) if result else None
    if named is None:
        plain = text.removeprefix("pg_catalog.").strip('"')
        if plain in ("regnamespace", "regrole", "serial", "bigserial"):
            return plain
        message = f"There is no type {text[:63]!r} here."
        raise UnsupportedSqlError(message, code="unknown-type")
    return named


def unsupported_error(node: exp.Expr) -> UnsupportedSqlError:
    """Return the error for an unsupported expression."""
    message = f"{node.key.upper()} is not supported in questions about the catalog."
    return UnsupportedSqlError(message)


def arguments_of(node: exp.Func) -> list[exp.Expr]:
    """Return the arguments of a function that the parser knows, in their order."""
    arguments: list[exp.Expr] = []
    for name in node.arg_types:
        value = node.args.get(name)
        arguments += [node_ for node_ in (value if isinstance(value, list) else [value]) if isinstance(node_, exp.Expr)]
    return arguments
