"""Collections, their reports, and questions about them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tacit.answer import Answer, Estimate
from tacit.collection import Collection
from tacit.contract import ServiceContract
from tacit.decode.decoder import Decoder, DecoderName
from tacit.decode.functional import Functional, Vector
from tacit.engines.duckdb import DuckDB
from tacit.errors import BindError, ReportError, UnknownNameError, UsageError
from tacit.schema import Categorical, Ordinal, Public
from tacit.sql.aggregates import Dual, Formula, Total, formula
from tacit.sql.parse import parse, span_of
from tacit.sql.plan import Plan, Planner
from tacit.sql.predicates import Scope, condition
from tacit.sql.vectors import Sensitive, null_vector

__all__ = ["Database", "Loaded", "connect"]

MAX_GROUPS = 10_000
"""Groups of sensitive values in one answer."""

GROUPS_AT_ONCE = 16
"""Sensitive groups per statement: each adds a few columns to the contribution table."""

FEW_REPORTS = 30
"""Effective reports below which an answer warns."""


@dataclass(frozen=True)
class Loaded:
    """What became of reports: stored, and refused because their people had reported already."""

    stored: int
    refused: int


def connect(path: str | Path | None = None) -> Database:
    """Open a database file, or one in memory."""
    return Database(DuckDB(path))


class Database:
    """Reports of any number of collections, and SQL over them."""

    def __init__(self, engine: DuckDB) -> None:
        self._engine = engine
        self._collections: dict[str, Collection] = {}
        for text in engine.contracts():
            collection = Collection.from_json(text)
            self._collections[collection.id] = collection

    def create(self, collection: Collection) -> None:
        """Add a collection; adding it again changes nothing."""
        if collection.id not in self._collections:
            self._engine.add_contract(collection.id, collection.to_json())
            self._collections[collection.id] = collection

    def close(self) -> None:
        """Close the database."""
        self._engine.close()

    def load(self, reports: dict[str, pa.Table]) -> dict[str, Loaded]:
        """Store encoded reports, as `Collection.encode` returns them; a person's second report is refused."""
        checked = [self._check(name, table) for name, table in reports.items()]
        loaded = {}
        for name, table, collection in checked:
            service = collection.contract[name].service
            refused = self._engine.append(_table(collection, name), service, table)
            loaded[name] = Loaded(table.num_rows - refused, refused)
        return loaded

    def _check(self, name: str, table: pa.Table) -> tuple[str, pa.Table, Collection]:
        metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
        collection = self._collections.get(metadata.get(b"tacit.collection", b"").decode())
        if collection is None:
            message = f"The reports of {name!r} belong to no collection of this database. Create it first."
            raise ReportError(message, code="unknown-collection")
        compiled = collection.contract[name]
        service = compiled.service
        expected = [service.key, "slot", "channel", "code", *(attribute.name for attribute in service.public)]
        if table.column_names != expected:
            message = f"Reports of {name!r} must have the columns {', '.join(expected)}."
            raise ReportError(message, code="wrong-columns")
        alphabets = np.array([channel.alphabet for channel in compiled.channels])
        channel, code, slot = (np.asarray(table[word]) for word in ("channel", "code", "slot"))
        known = (channel >= 0) & (channel < len(alphabets)) & (slot >= 0) & (slot < service.sends)
        if not known.all() or not ((code >= 0) & (code < alphabets[channel])).all():
            message = f"A report of {name!r} has a slot, channel or code that the collection does not know."
            raise ReportError(message, code="unknown-code")
        return name, table, collection

    def sql(self, text: str, *, confidence: float = 0.95, decoder: DecoderName = "blue") -> Answer:
        """Answer a question: every aggregate is an estimate with an error."""
        if not 0 < confidence < 1:
            message = f"confidence is {confidence!r}; it must lie between 0 and 1, such as 0.95."
            raise UsageError(message, code="bad-option")
        if decoder not in ("blue", "cover", "rdc"):
            raise UnknownNameError("decoder", str(decoder), ["blue", "cover", "rdc"])
        return _Question(self, parse(text), text, confidence, decoder).answer()

    def find(self, name: str) -> Collection:
        """Return the newest collection that has a service of this name."""
        for collection in reversed(self._collections.values()):
            if any(service.name.lower() == name.lower() for service in collection.schema.services):
                return collection
        known = sorted({service.name for item in self._collections.values() for service in item.schema.services})
        raise UnknownNameError("service", name, known, code="unknown-table")


