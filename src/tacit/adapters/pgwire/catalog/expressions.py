"""Compile columns, constants, CASE, arrays, functions and subqueries in catalog questions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import (
    CompiledExpression,
    Compiler,
    Method,
    arguments_of,
    type_name,
    unsupported_error,
)
from tacit.adapters.pgwire.catalog.functions import FUNCTIONS
from tacit.adapters.pgwire.catalog.groups import compile_aggregate
from tacit.adapters.pgwire.catalog.naming import fold_name, trim_function
from tacit.adapters.pgwire.catalog.operators import OPERATORS, is_query
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.errors import UnsupportedSqlError, UsageError

__all__ = ["METHODS"]


def column(compiler: Compiler, node: exp.Column, scope: CatalogScope) -> CompiledExpression:
    """Return a column of this query or of one around it."""
    table, name = fold_name(node.args.get("table")), fold_name(node.this)
    if name == "tableoid" and not scope.holds(table, name):
        oid = scope.origin_oid(table)
        return CompiledExpression(lambda _: oid, "oid")
    if name in ("ctid", "xmin", "xmax") and not scope.holds(table, name):
        return CompiledExpression(lambda _: "0", "text")
    if (
        not table
        and not node.this.args.get("quoted")
        and name in FUNCTIONS
        and name.startswith(("current_", "session_user", "user"))
    ):
        return compiler.call(name, (), scope)
    place = scope.find(table, name)
    depth, index = place.depth, place.index
    if depth == 0:
        return CompiledExpression(lambda env: env.row[index], place.type)

    def outer(env: Env) -> Any:
        at: Env | None = env
        for _ in range(depth):
            at = at.parent if at is not None else None
        return at.row[index] if at is not None else None

    return CompiledExpression(outer, place.type)


def literal(_: Compiler, node: exp.Literal, __: CatalogScope) -> CompiledExpression:
    """Return a constant."""
    text = str(node.this)
    if node.is_string:
        return CompiledExpression(lambda _: text, "unknown")
    try:
        number: Any = int(text) if text.isdigit() else float(text)
    except ValueError:
        raise unsupported_error(node) from None
    kind = "float8" if isinstance(number, float) else "int4" if number < 1 << 31 else "int8"
    return CompiledExpression(lambda _: number, kind)


def parameter(compiler: Compiler, node: exp.Parameter, _: CatalogScope) -> CompiledExpression:
    """Return a parameter."""
    place = compiler.number_of_parameter(node)
    if place is None or not 0 <= place < len(compiler.kinds):
        message = "Parameters are written $1, $2, …."
        raise UsageError(message, code="wrong-parameters")
    values = compiler.parameters
    return CompiledExpression(lambda _: None if values is None else values[place], compiler.kinds[place])


def cast(compiler: Compiler, node: exp.Cast, scope: CatalogScope) -> CompiledExpression:
    """Convert a value to another type."""
    kind, inner = type_name(node.args["to"]), compiler.compile(node.this, scope)
    return compiler.cast(compiler.coerce(inner, kind, node.this) if inner.type == "unknown" else inner, kind)


def case(compiler: Compiler, node: exp.Case, scope: CatalogScope) -> CompiledExpression:
    """Return CASE."""
    tests, kind = [], "unknown"
    for branch in node.args.get("ifs") or ():
        wanted = exp.EQ(this=node.this, expression=branch.this) if node.this is not None else branch.this
        result = compiler.compile(branch.args["true"], scope)
        kind = result.type if kind == "unknown" else kind
        tests.append((compiler.compile(wanted, scope).run, result.run))
    default = compiler.compile(node.args["default"], scope) if node.args.get("default") is not None else None
    kind = default.type if default and kind == "unknown" else kind
    otherwise = default.run if default else lambda _: None

    def compute(env: Env) -> Any:
        return next((result for test, result in tests if test(env) is True), otherwise)(env)

    return CompiledExpression(compute, "text" if kind == "unknown" else kind)


def first_known(compiler: Compiler, node: exp.Coalesce, scope: CatalogScope) -> CompiledExpression:
    """Return COALESCE."""
    members = [compiler.compile(member, scope) for member in (node.this, *node.expressions)]
    kind = next((member.type for member in members if member.type != "unknown"), "text")
    runs = [compiler.coerce(member, kind).run for member in members]

    def compute(env: Env) -> Any:
        return next((value for value in (run(env) for run in runs) if value is not None), None)

    return CompiledExpression(compute, kind)


def scalar(compiler: Compiler, node: exp.Expr, scope: CatalogScope) -> CompiledExpression:
    """Return the value of a query of one row."""
    shape, run = compiler.subquery(node.this if isinstance(node, exp.Subquery) else node, scope)

    def value(env: Env) -> Any:
        rows = run(env).rows
        if len(rows) > 1:
            message = "A scalar subquery returned several rows."
            raise UsageError(message, code="bad-option")
        return rows[0][0] if rows else None

    return CompiledExpression(value, shape.types[0])


def exists(compiler: Compiler, node: exp.Exists, scope: CatalogScope) -> CompiledExpression:
    """Return EXISTS; PostgreSQL lets its query list no columns."""
    query = node.this
    if isinstance(query, exp.Select) and not query.expressions:
        query = query.select(exp.Literal.number(1))
    _, run = compiler.subquery(query, scope)
    return CompiledExpression(lambda env: bool(run(env).rows), "bool")


def array(compiler: Compiler, node: exp.Array, scope: CatalogScope) -> CompiledExpression:
    """Return ARRAY[…] or ARRAY(SELECT …)."""
    if len(node.expressions) == 1 and is_query(node.expressions[0]):
        return compiler.rows_of(node.expressions[0], scope)
    members = [compiler.compile(expression, scope) for expression in node.expressions]
    kind = next((member.type for member in members if member.type != "unknown"), "text")
    runs = [member.run for member in members]
    return CompiledExpression(lambda env: [run(env) for run in runs], f"_{kind}")


def element(compiler: Compiler, node: exp.Bracket, scope: CatalogScope) -> CompiledExpression:
    """Return an element of an array, counted from 1."""
    inner, place = compiler.compile(node.this, scope), compiler.compile(node.expressions[0], scope)
    offset = node.args.get("offset") or 0
    array, at = inner.run, place.run

    def compute(env: Env) -> Any:
        values, index = array(env), at(env)
        if not isinstance(values, list) or not isinstance(index, int):
            return None
        index = index + (1 if offset == 0 and isinstance(node.expressions[0], exp.Literal) else 0)
        return values[index - 1] if 1 <= index <= len(values) else None

    return CompiledExpression(compute, inner.type.removeprefix("_"))


def field_or_call(compiler: Compiler, node: exp.Dot, scope: CatalogScope) -> CompiledExpression:
    """Return a function of a schema, or a field of a composite value."""
    if isinstance(node.expression, exp.Func):
        return compiler.compile(node.expression, scope)
    inner, name = compiler.compile(node.this, scope), node.expression.name.lower()
    run = inner.run

    def field(env: Env) -> Any:
        value = run(env)
        if isinstance(value, list):
            return [member.get(name) if isinstance(member, dict) else None for member in value]
        return value.get(name) if isinstance(value, dict) else None

    return CompiledExpression(field, "int4" if name == "n" else "text", inner.is_set)


def aggregate(compiler: Compiler, node: exp.Expr, scope: CatalogScope) -> CompiledExpression:
    """Return the value that a group has for an aggregate."""
    if compiler.aggregates is None:
        message = "An aggregate is not allowed here."
        raise UnsupportedSqlError(message)
    slot, collected = len(compiler.aggregates), compiler.aggregates
    compiler.aggregates = None
    aggregate = compile_aggregate(compiler, node, scope)
    compiler.aggregates = collected
    collected.append(aggregate)
    return CompiledExpression(lambda env: env.aggregates[slot], aggregate.type)


def _unescape(text: str) -> str:
    """Return the text of E'…'."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'").replace("\\\\", "\\")


