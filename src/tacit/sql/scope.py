"""Name resolution: the services of FROM, their columns, and the place of each attribute in functionals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from tacit.contract.schema import Categorical, Public, Service
from tacit.errors import BindError, InternalError, UnsupportedSqlError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.sql.lookup import Lookup
from tacit.sql.parse import span_of
from tacit.sql.parse_spans import span_in
from tacit.sql.stored_types import column_of
from tacit.sql.totals import Piece, Total
from tacit.sql.vectors import Sensitive, measure_vector, null_vector

__all__ = ["LABELS", "MOST_STORED", "BoundColumn", "JoinKind", "Joined", "Scope", "Source", "StoredValues"]

StoredValues = Callable[[str, str], list[Any]]
"""Returns the distinct values that reports of a service have in a public column; too many to list are cut."""

MOST_STORED = 10_000
"""Maximum distinct values of a public column for which functions of it are evaluated."""

JoinKind = Literal["inner", "left", "semi"]
"""How a service is joined: on its rows; also for people without a row; on whether a person has any row."""


def _nullable(attribute: Sensitive | Public) -> Sensitive | Public:
    """Return an attribute that may also be NULL; public columns are read as they are stored."""
    if isinstance(attribute, Public) or attribute.null:
        return attribute
    changed = copy(attribute)
    object.__setattr__(changed, "null", True)
    return changed


def _label(name: str) -> Public:
    label = object.__new__(Public)
    object.__setattr__(label, "name", name)
    return label


LABELS = {name: _label(name) for name in ("round", "tier")}
"""Columns of every service: labels of the collection. Schemas may not use their names."""


@dataclass(frozen=True)
class Source:
    """A service in FROM: its names, its number, and the place of its first attribute in functionals."""

    service: Service
    names: tuple[str, ...]
    number: int
    first: int
    twin: int | None = None
    """Number of the source whose reports it reads: a one-to-many service may be joined with itself."""
    join: JoinKind = "inner"
    matched: Total | None = None
    """For LEFT JOIN with conditions in ON, the total that is 1 where they are met; other rows count as none."""

    @cached_property
    def attributes(self) -> tuple[Sensitive | Public, ...]:
        """Its columns: of a left join all may be NULL, and after a semi-join none can be named."""
        if self.join == "semi":
            return ()
        declared = self.service.attributes
        return tuple(map(_nullable, declared)) if self.is_outer else declared

    @property
    def is_outer(self) -> bool:
        """Whether its columns are NULL for people without a row."""
        return self.join == "left" and (self.service.extras > 0 or self.matched is not None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of its attributes; where people may have no row, the last one is presence (see the decoder)."""
        extras = self.service.extras
        return (*(attribute.size for attribute in self.service.sensitive), *([1 + extras] if extras else []))

    @property
    def presence(self) -> int:
        """Place of presence in functionals."""
        return self.first + len(self.service.sensitive)

    @property
    def row_weights(self) -> Vector:
        """How many rows of the join a report stands for: with a row, with none, and skipped."""
        many, sends = self.service.rows_at_most, self.service.sends
        weights = {"inner": (many, 0, 0), "left": (many, 1, 0), "semi": (1, 0, 1)}[self.join]
        return np.array(weights[: 1 + self.service.extras]) / sends


@dataclass(frozen=True)
class BoundColumn:
    """A column of a question, bound to the source and the attribute that it names."""

    source: Source
    attribute: Sensitive | Public
    lookup: Lookup | None = None
    """For a column of a dimension: its values by those of the attribute, which is then the foreign key."""

    def null(self) -> Vector:
        """Return the vector that marks NULL."""
        return self.lookup.null() if self.lookup else null_vector(self.sensitive)

    def measure(self) -> Vector:
        """Return the number that each value index stands for."""
        return self.lookup.measure() if self.lookup else measure_vector(self.sensitive)

    @property
    def sensitive(self) -> Sensitive:
        """The attribute, which must be sensitive."""
        if isinstance(self.attribute, Public):
            message = f"{self.attribute.name} is public."
            raise InternalError(message)
        return self.attribute

    @property
    def place(self) -> int:
        """Where a sensitive attribute stands in functionals."""
        names = [attribute.name for attribute in self.source.service.sensitive]
        return self.source.first + names.index(self.sensitive.name)

    @property
    def column(self) -> exp.Column:
        """A public column of the engine's tables."""
        return column_of(self.source.number, self.attribute.name)


@dataclass(frozen=True, eq=False)
class Joined:
    """A dimension in FROM: its names, its foreign key, the keys it has, and its columns."""

    name: str
    key: BoundColumn
    matched: Vector
    columns: dict[str, Lookup]


def _lists(attribute: object, text: str) -> bool:
    """Tell whether a text is one of the values that an attribute lists."""
    return isinstance(attribute, Categorical) and attribute.has_text and text in attribute.values