def _table(collection: Collection, service: str) -> str:
    return f"reports_{collection.id[:16]}_{service}"


class _Question:
    """One question on its way to an answer."""

    def __init__(
        self, database: Database, statement: exp.Select, text: str, confidence: float, decoder: DecoderName
    ) -> None:
        self.engine, self.statement, self.text, self.confidence = database._engine, statement, text, confidence  # noqa: SLF001
        source = statement.args.get("from_")
        if source is None or not isinstance(source.this, exp.Table) or source.this.args.get("joins"):
            message = "A question needs FROM and the name of one service."
            raise BindError(message, code="unknown-table", text=text)
        collection = database.find(source.this.name)
        self.service: ServiceContract = next(
            item for item in collection.contract.services if item.service.name.lower() == source.this.name.lower()
        )
        self.scope = Scope(self.service.service, text)
        self.table = _table(collection, self.service.service.name)
        self.decoder = Decoder(self.service, decoder)
        self.plans: list[str] = []

    def answer(self) -> Answer:
        scope, statement = self.scope, self.statement
        where_node = statement.args.get("where")
        where, public_where = condition(scope, where_node.this if where_node else None)
        sensitive, public = self._groups()
        outputs = [self._output(node, sensitive, public) for node in statement.expressions]
        names = [name for name, _ in outputs]
        groups = list(itertools.product(*(range(attribute.size) for attribute in sensitive)))
        if len(groups) > MAX_GROUPS:
            message = f"{len(groups)} groups; at most {MAX_GROUPS}. Group by fewer or coarser attributes."
            raise UsageError(message, code="too-many-groups")
        rows: list[tuple[tuple[Any, ...], list[Any]]] = []
        for start in range(0, len(groups), GROUPS_AT_ONCE):
            rows += self._run(groups[start : start + GROUPS_AT_ONCE], outputs, where, public_where, sensitive, public)
        rows.sort(key=lambda row: tuple((value is None, value) for value in row[0]))
        cells = [row for _, row in rows]
        notes = self._notes(cells)
        if statement.args.get("order") or statement.args.get("limit"):
            cells = self._selected(cells, names)
            notes.append("rows were ordered or cut by estimates: extremes look more extreme than they are")
        return Answer(names, cells, notes=notes, plan="\n".join(self.plans))

    def _selected(self, rows: list[list[Any]], names: list[str]) -> list[list[Any]]:
        """Apply ORDER BY and LIMIT to the estimates."""
        order, limit = self.statement.args.get("order"), self.statement.args.get("limit")
        for item in reversed(order.expressions if order else []):
            node, known = item.this, [name.lower() for name in names]
            is_place = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()
            place = (
                int(node.this) - 1 if is_place else known.index(node.name.lower()) if node.name.lower() in known else -1
            )
            if not 0 <= place < len(names):
                message = "ORDER BY takes the name or the position of an output column."
                raise self.scope.unsupported(message, node, "unsupported-order")
            rows = sorted(rows, key=lambda row: _sort_key(row[place]), reverse=bool(item.args.get("desc")))
        if limit is not None:
            count = limit.expression
            if not isinstance(count, exp.Literal) or not str(count.this).isdigit() or len(str(count.this)) > 9:
                message = "LIMIT takes a whole number."
                raise self.scope.unsupported(message, limit, "unsupported-limit")
            rows = rows[: int(count.this)]
        return rows

    def _groups(self) -> tuple[list[Sensitive], list[Public]]:
        group = self.statement.args.get("group")
        found = []
        for node in group.expressions if group else []:
            if not isinstance(node, exp.Column):
                message = "GROUP BY takes columns. Name the columns to group by."
                raise self.scope.unsupported(message, node, "unsupported-group")
            found.append(self.scope.attribute(node))
        return [a for a in found if not isinstance(a, Public)], [a for a in found if isinstance(a, Public)]

    def _output(self, node: exp.Expr, sensitive: list[Sensitive], public: list[Public]) -> tuple[str, Any]:
        """Return an output column's name, and the attribute it shows or the expression it computes."""
        inner = node.this if isinstance(node, exp.Alias) else node
        name = node.alias if isinstance(node, exp.Alias) else inner.sql(dialect="duckdb")
        if isinstance(inner, exp.Column):
            attribute = self.scope.attribute(inner)
            if attribute not in (*sensitive, *public):
                message = f"{attribute.name} is neither in GROUP BY nor in an aggregate. Add it to GROUP BY."
                raise BindError(message, code="not-grouped", text=self.text, span=span_of(inner))
            return name, attribute
        formula(self.scope, inner, Functional.constant(self.scope.sizes))  # refuse what cannot be before anything runs
        return name, inner

    def _run(
        self, groups: Any, outputs: Any, where: Functional, public_where: Any, sensitive: Any, public: Any
    ) -> list[tuple[tuple[Any, ...], list[Any]]]:
        names = [attribute.name for attribute in self.service.service.public]
        plan = Plan(self.service, self.table, where=public_where, groups=[a.name for a in public], publics=names)
        planner = Planner(self.decoder, plan)
        formulas: list[list[Formula | None]] = []
        spots: list[list[list[int]]] = []
        for group in groups:
            held = where
            for attribute, index in zip(sensitive, group, strict=True):
                vector = np.zeros(attribute.size)
                vector[index] = 1
                held = held * self.scope.functional(attribute, vector)
            made = [formula(self.scope, o, held) if isinstance(o, exp.Expr) else None for _, o in outputs]
            formulas.append(made)
            spots.append([[planner.measure(total) for total in f.totals] if f else [] for f in made])
        moments = self._moments(planner, formulas, spots)
        if not self.engine.has_table(self.table):
            message = f"No reports of {self.service.service.name!r} are loaded. Load some first."
            raise ReportError(message, code="no-reports")
        occurring = {channel: self.engine.codes(self.table, channel) for channel in plan.large_channels()}
        statement = plan.statement()
        self.plans.append(statement)
        fetched = self.engine.fetch(statement, plan.parameters, plan.contributions(occurring))
        found = []
        for record in fetched:
            keys, sums = record[: len(public)], record[len(public) :]
            if sums[0] == 0:
                continue
            for group, made, places in zip(groups, formulas, spots, strict=True):
                shown = _values(sensitive, group)
                known = dict(zip([*sensitive, *public], [*shown, *keys], strict=True))
                cells = [
                    known[output] if f is None else self._estimate(f, place, _Sums(sums, plan, moments))
                    for (_, output), f, place in zip(outputs, made, places, strict=True)
                ]
                found.append(((*keys, *group), cells))
        return found

    def _moments(
        self, planner: Planner, formulas: list[list[Formula | None]], spots: list[list[list[int]]]
    ) -> dict[tuple[int, int], int]:
        """Plan the totals of products, from which errors follow; return the measure of each pair."""
        needed: dict[tuple[int, int], int] = {}
        for made, places in zip(formulas, spots, strict=True):
            for f, place in zip(made, places, strict=True):
                for (i, left), (j, right) in itertools.product(enumerate(place), repeat=2):
                    if f is not None and left <= right and (left, right) not in needed:
                        product: Total = f.totals[i].times(f.totals[j])
                        needed[left, right] = planner.measure(product)
        planner.plan.pairs = sorted(needed)
        return needed

    def _estimate(self, made: Formula, place: list[int], sums: _Sums) -> Estimate:
        size = len(place)
        duals = [Dual(sums.measures[index], np.eye(size)[k]) for k, index in enumerate(place)]
        result = made.evaluate(duals)
        variance = float(result.gradient @ sums.covariance(place) @ result.gradient) if size else 0.0
        error = math.nan if math.isnan(variance) else math.sqrt(max(0.0, variance))
        return Estimate(result.value, error, sums.count, self.confidence, max(1.0, sums.effective(place) - 1))

    def _notes(self, rows: list[list[Any]]) -> list[str]:
        notes = []
        estimates = [cell for row in rows for cell in row if isinstance(cell, Estimate)]
        if any(estimate.freedom < FEW_REPORTS - 1 and estimate.error > 0 for estimate in estimates):
            notes.append("fewer than 30 reports really count in some estimates; their intervals are wide")
        coarse = [a.name for a in self.service.service.sensitive if isinstance(a, Ordinal) and a.values < a.ticks]
        asked = {column.name.lower() for column in self.statement.find_all(exp.Column)}
        for name in coarse:
            if name.lower() in asked:
                notes.append(f"{name} was collected in coarser cells: conditions on it are blurred by a cell")
        return notes


