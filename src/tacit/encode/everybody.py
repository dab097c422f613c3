"""Encode the tables of all services into everybody's reports; everything is validated before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pyarrow as pa

from tacit.contract.contract import Contract
from tacit.contract.randomness import Rng, SystemRng
from tacit.encode.assigned import Assignment
from tacit.encode.bulk import Progress, encode_rows, validate_rows
from tacit.encode.keys import check_people, key_column, key_order, owners, people_column
from tacit.encode.reports import ReportTable
from tacit.encode.slots import choose_rows
from tacit.encode.tables import as_table
from tacit.encode.turns import rounds_of_people
from tacit.errors import RecordError, UsageError

__all__ = ["encode_everybody", "name_tables"]


def name_tables(tables: Mapping[str, Any] | None, by_name: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables by service, whether they came as one mapping or as keywords."""
    if tables is not None and not isinstance(tables, Mapping):
        message = f"A {type(tables).__name__} names no service. Write service=table for each, or a dict of them."
        raise UsageError(message, code="bad-option")
    return {**(tables or {}), **by_name}


def encode_everybody(
    collection: str,
    contract: Contract,
    tables: Mapping[str, Any],
    people: Iterable[int] | Iterable[str] | None,
    rng: Rng,
    progress: Progress | None,
    assignment: Assignment | None = None,
) -> dict[str, pa.Table]:
    """Validate the records of all services, then draw everybody's reports."""
    sources = _sources(contract, tables)
    keys = {name: key_column(contract[name].service, table) for name, table in sources.items()}
    if contract.panel:
        is_asked = {name: _mark_asked(contract, column) for name, column in keys.items()}
        sources = {name: table.filter(is_asked[name]) for name, table in sources.items()}
        keys = {name: column.filter(is_asked[name]) for name, column in keys.items()}
        people = None if people is None else cast("list[str]", [person for person in people if contract.asks(person)])
    for name, column in keys.items():
        order = key_order(column) if contract[name].service.one_to_one else None
        if order is not None:
            sources[name], keys[name] = sources[name].take(pa.array(order)), column.take(pa.array(order))
    everybody = {name: column for name, column in keys.items() if contract[name].service.one_to_one}
    check_people(everybody, people)
    taking_part = people_column(everybody, people)
    order = key_order(taking_part)
    taking_part = taking_part if order is None else taking_part.take(pa.array(order))
    others = [name for name in keys if name not in everybody]
    owned = {name: owners(keys[name], taking_part, contract[name].service) for name in others}
    for name, table in sources.items():
        validate_rows(contract[name], table)
    reports = {}
    for name, table in sources.items():
        compiled, people_of, rows, extra = contract[name], keys[name], table, None
        if name not in everybody:
            people_of = taking_part
        coins = assignment.coins(people_of) if assignment else None
        if name not in everybody:
            slots = choose_rows(compiled, table, owned[name], len(taking_part), rng, coins)
            rows, extra = slots.table, slots.extra
        codes = encode_rows(compiled, rows, rng, progress, extra=extra, coins=coins)
        about = {"tacit.randomness": _label(rng)}
        reports[name] = ReportTable.from_codes(collection, compiled, people_of, codes, rows, **about).arrow
    return reports


def _mark_asked(contract: Contract, keys: pa.ChunkedArray) -> pa.Array:
    """Mark the people who are asked in this round of a panel."""
    assert contract.panel  # noqa: S101  only rounds of panels are marked
    rounds = rounds_of_people(contract.panel, keys)
    return pa.array((rounds == contract.member).any(axis=1))


def _sources(contract: Contract, tables: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return the table of each service; refuse others, and services without one."""
    for name in tables:
        contract[name]
    sources = {}
    for compiled in contract.services:
        service = compiled.service
        if service.name not in tables:
            problem = "no table was given. Everybody reports to every service. Pass one, without rows if need be."
            raise RecordError(problem, code="missing-table", service=service.name)
        sources[service.name] = as_table(service, _as_rows(tables[service.name]))
    return sources


def _label(rng: Rng) -> str:
    """Name the source of randomness in metadata: any source but the operating system is insecure."""
    return "system" if type(rng) is SystemRng else "insecure"


def _as_rows(source: Any) -> Any:
    """Turn a single record, a dict of scalars, into a table of one row."""
    if isinstance(source, Mapping) and all(
        isinstance(value, str) or not hasattr(value, "__len__") for value in source.values()
    ):
        return {name: [value] for name, value in source.items()}
    return source
