"""A release: a private histogram that is published once and answers any number of questions."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tacit.central.blue import Views
from tacit.central.body import Body
from tacit.central.boxes import Boxes
from tacit.central.cells import CellCounts
from tacit.central.concentrated import largest_rho
from tacit.central.ledger import Ledger
from tacit.central.marginals import MarginalTables
from tacit.central.methods import method_of
from tacit.central.multiscale import NoisyTree
from tacit.central.noise import Ints, Laplace, Law, NoiseSource, OpenDp
from tacit.central.question import ask
from tacit.central.records import Records, released_service
from tacit.central.synthetic import synthetic_rows
from tacit.contract.attributes import check_name
from tacit.contract.budget import BudgetLike, decimal_text, parse_epsilon, read_fraction
from tacit.contract.files import read_service, service_data
from tacit.contract.schema import Schema, Service
from tacit.errors import ContractError, InternalError, TacitError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.threads import one_thread
from tacit.sql.lookup import Dimension
from tacit.tables.read import as_arrow

__all__ = ["Release", "release"]

VERSION, WITH_DELTA = 1, 2
"""Version of the file, and of one whose guarantee has a delta."""

KEY = b"tacit.release"
"""Key of the file's metadata."""

BODIES: dict[str, type[Any]] = {body.kind: body for body in (CellCounts, Boxes, Views, MarginalTables, NoisyTree)}


@one_thread
def release(
    table: Any,
    service: Service | Schema,
    epsilon: BudgetLike,
    *,
    method: str = "auto",
    ledger: Ledger | None = None,
    source: NoiseSource | None = None,
    **options: Any,
) -> Release:
    """Make a release of a table: charge the ledger, draw the noise, and return what may be published.

    Parameters
    ----------
    table : table or path
        One row for each person.
    service : Service or Schema
        What its columns may hold, never taken from the data; a schema must be of one service.
    epsilon : number
        Bound on what anyone can learn about a person; with ``noise="gaussian"``, one that holds but for ``delta=``.
    method : str
        "auto", "blue", "adaptive", "multiscale", "kdtree", "hierarchical", "cells" or "marginals".
    ledger : Ledger, optional
        Where the charge is recorded; without one, nothing prevents further releases about the same people.
    source : Source, optional
        Where noise comes from; for audits.
    **options
        Of the method, such as ``count_threshold=`` and ``uneven_threshold=`` of "kdtree", ``height=``, or
        ``noise="gaussian", delta=1e-9`` of "marginals".

    Everything is validated before the ledger is charged, and the ledger is charged before any noise is drawn.
    """
    budget, chosen = parse_epsilon(epsilon), method_of(method, options)
    declared = released_service(service)
    charges = chosen.charges(declared, budget)
    delta = sum((charge.delta for charge in charges), Fraction(0))
    records = Records.read(table, declared)
    metered = _Metered(source or OpenDp())
    Laplace(min(charge.epsilon for charge in charges))  # refuse budgets too small for any noise before they are spent
    (ledger or Ledger(None, budget, delta=delta or None)).charge(charges)
    body = chosen.run(records, budget, metered)
    if not (sum((charge.epsilon for charge in charges), Fraction(0)) == budget and metered.is_within(budget, delta)):
        message = f"{method} drew other noise than it was charged for. Nothing was released."
        raise InternalError(message)
    return Release(declared, budget, method, body, options, delta=delta)


