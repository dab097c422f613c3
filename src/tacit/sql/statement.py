"""The SQL of a plan: plain joins and sums, built of the contract's names; constants are parameters.

Reports are joined with (channel, code) tables of the factors' values and added up per person where a person has several
reports; services are joined on the key. Then each measure is summed, the squares and products that standard errors
need, and the fourth powers that say how many reports really count.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.sql.plan import Plan, finite
from tacit.sql.scope import LABELS

__all__ = ["ORDERS", "code_rows", "code_sums", "histogram", "statement", "summed_tuples", "tuples"]

ORDERS = {"size": "abs({})", "value": "{}", "person": '"0key"'}
"""What tuples are sorted by: the size of a measure, the measure itself, or the person's key."""

Statement = tuple[str, list[object]]
"""Text and parameters."""


def histogram(plan: Plan) -> Statement:
    """Return the statement that counts codes, group by group."""
    keys = [f'{column} AS "0k{i}"' for i, column in enumerate(plan.key_columns)]
    people = 'CAST(sum(s0."0n") AS BIGINT)' if plan.rollup else "count(*)"
    columns = [*keys, "s0.code AS code", f"{people} AS people"]
    source, parameters = _source(plan, 0)
    names = ", ".join([f'"0k{i}"' for i in range(len(keys))] + ["code"])
    where, given = _where(plan)
    return f"SELECT {', '.join(columns)} FROM {source}{where} GROUP BY {names}", [*parameters, *given]  # noqa: S608


def statement(plan: Plan) -> Statement:
    """Return the statement that joins reports with contributions and adds up."""
    return _of_codes(plan) if plan.is_added_up else _of_people(plan)


def _of_codes(plan: Plan) -> Statement:
    """Return the sums of what codes add, where that is all there is to a person."""
    source, parameters = _source(plan, 0)
    where, given = _where(plan)
    keys = [f'"0k{i}"' for i in range(len(plan.keys))]
    columns = [f"{column} AS {name}" for column, name in zip(plan.key_columns, keys, strict=True)]
    often = 's0."0n" * ' if plan.rollup else ""
    count = 'CAST(sum(s0."0n") AS BIGINT)' if plan.rollup else "count(*)"
    sums = len(plan.measures) + len(plan.pairs) + len({i for i, _ in plan.pairs})
    shown = [f'{count} AS "0x0"', *(f'sum({often}c0."0x{i}") AS "0x{i}"' for i in range(1, 1 + sums))]
    join = " JOIN contributions0 c0 ON s0.code = c0.code"
    tail = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*columns, *shown])} FROM {source}{join}{where}{tail}", [*parameters, *given]  # noqa: S608


def _of_people(plan: Plan) -> Statement:
    """Return the sums of what people add, each with all her reports."""
    keys = [f'"0k{i}"' for i in range(len(plan.keys))]
    columns = [f"{column} AS {name}" for column, name in zip(plan.key_columns, keys, strict=True)]
    columns += ['s0."0n" AS "0n"'] if plan.rollup else []
    measures, parameters = _measures(plan, columns, [*keys, *(['"0n"'] if plan.rollup else [])])
    named = _named(plan)
    often = '"0n" * ' if plan.rollup else ""
    sums = ['CAST(sum("0n") AS BIGINT)' if plan.rollup else "count(*)", *(f"sum({often}{name})" for name in named)]
    sums += [f"sum({often}{named[i]} * {named[j]})" for i, j in plan.pairs]
    sums += [f"sum({often}{' * '.join([named[i]] * 4)})" for i in sorted({i for i, _ in plan.pairs})]
    shown = [f'{text} AS "0x{index}"' for index, text in enumerate(sums)]
    tail = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"{measures} SELECT {', '.join([*keys, *shown])} FROM measures{tail}", parameters  # noqa: S608


