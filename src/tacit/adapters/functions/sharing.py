"""``ldp_encode``, the encoding function, and the statement that encodes a table with it.

It takes a service's name and its sensitive attributes in order or, if people may have any number of rows, one list of a
person's rows as structs. It returns the person's codes in one list, by slot and channel, always of the same length.
Draws come from the operating system; encoding a row again draws again, so encode a table only once.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.contract.randomness import Rng, SystemRng
from tacit.contract.schema import Service
from tacit.encode.bulk import encode_rows, validate_rows
from tacit.encode.slots import choose_rows
from tacit.encode.tables import as_table
from tacit.errors import RecordError, UsageError

__all__ = ["Sharing", "SharingDialect", "share", "sharing_rows", "sharing_statement"]

SharingDialect = Literal["duckdb", "spark"]


class Sharing:
    """``ldp_encode`` of a collection, over Arrow arrays; built from the contract alone, so that it can be pickled."""

    def __init__(self, contract: str, rng: Rng | None = None) -> None:
        self._collection, self._rng = Collection.from_json(contract), rng
        self._collection.refuse_unsafe()

    def __reduce__(self) -> tuple[type[Sharing], tuple[str]]:
        return Sharing, (self._collection.to_json(),)

    def __call__(self, service: pa.Array, *columns: pa.Array) -> pa.Array:
        """Return the codes of each row, or of each list of rows."""
        if len(service) == 0:
            return pa.array([], pa.list_(pa.int64()))
        compiled = self._collection.contract[str(service[0].as_py())]
        rng = SystemRng() if self._rng is None else self._rng
        if compiled.service.one_to_one:
            table, extra = _table(compiled, columns), None
            validate_rows(compiled, table)
        else:
            rows, owner = _rows(compiled, columns)
            validate_rows(compiled, rows)
            slots = choose_rows(compiled, rows, owner, len(service), rng)
            table, extra = slots.table, slots.extra
        codes = np.stack(encode_rows(compiled, table, rng, extra=extra), axis=1)
        width = codes.size // len(service)
        offsets = np.arange(len(service) + 1, dtype=np.int32) * width
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(codes.ravel()))


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _table(compiled: ServiceContract, columns: tuple[pa.Array, ...]) -> pa.Table:
    """Return the columns under the names of the attributes."""
    names = [attribute.name for attribute in compiled.service.sensitive]
    if len(columns) != len(names):
        problem = f"ldp_encode takes {', '.join(names)}, in this order; {len(columns)} columns were given."
        raise RecordError(problem, code="missing-column", service=compiled.service.name)
    return _as_service_table(compiled, pa.table(dict(zip(names, columns, strict=True))))


def _rows(compiled: ServiceContract, columns: tuple[pa.Array, ...]) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Return all rows, and the index of each one's person."""
    if len(columns) != 1 or not pa.types.is_list(columns[0].type) or not pa.types.is_struct(columns[0].type.value_type):
        problem = "people may have any number of rows: pass them to ldp_encode as one list of structs."
        raise RecordError(problem, code="missing-column", service=compiled.service.name)
    lists = _plain(columns[0])
    structs = lists.flatten()
    rows = pa.table({field.name: structs.field(i) for i, field in enumerate(structs.type)})
    counts = np.asarray(lists.value_lengths().fill_null(0)).astype(np.int64)
    return _as_service_table(compiled, rows), np.repeat(np.arange(len(lists)), counts)


def _as_service_table(compiled: ServiceContract, table: pa.Table) -> pa.Table:
    keyed = table.append_column(compiled.service.key, pa.array(np.arange(table.num_rows)))
    for attribute in compiled.service.public:
        keyed = keyed.append_column(attribute.name, pa.nulls(table.num_rows))
    return as_table(compiled.service, keyed)