class _Metered:
    """A source that remembers what was drawn: every call queries disjoint parts, so calls add up."""

    def __init__(self, source: NoiseSource) -> None:
        self.source, self.laws = source, list[Law]()

    def noisy(self, numbers: Ints, law: Law) -> Ints:
        """Return the numbers with noise."""
        self.laws.append(law)
        return self.source.noisy(numbers, law)

    def is_within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether what was drawn costs exactly epsilon, or with a delta at most both."""
        pure = [law.epsilon / law.sensitivity for law in self.laws if isinstance(law, Laplace)]
        if delta:
            return 0 < sum((law.rho for law in self.laws), Fraction(0)) <= largest_rho(epsilon, delta)
        return len(pure) == len(self.laws) and sum(pure, Fraction(0)) == epsilon

    def draws(self, count: int, scale: float) -> Ints:
        """Return noise alone."""
        return self.source.draws(count, scale)


@dataclass(frozen=True, eq=False)
class Release:
    """Noisy counts of one table, with everything needed to read them, and no other information about anybody."""

    service: Service
    epsilon: Fraction
    method: str
    body: Body
    options: Mapping[str, Any] = field(default_factory=dict)
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    delta: Fraction = Fraction(0)

    @property
    def guarantee(self) -> str:
        """The guarantee to the people in the table."""
        epsilon, delta, beyond = decimal_text(self.epsilon), float(self.delta), ""
        stated = f"{epsilon}-differential privacy for one record per person"
        if self.delta:
            rho = float(largest_rho(self.epsilon, self.delta))
            stated = f"({epsilon}, {delta:.3g})-differential privacy for one record per person, from {rho:.4g}-zCDP"
            beyond = f", plus at most {delta:.3g}"
        return (
            f"{stated}: adding or removing one person changes the probability of any content of this file by a factor "
            f"of at most {math.exp(float(self.epsilon)):.4g}{beyond}."
        )

    @one_thread
    def sql(self, text: str, *, confidence: float = 0.95, simultaneous: bool = False) -> Answer:
        """Answer a question: every aggregate is an estimate with an error; asking costs nothing.

        Parameters
        ----------
        text : str
            One SELECT over the service, perhaps joined with public tables (`with_table`).
        confidence : float
            Level of the intervals.
        simultaneous : bool
            Whether all intervals of the answer hold together at the confidence (Bonferroni).
        """
        options = Options(confidence, simultaneous=simultaneous)
        return ask(self.body, self.service, self.dimensions, text, options)

    def with_table(self, name: str, table: Any, *, key: str) -> Release:
        """Return the release with a public table, which questions join on an attribute that holds its key."""
        check_name("table", name)
        if name.lower() == self.service.name.lower():
            message = f"{name!r} is the name of the released table. Choose another one."
            raise UsageError(message, code="bad-option")
        dimension = Dimension.of(name, as_arrow(name, table), key)
        dimensions = {**self.dimensions, name.lower(): dimension}
        return replace(self, dimensions=dimensions)

    @one_thread
    def synthesize(self, rows: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Return synthetic rows with about the released distribution; by default as many as there are people, about.

        Parameters
        ----------
        rows : int, optional
            How many.
        seed : int, optional
            Makes the rows reproducible; sampling costs no privacy, so any source will do.
        """
        return synthetic_rows(self.body, self.service, rows, seed)

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        version = {"tacit": WITH_DELTA, "delta": decimal_text(self.delta)} if self.delta else {"tacit": VERSION}
        return version | {
            "guarantee": self.guarantee,
            "epsilon": decimal_text(self.epsilon),
            "neighbours": "one record more or less; one record per person",
            "noise": f"discrete {'Gaussian' if self.delta else 'Laplace'}, OpenDP {_library()}",
            "method": self.method,
            "options": {name: str(value) if name == "delta" else value for name, value in self.options.items()},
            "service": service_data(self.service),
            "shape": self.body.kind,
            "reading": self.body.facts(),
        }

    @property
    def id(self) -> str:
        """SHA-256 of everything in the release."""
        return _hash(self._metadata, self.body.columns())

    def save(self, path: str | Path) -> None:
        """Write the release as one Parquet file with the guarantee in its metadata; never overwrite a file."""
        columns = self.body.columns()
        text = json.dumps(self._metadata | {"id": self.id}, sort_keys=True)
        try:
            with Path(path).open("xb") as file:
                pa.parquet.write_table(columns.replace_schema_metadata({KEY: text.encode()}), file, compression="zstd")
        except OSError as cause:
            why = (
                "exists already"
                if isinstance(cause, FileExistsError)
                else f"cannot be written ({type(cause).__name__})"
            )
            message = f"{Path(path).name} {why}. A release is written once, to a new file."
            raise UsageError(message, code="unwritable-file") from None

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release; refuse a changed file."""
        name = Path(path).name
        try:
            table = pa.parquet.read_table(path)
            metadata = json.loads((table.schema.metadata or {}).get(KEY, b"null"))
        except (OSError, ValueError, RecursionError, pa.ArrowException) as cause:
            message = f"{name} cannot be read ({type(cause).__name__}). Name a saved release."
            raise ContractError(message, code="unreadable-file") from None
        if not isinstance(metadata, dict) or metadata.get("tacit") not in (VERSION, WITH_DELTA):
            message = f"{name} is not a release, or has an unsupported version."
            raise ContractError(message, code="release-version")
        stated = metadata.pop("id", None)
        if stated != _hash(metadata, table):
            message = f"{name} was changed after it was saved. Get it again from its publisher."
            raise ContractError(message, code="release-damaged")
        try:
            service = read_service(metadata["service"])
            sizes = tuple(attribute.size for attribute in service.sensitive)
            body = BODIES[metadata["shape"]].of_file(sizes, metadata["reading"], table)
            epsilon, delta = parse_epsilon(metadata["epsilon"]), read_fraction(metadata.get("delta", "0"))
            loaded = cls(service, epsilon, metadata["method"], body, metadata["options"], delta=delta)
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError, TacitError):
            message = f"{name} is inconsistent. Get it again from its publisher."
            raise ContractError(message, code="release-damaged") from None
        object.__setattr__(
            loaded, "_metadata", metadata
        )  # as written, possibly by another version of the noise library
        return loaded

    def __str__(self) -> str:
        names = " × ".join(f"{attribute.name} ({attribute.size})" for attribute in self.service.sensitive)
        return f"release of {self.service.name}: {names}\nmethod {self.method}, {self.guarantee}"


def _library() -> str:
    try:
        return version("opendp")
    except PackageNotFoundError:
        return "(not installed)"


def _hash(metadata: Mapping[str, Any], columns: pa.Table) -> str:
    """Return the SHA-256 of metadata and numbers, whatever the file's compression and chunks."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in columns.column_names:
        column = columns.column(name)
        digest.update(f"{name} {column.type} {len(column)} ".encode())
        digest.update(column.to_numpy().tobytes())
    return digest.hexdigest()
