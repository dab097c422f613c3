"""Print nodes as SQL in DuckDB's dialect: the only place that writes queries over reports.

Statements are built as syntax trees; names come from the contract and `tacit.sql.names`, and constants are parameters,
so the text of a question never reaches an engine. Engines of other dialects translate (`tacit.engines.dialect`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

from sqlglot import exp

from tacit.errors import InternalError
from tacit.sql import names
from tacit.sql.nodes import (
    CodeCounts,
    Codes,
    ContributionScan,
    FilteredJoin,
    Measure,
    PersonSums,
    Power,
    Product,
    Query,
    Ranking,
    RankingSums,
    Scan,
    Side,
    Sums,
)
from tacit.sql.stored_types import AsFlag, AsNumber, Constant, constant
from tacit.sql.syntax import (
    cast,
    column,
    count_people,
    double,
    equal,
    group_by,
    number,
    one_where,
    plus,
    report_column,
    select,
    subquery,
    table,
    times,
    with_alias,
)

__all__ = ["Statement", "condition_text", "print_query", "print_select"]

_MARK = "\x00"
"""Delimits the number of a parameter until its place in the text is known; no name contains it."""


class Statement(NamedTuple):
    """Text with ``?`` for each parameter, and the parameters."""

    text: str
    parameters: tuple[Any, ...]


@lru_cache(maxsize=256)
def print_query(query: Query) -> Statement:
    """Return the statement of a query."""
    return print_select(_select(query))


def print_select(tree: exp.Expr) -> Statement:
    """Return the statement of a tree, which is modified: constants become parameters, in the order of the text."""
    constants = list(tree.find_all(Constant))
    for place, marked in enumerate(constants):
        marked.replace(exp.Var(this=f"{_MARK}{place}{_MARK}"))
    pieces = tree.sql(dialect="duckdb").split(_MARK)
    return Statement("?".join(pieces[::2]), tuple(constants[int(place)].value for place in pieces[1::2]))


def condition_text(expression: exp.Expr) -> str:
    """Return a public condition or column as readable text, with ? for constants."""
    return expression.transform(_readable).sql(dialect="duckdb")


def _readable(node: exp.Expr) -> exp.Expr:
    if isinstance(node, Constant):
        return exp.Placeholder()
    return node.this if isinstance(node, AsNumber | AsFlag) else node


# Services as tables of people


def _alias(side: Side) -> str:
    return names.source(side.scan.number)


def _values_alias(side: Side) -> str:
    return f"c{side.scan.number}"


def _rows(scan: Scan, alias: str) -> exp.Expr:
    """Return the rows of a service, with the labels that the query reads."""
    if not scan.labels:
        return table(scan.table, alias)
    labels = [with_alias(cast(constant(value), "VARCHAR"), name) for name, value in scan.labels]
    return subquery(select([exp.Star(), *labels], table(scan.table)), alias)


def _person_sums(side: PersonSums) -> exp.Expr:
    """Return people with the sums over their reports."""
    service, constants = side.scan.number, dict(side.factors)

    def kept_columns() -> list[exp.Expr]:
        labels = [name for name, _ in side.scan.labels]
        return [column(name, "r") for name in (side.scan.key, *side.public, *labels)]

    def value(place: int) -> exp.Expr:
        return exp.Coalesce(this=column(names.factor(service, place), "c"), expressions=[number(0)])

    def with_constant(place: int) -> exp.Expr:
        return exp.Paren(this=plus([value(place), double(constants[place])]))

    sums = []
    for place, offset in side.factors:
        reports = exp.Sum(this=one_where(equal(report_column("channel", "r"), number(0)), 1, 0))
        total = plus([exp.Sum(this=value(place)), times([double(offset), reports])])
        sums.append(with_alias(total, names.factor(service, place)))
    for i, j in side.products:
        product = exp.Sum(this=times([with_constant(i), with_constant(j)]))
        sums.append(with_alias(product, names.product(service, i, j)))
    query = select([*kept_columns(), *sums], _rows(side.scan, "r"))
    if side.factors:
        channel, code = (equal(report_column(name, "r"), report_column(name, "c")) for name in ("channel", "code"))
        values = table(names.contributions(service), "c")
        query.append("joins", exp.Join(this=values, side="LEFT", on=exp.And(this=channel, expression=code)))
    return subquery(group_by(query, kept_columns()), _alias(side))


def _table(side: Side) -> exp.Expr:
    """Return a service's people as a table."""
    return _person_sums(side) if isinstance(side, PersonSums) else _rows(side.scan, _alias(side))


