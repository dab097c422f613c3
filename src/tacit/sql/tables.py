"""FROM: the services of a question, joined on the person's key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from tacit.contract.schema import Public, Schema, Service
from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.lookup import Dimension
from tacit.sql.outer_joins import split_on
from tacit.sql.parse import span_of
from tacit.sql.predicates import holds
from tacit.sql.scope import Joined, JoinKind, Scope, StoredValues
from tacit.sql.semijoins import BARE, SEMI_JOIN

__all__ = ["Named", "check_rounds", "scope_of", "services_of", "tables_of"]

WHY_JOIN = "Only JOIN, LEFT, RIGHT and FULL JOIN of services on the key are supported. Write JOIN service USING (key)."

WHY_FULL = (
    "FULL JOIN works with other FULL JOINs only, three or more tables with USING. Write LEFT JOIN, starting with a "
    "table in which everybody has a row."
)

WHY_ONCE = "{0} is joined with itself, which works with JOIN only. Ask two questions instead."

WHY_KEPT = (
    "{0} is a dimension: reports do not reveal which of its rows nobody has, so it can be joined to a service only. "
    "Write FROM service JOIN {0}, or LEFT JOIN to keep rows of the service without a match."
)

WHY_KEYS = (
    "A subquery in WHERE must be about the same person: key IN (SELECT key FROM service WHERE …), or EXISTS (SELECT 1 "
    "FROM service WHERE service.key = other.key AND …). Ask anything else by itself first, and put its value in."
)

SCHEMAS = ("main", "public")
"""Accepted schema names: tools write them in front of tables."""


@dataclass(frozen=True)
class Named:
    """A table in FROM: the service's name, its alias, and its join."""

    name: str
    alias: str
    join: exp.Join | None


def tables_of(statement: exp.Select, text: str) -> list[Named]:
    """Return the tables of FROM and JOIN."""
    source = statement.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        message = "A question needs FROM and the name of a service."
        raise BindError(message, code="unknown-table", text=text)
    tables = [_named_table(source.this, None, text)]
    for join in statement.args.get("joins") or []:
        kind = str(join.args.get("kind") or "INNER").upper()
        others = [word for word in ("method", "global_", "hint", "match_condition") if join.args.get(word)]
        known = kind in ("INNER", "OUTER") and str(join.args.get("side") or "LEFT").upper() in ("LEFT", "RIGHT", "FULL")
        if join.meta.get(SEMI_JOIN) and not join.args.get("on"):
            raise UnsupportedSqlError(WHY_KEYS, code="unsupported-subquery", text=text)
        if not known or others or not (join.args.get("using") or join.args.get("on")):
            raise UnsupportedSqlError(WHY_JOIN, code="unsupported-join", text=text, span=span_of(join))
        if not isinstance(join.this, exp.Table):
            message = "JOIN takes the name of a service."
            raise UnsupportedSqlError(message, code="unsupported-join", text=text, span=span_of(join))
        tables.append(_named_table(join.this, join, text))
    _check_full([table.join for table in tables if table.join is not None], text)
    return tables


def _check_full(joins: list[exp.Join], text: str) -> None:
    """Refuse FULL JOIN beside other joins, and, of more than two tables, on the key of one of them."""
    full = [join for join in joins if _side(join) == "FULL"]
    by_name = len(joins) == 1 or all(join.args.get("using") for join in joins)
    if full and (len(full) < len(joins) or not by_name):
        raise UnsupportedSqlError(WHY_FULL, code="unsupported-join", text=text, span=span_of(full[0]))


def _named_table(table: exp.Table, join: exp.Join | None, text: str) -> Named:
    schema = str(table.args.get("db") or "").lower().strip('"')
    if schema and schema not in SCHEMAS:
        message = f"There is no schema {schema!r}. Services are in {' or '.join(SCHEMAS)}, and need no schema."
        raise BindError(message, code="unknown-table", text=text, span=span_of(table))
    extra = [w for w, value in table.args.items() if value and w not in ("this", "alias", "db", "catalog")]
    if extra:
        message = f"FROM takes names of services; {extra[0]} is not supported."
        raise UnsupportedSqlError(message, text=text)
    return Named(str(table.name), str(table.alias or table.name), join)


