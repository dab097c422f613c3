"""The schema: services that report about the same people.

All classes are frozen and validated when they are made, so the layers below trust them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.client.scalars import plain_scalar
from tacit.contract.attributes import Ordinal, check_distinct, check_flag, check_name
from tacit.contract.categories import Categorical
from tacit.contract.public_columns import Public
from tacit.errors import SchemaError, UnknownNameError

__all__ = ["Attribute", "Categorical", "Ordinal", "Public", "Schema", "Service", "describe_values"]

Attribute = Ordinal | Categorical | Public

MAX_ROWS = 1_000
"""Maximum rows of a person that count, and reports to a service: more would leave too little budget for each."""

MAX_ATTRIBUTES = 500
"""Maximum attributes of a service: more do not fit in a contract."""


def _tuple_of(setting: str, items: Any) -> tuple[Any, ...]:
    if isinstance(items, str) or not isinstance(items, Iterable):
        message = f"{setting} is a {type(items).__name__}; it must be a list."
        raise SchemaError(message, code="bad-option")
    return tuple(items)


@dataclass(frozen=True)
class Service:
    """One service's table about people.

    Parameters
    ----------
    name : str
        Table name.
    key : str
        Column that identifies the person.
    attributes : sequence of Ordinal, Categorical, Public
        The other columns, in order.
    at_most : int, optional
        A person may have several rows, and at most this many count (one-to-many).
    sends : int
        Reports every person sends to a one-to-many service, however many rows there are.
    optional : bool
        A person may have no row in this one-to-one service, and nobody learns whether there is one.
    """

    name: str
    key: str
    attributes: tuple[Attribute, ...]
    at_most: int | None = None
    sends: int = 1
    optional: bool = False

    def __init__(
        self,
        name: str,
        key: str,
        attributes: Sequence[Attribute],
        *,
        at_most: int | None = None,
        sends: int = 1,
        optional: bool = False,
    ) -> None:
        fields = {
            "name": name,
            "key": key,
            "attributes": _tuple_of(f"{name}: attributes", attributes),
            "at_most": plain_scalar(at_most),
            "sends": plain_scalar(sends),
            "optional": plain_scalar(optional),
        }
        for field_name, value in fields.items():
            object.__setattr__(self, field_name, value)
        check_name("service", name)
        check_name("key", key)
        for attribute in self.attributes:
            if not isinstance(attribute, Ordinal | Categorical | Public):
                message = f"{name}: an attribute is a {type(attribute).__name__}; use Ordinal, Categorical or Public."
                raise SchemaError(message, code="bad-option")
        check_distinct("column", (key, *(attribute.name for attribute in self.attributes)))
        self._check_shape()

    def _check_shape(self) -> None:
        check_flag(self.name, "optional", self.optional)
        if len(self.attributes) > MAX_ATTRIBUTES:
            message = f"{self.name}: {len(self.attributes)} attributes; at most {MAX_ATTRIBUTES}. Split the service."
            raise SchemaError(message, code="domain-too-large")
        if not self.sensitive:
            message = (
                f"{self.name}: no sensitive attribute, so there is nothing to collect. Add Ordinal or Categorical."
            )
            raise SchemaError(message, code="empty-domain")
        limits = {"at_most": self.at_most, "sends": self.sends}
        for option, value in limits.items():
            if value is None and option == "at_most":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ROWS:
                message = f"{self.name}: {option} is {value!r}; it must be a whole number from 1 to {MAX_ROWS}."
                raise SchemaError(message, code="bad-option")
        if self.sends > (self.at_most or 1):
            message = f"{self.name}: sends={self.sends} exceeds at_most={self.at_most or 1}. Lower sends."
            raise SchemaError(message, code="bad-option")
        if self.at_most is not None and self.optional:
            message = f"{self.name}: a one-to-many service already hides who has rows. Remove optional=True."
            raise SchemaError(message, code="bad-option")
        if self.public and (self.at_most is not None or self.optional):
            message = (
                f"{self.name}: Public columns would show who has rows, or how many; they are possible only on services "
                "with exactly one row per person. Move them to such a service, or make them Categorical."
            )
            raise SchemaError(message, code="public-not-possible")

    @property
    def sensitive(self) -> tuple[Ordinal | Categorical, ...]:
        """The attributes that are perturbed, in order."""
        return tuple(a for a in self.attributes if not isinstance(a, Public))

    @property
    def public(self) -> tuple[Public, ...]:
        """The public attributes, in order."""
        return tuple(a for a in self.attributes if isinstance(a, Public))

    @property
    def typed(self) -> bool:
        """Whether a public column declares its values or its type."""
        return any(attribute.typed for attribute in self.public)

    @property
    def one_to_one(self) -> bool:
        """Whether every person has exactly one row."""
        return self.at_most is None and not self.optional

    @property
    def rows_at_most(self) -> int:
        """Rows of a person that count."""
        return self.at_most or 1

    @property
    def extras(self) -> int:
        """Additional cells: *none* (no row at all) and *skip* (rows, but none at the drawn place)."""
        if self.one_to_one:
            return 0
        return 1 if self.rows_at_most == 1 else 2


@dataclass(frozen=True)
class Schema:
    """The services that report about the same people."""

    services: tuple[Service, ...]

    def __init__(self, services: Sequence[Service]) -> None:
        object.__setattr__(self, "services", _tuple_of("services", services))
        if not self.services:
            message = "The schema has no service. Add at least one."
            raise SchemaError(message, code="empty-domain")
        for service in self.services:
            if not isinstance(service, Service):
                message = f"The schema holds a {type(service).__name__}; every element must be a Service."
                raise SchemaError(message, code="bad-option")
        check_distinct("service", (service.name for service in self.services))

    @classmethod
    def from_table(cls, table: Any = None, /, *, key: str | None = None, **tables: Any) -> Schema:
        """Propose a schema from tables: a draft, whose bounds and lists of values were rounded from the data.

        Whoever reads the contract reads them, so declare what you know without the data before you collect anything.

        Parameters
        ----------
        table : table or path, optional
            A single table, for a service named ``users``; several are passed by name.
        key : str, optional
            The column that identifies the person. Default: one whose values all differ, or that is named like one;
            where there is none, ``row_number``, which `Collection.prepare` adds.
        **tables
            For each service a pandas, polars, Arrow or DuckDB table, or a path to Parquet, CSV or JSON lines.

        Examples
        --------
        >>> Schema.from_table({"uid": [1, 2, 3], "age": [31, 47, 58]}).services[0].attributes[0].high
        99
        """
        from tacit.contract.files import read_schema
        from tacit.tables.proposal import propose_services

        sources = tables if table is None else {"users": table, **tables}
        if not sources:
            message = "from_table needs a table. Pass one, or one for each service by name."
            raise SchemaError(message, code="bad-option")
        return read_schema([service.settings() for service in propose_services(sources, key)])

    def __getitem__(self, name: str) -> Service:
        for service in self.services:
            if service.name == name:
                return service
        raise UnknownNameError("service", name, (service.name for service in self.services))


def describe_values(attribute: Attribute) -> str:
    """Return the values of an attribute, in words."""
    if isinstance(attribute, Public):
        return f"public: {attribute.allowed}"
    null = " or NULL" if attribute.null else ""
    if isinstance(attribute, Categorical):
        if attribute.dictionary is not None:
            return f"{len(attribute.values):,} values of a dictionary{null}"
        between = " < " if attribute.ordered else ", "
        shown = between.join(map(str, attribute.values[:8])) + (f"{between}…" if len(attribute.values) > 8 else "")
        return f"{shown}{null}"
    cells = f" in {attribute.cells} cells" if attribute.cells else ""
    return f"{attribute.low} to {attribute.high}{cells}{null}"