def _joins(people: FilteredJoin) -> Iterable[exp.Join]:
    """Yield the joins of the first service: other services on the key, and uploaded values on the code."""
    first = people.join.sides[0]
    for side in people.join.sides:
        if side is not first:
            same = equal(column(first.scan.key, _alias(first)), column(side.scan.key, _alias(side)))
            yield exp.Join(this=_table(side), on=same)
        if isinstance(side, ContributionScan):
            same = equal(report_column("code", _alias(side)), report_column("code", _values_alias(side)))
            yield exp.Join(this=table(names.contributions(side.scan.number), _values_alias(side)), on=same)


def _of_people(people: FilteredJoin, columns: Sequence[exp.Expr]) -> exp.Select:
    """Return columns of the people of a join that meet its conditions."""
    query = select(columns or [_constant_one()], _table(people.join.sides[0]))
    for join in _joins(people):
        query.append("joins", join)
    return query.where(*(condition.copy() for condition in people.conditions), copy=False)


def _constant_one() -> exp.Expr:
    return with_alias(number(1), "one")


def _public(people: FilteredJoin) -> list[exp.Expr]:
    """Return the columns of conditions and public numbers that measures take."""
    guards = [with_alias(one_where(guard.copy()), names.guard(place)) for place, guard in enumerate(people.guards)]
    powers = [with_alias(public.copy(), names.power(place)) for place, public in enumerate(people.powers)]
    return [*guards, *powers]


def _factors(side: Side) -> Iterable[exp.Expr]:
    """Yield the columns of a side's factors."""
    service = side.scan.number
    if isinstance(side, ContributionScan):
        for place, offset in side.factors:
            name = names.factor(service, place)
            yield with_alias(plus([column(name, _values_alias(side)), double(offset)]), name)
    elif isinstance(side, PersonSums):
        computed = [names.factor(service, place) for place, _ in side.factors]
        computed += [names.product(service, i, j) for i, j in side.products]
        yield from (with_alias(column(name, _alias(side)), name) for name in computed)


# Contributions


def _measure(measure: Measure) -> exp.Expr:
    return plus([_product(product) for product in measure]) if measure else double(0.0)


def _product(product: Product) -> exp.Expr:
    return times([double(product.coefficient), *map(_part, product.parts)])


def _part(part: str | Power | Measure) -> exp.Expr:
    if isinstance(part, str):
        return column(part)
    if isinstance(part, tuple):
        return exp.Paren(this=_measure(part))
    values = [cast(column(part.column), "DOUBLE") for _ in range(part.exponent)]
    is_null = exp.Is(this=column(part.column), expression=exp.Null())
    power = times(values) if values else number(1)
    return exp.Case(ifs=[exp.If(this=is_null, true=number(0))], default=power)


def _with_measures(
    people: FilteredJoin,
    measures: Sequence[Measure],
    carried: Sequence[tuple[exp.Expr, str]],
    columns: Sequence[exp.Expr],
) -> exp.Select:
    """Return columns of the table ``measures``: each person's contribution to every total, and the kept columns."""
    factors = [factor for side in people.join.sides for factor in _factors(side)]
    of_people = _of_people(
        people, [*(with_alias(expression, name) for expression, name in carried), *_public(people), *factors]
    )
    computed = [with_alias(_measure(measure), names.measure(place)) for place, measure in enumerate(measures)]
    of_measures = select(
        [*(column(name) for _, name in carried), *computed] or [_constant_one()], exp.to_table("people")
    )
    query = select(columns, exp.to_table("measures"))
    return query.with_("people", as_=of_people, copy=False).with_("measures", as_=of_measures, copy=False)


