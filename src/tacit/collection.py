"""Collection: a schema, a budget and a layout, compiled once, for encoding, auditing and sharing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.answers.auto import choose_layout
from tacit.answers.forecast import people_for, predict
from tacit.contract.audit import Audit, audit_contract
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon
from tacit.contract.contract import Contract, compile_contract
from tacit.contract.diff import Diff, diff_contracts
from tacit.contract.files import read_schema
from tacit.contract.randomness import Rng, SystemRng
from tacit.contract.rules import reformat
from tacit.contract.schema import Schema
from tacit.contract.wire import contract_id, contract_text, read_contract
from tacit.encode.bulk import Progress, encode_rows, validate_rows
from tacit.encode.keys import check_people, key_column, key_order, owners, people_column
from tacit.encode.reports import ReportTable
from tacit.encode.slots import choose_rows
from tacit.encode.tables import as_table
from tacit.errors import ContractError, PrivacyError, RecordError, SchemaError, TacitError, UnknownNameError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import DecoderName

__all__ = ["Collection"]

FILE_WORDS = ("epsilon", "services", "mechanism", "oracle", "round", "tier", "weights", "users")


class Collection:
    """One round of collecting a schema with one budget per person over all its services.

    Parameters
    ----------
    schema : Schema
        The services and their attributes.
    epsilon : int, float, str, Decimal or Fraction
        Bound on what anyone can learn about a person from everything the person sends in this round.
    mechanism : str
        ``"auto"`` (by predicted error), ``"hio"``, ``"hi"``, ``"sc"``, ``"em"``, ``"fc"``, ``"pairs"``, ``"am(k)"``,
        ``"calm(k)"``, ``"tables(k)"``; the last two need ``users``.
    oracle : str
        ``"auto"`` (least noise for each view) or one of ``tacit.contract.oracles.ORACLES``, such as ``"lh"``.
    round : str
        Name of the round; part of the id, so a new round is a new collection with its own budget.
    tier : str
        Name of an option: collections that differ only in tier (and epsilon, say) form one round. Each person is in one
        tier for all services, and answers combine all tiers. The choice must not depend on the data.
    weights : dict, optional
        Relative shares of the budget for the reports of each service. Default: 1 each.
    users : int, optional
        The expected number of people, which some mechanisms use to choose views; optional for ``pairs`` and ``auto``.

    Examples
    --------
    >>> import tacit as tc
    >>> schema = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=124)])])
    >>> collection = tc.Collection(schema, epsilon=1.0)
    >>> collection.audit().ok
    True
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: BudgetLike,
        *,
        mechanism: str = "auto",
        oracle: str = "auto",
        round: str = "",  # noqa: A002
        tier: str = "",
        weights: Mapping[str, BudgetLike] | None = None,
        users: int | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            message = f"schema is a {type(schema).__name__}; pass a Schema."
            raise SchemaError(message, code="bad-option")
        for word, label in (("round", round), ("tier", tier)):
            if not isinstance(label, str) or len(label) > 100 or not label.isprintable():
                message = f"{word} must be printable text of at most 100 characters, such as '2026-11'."
                raise SchemaError(message, code="bad-option")
        if users is not None and (isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= 10**12):
            message = "users must be a whole number of people, from 1 to 10**12."
            raise SchemaError(message, code="bad-option")
        self._contract = compile_contract(
            schema,
            parse_epsilon(epsilon),
            mechanism=mechanism,
            oracle=oracle,
            round_name=round,
            choose_layout=partial(choose_layout, oracle=oracle, users=users) if mechanism == "auto" else None,
            weights=_weights(schema, weights),
            tier=tier,
            users=users,
        )
        self._text = contract_text(self._contract)

    @classmethod
    def _of(cls, contract: Contract) -> Collection:
        made = cls.__new__(cls)
        vars(made).update(_contract=contract, _text=contract_text(contract))
        return made

    @classmethod
    def from_json(cls, text: str) -> Collection:
        """Return the collection of a contract, which may have been reformatted; its integers are kept as they are.

        It satisfies every rule of `docs/wire.md`; `audit` checks the rules about its budgets.
        """
        return cls._of(read_contract(reformat(text)))

    @classmethod
    def from_file(cls, path: str | Path) -> Collection:
        """Return the collection of a contract (JSON), or compile a collection file (TOML or JSON)."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")  # some editors write a byte-order mark
        except (OSError, UnicodeDecodeError) as cause:
            message = f"{Path(path).name} cannot be read ({type(cause).__name__}). Name a .toml or .json file."
            raise ContractError(message, code="unreadable-file") from None
        if Path(path).suffix.lower() == ".toml":
            return cls.from_toml(text)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None  # the contract reader reports the problem
        return cls._compile(data) if isinstance(data, dict) and "tacit" not in data else cls.from_json(text)

    @classmethod
    def from_toml(cls, text: str) -> Collection:
        """Compile a collection file: epsilon, services, and optionally mechanism, oracle and round."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as cause:
            message = f"The collection file is not TOML: {cause}."
            raise ContractError(message, code="file-not-toml") from None
        return cls._compile(data)

    @classmethod
    def _compile(cls, data: dict[str, Any]) -> Collection:
        for word in data:
            if word not in FILE_WORDS:
                raise UnknownNameError("setting of a collection file", word, FILE_WORDS, code="unknown-word")
        if "epsilon" not in data or "services" not in data:
            message = "A collection file needs epsilon and services."
            raise SchemaError(message, code="missing-word")
        options = {word: data[word] for word in FILE_WORDS[2:] if word in data}
        return cls(read_schema(data["services"]), data["epsilon"], **options)

    def to_json(self) -> str:
        """Return the contract: the same bytes for everybody with this collection."""
        return self._text

    @cached_property
    def id(self) -> str:
        """SHA-256 of the contract."""
        return contract_id(self._text)

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._contract

    @property
    def schema(self) -> Schema:
        """The services and their attributes."""
        return self._contract.schema

    def audit(self) -> Audit:
        """Return the exact audit: worst ratio of every channel, and a person's total."""
        return self._audit

    @cached_property
    def _audit(self) -> Audit:
        return audit_contract(self._contract)

    @overload
    def predict(
        self, text: str, *, users: int, like: Any = None, confidence: float = 0.95, decoder: DecoderName = "blue"
    ) -> Answer: ...

    @overload
    def predict(
        self,
        text: str,
        *,
        error: float | None = None,
        relative: float | None = None,
        like: Any = None,
        decoder: DecoderName = "blue",
    ) -> int: ...

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
        """Predict the errors of a question, or the number of people it needs, before anything is collected.

        Attributes are assumed to be independent and uniform, or distributed as ``like`` says.

        Parameters
        ----------
        users : int
            A number of people; the result is a table of expected values with their errors.
        error : float
            Instead of users: the wanted standard error; the result is the number of people. Errors of averages shrink
            with more people, so this is the smallest number; errors of totals grow, so it is the largest.
        relative : float
            Instead of users: the wanted standard error relative to the value; the result is the number of people.
        like : table or dict, optional
            A sample of records, or a dict from attributes to a weight for each value; for several services, or to give
            the share of people without rows, a dict of these by service.
        """
        options = Options(confidence, decoder)
        if users is not None:
            return predict(self._contract, text, users=users, like=like, options=options)
        return people_for(self._contract, text, error=error, relative=relative, like=like, options=options)

    def with_epsilon(self, epsilon: BudgetLike) -> Collection:
        """Return the same collection with another budget; shares of services stay the same."""
        old = self._contract
        weights = {s.service.name: sum(channel.epsilon for channel in s.channels) for s in old.services}
        labels = {"mechanism": old.mechanism, "oracle": old.oracle, "round": old.round, "tier": old.tier}
        return Collection(self.schema, epsilon, weights=weights, **labels)  # type: ignore[arg-type]

    def diff(self, other: Collection) -> Diff:
        """Return what changes from this collection to another, and what the change costs."""
        return diff_contracts(self._contract, other._contract, same=self._text == other._text)

    def encode(
        self,
        *,
        people: Iterable[int] | Iterable[str] | None = None,
        rng: Rng | None = None,
        progress: Progress | None = None,
        **tables: Any,
    ) -> dict[str, pa.Table]:
        """Perturb the records of all services, one table each; all rows are validated before anything is drawn.

        Parameters
        ----------
        people : iterable of keys, optional
            Who takes part; everybody reports to every service, with or without rows. Default: the keys of the first
            service with one row per person.
        rng : Rng, optional
            Default: the operating system. `insecure_rng` is for tests, and shows in the output's metadata.
        progress : callable, optional
            Called with the rows done and the total number of rows.
        **tables
            For each service a pandas, polars, Arrow or DuckDB table, a path to Parquet or CSV, or a single record as
            a dict.

        Returns
        -------
        dict of pyarrow.Table
            For each service: key, slot, channel, code, then the public columns.
        """
        self.refuse_unsafe()
        if rng is not None and not callable(getattr(rng, "draws", None)):
            message = f"rng is a {type(rng).__name__}. Leave it out, or pass tc.insecure_rng(seed) in tests."
            raise UsageError(message, code="bad-option")
        return self._encode_all(tables, people, SystemRng() if rng is None else rng, progress)

    def _encode_all(
        self,
        tables: Mapping[str, Any],
        people: Iterable[int] | Iterable[str] | None,
        rng: Rng,
        progress: Progress | None,
    ) -> dict[str, pa.Table]:
        """Validate everything, then draw."""
        for name in tables:
            self._contract[name]
        sources = {}
        for compiled in self._contract.services:
            service = compiled.service
            if service.name not in tables:
                problem = "no table was given. Everybody in a round reports to every service."
                raise RecordError(problem, code="missing-table", service=service.name)
            sources[service.name] = as_table(service, _as_rows(tables[service.name]))
        keys = {name: key_column(self._contract[name].service, table) for name, table in sources.items()}
        for name, column in keys.items():
            order = key_order(column) if self._contract[name].service.one_to_one else None
            if order is not None:
                sources[name], keys[name] = sources[name].take(pa.array(order)), column.take(pa.array(order))
        everybody = {name: column for name, column in keys.items() if self._contract[name].service.one_to_one}
        check_people(everybody, people)
        taking_part = people_column(everybody, people)
        order = key_order(taking_part)
        taking_part = taking_part if order is None else taking_part.take(pa.array(order))
        others = [name for name in keys if name not in everybody]
        owned = {name: owners(keys[name], taking_part, self._contract[name].service) for name in others}
        for name, table in sources.items():
            validate_rows(self._contract[name], table)
        reports = {}
        for name, table in sources.items():
            if name in everybody:
                reports[name] = self._encode(name, table, keys[name], rng, progress)
            else:
                slots = choose_rows(self._contract[name], table, owned[name], len(taking_part), rng)
                reports[name] = self._encode(name, slots.table, taking_part, rng, progress, slots.extra)
        return reports

    def refuse_unsafe(self) -> None:
        """Raise if the audit fails."""
        if not self._audit.ok:
            message = (
                "The audit of this contract fails, so nothing is encoded with it. Run audit() to see where "
                "(docs/glossary.md#audit)."
            )
            raise PrivacyError(message, code="audit-failed", rule=self._audit.rule)

    def _encode(
        self,
        name: str,
        table: pa.Table,
        people: pa.ChunkedArray,
        rng: Rng,
        progress: Progress | None,
        extra: npt.NDArray[np.int64] | None = None,
    ) -> pa.Table:
        compiled = self._contract[name]
        codes = encode_rows(compiled, table, rng, progress, extra=extra)
        about = {"tacit.randomness": _label(rng)}
        return ReportTable.from_codes(self.id, compiled, people, codes, table, **about).arrow

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        services = ", ".join(service.name for service in self.schema.services)
        epsilon = decimal_text(self._contract.epsilon)
        return f"Collection({services}; epsilon={epsilon}, mechanism={self._contract.mechanism!r}, id={self.id[:12]}…)"


def _weights(schema: Schema, weights: Mapping[str, BudgetLike] | None) -> dict[str, Fraction]:
    """Return the weights of services as fractions; refuse unknown services and weights that are not above 0."""
    shares = {}
    for name, weight in (weights or {}).items():
        schema[name]
        try:
            shares[name] = parse_epsilon(weight)
        except TacitError:
            message = f"weights: that of {name} must be a number above 0, such as 2."
            raise SchemaError(message, code="bad-option") from None
    return shares


def _label(rng: Rng) -> str:
    """Return the metadata name of a source of randomness: anything but the operating system's is insecure."""
    return "system" if type(rng) is SystemRng else "insecure"


def _as_rows(source: Any) -> Any:
    """Turn a single record, a dict of scalars, into a table of one row."""
    if isinstance(source, Mapping) and all(
        isinstance(value, str) or not hasattr(value, "__len__") for value in source.values()
    ):
        return {name: [value] for name, value in source.items()}
    return source