@dataclass(frozen=True)
class Scope:
    """The services and dimensions of a question, and its text for error messages."""

    sources: tuple[Source, ...]
    text: str
    dimensions: tuple[Joined, ...] = ()
    stored: StoredValues | None = None
    """The values of public columns without a list, where reports are at hand."""
    is_full: bool = False
    """Whether the services are joined by FULL JOIN."""

    @classmethod
    def over(cls, services: Sequence[tuple[Service, tuple[str, ...], JoinKind]], text: str) -> Scope:
        """Return the scope of services, each with its names and how it is joined."""
        sources: list[Source] = []
        first = 0
        for number, (service, names, join) in enumerate(services):
            twin = next((source.number for source in sources if source.service == service), None)
            sources.append(Source(service, names, number, first, twin, join))
            first += len(sources[-1].sizes)
        return cls(tuple(sources), text)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of all sensitive attributes, service by service."""
        return tuple(size for source in self.sources for size in source.sizes)

    @cached_property
    def measures(self) -> dict[tuple[str, str], tuple[Total, Total]]:
        """The value and the presence of columns that were looked at, by table and name: every group asks for them."""
        return {}

    @cached_property
    def outcomes(self) -> dict[exp.Expr, Any]:
        """The `Outcomes` of expressions whose quantiles were asked for: every group asks for them."""
        return {}

    @property
    def one(self) -> Total:
        """The total that is 1 for everybody."""
        return Total.of(Functional.constant(self.sizes))

    @property
    def rows(self) -> Total:
        """The total that counts rows: reports of a one-to-many service stand for at_most/sends rows each."""
        total = self.one
        for source in self.sources:
            if source.service.extras:
                total = total * self._presence(source, source.row_weights)
            if source.matched is not None and not source.is_outer:
                total = total * source.matched
        if self.is_full:  # who is in none of the services is in no row
            total = total - math.prod(map(self.has_no_row, self.sources), start=total)
        for dimension in self.dimensions:
            total = total * self.total(dimension.key, dimension.matched)
        return total

    def people(self, rows: Total) -> Total | None:
        """Return the total of people, given a total of rows; None where it has no unbiased estimate.

        In a one-to-many service all reports except *none* mean that the person has rows, with a share of 1/sends each.
        Reports do not show which rows a person has, if there are several. A left join also keeps people with none.
        """
        pieces = []
        for piece in rows.pieces:
            terms = [self._term_of_people(term) for term in piece.functional.terms]
            if any(term is None for term in terms):
                return None
            functional = Functional(self.sizes, tuple(term for term in terms if term is not None))
            pieces.append(Piece(functional, piece.guards, piece.powers))
        return Total(tuple(pieces))

    def _term_of_people(self, term: Term) -> Term | None:
        factors = dict(term.factors)
        for source in self.sources:
            if source.service.extras == 2:
                if source.twin is not None or any(place in factors for place in range(source.first, source.presence)):
                    return None
                if source.join != "semi":
                    real, none, _ = factors[source.presence]
                    share = real / source.service.rows_at_most
                    factors[source.presence] = np.array([share, none, share])
        return Term(term.coefficient, factors)

    def refusal(self, message: str, node: exp.Expr, code: str) -> UnsupportedSqlError:
        """Return the refusal of a node."""
        return UnsupportedSqlError(message, code=code, text=self.text, span=span_in(self.text, node))

    def find(self, column: exp.Column) -> BoundColumn:
        """Resolve a column; refuse unknown and ambiguous names."""
        table, name = column.table.lower(), column.name.lower()
        public = [d for d in self.dimensions if table in ("", d.name.lower()) and name in d.columns]
        dimension = next((d for d in self.dimensions if table == d.name.lower()), None)
        if dimension and not public:
            known = ", ".join(lookup.name for lookup in dimension.columns.values())
            message = f"{dimension.name} has no column {column.name!r}. Columns: {known}."
            raise BindError(message, text=self.text, span=span_of(column))
        if table and public:
            return BoundColumn(public[0].key.source, public[0].key.attribute, public[0].columns[name])
        sources = [s for s in self.sources if not table or table in (known.lower() for known in s.names)]
        if not sources:
            known = ", ".join(
                [*(n for source in self.sources for n in source.names), *(d.name for d in self.dimensions)]
            )
            message = f"There is no table {column.table!r} in this question. Tables: {known}."
            raise BindError(message, code="unknown-table", text=self.text, span=span_of(column))
        columns = [BoundColumn(s, a) for s in sources for a in s.attributes if a.name.lower() == name]
        if not columns and len(public) == 1:
            return BoundColumn(public[0].key.source, public[0].key.attribute, public[0].columns[name])
        if not columns and name in LABELS:
            return BoundColumn(sources[0], LABELS[name])
        if len(columns) > 1:
            tables = " or ".join(f"{f.source.names[0]}.{f.attribute.name}" for f in columns)
            message = f"{column.name} is in more than one table. Write {tables}."
            raise BindError(message, code="ambiguous-column", text=self.text, span=span_of(column))
        if not columns and name in (source.service.key.lower() for source in sources):
            message = (
                f"{column.name} is the person's key. Use it in JOIN, in COUNT(DISTINCT {column.name}), and in "
                f"{column.name} IN (SELECT …) beside AND only."
            )
            raise BindError(message, code="key-column", text=self.text, span=span_of(column))
        if not columns:
            names = " and ".join(source.service.name for source in sources)
            known = ", ".join(a.name for source in sources for a in source.service.attributes)
            near = get_close_matches(name, [a.name.lower() for s in sources for a in s.service.attributes], 1)
            meant = [a.name for s in sources for a in s.service.attributes if a.name.lower() in near]
            hint = f" Did you mean {meant[0]!r}?" if meant else ""
            if value_of := [a.name for s in sources for a in s.attributes if _lists(a, column.name)]:
                hint = f" It is a value of {value_of[0]}: write it in single quotes, '{column.name}'."
            message = (
                f"{names} {'has' if len(sources) == 1 else 'have'} no column {column.name!r}.{hint} Columns: {known}."
            )
            raise BindError(message, text=self.text, span=span_of(column))
        if columns[0].source.matched is not None and isinstance(columns[0].attribute, Public):
            message = (
                f"{column.name} is public, and {columns[0].source.names[0]} is joined with conditions in ON, which "
                "would make it NULL. Move the conditions to WHERE, FILTER or CASE."
            )
            raise self.refusal(message, column, "unsupported-join")
        return columns[0]

    def total(self, column: BoundColumn, vector: npt.ArrayLike) -> Total:
        """Return the total of the functional that maps a sensitive attribute by a vector.

        In a left join, the vector's last value is that of NULL, and so that of people without a row.
        """
        values = np.asarray(vector, dtype=np.float64)
        mapped = Total.of(Functional.of(self.sizes, column.place, values[: self.sizes[column.place]]))
        source = column.source
        if not source.is_outer:
            return mapped
        absent = self.has_no_row(source)
        if source.matched is not None:
            return mapped - mapped * absent + absent.scaled(float(values[-1]))
        present = self._presence(source, np.arange(1 + source.service.extras) == 0)
        return mapped * present + absent.scaled(float(values[-1]))

    def has_no_row(self, source: Source) -> Total:
        """Return the total that is 1 for people without a row in a service, or without one that meets ON."""
        extras = source.service.extras
        if source.is_outer and source.matched is not None:
            matched = source.matched
            return self.one - (matched * self._presence(source, np.arange(1 + extras) == 0) if extras else matched)
        return self._presence(source, np.arange(1 + extras) == 1) if extras else Total(())

    def _presence(self, source: Source, weights: npt.ArrayLike) -> Total:
        return Total.of(Functional.of(self.sizes, source.presence, weights))

    def source_of_key(self, node: exp.Expr) -> Source | None:
        """Return the source that a node names the key of; the first one where no table is named."""
        if not isinstance(node, exp.Column):
            return None
        table, name = node.table.lower(), node.name.lower()
        if any(a.name.lower() == name for source in self.sources for a in source.service.attributes):
            return None
        named = [s for s in self.sources if not table or table in (known.lower() for known in s.names)]
        keyed = [source for source in named if source.service.key.lower() == name]
        if keyed and self.is_full and not table:
            return replace(keyed[0], join="inner")  # the key of whichever service has a row
        return next((s for s in keyed if not s.is_outer), keyed[0]) if keyed else None

    def separate(self, functional: Functional) -> list[dict[int, Functional]]:
        """Separate a functional into a sum of products of functionals of single services."""
        places = [(source.number, i) for source in self.sources for i in range(len(source.sizes))]
        sizes = [source.sizes for source in self.sources]
        products: list[dict[int, Functional]] = []
        for term in functional.terms:
            local: dict[int, dict[int, Vector]] = {}
            for i, vector in term.factors.items():
                number, place = places[i]
                local.setdefault(number, {})[place] = vector
            parts = {n: Functional(sizes[n], (Term(1.0, factors),)) for n, factors in sorted(local.items())}
            first = next(iter(parts), 0)
            parts[first] = parts.get(first, Functional.constant(sizes[first])).scaled(term.coefficient)
            products.append(parts)
        involved = {number for parts in products for number in parts}
        if len(involved) == 1:
            [number] = involved
            terms = [term for parts in products for term in parts[number].terms]
            return [{number: Functional(sizes[number], tuple(terms))}]
        return products

    def uses_round(self, statement: exp.Expr) -> bool:
        """Return whether the question names the round, and so covers all rounds."""
        return any(column.name.lower() == "round" for column in statement.find_all(exp.Column))
