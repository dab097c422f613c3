"""Register the functions in engines: DuckDB and Spark call Python; PostgreSQL looks contributions up and sums them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.adapters.functions.contribution import Contribution
from tacit.adapters.functions.sharing import Sharing
from tacit.collection import Collection
from tacit.contract.randomness import Rng
from tacit.errors import UsageError

__all__ = ["POSTGRES", "install_postgres", "register_duckdb", "register_spark"]

MOST_CODES = 5_000_000
"""Maximum codes of a question that PostgreSQL keeps in a table."""

POSTGRES = """\
CREATE TABLE IF NOT EXISTS ldp_contributions (question TEXT, code BIGINT, value DOUBLE PRECISION,
  PRIMARY KEY (question, code));
CREATE OR REPLACE FUNCTION ldp_contribution(code BIGINT, question TEXT) RETURNS DOUBLE PRECISION
  LANGUAGE sql STABLE PARALLEL SAFE
  AS 'SELECT value FROM ldp_contributions c WHERE c.question = $2 AND c.code = $1';
CREATE OR REPLACE FUNCTION ldp_iterate(buffer DOUBLE PRECISION[], value DOUBLE PRECISION) RETURNS DOUBLE PRECISION[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS 'SELECT ARRAY[$1[1] + 1, $1[2] + $2, $1[3] + $2 * $2]';
CREATE OR REPLACE FUNCTION ldp_merge(a DOUBLE PRECISION[], b DOUBLE PRECISION[]) RETURNS DOUBLE PRECISION[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS 'SELECT ARRAY[$1[1] + $2[1], $1[2] + $2[2], $1[3] + $2[3]]';
CREATE OR REPLACE FUNCTION ldp_terminate(buffer DOUBLE PRECISION[]) RETURNS DOUBLE PRECISION[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS 'SELECT ARRAY[$1[2], CASE WHEN $1[1] > 1
    THEN sqrt(greatest(0, ($1[3] - $1[2] * $1[2] / $1[1]) * $1[1] / ($1[1] - 1))) END]';
CREATE OR REPLACE AGGREGATE ldp_estimate(DOUBLE PRECISION) (SFUNC = ldp_iterate, STYPE = DOUBLE PRECISION[],
  FINALFUNC = ldp_terminate, COMBINEFUNC = ldp_merge, INITCOND = '{0,0,0}', PARALLEL = SAFE);
"""
"""A lookup, and an aggregate that returns a total and its standard error."""


class _Contributions:
    """``ldp_contribution`` over Arrow arrays; questions are parsed once."""

    def __init__(self, contract: str) -> None:
        self._contract = contract
        self._known = lru_cache(maxsize=16)(self._contribution)

    def __reduce__(self) -> tuple[type[_Contributions], tuple[str]]:
        return _Contributions, (self._contract,)

    def _contribution(self, question: str) -> Contribution:
        return Contribution(Collection.from_json(self._contract), question)

    def __call__(self, code: pa.Array, question: pa.Array) -> pa.Array:
        if len(code) == 0:
            return pa.array([], pa.float64())
        texts = question.unique()
        if len(texts) > 1:
            message = "ldp_contribution takes one question at a time, as a constant."
            raise UsageError(message, code="not-a-total")
        return pa.array(self._known(texts[0].as_py())(np.asarray(code)))


def register_duckdb(connection: Any, collection: Collection, *, rng: Rng | None = None) -> None:
    """Add ``ldp_encode`` and ``ldp_contribution`` to a DuckDB connection; ``rng`` is for tests."""
    encode, contribution = Sharing(collection.to_json(), rng), _Contributions(collection.to_json())
    options = {"type": "arrow", "null_handling": "special"}
    connection.create_function("ldp_encode", encode, None, "BIGINT[]", side_effects=True, **options)
    connection.create_function("ldp_contribution", contribution, ["BIGINT", "VARCHAR"], "DOUBLE", **options)


def register_spark(session: Any, collection: Collection) -> None:
    """Add ``ldp_encode`` and ``ldp_contribution`` to a Spark session; executors need tacit."""
    from pyspark.sql.pandas.functions import arrow_udf

    encode, contribution = Sharing(collection.to_json()), _Contributions(collection.to_json())

    def ldp_encode(service: pa.Array, *columns: pa.Array) -> pa.Array:
        return encode(service, *columns)

    def ldp_contribution(code: pa.Array, question: pa.Array) -> pa.Array:
        return contribution(code, question)

    udf: Any = arrow_udf  # its stubs have too many overloads for mypy
    session.udf.register("ldp_encode", udf(ldp_encode, "array<bigint>").asNondeterministic())
    session.udf.register("ldp_contribution", udf(ldp_contribution, "double"))


def install_postgres(connection: Any, collection: Collection, questions: Iterable[str]) -> None:
    """Add the functions, the aggregate, and the contributions for some questions to a PostgreSQL database."""
    connection.execute(POSTGRES)
    for question in questions:
        contribution = Contribution(collection, question)
        if contribution.alphabet > MOST_CODES:
            message = f"{contribution.alphabet:,} codes; at most {MOST_CODES:,} are kept in a table. Use tc.connect."
            raise UsageError(message, code="codes-too-large")
        values = contribution(np.arange(contribution.alphabet))
        connection.execute("DELETE FROM ldp_contributions WHERE question = %s", [question])
        with connection.cursor().copy("COPY ldp_contributions FROM STDIN") as copy:
            for code, value in enumerate(values.tolist()):
                copy.write_row((question, code, value))
