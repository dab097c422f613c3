"""What a database fits to its reports, whose modules are loaded with the first such question: most ask for none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.engines.base import Engine
from tacit.estimate.answer import Answer, Options

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.answers.question import Question
    from tacit.answers.synthetic import Types
    from tacit.contract.schema import Service
    from tacit.model.questions import ReportCatalog, Tables
    from tacit.model.stored import Models
    from tacit.model.synthesis import Progress

__all__ = ["Fitting"]

R = TypeVar("R")


class Fitting:
    """The models of a database's reports, and what is computed from them."""

    def __init__(self, engine: Engine, catalog: ReportCatalog) -> None:
        self._engine, self._catalog = engine, catalog

    @cached_property
    def _models(self) -> Models:
        from tacit.model.stored import Models

        return Models(self._engine)

    @cached_property
    def tables(self) -> Tables:
        """Marginals and synthetic rows."""
        from tacit.model.questions import Tables

        return Tables(self._models, self._catalog)

    def answer(self, question: Question[Any], options: Options, *, explain: bool) -> Answer:
        """Answer a question from models, or explain how."""
        from tacit.answers.fitted import run_consistent

        return run_consistent(question.bound, question.people, self._models, options, explain=explain)

    def synthetic_people(
        self,
        ask: Callable[[str], Question[R]],
        services: Sequence[Service],
        people: int,
        seed: int | None,
        types: Types,
        progress: Progress | None,
    ) -> tuple[dict[str, pa.Table], list[R]]:
        """Return the rows of synthetic people in each service, and the rounds they come from."""
        from tacit.answers.synthetic import synthetic_people

        return synthetic_people(ask, self._models, services, people, seed, types, progress)