# Queries


@singledispatch
def _select(query: Query) -> exp.Select:
    raise InternalError(type(query).__name__)


def _keys(keys: Sequence[exp.Expr]) -> list[tuple[exp.Expr, str]]:
    return [(key.copy(), names.group(place)) for place, key in enumerate(keys)]


@_select.register
def _sums(query: Sums) -> exp.Select:
    group = _keys(query.keys)
    if query.code is not None:
        group.append((report_column("code", names.source(query.code)), names.code(query.code)))
    weight = column(names.PEOPLE, names.source(0)) if query.people.join.rollup else None
    if not query.measures:
        columns = [
            *(with_alias(expression, name) for expression, name in group),
            with_alias(count_people(weight), names.total(0)),
        ]
        return group_by(_of_people(query.people, columns), [column(name) for _, name in group])
    carried = [*group, (weight, names.PEOPLE)] if weight else group
    sums = [with_alias(expression, names.total(place)) for place, expression in enumerate(_total_sums(query))]
    shown = [*(column(name) for _, name in group), *sums]
    return group_by(_with_measures(query.people, query.measures, carried, shown), [column(name) for _, name in group])


def _total_sums(query: Sums) -> Iterable[exp.Expr]:
    """Yield the sums over rows of the table ``measures``."""
    weights = [names.PEOPLE] if query.people.join.rollup else []
    yield count_people(column(names.PEOPLE) if weights else None)
    products = [[place] for place in range(len(query.measures))]
    products += [*map(list, query.pairs), *([place] * 4 for place in query.fourths)]
    for places in products:
        factors = [*weights, *map(names.measure, places)]
        yield exp.Sum(this=times([column(name) for name in factors]))


@_select.register
def _code_counts(query: CodeCounts) -> exp.Select:
    people = query.people
    columns: list[exp.Expr] = [
        *(with_alias(expression, name) for expression, name in _keys(query.keys)),
        *_public(people),
    ]
    for side in people.join.sides:
        columns.append(with_alias(report_column("channel", _alias(side)), names.channel(side.scan.number)))
        columns.append(with_alias(report_column("code", _alias(side)), names.code(side.scan.number)))
    by = [column(alias.alias) for alias in columns]
    weight = column(names.PEOPLE, names.source(0)) if people.join.rollup else None
    return group_by(_of_people(people, [*columns, with_alias(count_people(weight), names.PEOPLE)]), by)


@_select.register
def _codes(query: Codes) -> exp.Select:
    code = report_column("code", names.source(query.code))
    short = cast(code, "INTEGER") if query.is_short else code
    return _of_people(query.people, [with_alias(short, names.code(query.code))])


@_select.register
def _ranking(ranking: Ranking) -> exp.Select:
    first = ranking.people.join.sides[0]
    person = (column(first.scan.key, _alias(first)), names.PERSON)
    measured = [names.measure(place) for place in range(len(ranking.measures))]
    shown = [column(name) for name in (names.PERSON, *measured)]
    query = _with_measures(ranking.people, ranking.measures, [person], shown)
    if ranking.limit is None:
        return query
    by: exp.Expr = column(names.PERSON if ranking.order == "person" else measured[ranking.by])
    if ranking.order == "size":
        by = exp.Abs(this=by)
    order = [exp.Ordered(this=by, desc=ranking.descending), exp.Ordered(this=column(names.PERSON))]
    return query.order_by(*order, copy=False).limit(ranking.limit, copy=False).offset(ranking.offset, copy=False)


@_select.register
def _ranking_sums(query: RankingSums) -> exp.Select:
    sums = [count_people()]
    sums += [exp.Sum(this=column(names.measure(place))) for place in range(len(query.ranking.measures))]
    shown = [with_alias(expression, names.total(place)) for place, expression in enumerate(sums)]
    return select(shown, subquery(_ranking(query.ranking), "chosen"))