def sharing_statement(
    collection: Collection, service: str, table: str, into: str, *, dialect: SharingDialect = "duckdb", people: str = ""
) -> str:
    """Return the INSERT that encodes a table.

    Parameters
    ----------
    collection : Collection
        What is collected.
    service : str
        The service whose rows the table holds.
    table, into : str
        The owner's table, and the one for reports: key, slot, channel, code, then public columns.
    dialect : {"duckdb", "spark"}
        Whose SQL.
    people : str
        Table of everybody who takes part, needed if people may have no row: they also send reports.
    """
    compiled = collection.contract[service]
    own = compiled.service
    quote = '"' if dialect == "duckdb" else "`"
    key, source, target = (f"{quote}{name}{quote}" for name in (own.key, table, into))
    kept = "".join(f", {quote}{attribute.name}{quote}" for attribute in own.public)
    attributes = [f"{quote}{attribute.name}{quote}" for attribute in own.sensitive]
    if own.one_to_one:
        refuse = "error" if dialect == "duckdb" else "raise_error"
        twice = f"(SELECT count(*) - count(DISTINCT {key}) FROM {source})"  # noqa: S608
        problem = f"{own.name}: a person has two rows, and would report twice. Nothing was written."
        once = f"CASE WHEN {twice} = 0 THEN TRUE ELSE CAST({refuse}('{problem}') AS BOOLEAN) END"
        arguments, rows = ", ".join(attributes), f"{source} WHERE {once}"
    elif not people:
        raise _nobody(own)
    else:
        fields = ", ".join(attributes)
        gather = (
            f"list(struct_pack({_struct_fields(own)}))" if dialect == "duckdb" else f"collect_list(struct({fields}))"
        )
        everybody = f"{quote}{people}{quote}"
        grouped = f"SELECT {key}, {gather} AS rows_ FROM {source} GROUP BY {key}"  # noqa: S608
        arguments = "rows_"
        rows = f"(SELECT DISTINCT {key} FROM {everybody}) LEFT JOIN ({grouped}) USING ({key})"  # noqa: S608
    encoded = f"SELECT {key}{kept}, ldp_encode('{own.name}', {arguments}) AS codes FROM {rows}"  # noqa: S608
    channels = len(compiled.channels)
    divided = f"place // {channels}" if dialect == "duckdb" else f"place DIV {channels}"
    shown = f"{key}, CAST({divided} AS SMALLINT) AS slot, CAST(place % {channels} AS INTEGER) AS channel, code{kept}"
    if dialect == "duckdb":
        each = f"SELECT {key}{kept}, unnest(codes) AS code, generate_subscripts(codes, 1) - 1 AS place FROM ({encoded})"  # noqa: S608
        return f"INSERT INTO {target}\nSELECT {shown}\nFROM ({each})"
    return f"INSERT INTO {target}\nSELECT {shown}\nFROM ({encoded}) LATERAL VIEW posexplode(codes) AS place, code"


def _struct_fields(service: Service) -> str:
    return ", ".join(f'"{attribute.name}" := "{attribute.name}"' for attribute in service.sensitive)


def share(connection: Any, statement: str) -> int:
    """Run a sharing statement on a connection with ``ldp_encode``; return how many reports were written."""
    [(count,)] = connection.execute(statement).fetchall()
    return int(count)


def sharing_rows(collection: Collection, service: str, frame: Any, people: Any) -> Any:
    """Return a Spark frame with one row per person: their attributes, or all their rows as a list of structs."""
    own = collection.contract[service].service
    names = [attribute.name for attribute in own.sensitive]
    if own.one_to_one:
        if not frame.groupBy(own.key).count().where("count > 1").isEmpty():
            problem = "a person has two rows, and would report twice. Nothing was encoded."
            raise RecordError(problem, code="duplicate-key", service=own.name)
        return frame.select(own.key, *names, *(attribute.name for attribute in own.public))
    if people is None:
        raise _nobody(own)
    from pyspark.sql.functions import collect_list, struct

    grouped = frame.groupBy(own.key).agg(collect_list(struct(*names)).alias("rows_"))
    return people.select(own.key).distinct().join(grouped, [own.key], "left")


def _nobody(service: Service) -> UsageError:
    message = f"{service.name}: people without a row must report too. Name the table of people."
    return UsageError(message, code="missing-people")
