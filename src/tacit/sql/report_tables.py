"""Statements about tables of reports: numbers of rows, types, reports of people, rollups, classes of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.sql import names
from tacit.sql.printing import Statement, print_select
from tacit.sql.stored_types import constant, is_number
from tacit.sql.syntax import (
    cast,
    column,
    count_people,
    equal,
    group_by,
    number,
    report_column,
    select,
    subquery,
    table,
    with_alias,
)

__all__ = [
    "ClassTable",
    "class_sizes",
    "count_people_with_first",
    "count_rolled_up",
    "count_rows",
    "count_unless_number",
    "distinct_values",
    "first_row",
    "joint_codes",
    "people_in",
    "reports_of",
    "rolled_up",
    "rollup_without_person",
]


def count_rows(name: str) -> Statement:
    """Return the statement that counts a table's rows, as n."""
    return print_select(select([with_alias(count_people(), "n")], table(name)))


def count_rolled_up(name: str) -> Statement:
    """Return the statement that counts the reports of a rollup, as n."""
    return print_select(select([with_alias(count_people(column(names.PEOPLE)), "n")], table(name)))


def count_unless_number(name: str, public: str) -> Statement:
    """Return the statement that counts the people whose text in a column is not a number, as n."""
    first = equal(report_column("channel"), number(0))
    not_number = exp.Not(this=is_number(column(public)))
    query = select([with_alias(count_people(), "n")], table(name))
    return print_select(query.where(first, not_number, copy=False))


def first_row(name: str, columns: Sequence[str]) -> Statement:
    """Return the statement of one row, which shows the types of columns."""
    return print_select(select(list(map(column, columns)), table(name)).limit(1, copy=False))


def distinct_values(name: str, public: str, limit: int) -> Statement:
    """Return the statement of the distinct values of a public column, at most a number of them."""
    return print_select(select([column(public)], table(name)).distinct(copy=False).limit(limit, copy=False))


def people_in(name: str, key: str) -> Statement:
    """Return the statement of the keys of all people in a table."""
    return print_select(select([column(key)], table(name)).distinct(copy=False))


def reports_of(name: str, columns: Sequence[str], key: str, people: Sequence[Any]) -> Statement:
    """Return the statement of some people's reports, slot by slot and channel by channel."""
    is_listed = exp.In(this=column(key), expressions=[constant(person) for person in people])
    query = select(list(map(column, columns)), table(name)).where(is_listed, copy=False)
    return print_select(query.order_by(report_column("slot"), report_column("channel"), copy=False))


def _codes_by(by: Sequence[str]) -> list[exp.Expr]:
    return [report_column("channel"), report_column("code"), *map(column, by)]


def rolled_up(name: str, by: Sequence[str], *, again: bool = False) -> Statement:
    """Return the statement that rolls up reports or, with ``again``, a rollup to which batches have added rows."""
    people = cast(exp.Sum(this=column(names.PEOPLE)) if again else count_people(), "BIGINT")
    query = select([*_codes_by(by), with_alias(people, names.PEOPLE)], table(name))
    return print_select(group_by(query, _codes_by(by)))


def rollup_without_person(name: str, key: str, by: Sequence[str], person: str) -> Statement:
    """Return the statement of rows that remove a person from a rollup: they have negative counts."""
    fewer = cast(exp.Neg(this=count_people()), "BIGINT")
    query = select([*_codes_by(by), with_alias(fewer, names.PEOPLE)], table(name))
    query = query.where(equal(cast(column(key), "VARCHAR"), constant(person)), copy=False)
    return print_select(group_by(query, _codes_by(by)))


def joint_codes(name: str, key: str, channels: Sequence[int]) -> Statement:
    """Return the statement that counts combinations of codes in some channels, as c0, c1, … and n."""
    codes = []
    for place, channel in enumerate(channels):
        is_channel = equal(report_column("channel"), number(channel))
        code = exp.Case(ifs=[exp.If(this=is_channel, true=report_column("code"))])
        codes.append(with_alias(exp.Max(this=code), f"c{place}"))
    people = group_by(select(codes, table(name)), [column(key)])
    shown = [column(f"c{place}") for place in range(len(channels))]
    query = select([*shown, with_alias(count_people(), "n")], subquery(people, "people"))
    return print_select(group_by(query, [expression.copy() for expression in shown]))


@dataclass(frozen=True)
class ClassTable:
    """A table of reports whose people are classified by public columns and by their number of reports."""

    name: str
    key: str
    public: tuple[str, ...]
    is_one_report: bool
    is_whole: bool = False
    """Whether everybody has all slots and channels, so that one row per person suffices."""


def count_people_with_first(name: str) -> Statement:
    """Return the statement that counts the rows of the first slot and channel, as n."""
    return print_select(select([with_alias(count_people(), "n")], table(name)).where(*_first(), copy=False))


def _first() -> list[exp.Expr]:
    return [equal(report_column(word), number(0)) for word in ("slot", "channel")]


def class_sizes(tables: Sequence[ClassTable], *, same_keys: bool) -> Statement:
    """Return the statement that counts people by everything that questions can distinguish, as people and smallest.

    Keys that are text in one table and numbers in another are compared as text.
    """
    [first, *others] = [_class_table(source, place, same_keys=same_keys) for place, source in enumerate(tables)]
    classes = select([with_alias(count_people(), "n")], first)
    for other in others:
        classes.append("joins", exp.Join(this=other, side="FULL", kind="OUTER", using=[exp.to_identifier("person")]))
    by = [
        column(f"{word}{place}") for place, source in enumerate(tables) for word in ("rows_", *_class_columns(source))
    ]
    sizes = [(exp.Sum, "people"), (exp.Min, "smallest")]
    shown = [with_alias(cast(of(this=column("n")), "BIGINT"), name) for of, name in sizes]
    return print_select(select(shown, subquery(group_by(classes, by), "classes")))


def _class_columns(source: ClassTable) -> list[str]:
    return [f"p{i}_" for i in range(len(source.public))]


def _class_table(source: ClassTable, place: int, *, same_keys: bool) -> exp.Expr:
    """Return the people of one table: a row each, with the number of their reports and their public values."""
    key = column(source.key) if same_keys else cast(column(source.key), "VARCHAR")
    values: list[exp.Expr] = [column(name) for name in source.public]
    is_row = source.is_one_report or source.is_whole
    if not is_row:
        values = [exp.Max(this=cast(value, "VARCHAR")) for value in values]
    rows = number(1) if is_row else count_people()
    public = [with_alias(value, f"{name}{place}") for value, name in zip(values, _class_columns(source), strict=True)]
    query = select([with_alias(key, "person"), with_alias(rows, f"rows_{place}"), *public], table(source.name))
    if not is_row:
        query = group_by(query, [column(source.key)])
    elif not source.is_one_report:
        query = query.where(*_first(), copy=False)
    return subquery(query, f"t{place}")