def code_sums(plan: Plan, side: int, pairs: Sequence[tuple[int, int]], fourths: Sequence[int]) -> Statement:
    """Return the statement that adds up, for each group and code of one service, the plan's measures as weights.

    Columns: the keys, the code, people, the measures' sums, the sums of products of pairs, and of fourth powers.
    """
    keys = [f'"0k{i}"' for i in range(len(plan.keys))]
    columns = [f"{column} AS {name}" for column, name in zip(plan.key_columns, keys, strict=True)]
    columns += [f's{side}.code AS "0c"', *(['s0."0n" AS "0n"'] if plan.rollup else [])]
    kept = [*keys, '"0c"']
    measures, parameters = _measures(plan, columns, [*kept, *(['"0n"'] if plan.rollup else [])])
    named = _named(plan)
    often = '"0n" * ' if plan.rollup else ""
    sums = ['CAST(sum("0n") AS BIGINT)' if plan.rollup else "count(*)", *(f"sum({often}{name})" for name in named)]
    sums += [f"sum({often}{named[i]} * {named[j]})" for i, j in pairs]
    sums += [f"sum({often}{' * '.join([named[i]] * 4)})" for i in fourths]
    shown = [f'{text} AS "0x{index}"' for index, text in enumerate(sums)]
    return f"{measures} SELECT {', '.join([*kept, *shown])} FROM measures GROUP BY {', '.join(kept)}", parameters  # noqa: S608


def code_rows(plan: Plan) -> Statement:
    """Return the statement that counts combinations of codes of all services, by everything public that is looked at.

    Columns: keys, guards, public measures, then the channel and code of each service, and how many such rows there are.
    """
    columns = [f'{column} AS "0k{i}"' for i, column in enumerate(plan.key_columns)]
    columns += [f'CASE WHEN {guard.text} THEN 1.0 ELSE 0.0 END AS "0g{i}"' for i, guard in enumerate(plan.guards)]
    columns += [f'{column} AS "0p{i}"' for i, column in enumerate(plan.powers)]
    given: list[object] = [value for guard in plan.guards for value in guard.parameters]
    source = ""
    for number in range(len(plan.round.stored)):
        columns += [f's{number}.channel AS "0h{number}"', f's{number}.code AS "0c{number}"']
        text, parameters = _rows_of(plan, number)
        key = f'"{plan.round.stored[number].service.service.key}"'
        first = f's0."{plan.round.stored[0].service.service.key}"'
        source += f" JOIN {text} ON {first} = s{number}.{key}" if number else text
        given += parameters
    where, parameters = _where(plan)
    names = ", ".join(column.rsplit(" AS ", 1)[1] for column in columns)
    people = 'CAST(sum(s0."0n") AS BIGINT)' if plan.rollup else "count(*)"
    chosen = f'SELECT {", ".join(columns)}, {people} AS "0n" FROM {source}{where} GROUP BY {names}'  # noqa: S608
    return chosen, [*given, *parameters]


def _rows_of(plan: Plan, number: int) -> Statement:
    """Return a service's reports, one row for each, with the labels that the plan looks at."""
    table, labels = f'"{plan.table(number)}"', [name for name in LABELS if name in plan.columns(number)]
    if not labels:
        return f"{table} s{number}", []
    columns = ", ".join(f'CAST(? AS VARCHAR) AS "{name}"' for name in labels)
    return f"(SELECT *, {columns} FROM {table}) s{number}", [plan.round.labels[name] for name in labels]  # noqa: S608


def tuples(plan: Plan, measure: int, order: str, *, descending: bool, limit: int, offset: int) -> Statement:
    """Return the statement of some people, each with what she adds to every measure, in an order of one of them."""
    measures, parameters = _keyed(plan)
    by = ORDERS[order].format(_named(plan)[measure]) + (" DESC" if descending else " ASC")
    shown = ", ".join(['"0key"', *_named(plan)])
    return (
        f'{measures} SELECT {shown} FROM measures ORDER BY {by}, "0key" LIMIT {limit:d} OFFSET {offset:d}',  # noqa: S608
        parameters,
    )


def summed_tuples(plan: Plan, measure: int, order: str, *, descending: bool, first: int | None = None) -> Statement:
    """Return the statement that adds up all people, or the first of an order."""
    sums = ", ".join(["count(*)", *(f"sum({name})" for name in _named(plan))])
    if first is None:
        measures, parameters = _keyed(plan)
        return f"{measures} SELECT {sums} FROM measures", parameters  # noqa: S608
    chosen, parameters = tuples(plan, measure, order, descending=descending, limit=first, offset=0)
    return f"SELECT {sums} FROM ({chosen}) AS chosen", parameters  # noqa: S608


def _keyed(plan: Plan) -> Statement:
    """Return the measures of people with their keys."""
    first = plan.scope.sources[0]
    return _measures(plan, [f'{first.alias}."{first.service.key}" AS "0key"'], ['"0key"'])


def _named(plan: Plan) -> list[str]:
    return [f'"0m{index}"' for index in range(len(plan.measures))]


