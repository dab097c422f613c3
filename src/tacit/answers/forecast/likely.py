"""Questions that people are likely to ask of a schema: averages, counts, groups, ranges and joins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tacit.contract.schema import Categorical, Ordinal, Schema, Service
from tacit.tables.statements import Sql, compose

__all__ = ["MOST_QUESTIONS", "likely_questions"]

MOST_QUESTIONS = 10
"""Maximum questions that are suggested."""

MOST_GROUPS = 60
"""Groups above which a table is too long to read."""


def likely_questions(schema: Schema) -> list[str]:
    """Return at most `MOST_QUESTIONS` that the schema suggests, taking services in turn."""
    questions = [_questions_about(service) for service in schema.services]
    if len(schema.services) > 1:
        questions.append(_join_questions(schema))
    turns = itertools.zip_longest(*questions)
    return list(dict.fromkeys(question for turn in turns for question in turn if question is not None))[:MOST_QUESTIONS]


def _numbers(service: Service) -> list[Ordinal]:
    return [a for a in service.sensitive if isinstance(a, Ordinal) and not a.is_date and a.values > 2]


def _groups(service: Service, most: int = MOST_GROUPS) -> list[Categorical | Ordinal]:
    """Return the attributes to group by, fewest values first, categories before numbers."""
    few = [a for a in service.sensitive if 1 < a.size <= most and (isinstance(a, Categorical) or a.cells is None)]
    return sorted(few, key=lambda a: (not isinstance(a, Categorical), a.size))


@lru_cache(maxsize=1024)
def _spell(name: str) -> str:
    """Return a column's name as questions write it: quoted if it is an SQL keyword."""
    try:
        text = compose("SELECT {name}, AVG({name}) FROM t WHERE {name} >= 1 GROUP BY {name}", name=Sql(name))
        read = sqlglot.parse_one(text, dialect="duckdb")
    except SqlglotError:
        return f'"{name}"'
    return name if sum(column.name == name for column in read.find_all(exp.Column)) == 4 else f'"{name}"'


def _questions_about(service: Service) -> Iterator[str]:
    name, numbers, groups = service.name, _numbers(service), _groups(service)
    if numbers:
        yield _select(f"AVG({_spell(numbers[0].name)}) AS average", name)
    if groups:
        yield _by(name, _spell(groups[0].name), "COUNT(*) AS total")
    for number in numbers[1:3]:
        yield _select(f"AVG({_spell(number.name)}) AS average", name)
    if numbers and groups and groups[0] is not numbers[0]:
        yield _by(name, _spell(groups[0].name), f"AVG({_spell(numbers[0].name)}) AS average")
    if numbers:
        yield _select("COUNT(*) AS total", name, f" WHERE {_spell(numbers[0].name)} >= {_middle(numbers[0])}")
    if len(groups) > 2:
        yield _by(name, _spell(groups[len(groups) // 2].name), "COUNT(*) AS total")
    if numbers:
        yield _select(f"SUM({_spell(numbers[-1].name)}) AS total", name)
    if len(groups) > 1:
        yield _by(name, f"{_spell(groups[0].name)}, {_spell(groups[1].name)}", "COUNT(*) AS total")
    if len(numbers) > 1 and groups:
        condition = f" WHERE {_spell(numbers[0].name)} >= {_middle(numbers[0])}"
        yield _select(f"AVG({_spell(numbers[1].name)}) AS average", name, condition)
    yield from (_by(name, _spell(attribute.name), "COUNT(*) AS total") for attribute in groups[1:])
    if not service.one_to_one:
        yield _select("COUNT(*) AS total", name)
    nullable = [attribute for attribute in service.sensitive if attribute.null]
    yield from (_select(f"COUNT({_spell(attribute.name)}) AS present", name) for attribute in nullable)


def _select(columns: str, source: str, clauses: str = "") -> str:
    return compose("SELECT {columns} FROM {source}{rest}", columns=Sql(columns), source=Sql(source), rest=Sql(clauses))


def _by(source: str, groups: str, aggregate: str) -> str:
    return _select(f"{groups}, {aggregate}", source, f" GROUP BY {groups}")


def _middle(attribute: Ordinal) -> str:
    """Return a declared value near the middle of the range."""
    middle = attribute.start + attribute.unit * (attribute.ticks // 2)
    return str(int(middle)) if middle.denominator == 1 else str(float(middle))


def _join_questions(schema: Schema) -> Iterator[str]:
    """Yield questions that group one service's numbers by another service's attributes."""
    for left, right in itertools.permutations(schema.services, 2):
        if left.key != right.key:
            continue
        source, numbers, groups = f"{left.name} JOIN {right.name} USING ({left.key})", _numbers(left), _groups(right)
        if numbers and groups:
            group = f"{right.name}.{_spell(groups[0].name)}"
            yield _by(source, group, f"AVG({left.name}.{_spell(numbers[0].name)}) AS average")