def _sort_key(cell: Any) -> tuple[bool, Any]:
    value = cell.value if isinstance(cell, Estimate) else cell
    undefined = value is None or (isinstance(value, float) and math.isnan(value))
    return undefined, 0 if undefined else value


class _Sums:
    """One fetched row: people, measures, products of measures, and fourth powers."""

    def __init__(self, row: Any, plan: Plan, moments: dict[tuple[int, int], int]) -> None:
        numbers = [float(value or 0) for value in row]
        cut = 1 + len(plan.measures)
        self.count, self.measures, self.moments = int(numbers[0]), numbers[1:cut], moments
        self.products = dict(zip(plan.pairs, numbers[cut : cut + len(plan.pairs)], strict=True))
        self.fourths = dict(zip(sorted({i for i, _ in plan.pairs}), numbers[cut + len(plan.pairs) :], strict=True))

    def covariance(self, place: list[int]) -> Vector:
        """Return the covariance of totals: products of contributions, less the contributions of the product.

        Where that estimate of a variance is negative, the larger one without correction stands in.
        """
        result = np.zeros((len(place), len(place)))
        for a, b in itertools.product(range(len(place)), repeat=2):
            pair = (min(place[a], place[b]), max(place[a], place[b]))
            result[a, b] = self.products[pair] - self.measures[self.moments[pair]]
            if a == b and result[a, a] < 0:
                result[a, a] = max(0.0, self.products[pair] - self.measures[place[a]] ** 2 / self.count)
        return result

    def effective(self, place: list[int]) -> float:
        """Return how many reports the totals really rest on."""
        return min((self.products[i, i] ** 2 / self.fourths[i] for i in place if self.fourths[i]), default=math.inf)


def _values(attributes: list[Sensitive], group: tuple[int, ...]) -> list[Any]:
    """Return how a group's values are shown."""
    shown: list[Any] = []
    for attribute, index in zip(attributes, group, strict=True):
        if null_vector(attribute)[index]:
            shown.append(None)
        elif isinstance(attribute, Categorical):
            shown.append(attribute.values[index])
        else:
            shown.append(_number(attribute, index))
    return shown


def _number(attribute: Ordinal, index: int) -> Any:
    value = attribute.start + attribute.unit * index
    if attribute.values < attribute.ticks:
        value = attribute.start + attribute.unit * (index * (attribute.ticks - 1)) / (attribute.values - 1)
    return int(value) if value.denominator == 1 else float(value)