def scope_of(
    tables: list[Named],
    schema: Schema,
    text: str,
    dimensions: Mapping[str, Dimension] | None = None,
    stored: StoredValues | None = None,
) -> Scope:
    """Return the scope of a question.

    A report must never be multiplied with itself. With one row per person a self-join adds nothing: the service is in
    the scope once, under both names. With several rows it is there twice, and pairs of rows are read from two different
    reports.
    """
    known = {service.name.lower(): service for service in schema.services}
    tables = _service_first(tables, known, text)
    joined: list[_Table] = []
    public: list[Named] = []
    for table in tables:
        taken = [alias.lower() for before in joined for alias in before.aliases] + [d.alias.lower() for d in public]
        if table.alias.lower() in taken:
            message = f"Two tables are called {table.alias!r}. Give one of them another name with AS."
            raise BindError(message, code="ambiguous-table", text=text)
        if table.name.lower() not in known and table.name.lower() in (dimensions or {}):
            if table.join is not None and _side(table.join) not in ("", "LEFT"):
                raise UnsupportedSqlError(
                    WHY_KEPT.format(table.name), code="unsupported-join", text=text, span=span_of(table.join)
                )
            public.append(table)
            continue
        _add(joined, known[table.name.lower()], table, text)
    if not joined:
        message = "A question needs a service in FROM. Dimension tables can only be joined to one."
        raise BindError(message, code="unknown-table", text=text)
    scope = Scope.over([(table.service, tuple(table.aliases), table.kind) for table in joined], text)
    scope = replace(_with_conditions(scope, joined), is_full=any(_is_full(table.join) for table in tables))
    dimensional = [_join(scope, table, (dimensions or {})[table.name.lower()], text) for table in public]
    return replace(scope, dimensions=tuple(dimensional), stored=stored)


def _service_first(tables: list[Named], known: Mapping[str, Service], text: str) -> list[Named]:
    """Return the tables with a dimension that begins FROM after the service that is joined to it."""
    [first, *others] = tables
    if first.name.lower() in known:
        return tables
    for place, table in enumerate(others):
        join = table.join
        if join is None or table.name.lower() not in known or not _names_table(join, first.alias):
            continue
        if _side(join) not in ("", "RIGHT"):
            raise UnsupportedSqlError(
                WHY_KEPT.format(first.name), code="unsupported-join", text=text, span=span_of(join)
            )
        moved = join.copy()
        moved.set("side", "LEFT" if _side(join) else None)
        return [replace(table, join=None), replace(first, join=moved), *others[:place], *others[place + 1 :]]
    return tables


def _names_table(join: exp.Join, alias: str) -> bool:
    """Return whether ON names a table, or USING a column that it may have."""
    on = join.args.get("on")
    columns = on.find_all(exp.Column) if on is not None else ()
    return bool(join.args.get("using")) or any(column.table.lower() == alias.lower() for column in columns)


@dataclass
class _Table:
    """A service of FROM: the names it has there, and how it is joined."""

    service: Service
    aliases: list[str]
    kind: JoinKind
    on: list[exp.Expr]


def _is_full(join: exp.Join | None) -> bool:
    return join is not None and _side(join) == "FULL"


def _with_conditions(scope: Scope, joined: list[_Table]) -> Scope:
    """Return the scope with the conditions of ON; where people have several rows, rows that meet them are joined."""
    sources = list(scope.sources)
    for number, table in enumerate(joined):
        if table.on:
            met = math.prod((holds(scope, part) for part in table.on), start=scope.one)
            kind: JoinKind = "inner" if table.service.rows_at_most > 1 else "left"
            sources[number] = replace(sources[number], matched=met, join=kind)
            scope = replace(scope, sources=tuple(sources))
    return scope


def _add(joined: list[_Table], service: Service, table: Named, text: str) -> None:
    """Add a table to the services joined so far."""
    kind = _kind(table.join, service, text) if table.join is not None else "inner"
    if table.join is not None and joined:
        sides = [other for other in joined if other.kind != "left" or _is_full(table.join)]
        others = {alias.lower(): other.service.key for other in sides for alias in other.aliases}
        _check_key(table.join, service, others, table, text)
    before = [other for other in joined if other.service == service]
    conditions = split_on(table.join)[1] if table.join is not None and _side(table.join) == "LEFT" else []
    if conditions and before:
        raise UnsupportedSqlError(WHY_ONCE.format(service.name), code="unsupported-join", text=text)
    if _is_full(table.join):
        joined[0].kind = "left"
    if table.join is not None and _side(table.join) == "RIGHT":
        if len(joined) > 1:
            message = "RIGHT JOIN takes one table before it. Write LEFT JOIN, starting with the table that is kept."
            raise UnsupportedSqlError(message, code="unsupported-join", text=text, span=span_of(table.join))
        joined[0].kind = "left"
    if before and service.rows_at_most == 1:
        before[0].aliases.append(table.alias)
        before[0].kind = before[0].kind if kind == "left" else "inner"
        return
    if before and {kind, before[0].kind} != {"inner"}:
        raise UnsupportedSqlError(WHY_ONCE.format(service.name), code="unsupported-join", text=text)
    _check_rows(service, len(before), text)
    joined.append(_Table(service, [table.alias], kind, conditions))


def _kind(join: exp.Join, service: Service, text: str) -> JoinKind:
    """Return how a service is joined; refuse conditions on whether any of several rows meets a condition."""
    several = join.meta.get(SEMI_JOIN) and service.rows_at_most > 1
    if several and not join.meta.get(BARE):
        message = (
            f"Reports do not reveal whether any of a person's rows in {service.name} meets a condition. Count rows "
            f"instead: JOIN {service.name} USING ({service.key}) and COUNT(*)."
        )
        raise UnsupportedSqlError(message, code="unsupported-subquery", text=text)
    if _side(join) in ("LEFT", "FULL"):
        return "left"
    return "semi" if several else "inner"


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _check_rows(service: Service, before: int, text: str) -> None:
    """Refuse a self-join of a one-to-many service whose people send only one report."""
    if before and service.sends < 2:
        message = (
            f"{service.name} has several rows per person, but each person sends one report, and joining it with itself "
            "needs two. Collect it with sends=2 or more."
        )
        raise UnsupportedSqlError(message, code="unsupported-join", text=text)
    if before > 1:
        message = f"{service.name} is joined with itself more than once. Only one self-join is supported."
        raise UnsupportedSqlError(message, code="unsupported-join", text=text)


