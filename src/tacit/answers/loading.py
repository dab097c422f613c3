"""Validate reports before a database stores them: against its contracts and, where views are assigned, the key."""

from __future__ import annotations

import pyarrow as pa

from tacit.answers.catalog import C, Catalog
from tacit.encode.assigned import assignment_of
from tacit.encode.reports import ReportTable, report_table
from tacit.engines.base import ReportBatch
from tacit.errors import ReportError

__all__ = ["batch_of"]


def batch_of(catalog: Catalog[C], name: str, table: pa.Table | ReportTable, key: str | None) -> ReportBatch:
    """Return a batch to store; refuse reports of unknown collections, and reports that break a contract's rules.

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
    return ReportBatch(report_table(collection.id, service.name), service, checked.arrow, tiers, checked.rows_before)