def _measures(plan: Plan, columns: list[str], kept: list[str]) -> Statement:
    """Return the table ``measures``: what each person adds to every total, beside columns that are kept."""
    joined, parameters = _joined(plan)
    where, given = _where(plan)
    columns = [
        *columns,
        *(f'CASE WHEN {g.text} THEN 1.0 ELSE 0.0 END AS "0g{i}"' for i, g in enumerate(plan.guards)),
        *(f'{column} AS "0p{i}"' for i, column in enumerate(plan.powers)),
        *(_factor(plan, number, index) for number, index in _read_factors(plan)),
        *(f's{number}."0q{number}_{i}_{j}"' for number, i, j in plan.crossed),
    ]
    terms = [f"{text} AS {name}" for text, name in zip(plan.measures, _named(plan), strict=True)]
    guards = [value for guard in plan.guards for value in guard.parameters]
    return (
        f"WITH people AS (SELECT {', '.join(columns) or '1 AS one'} FROM {joined}{where}), "  # noqa: S608
        f"measures AS (SELECT {', '.join([*kept, *terms]) or '1 AS one'} FROM people)",
        [*guards, *parameters, *given],
    )


def _joined(plan: Plan) -> Statement:
    """Return all services as tables of people, joined on the key; one that is joined with itself is read once."""
    [first, *others] = [source for source in plan.scope.sources if source.twin is None]
    text, parameters = _source(plan, first.number)
    text += _contributions(plan, first.number)
    for source in others:
        more, given = _source(plan, source.number)
        text += f' JOIN {more} ON {first.alias}."{first.service.key}" = {source.alias}."{source.service.key}"'
        text += _contributions(plan, source.number)
        parameters += given
    return text, parameters


def _contributions(plan: Plan, number: int) -> str:
    """Return the join of people's only reports with their contributions."""
    if not plan.round.stored[number].is_one_report or not _read_by(plan, number):
        return ""
    return f" JOIN contributions{number} c{number} ON s{number}.code = c{number}.code"


def _read_by(plan: Plan, number: int) -> list[int]:
    """Return the factors of a service that read codes."""
    return [index for index, factor in enumerate(plan.factors[number]) if factor.readings]


def _read_factors(plan: Plan) -> list[tuple[int, int]]:
    return [(number, index) for number in range(len(plan.factors)) for index in _read_by(plan, number)]


def _factor(plan: Plan, number: int, index: int) -> str:
    name = f'"0f{number}_{index}"'
    if not plan.round.stored[number].is_one_report:
        return f"s{number}.{name} AS {name}"
    return f"c{number}.{name} + {finite(plan.factors[number][index].constant)} AS {name}"


def _source(plan: Plan, number: int) -> Statement:
    """Return a service's reports as a table of people, and its parameters; several reports are added up."""
    stored, alias = plan.round.stored[number], f"s{number}"
    public = [attribute.name for attribute in stored.service.service.public]
    table = f'"{plan.table(number)}"'
    parameters: list[object] = []
    if stored.is_one_report:
        return _rows_of(plan, number)
    labels = [name for name in LABELS if name in plan.columns(number)]
    if labels:
        columns = ", ".join(f'CAST(? AS VARCHAR) AS "{name}"' for name in labels)
        table, parameters = f"(SELECT *, {columns} FROM {table})", [plan.round.labels[name] for name in labels]  # noqa: S608
    read = _read_by(plan, number)
    key = f'r."{stored.service.service.key}"'
    names = [key, *(f'r."{name}"' for name in (*public, *labels))]
    values = {i: f'coalesce(c."0f{number}_{i}", 0)' for i in read}
    constants = {i: finite(plan.factors[number][i].constant) for i in read}
    sums = [
        f'sum({values[i]}) + {constants[i]} * sum(CASE WHEN r.channel = 0 THEN 1 ELSE 0 END) AS "0f{number}_{i}"'
        for i in read
    ]
    sums += [
        f'sum(({values[i]} + {constants[i]}) * ({values[j]} + {constants[j]})) AS "0q{number}_{i}_{j}"'
        for own, i, j in plan.crossed
        if own == number
    ]
    join = f" LEFT JOIN contributions{number} c ON r.channel = c.channel AND r.code = c.code" if read else ""
    people = f"SELECT {', '.join([*names, *sums])} FROM {table} r{join} GROUP BY {', '.join(names)}"  # noqa: S608
    return f"({people}) {alias}", parameters


def _where(plan: Plan) -> Statement:
    texts = [piece.text for piece in plan.conditions]
    parameters = [value for piece in plan.conditions for value in piece.parameters]
    return (f" WHERE {' AND '.join(texts)}" if texts else ""), parameters