def _join(scope: Scope, table: Named, dimension: Dimension, text: str) -> Joined:
    """Return a dimension joined on the sensitive attribute that holds its key."""
    using = table.join.args.get("using") if table.join else None
    on = table.join.args.get("on") if table.join else None
    message = (
        f"{dimension.name} must be joined on a sensitive attribute that holds its key. Write "
        f"JOIN {dimension.name} ON service.attribute = {table.alias}.{dimension.key} (docs/glossary.md#dimension)."
    )
    if table.join is not None and split_on(table.join)[1]:
        message = (
            f"{dimension.name} is joined with conditions beside its key. Move them to WHERE, or, for LEFT JOIN, to "
            f"FILTER or CASE around the columns of {table.alias}."
        )
    span = span_of(table.join) if table.join is not None else None
    refusal = UnsupportedSqlError(message, code="unsupported-join", text=text, span=span)
    column: exp.Column | None = None
    if using and [word.name.lower() for word in using] == [dimension.key.lower()]:
        column = exp.column(using[0].copy())
    elif isinstance(on, exp.EQ) and isinstance(on.this, exp.Column) and isinstance(on.expression, exp.Column):
        sides = [on.this, on.expression]
        keys = [s for s in sides if (s.table.lower(), s.name.lower()) == (table.alias.lower(), dimension.key.lower())]
        column = next((side for side in sides if side not in keys), None) if len(keys) == 1 else None
    if column is None or (using and on):
        raise refusal
    bound = scope.find(column)
    if isinstance(bound.attribute, Public):
        raise refusal
    matched, columns = dimension.lookups(bound.sensitive)
    if table.join is not None and _side(table.join) == "LEFT":
        matched = np.ones_like(matched)  # rows without a match stay; its columns are NULL there
    return Joined(table.alias, bound, matched, columns)


def _check_key(join: exp.Join, service: Service, others: dict[str, str], table: Named, text: str) -> None:
    """Refuse joins on anything but the keys of both sides."""
    using, on = join.args.get("using"), join.args.get("on")
    if _side(join) == "LEFT" and not join.meta.get(SEMI_JOIN):
        on = split_on(join)[0]
    if using:
        words = [identifier.name.lower() for identifier in using]
        if words == [service.key.lower()] and any(key.lower() == words[0] for key in others.values()):
            return
    elif isinstance(on, exp.EQ) and isinstance(on.this, exp.Column) and isinstance(on.expression, exp.Column):
        keys = {**{alias: key.lower() for alias, key in others.items()}, table.alias.lower(): service.key.lower()}
        sides = [(column.table.lower(), column.name.lower()) for column in (on.this, on.expression)]
        right = all(keys.get(alias) == name for alias, name in sides)
        if right and len({alias for alias, _ in sides}) == 2 and table.alias.lower() in (alias for alias, _ in sides):
            return
    if join.meta.get(SEMI_JOIN):
        raise UnsupportedSqlError(WHY_KEYS, code="unsupported-subquery", text=text)
    message = f"Services are joined on the person's key only. Write JOIN {service.name} USING ({service.key})."
    if join.args.get("side"):
        message += " Conditions beside it belong in WHERE, FILTER or CASE."
    raise UnsupportedSqlError(message, code="unsupported-join", text=text, span=span_of(join))


def services_of(tables: Sequence[Named], dimensions: Mapping[str, Dimension], text: str) -> list[Named]:
    """Return the tables that are no dimensions; refuse a question about dimensions alone."""
    services = [table for table in tables if table.name.lower() not in dimensions]
    if not services:
        first = dimensions[tables[0].name.lower()]
        message = (
            f"{first.name} is a dimension, a public table whose rows are asked for where they are kept. Here it can be "
            f"joined to a service: FROM service JOIN {first.name} ON service.attribute = {first.name}.{first.key}."
        )
        raise BindError(message, code="unknown-table", text=text)
    return services


def check_rounds(statement: exp.Select, question: str, *, superpopulation: bool) -> None:
    """Refuse aggregates that do not sum over rounds, because the same people are in several of them."""
    group = statement.args.get("group")
    by_round = any(column.name.lower() == "round" for column in (group.find_all(exp.Column) if group else ()))
    if not by_round and (superpopulation or statement.find(exp.Distinct)):
        cause = "superpopulation=True" if superpopulation else "COUNT(DISTINCT …)"
        message = f"{cause} over several rounds would count people once per round. Add GROUP BY round."
        raise UnsupportedSqlError(message, code="several-rounds", text=question)
