"""``ldp_encode``, the encoding function, and the statement that encodes a table with it.

It takes a service's name and its sensitive attributes in order or, if people may have any number of rows, one list of a
person's rows as structs. It returns the person's codes in one list, by slot and channel, always of the same length.
Draws come from the operating system; encoding a row again draws again, so encode a table only once.
"""

from __future__ import annotations

from functools import partial
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
from tacit.tables.statements import Sql, compose, quote_name

__all__ = ["Sharing", "SharingDialect", "share", "sharing_rows", "sharing_statement"]

SharingDialect = Literal["duckdb", "spark"]

SHARE = (
    "INSERT INTO {target}\nSELECT {key}, CAST({divided} AS SMALLINT) AS slot, "
    "CAST(place % {channels} AS INTEGER) AS channel, code{public}\nFROM {by_place}"
)
ENCODED = "SELECT {columns}, ldp_encode({service}, {arguments}) AS codes FROM {rows}"
PLACES_DUCKDB = "(SELECT {columns}, unnest(codes) AS code, generate_subscripts(codes, 1) - 1 AS place FROM ({encoded}))"
PLACES_SPARK = "({encoded}) LATERAL VIEW posexplode(codes) AS place, code"
ROWS_ONCE = (
    "{source} WHERE CASE WHEN (SELECT count(*) - count(DISTINCT {key}) FROM {source}) = 0 "
    "THEN TRUE ELSE CAST({refuse} AS BOOLEAN) END"
)
ROWS_BY_PERSON = (
    "(SELECT DISTINCT {key} FROM {people}) "
    "LEFT JOIN (SELECT {key}, {gather} AS rows_ FROM {source} GROUP BY {key}) USING ({key})"
)
REFUSE_DUCKDB, REFUSE_SPARK = "error({problem})", "raise_error({problem})"


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
    declared = compiled.service
    is_duckdb = dialect == "duckdb"
    public = [attribute.name for attribute in declared.public]
    attributes = [attribute.name for attribute in declared.sensitive]
    fill = partial(compose, quote=quote_name if is_duckdb else _backquote, key=declared.key, source=table)
    if declared.one_to_one:
        problem = f"'{declared.name}: a person has two rows, and would report twice. Nothing was written.'"
        refuse = fill(REFUSE_DUCKDB if is_duckdb else REFUSE_SPARK, problem=Sql(problem))
        arguments, rows = fill("{attributes}", attributes=attributes), fill(ROWS_ONCE, refuse=refuse)
    elif not people:
        raise _nobody(declared)
    else:
        fields = [fill("{name} := {name}" if is_duckdb else "{name}", name=name) for name in attributes]
        gather = "list(struct_pack({fields}))" if is_duckdb else "collect_list(struct({fields}))"
        arguments = Sql("rows_")
        rows = fill(ROWS_BY_PERSON, people=people, gather=fill(gather, fields=Sql(", ".join(fields))))
    service, columns, channels = Sql(f"'{declared.name}'"), [declared.key, *public], Sql(len(compiled.channels))
    encoded = fill(ENCODED, columns=columns, service=service, arguments=arguments, rows=rows)
    by_place = fill(PLACES_DUCKDB if is_duckdb else PLACES_SPARK, columns=columns, encoded=encoded)
    divided = fill("place // {channels}" if is_duckdb else "place DIV {channels}", channels=channels)
    shown = fill(", {public}", public=public) if public else Sql()
    return fill(SHARE, target=into, divided=divided, channels=channels, public=shown, by_place=by_place)


def _backquote(name: str) -> str:
    return f"`{name}`"


def share(connection: Any, statement: str) -> int:
    """Run a sharing statement on a connection with ``ldp_encode``; return how many reports were written."""
    [(count,)] = connection.execute(statement).fetchall()
    return int(count)


def sharing_rows(collection: Collection, service: str, frame: Any, people: Any) -> Any:
    """Return a Spark frame with one row per person: their attributes, or all their rows as a list of structs."""
    declared = collection.contract[service].service
    names = [attribute.name for attribute in declared.sensitive]
    if declared.one_to_one:
        if not frame.groupBy(declared.key).count().where("count > 1").isEmpty():
            problem = "a person has two rows, and would report twice. Nothing was encoded."
            raise RecordError(problem, code="duplicate-key", service=declared.name)
        return frame.select(declared.key, *names, *(attribute.name for attribute in declared.public))
    if people is None:
        raise _nobody(declared)
    from pyspark.sql.functions import collect_list, struct

    grouped = frame.groupBy(declared.key).agg(collect_list(struct(*names)).alias("rows_"))
    return people.select(declared.key).distinct().join(grouped, [declared.key], "left")


def _nobody(service: Service) -> UsageError:
    message = f"{service.name}: people without a row must report too. Name the table of people."
    return UsageError(message, code="missing-people")
