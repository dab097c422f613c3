"""Validate reports before a database stores them: against its contracts and, where views are assigned, the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tacit.answers.catalog import C, Catalog
from tacit.encode.assigned import assignment_of
from tacit.encode.reports import ReportTable, report_table
from tacit.engines.base import Engine, ReportBatch
from tacit.errors import ReportError

__all__ = ["batches_of"]

NUMBERS, TEXT = "whole numbers", "text"
"""What keys are, in words."""


def batches_of(
    catalog: Catalog[C], engine: Engine, reports: Mapping[str, pa.Table | ReportTable], key: str | None
) -> list[ReportBatch]:
    """Return the batches to store; refuse reports that break a contract's rules, or whose keys have another type."""
    batches, kinds = [], dict[str, str]()
    for name, table in reports.items():
        collection, batch = _batch_of(catalog, name, table, key)
        if not batch.is_collected:  # a collector's keys are text
            _check_key(engine, [collection, *catalog.other_tiers(collection)], batch, kinds)
        batches.append(batch)
    return batches


def _check_key(engine: Engine, tiers: Sequence[C], batch: ReportBatch, kinds: dict[str, str]) -> None:
    """Refuse a key of another type than the same people's other reports: engines would compare texts as numbers."""
    name, key = batch.service.name, batch.service.key
    kind = NUMBERS if pa.types.is_integer(batch.reports.schema.field(key).type) else TEXT
    for collection, service in [(tier, service) for tier in tiers for service in tier.schema.services]:
        table = report_table(collection.id, service.name)
        if table not in kinds and engine.has_table(table):
            kinds[table] = TEXT if service.key in engine.text_columns(table) else NUMBERS
        if (stored := kinds.get(table, kind)) != kind:
            problem = f"{name}.{key}: keys are {kind}, and those of the reports of {service.name} are {stored}."
            raise ReportError(f"{problem} Use one type for the person's key.", code="reports-do-not-fit")
    kinds[batch.table] = kind


def _batch_of(catalog: Catalog[C], name: str, table: pa.Table | ReportTable, key: str | None) -> tuple[C, ReportBatch]:
    """Return a batch to store and its collection; refuse unknown collections and reports that break the contract.

    ``key`` is the key that assigned views and seeds. A collector has validated its reports already.
    """
    owner = table.collection if isinstance(table, ReportTable) else ReportTable.owner(table)
    collection = catalog.get(owner)
    if collection is None or not isinstance(name, str):
        advice = "Create it first." if owner else "They name none. Pass what Collection.encode returns."
        message = f"The reports of {str(name)[:60]!r} belong to no collection of this database. {advice}"
        raise ReportError(message, code="unknown-collection")
    contract = collection.contract
    compiled = contract[name]
    if isinstance(table, ReportTable):
        checked = table.check()
    else:
        assignment = assignment_of(contract, owner, key if contract.assigned else None)
        checked = ReportTable.from_arrow(owner, compiled, table, assignment)
    is_admitted = checked.rows_before is not None  # by an inbox, which admits each person to one tier
    tiers = [
        (report_table(tier.id, service.name), service.key)
        for tier in ([] if is_admitted else catalog.other_tiers(collection))
        for service in tier.schema.services
    ]
    service = compiled.service
    stored = report_table(collection.id, service.name)
    return collection, ReportBatch(stored, service, checked.arrow, tiers, checked.rows_before)
