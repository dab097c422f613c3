"""A collector as a database: the same questions over HTTP.

Contracts are fetched and their ids recomputed, and audits and predictions are computed on this machine: the collector
need not be trusted for them, and the sample that a prediction uses never leaves the machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.adapters.remote.address import find_key, url_of
from tacit.adapters.remote.answers import MEDIA_TYPE, answer_from_stream, not_a_collector, table_from_stream
from tacit.adapters.remote.transport import RemoteTransport
from tacit.client.scalars import plain_scalar
from tacit.collection import Collection
from tacit.contract.audit import Audit
from tacit.errors import ContractError, UnknownNameError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import DecoderName
from tacit.model.labelled import Marginal
from tacit.sql.columns import Column, Shape
from tacit.sql.parse import without_explain

__all__ = ["RemoteDatabase"]

SECONDS = 120.0
"""A collector interrupts questions after 30 seconds by default."""


class RemoteDatabase:
    """A running collector.

    Parameters
    ----------
    address : str
        ``https://host``, ``tacit://host``, or ``http://127.0.0.1:8765`` for a collector on this machine.
    key : str, optional
        A key with the scope ``query``. Default: the one in the environment variable TACIT_KEY, or in the file that
        TACIT_KEY_FILE names; none, for a collector on this machine that has no keys.
    key_file : str or Path, optional
        A file that holds the key on its first line.
    timeout : float
        Seconds to wait for an answer.
    """

    def __init__(self, address: str, *, key: str | None = None, key_file: Any = None, timeout: float = SECONDS) -> None:
        self._transport = RemoteTransport(url_of(address), find_key(key, key_file), timeout)
        self._contracts: dict[str, Collection] = {}

    def __repr__(self) -> str:
        return f"RemoteDatabase({self._transport.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *cause: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: no connection stays open between questions."""

    def sql(
        self,
        text: str,
        parameters: Sequence[Any] = (),
        *,
        confidence: float = 0.95,
        decoder: DecoderName = "blue",
        simultaneous: bool = False,
        superpopulation: bool = False,
        consistent: bool = False,
    ) -> Answer:
        """Answer a question as `Database.sql` does, with the collector's watermark."""
        if not isinstance(text, str):
            message = f"A question is text, not a {type(text).__name__}."
            raise UsageError(message, code="bad-option")
        options = Options(confidence, decoder, simultaneous=simultaneous, superpopulation=superpopulation)
        body = vars(options) | {"sql": text, "consistent": consistent, "parameters": _plain(parameters)}
        content = self._transport.post("/v1/query", body, MEDIA_TYPE, text)
        return answer_from_stream(content, plan=lambda: self._explain(body))

    def _explain(self, body: dict[str, Any]) -> str:
        """Return the collector's explanation of an answer; it is fetched on first use."""
        question = f"EXPLAIN {without_explain(body['sql'])[0]}"
        lines = answer_from_stream(self._transport.post("/v1/query", body | {"sql": question}, MEDIA_TYPE, question))
        return "\n".join(str(line) for (line,) in lines)

    def predict(
        self,
        text: str,
        *,
        users: int | None = None,
        error: float | None = None,
        relative: float | None = None,
        like: Any = None,
        confidence: float = 0.95,
        decoder: DecoderName = "blue",
    ) -> Answer | int:
        """Return the errors a question would have with other numbers of people, as `Collection.predict` does.

        Default for ``users``: the people who have reported. Everything is computed here, from the contract.
        """
        draft = self._json("/v1/draft", {"sql": text, "confidence": confidence}, text)
        name, people, question = draft.get("collection"), draft.get("people"), draft.get("asked")
        if not isinstance(name, str) or not isinstance(people, int) or not isinstance(question, str):
            self.sql(text, confidence=confidence)  # its error describes the problem with the question
            raise not_a_collector()
        collection, wanted = self._collection(name), {"like": like, "decoder": decoder}
        if users is None and error is None and relative is None:
            users = max(1, people)
        if users is not None:
            return collection.predict(question, users=users, confidence=confidence, **wanted)
        return collection.predict(question, error=error, relative=relative, **wanted)

    def marginal(
        self,
        attributes: Sequence[str],
        *,
        service: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
    ) -> Marginal:
        """Return how many people have each combination of values, as `Database.marginal` does."""
        body = {"attributes": list(attributes), "service": service, "method": method, "confidence": confidence}
        answer = answer_from_stream(self._transport.post("/v1/marginal", body, MEDIA_TYPE))
        names = answer.columns[:-1]
        labels = [list(dict.fromkeys(row[place] for row in answer)) for place in range(len(names))]
        counts = np.array([row[-1].value for row in answer])
        return Marginal(names, labels, counts.reshape([len(label) for label in labels]), answer)

    def synthesize(
        self, rows: int, *, seed: int | None = None, service: str | None = None, method: str | None = None
    ) -> pa.Table:
        """Return synthetic rows of a service, as `Database.synthesize` does."""
        body = {"rows": rows, "seed": seed, "service": service, "method": method}
        return table_from_stream(self._transport.post("/v1/synthesize", body, MEDIA_TYPE))

    @property
    def collections(self) -> list[Collection]:
        """The collections that the collector publishes, each verified against its id."""
        listed = _read(self._transport.get("/v1/collections"))
        try:
            names = [str(entry["id"]) for entry in listed["collections"]]
        except (KeyError, TypeError):
            raise not_a_collector() from None
        return [self._collection(name) for name in names]

    def _collection(self, name: str) -> Collection:
        """Fetch the collection with this id, and verify that its contract has it."""
        if name not in self._contracts:
            content = self._transport.get(f"/v1/collections/{name}")
            try:
                result = Collection.from_json(content.decode())
            except UnicodeDecodeError:
                raise not_a_collector() from None
            if result.id != name:
                message = f"The collector's contract has another id than {name[:12]}…, which it was asked for."
                raise ContractError(message, code="wrong-id")
            self._contracts[name] = result
        return self._contracts[name]

    def audit(self, collection: str | None = None) -> Audit:
        """Return the exact audit of a collection, by its id (default: the last one published), computed here."""
        result = {entry.id: entry for entry in self.collections}
        if not result or (collection is not None and collection not in result):
            raise UnknownNameError("collection", collection or "", result, code="unknown-collection")
        return result[collection or list(result)[-1]].audit()

    def tables(self) -> list[Shape]:
        """Return services with reports, and public dimensions, as tables with typed columns."""
        try:
            listed = _read(self._transport.get("/v1/catalogue"))["tables"]
            return [
                Shape(entry["name"], entry["kind"], tuple(Column(**column) for column in entry["columns"]))
                for entry in listed
            ]
        except (KeyError, TypeError):
            raise not_a_collector() from None

    def _json(self, path: str, body: dict[str, Any], text: str = "") -> Any:
        return _read(self._transport.post(path, body, text=text))


def _plain(parameters: Sequence[Any]) -> list[Any]:
    """Return parameters as JSON values; decimals keep their digits."""
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence):
        message = "Parameters are a list or a tuple, one value for each ? of the question."
        raise UsageError(message, code="wrong-parameters")
    return [_plain_value(plain_scalar(value), place) for place, value in enumerate(parameters, 1)]


def _plain_value(value: Any, place: int) -> Any:
    if isinstance(value, Decimal):
        return {"number": str(value)}
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    message = f"Parameter {place} is a {type(value).__name__}. Give numbers, texts, dates, booleans or None."
    raise UsageError(message, code="bad-parameter")


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise not_a_collector() from None
