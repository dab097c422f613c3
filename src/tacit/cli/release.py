"""The work of `tacit release`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tacit.central.compare import check_column, compare
from tacit.central.ledger import Ledger
from tacit.central.release import release
from tacit.cli.outputs import new_file
from tacit.collection import Collection
from tacit.contract.budget import decimal_text
from tacit.contract.schema import Service
from tacit.errors import UsageError

__all__ = ["declared_service", "run"]


def declared_service(collection: str, name: str | None) -> Service:
    """Return a service of a collection file."""
    schema = Collection.from_file(collection).schema
    if name is not None:
        return schema[name]
    if len(schema.services) > 1:
        known = ", ".join(service.name for service in schema.services)
        message = f"{Path(collection).name} declares several services. Name one with --service: {known}."
        raise UsageError(message, code="bad-option")
    return schema.services[0]


def _beside(table: Path) -> str:
    """Return the collection file beside a table."""
    declared = table.with_suffix(".toml")
    if not table.exists():
        message = f"{table.name} does not exist. Name a Parquet or CSV file."
        raise UsageError(message, code="unreadable-file")
    if not declared.exists():
        message = (
            f"{declared.name} does not exist; it declares the columns of {table.name}. "
            f"Write one with: tacit init {table.name}. Or name another file with --collection."
        )
        raise UsageError(message, code="unreadable-file")
    return str(declared)


def run(options: argparse.Namespace) -> int:
    """Make and write a release; nothing is spent unless everything is valid."""
    table = Path(options.table)
    service = declared_service(options.collection or _beside(table), options.service)
    out = Path(options.out) if options.out else table.with_suffix(".release.parquet")
    for file in filter(None, (str(out), options.synthetic)):
        if Path(file).suffix.lower() != ".parquet":
            message = f"{Path(file).name} must end in .parquet."
            raise UsageError(message, code="bad-option")
    thresholds = {"count_threshold": options.count_threshold, "uneven_threshold": options.uneven_threshold}
    thresholds |= {"height": options.height, "noise": options.noise, "delta": options.delta}
    settings: dict[str, Any] = {name: value for name, value in thresholds.items() if value is not None}
    path = Path(options.ledger) if options.ledger else table.with_suffix(".ledger")
    existed = path.exists()
    if options.compare is not None:
        check_column(service, options.compare)
    with ExitStack() as files:  # before charging: a release that cannot be written would be lost
        part = files.enter_context(new_file(out))
        synthetic = files.enter_context(new_file(Path(options.synthetic))) if options.synthetic else None
        delta = None if existed else options.delta
        ledger = Ledger(path, options.budget if existed else options.budget or options.epsilon, delta=delta)
        before = ledger.spent
        try:
            released = release(
                options.table, service, options.epsilon, method=options.method, ledger=ledger, **settings
            )
            released.save(part)
            if synthetic:
                pyarrow.parquet.write_table(released.synthesize(), synthetic)
            left = decimal_text(ledger.remaining)
        except BaseException:
            if ledger.spent > before:
                print(f"{path.name} was charged, but nothing was written.", file=sys.stderr)
            elif not existed and not ledger.spent:  # a mistake must not fix the budget of the next try
                path.unlink()
            raise
        finally:
            ledger.close()
    if options.compare:
        compare(released, options.table, options.compare, path=out.with_suffix(f".{options.compare}.curator.svg"))
    if options.json:
        result = {"release": out.name, "id": released.id, "guarantee": released.guarantee, "remaining": left}
        print(json.dumps(result | {"shape": released.body.kind, "numbers": released.body.columns().num_rows}))
    else:
        print(released)
        print(f"written to {out.name}; {left} is left in {path.name}")
    return 0
