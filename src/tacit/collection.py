"""Collection: a schema, a budget and a layout, compiled once, for encoding, auditing and sharing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.answers.forecast.methods import Forecasting
from tacit.client.panel import round_id
from tacit.contract.amplification import DELTA, parse_delta
from tacit.contract.audit import Audit, audit_contract
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon
from tacit.contract.contract import Contract, compile_contract
from tacit.contract.diff import Diff, diff_contracts
from tacit.contract.files import read_schema, read_text
from tacit.contract.panel import Panel
from tacit.contract.planning import planned_contract, service_weights
from tacit.contract.randomness import Rng, SystemRng
from tacit.contract.readers import central_loss
from tacit.contract.rules import reformat
from tacit.contract.schema import Schema, describe_values
from tacit.contract.wire import contract_id, contract_text, read_contract
from tacit.encode.assigned import assignment_of
from tacit.encode.bulk import Progress
from tacit.encode.everybody import encode_everybody, name_tables
from tacit.encode.prepare import prepare_tables
from tacit.errors import ContractError, PrivacyError, SchemaError, UnknownNameError, UsageError
from tacit.estimate.threads import one_thread
from tacit.tables.html import table_html
from tacit.tables.places import place_text

if TYPE_CHECKING:
    from tacit.answers.forecast.wanted import QuestionLike

__all__ = ["Collection"]

FILE_WORDS = (
    *("epsilon", "services", "mechanism", "oracle", "round", "tier", "weights", "users", "questions"),
    *("central_epsilon", "delta", "alike", "panel", "rounds", "reports", "assigned"),
)


class Collection(Forecasting):
    """One round of collecting a schema with one budget per person over all its services.

    Parameters
    ----------
    schema : Schema
        The services and their attributes.
    epsilon : int, float, str, Decimal or Fraction
        Bound on what anyone can learn about a person from everything the person sends in this round. Alternatively,
        pass ``central_epsilon``.
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
        With few people, ``auto`` draws wide runs of values and single attributes more often.
    questions : list of str, or of (str, float), optional
        SQL texts that will be asked, with weights if some matter more. With ``mechanism="auto"``, what people report is
        designed for them, which makes their errors two to five times smaller; others stay possible, with larger errors.
    central_epsilon : float, optional
        Instead of epsilon: what readers of answers may learn about one of ``users``; the collection takes the largest
        budget within it. It holds under the conditions of docs/two-guarantees.md, and the collector learns that budget.
    delta : float
        The chance that the central bound fails.
    alike : int, optional
        The people expected in the smallest class by public columns; needed for ``central_epsilon`` if there are any.
    panel : str, optional
        Name of a rotating panel of ``rounds`` rounds; a public coin selects ``reports`` of them for each person.
        Epsilon is then a person's total over the panel, however their values change (docs/panels.md).
    rounds, reports : int
        See ``panel``.
    assigned : bool
        Whether views, seeds and the places of rows are derived from a key that the collector keeps instead of drawn by
        devices, so that liars cannot choose the reports that move an answer most (docs/assigned.md).

    Examples
    --------
    >>> import tacit as tc
    >>> schema = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=124)])])
    >>> collection = tc.Collection(schema, epsilon=1.0)
    >>> collection.audit().ok
    True
    """

    @one_thread
    def __init__(
        self,
        schema: Schema,
        epsilon: BudgetLike | None = None,
        *,
        mechanism: str = "auto",
        oracle: str = "auto",
        round: str = "",  # noqa: A002
        tier: str = "",
        weights: Mapping[str, BudgetLike] | None = None,
        users: int | None = None,
        questions: Iterable[QuestionLike] | None = None,
        central_epsilon: BudgetLike | None = None,
        delta: BudgetLike = DELTA,
        alike: int | None = None,
        panel: str = "",
        rounds: int = 0,
        reports: int = 1,
        assigned: bool = False,
    ) -> None:
        from tacit.answers.auto import choose_layout
        from tacit.answers.forecast.wanted import asked_by_service

        if not isinstance(schema, Schema):
            message = f"schema is a {type(schema).__name__}; it must be a tc.Schema."
            raise SchemaError(message, code="bad-option")
        for word, label in (("round", round), ("tier", tier), ("panel", panel)):
            if not isinstance(label, str) or len(label) > 100 or not label.isprintable():
                message = f"{word} must be printable text of at most 100 characters, such as '2026-11'."
                raise SchemaError(message, code="bad-option")
        if users is not None and (isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= 10**12):
            message = "users must be a whole number of people, from 1 to 10**12."
            raise SchemaError(message, code="bad-option")
        if not isinstance(assigned, bool):
            message = "assigned must be True or False."
            raise SchemaError(message, code="bad-option")
        compiled = partial(
            compile_contract,
            schema,
            mechanism=mechanism,
            oracle=oracle,
            round_name=round,
            choose_layout=partial(choose_layout, oracle=oracle) if mechanism == "auto" else None,
            weights=service_weights(schema, weights),
            tier=tier,
            users=users,
            asked=asked_by_service(schema, questions or ()),
            panel=Panel.of(panel, rounds, reports, round),
            assigned=assigned,
        )
        if (epsilon is None) == (central_epsilon is None):
            message = "Give epsilon, what anyone may learn, or central_epsilon, what readers of answers may learn."
            raise UsageError(message, code="bad-option")
        if central_epsilon is not None and panel:
            message = "central_epsilon plans a single round. Give a panel its epsilon, and audit it with people."
            raise UsageError(message, code="bad-option")
        if central_epsilon is None:
            self._contract = compiled(parse_epsilon(epsilon))  # type: ignore[arg-type]
        else:
            self._contract = planned_contract(compiled, central_epsilon, parse_delta(delta), users, alike)
        self._text = contract_text(self._contract)

    @classmethod
    def _of(cls, contract: Contract, text: str = "", **known: str) -> Collection:
        collection = cls.__new__(cls)
        vars(collection).update(_contract=contract, _text=text or contract_text(contract), **known)
        return collection

    @classmethod
    def from_json(cls, text: str) -> Collection:
        """Return the collection of a contract, which may have been reformatted; its integers are kept as they are.

        It satisfies every rule of `docs/wire.md`; `audit` checks the rules about its budgets.
        """
        canonical = reformat(text)
        return cls._of(read_contract(canonical), canonical)

    @classmethod
    def from_file(cls, path: str | Path) -> Collection:
        """Return the collection of a contract (JSON), or compile a collection file (TOML or JSON)."""
        text, folder = read_text(Path(path), Path(place_text(path)).name), Path(path).parent
        if Path(path).suffix.lower() == ".toml":
            return cls.from_toml(text, folder)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None  # the contract reader reports the problem
        return cls._compile(data, folder) if isinstance(data, dict) and "tacit" not in data else cls.from_json(text)

    @classmethod
    def from_toml(cls, text: str, folder: Path | None = None) -> Collection:
        """Compile a collection file: epsilon, services, and optionally mechanism, oracle and round.

        Dictionaries are looked for in ``folder``, by default the current one.
        """
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as cause:  # of numbers with thousands of digits, and of endless brackets
            problem = str(cause) if isinstance(cause, tomllib.TOMLDecodeError) else type(cause).__name__
            message = f"The collection file is not TOML: {problem}. Check quotes, brackets and commas there."
            raise ContractError(message, code="file-not-toml") from None
        return cls._compile(data, folder)

    @classmethod
    def _compile(cls, data: dict[str, Any], folder: Path | None = None) -> Collection:
        for word in data:
            if word not in FILE_WORDS:
                raise UnknownNameError("setting of a collection file", word, FILE_WORDS, code="unknown-word")
        if ("epsilon" not in data and "central_epsilon" not in data) or "services" not in data:
            message = "A collection file needs epsilon and services."
            raise SchemaError(message, code="missing-word")
        options = {word: data[word] for word in FILE_WORDS[2:] if word in data}
        return cls(read_schema(data["services"], folder), data.get("epsilon"), **options)

    def to_json(self) -> str:
        """Return the contract: the same bytes for everybody with this collection."""
        return self._text

    @cached_property
    def id(self) -> str:
        """SHA-256 of the contract."""
        return contract_id(self._text)

    @cached_property
    def contract_id(self) -> str:
        """SHA-256 of the contract's bytes; a round of a panel shares it with the other rounds."""
        return contract_id(self._text)

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._contract

    @property
    def schema(self) -> Schema:
        """The services and their attributes."""
        return self._contract.schema

    def audit(
        self, *, people: int | None = None, delta: BudgetLike = DELTA, alike: int | None = None, known: int = 0
    ) -> Audit:
        """Return the exact audit: worst ratio of every channel, and a person's total.

        With ``people`` it also bounds what readers of answers learn (``central_epsilon``), under the conditions of
        docs/two-guarantees.md.

        Parameters
        ----------
        people : int, optional
            How many people report in this collection.
        delta : float
            The chance that the central bound fails.
        alike : int, optional
            The people of the smallest class alike in all public columns; needed where there are any.
        known : int
            People whose reports a reader may have sent or may know.
        """
        if people is None:
            return self._audit
        ratio, chance = self._audit.ratio if self._audit.ok else None, parse_delta(delta)
        central = central_loss(self._contract, ratio, people=people, delta=chance, alike=alike, known=known)
        return replace(self._audit, central=central)

    @cached_property
    def _audit(self) -> Audit:
        return audit_contract(self._contract)

    def with_epsilon(self, epsilon: BudgetLike) -> Collection:
        """Return the same collection with another budget; shares of services stay the same."""
        old, panel = self._contract, self._contract.panel
        weights = {s.service.name: sum(channel.epsilon for channel in s.channels) for s in old.services}
        labels: dict[str, Any] = {"mechanism": old.mechanism, "oracle": old.oracle, "tier": old.tier}
        labels |= (panel.options if panel else {"round": old.round}) | {"assigned": old.assigned}
        if panel and old.member:  # a round has its part of the total
            total = parse_epsilon(epsilon) * panel.reports
            return Collection(self.schema, total, weights=weights, **labels).round(old.member)
        return Collection(self.schema, epsilon, weights=weights, **labels)

    def with_schema(self, schema: Schema) -> Collection:
        """Return the same collection of other attributes, with equal shares for its services."""
        old, panel = self._contract, self._contract.panel
        labels: dict[str, Any] = dict(panel.options) if panel else {"round": old.round}
        labels |= {"assigned": old.assigned}
        total = old.epsilon * (panel.reports if panel and old.member else 1)
        return Collection(schema, total, mechanism=old.mechanism, oracle=old.oracle, **labels)

    def prepare(self, **tables: Any) -> dict[str, Any]:
        """Convert raw tables or files to the arguments of `encode`.

        Columns that are not declared are left out, as are rows without a key; NaN becomes NULL; rows are numbered if
        the declared key is ``row_number``. If no service has one row for everybody, the people are those with rows.
        """
        return prepare_tables(self.schema, tables)[0]

    def diff(self, other: Collection) -> Diff:
        """Compare this collection with another: list the changes and their privacy cost."""
        return diff_contracts(self._contract, other._contract, same=self._text == other._text)

    @property
    def panel(self) -> Panel | None:
        """The panel of which this collection is the whole or one round; None for a single round."""
        return self._contract.panel

    @cached_property
    def parts(self) -> tuple[Collection, ...]:
        """The rounds of a panel, or the collection itself: each has an id and a budget, and people report to it."""
        panel = self._contract.panel
        if panel is None or self._contract.member:
            return (self,)
        return tuple(self._part(panel, number) for number in range(1, panel.rounds + 1))

    def _part(self, panel: Panel, number: int) -> Collection:
        share, label = self._contract.epsilon / panel.reports, panel.label(number)
        contract = replace(self._contract, epsilon=share, round=label, member=number)
        return Collection._of(contract, self._text, id=round_id(self._text, number))

    def round(self, number: int) -> Collection:
        """Return one round of a panel, from 1 on."""
        if self.panel is None or not 1 <= number <= self.panel.rounds:
            message = f"There is no round {number}: only panels have rounds, from 1 on."
            raise UsageError(message, code="no-such-round")
        return self.parts[number - 1]

    def encode(
        self,
        tables: Mapping[str, Any] | None = None,
        /,
        *,
        people: Iterable[int] | Iterable[str] | None = None,
        key: str | None = None,
        rng: Rng | None = None,
        progress: Progress | None = None,
        **services: Any,
    ) -> dict[str, pa.Table]:
        """Perturb the records of all services, one table each; all rows are validated before anything is drawn.

        Parameters
        ----------
        tables : mapping, optional
            The tables of services; or pass them as keywords.
        people : iterable of keys, optional
            Who takes part; everybody reports to every service, with or without rows. Default: the keys of the first
            service with one row per person.
        key : str, optional
            If views and seeds are assigned: the key that assigns them, 64 hexadecimal digits. `Database.load` takes
            the same one; a collector keeps its own.
        rng : Rng, optional
            Default: the operating system. `insecure_rng` is for tests, and shows in the output's metadata.
        progress : callable, optional
            Called with the rows done and the total number of rows.
        **services
            For each service a pandas, polars, Arrow or DuckDB table, a path to Parquet or CSV, or a single record as
            a dict.

        Returns
        -------
        dict of pyarrow.Table
            For each service: key, slot, channel, code, then the public columns.
        """
        self.refuse_unsafe()
        if self.panel and not self._contract.member:
            message = "People report to the rounds of a panel: use collection.round(number).encode(…)."
            raise UsageError(message, code="panel-as-a-whole")
        if rng is not None and not callable(getattr(rng, "draws", None)):
            message = f"rng is a {type(rng).__name__}. Leave it out, or pass tc.insecure_rng(seed) in tests."
            raise UsageError(message, code="bad-option")
        source = SystemRng() if rng is None else rng
        assignment = assignment_of(self._contract, self.id, key)
        named = name_tables(tables, services)
        return encode_everybody(self.id, self._contract, named, people, source, progress, assignment)

    def refuse_unsafe(self) -> None:
        """Raise if the audit fails."""
        if not self._audit.ok:
            message = "The audit of this contract fails, so it encodes nothing: see audit() (docs/glossary.md#audit)."
            raise PrivacyError(message, code="audit-failed", rule=self._audit.rule)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        services = ", ".join(service.name for service in self.schema.services)
        epsilon = decimal_text(self._contract.epsilon)
        return f"Collection({services}; epsilon={epsilon}, mechanism={self._contract.mechanism!r}, id={self.id[:12]}…)"

    def _repr_html_(self) -> str:
        rows = [
            [service.name, service.key, f"{service.rows_at_most} per person", a.name, describe_values(a)]
            for service in self.schema.services
            for a in service.attributes
        ]
        return table_html(["service", "key", "rows", "attribute", "values"], rows, caption=repr(self))
