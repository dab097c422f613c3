"""Prepared statements: types of their parameters, columns of their results, and how to run them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from tacit.adapters.pgwire.catalog.facts import type_of_oid
from tacit.adapters.pgwire.catalog.prepare import prepare
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.copying import Copying, read_copy
from tacit.adapters.pgwire.questions import (
    MOST_PARAMETERS,
    PARTS,
    AnswerColumn,
    ParameterizedQuestion,
    columns_alone,
    read_question,
    sent_columns,
)
from tacit.adapters.pgwire.settings import PgSession, options_of, with_intervals
from tacit.adapters.pgwire.statements import ClientStatement, classify
from tacit.adapters.pgwire.values import type_of_value
from tacit.errors import InternalError, ParseError, QueryError, TacitError, UnknownNameError, UnsupportedSqlError
from tacit.estimate.answer import Answer
from tacit.sql.columns import Shape

__all__ = ["AnswerSource", "Columns", "Portal", "Ready", "Result", "make_ready", "place_of"]

Columns = tuple[tuple[str, str], ...]
"""Names and types."""

T = TypeVar("T")


class AnswerSource(Protocol):
    """The source of answers for one client."""

    async def tables(self) -> Sequence[Shape]:
        """Return the tables."""

    async def compute(self, work: Callable[[], T]) -> T:
        """Run work on the catalog."""

    async def columns(self, question: ParameterizedQuestion) -> Sequence[AnswerColumn]:
        """Return the columns of a question."""

    async def ask(self, text: str, parameters: Sequence[Any], options: dict[str, Any]) -> Answer:
        """Answer a question."""


@dataclass(frozen=True)
class Result:
    """Columns, if any, rows, the command tag, and notes."""

    tag: str
    columns: Columns | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    notes: tuple[str, ...] = ()
    copying: Copying | None = None
    """How rows are copied, if they are."""


@dataclass(frozen=True)
class Ready:
    """A prepared statement."""

    statement: ClientStatement
    parameters: tuple[str, ...] = ()
    columns: Columns | None = None
    run: Callable[[Sequence[Any]], Awaitable[Result]] = field(repr=False, default=None)  # type: ignore[assignment]


@dataclass
class Portal:
    """A statement with its values and results."""

    ready: Ready
    values: Sequence[Any]
    formats: Sequence[int]
    result: Result | None = None
    at: int = 0
    is_held: bool = False
    """Whether it outlives the transaction."""


async def make_ready(
    text: str, offset: int, types: Sequence[int], asking: AnswerSource, session: PgSession, database: str
) -> Ready:
    """Prepare a statement; ``types`` are the parameter types that the client declares."""
    shapes = await asking.tables()
    statement = await asking.compute(lambda: classify(text, offset, {shape.name.lower() for shape in shapes}))
    if session.state == "E" and not (
        statement.kind == "command" and statement.word in ("ROLLBACK", "COMMIT", "END", "ABORT")
    ):
        message = "The transaction has failed. Send ROLLBACK first."
        raise UnsupportedSqlError(message, code="failed-transaction")
    if statement.kind == "empty":
        return Ready(statement, run=lambda _: _wrap(Result("")))
    if statement.kind == "command":
        return _command(statement, session)
    if statement.kind == "cursor":
        return Ready(statement)  # the connection has the portals
    if statement.kind == "copy":
        copied, copying = read_copy(text)
        return _copy_question(await make_ready(copied, offset, (), asking, session, database), copying)
    if statement.kind == "catalog":
        if session.catalog is None or session.catalog.shapes != tuple(shapes):
            session.catalog = PgCatalog(shapes, session.user, database, session.values)
        return await _catalog(statement, types, asking, session.catalog)
    if (shown := columns_alone(statement.node, shapes)) is not None:
        return Ready(statement, (), shown, lambda _: _wrap(Result("SELECT 0", shown)))
    question = read_question(text, shapes, types, database)
    described = await asking.columns(question)
    order = sent_columns(described, with_intervals=with_intervals(session.values))

    async def run(values: Sequence[Any]) -> Result:
        answer = await asking.ask(question.text, question.values(values), options_of(session.values))
        return _result(answer, described, order)

    return Ready(statement, question.types, _shown_columns(described, order), run)


async def _wrap(result: Result) -> Result:
    return result


def _copy_question(ready: Ready, copying: Copying) -> Ready:
    """Return a question whose rows are copied; nothing describes them before."""
    if ready.parameters or ready.columns is None or ready.statement.kind not in ("question", "catalog"):
        message = "COPY takes a SELECT without parameters."
        raise ParseError(message, code="wrong-parameters")

    async def run(values: Sequence[Any]) -> Result:
        result = await ready.run(values)
        return replace(result, tag=f"COPY {len(result.rows)}", copying=copying)

    return Ready(ready.statement, (), None, run)


def _command(statement: ClientStatement, session: PgSession) -> Ready:
    columns = (
        session.show(statement.text.rstrip("; \n").split(None, 1)[1]).columns if statement.word == "SHOW" else None
    )

    async def run(_: Sequence[Any]) -> Result:
        outcome = session.run(statement)
        return Result(outcome.tag, outcome.columns, outcome.rows)

    return Ready(statement, (), columns, run)


async def _catalog(statement: ClientStatement, types: Sequence[int], asking: AnswerSource, catalog: PgCatalog) -> Ready:
    node = statement.node
    if node is None:
        message = "A question about the catalog was not parsed."
        raise InternalError(message)
    numbers = [
        int(parameter.this.name) for parameter in node.find_all(exp.Parameter) if str(parameter.this.name).isdigit()
    ]
    count = max([len(types), *numbers])
    if count > MOST_PARAMETERS:
        message = f"A question has at most {MOST_PARAMETERS} parameters."
        raise ParseError(message, code="wrong-parameters")
    kinds = [(type_of_oid(types[place]) if place < len(types) else None) or "unknown" for place in range(count)]
    described = await asking.compute(lambda: prepare(node, catalog, None, kinds))

    async def run(values: Sequence[Any]) -> Result:
        relation = await asking.compute(lambda: prepare(node, catalog, values, parameters).run())
        return Result(f"SELECT {len(relation.rows)}", columns, relation.rows)

    columns, parameters = tuple(zip(described.names, described.types, strict=True)), described.parameters
    return Ready(statement, parameters, columns, run)


def _shown_columns(described: Sequence[AnswerColumn], order: Sequence[int]) -> Columns:
    return tuple((described[place].name, described[place].type) for place in order)


def _result(answer: Answer, described: Sequence[AnswerColumn], order: Sequence[int]) -> Result:
    """Return an answer as rows in which an estimate ``x`` is x, and x_error, x_low and x_high after what is listed."""
    if sum(len(PARTS) if name in answer.estimates else 1 for name in answer.columns) != len(described):
        message = "A question returned other columns than it was described with."
        raise InternalError(message)
    rows = []
    for row in answer.rows:
        cells = _cells(answer, row)
        rows.append(tuple(_fit_type(cells[place], described[place].type) for place in order))
    return Result(f"SELECT {len(rows)}", _shown_columns(described, order), rows, answer.notes)


def _cells(answer: Answer, row: Sequence[Any]) -> list[Any]:
    cells: list[Any] = []
    for name, cell in zip(answer.columns, row, strict=True):
        if name in answer.estimates:
            cells += [None] * len(PARTS) if math.isnan(cell.value) else [cell.value, cell.error, cell.low, cell.high]
        else:
            cells.append(cell)
    return cells


def _fit_type(cell: Any, kind: str) -> Any:
    """Convert a value to the announced type without changing it."""
    if cell is None or type_of_value(cell) == kind:
        return cell
    if kind == "text":
        return str(cell)
    if kind == "float8" and isinstance(cell, int):
        return float(cell)
    message = f"A column that was announced as {kind} has values of another type."
    raise InternalError(message)


def place_of(failure: TacitError, text: str, offset: int) -> int | None:
    """Return the position of an error in the client's text, counted from 1."""
    if isinstance(failure, QueryError) and failure.span is not None:
        return offset + failure.span[0] + 1
    if isinstance(failure, UnknownNameError) and failure.name:
        at = text.lower().find(failure.name.lower())
        return offset + at + 1 if at >= 0 else None
    return offset + 1 if isinstance(failure, ParseError) and offset else None