def _inner(compiler: Compiler, node: exp.Expr, scope: CatalogScope) -> CompiledExpression:
    return compiler.compile(node.this, scope)


def _call_named(name: str) -> Method:
    """Return the compiler of a function that has its own parser node."""
    return lambda compiler, node, scope: compiler.call(
        name, arguments_of(node) if name == "generate_series" else (), scope
    )


METHODS: dict[type[exp.Expr], Method] = {
    exp.Column: column,
    exp.Literal: literal,
    exp.Boolean: lambda _, node, __: CompiledExpression(lambda _: bool(node.this), "bool"),
    exp.Null: lambda _, __, ___: CompiledExpression(lambda _: None, "unknown"),
    exp.ByteString: lambda _, node, __: CompiledExpression(lambda _: _unescape(str(node.this)), "unknown"),
    exp.Parameter: parameter,
    exp.Paren: _inner,
    exp.Alias: _inner,
    exp.Collate: _inner,
    **OPERATORS,
    exp.Cast: cast,
    exp.Case: case,
    exp.Coalesce: first_known,
    exp.Exists: exists,
    exp.Array: array,
    exp.Bracket: element,
    exp.Dot: field_or_call,
    exp.AggFunc: aggregate,
    exp.Window: aggregate,
    exp.Subquery: scalar,
    exp.Query: scalar,
    exp.Anonymous: lambda compiler, node, scope: compiler.call(node.name.lower(), node.expressions, scope),
    exp.Trim: lambda compiler, node, scope: compiler.call(trim_function(node), arguments_of(node), scope),
    exp.StrPosition: lambda compiler, node, scope: compiler.call("strpos", arguments_of(node), scope),
    exp.ArraySize: lambda compiler, node, scope: compiler.call("array_length", arguments_of(node), scope),
    exp.ExplodingGenerateSeries: _call_named("generate_series"),
    exp.GenerateSeries: _call_named("generate_series"),
    exp.CurrentDatabase: _call_named("current_database"),
    exp.CurrentSchema: _call_named("current_schema"),
    exp.CurrentUser: _call_named("current_user"),
    exp.SessionUser: _call_named("session_user"),
    exp.CurrentVersion: _call_named("version"),
}
"""The compiler of each kind of node; the first match applies."""
