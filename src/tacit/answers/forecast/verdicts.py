"""Verdicts on questions: the expected error of each, a plain verdict, and what would help.

An answer is *good* if its 95 % interval is within a tenth of the value on either side, *rough* within three tenths, and
*too noisy* beyond. For a question with groups, the group with the median relative error decides.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

from tacit.answers.forecast.drafts import draft_contract
from tacit.answers.forecast.expectation import predict
from tacit.answers.forecast.population import Frequencies
from tacit.contract.budget import decimal_text
from tacit.contract.contract import Contract
from tacit.contract.schema import Schema, Service
from tacit.errors import TacitError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import Decoder
from tacit.estimate.estimate import Estimate
from tacit.estimate.verdict_chart import Bar, verdict_picture
from tacit.tables.numbers import number_text

__all__ = ["Forecast", "Planned", "QuestionVerdict", "forecast_questions", "verdict_of"]

GOOD, ROUGH = 0.1, 0.3
"""Half widths of intervals, relative to the value, up to which an answer is good or rough."""

PEOPLE_FACTORS = (10, 100)
BUDGET_FACTORS = (2, 4)
"""Factors of people and of the budget that are tried, smallest first."""

WITHIN_REACH = 4
"""Excess width of an interval up to which half the attributes are tried; up to twice that, a larger budget is tried."""

MOST_GROUPS = 8
"""Maximum groups of a question that are predicted: enough to see a typical one, without predicting thousands."""


class Planned(Protocol):
    """A collection that can be compiled with another budget."""

    @property
    def contract(self) -> Contract:
        """The compiled contract."""

    def with_epsilon(self, epsilon: Fraction) -> Planned:
        """Return the same collection with another budget."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class QuestionVerdict:
    """The expectation for one question: the typical estimate, in words, and what would make it good."""

    question: str
    word: str
    shown: str = ""
    relative: float = math.nan
    groups: int = 1
    good_groups: int = 0
    advice: tuple[str, ...] = ()
    why: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        if self.why:
            return f"{self.word}: {self.why}"
        typical = f", typical of {self.groups} groups, {self.good_groups} of them good" if self.groups > 1 else ""
        near = f" (± {_percent(self.relative)}{typical})" if math.isfinite(self.relative) else typical
        return ". ".join([f"{self.shown}{near}: {self.word}", *self.advice])

    def to_data(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        relative = self.relative if math.isfinite(self.relative) else None
        names = {"question": self.question, "verdict": self.word, "expected": self.shown, "relative": relative}
        return names | {"groups": self.groups, "advice": list(self.advice), "why": self.why}


class Forecast:
    """Verdicts on questions, as a text, a table and a chart."""

    def __init__(self, people: int, epsilon: Fraction, verdicts: Sequence[QuestionVerdict]) -> None:
        self.people, self.epsilon, self.verdicts = people, epsilon, tuple(verdicts)

    @property
    def title(self) -> str:
        """The title: people, budget and confidence."""
        return f"{self.people:,} people, epsilon {decimal_text(self.epsilon)}: what to expect, at 95 % confidence"

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Any:
        return iter(self.verdicts)

    def __str__(self) -> str:
        lines = [self.title]
        for number, verdict in enumerate(self.verdicts, 1):
            lines += [f"{number:>3}  {verdict.question}", f"     {verdict.sentence}"]
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, *, path: Any = None) -> str:
        """Draw the widths of the intervals, relative to the values; ``path`` also writes the chart to a file."""
        bars = [Bar(verdict.question, verdict.relative, verdict.word) for verdict in self.verdicts]
        return verdict_picture(self.title, bars, (GOOD, ROUGH), path)

    def _repr_html_(self) -> str:
        return self.plot()

    def to_json(self) -> str:
        """Return the verdicts as JSON."""
        data = {"people": self.people, "epsilon": decimal_text(self.epsilon)}
        return json.dumps(data | {"questions": [verdict.to_data() for verdict in self.verdicts]}, indent=1)


def forecast_questions(
    planned: Planned, questions: Iterable[str], *, users: int, like: Mapping[str, Frequencies] | None
) -> Forecast:
    """Return the verdicts on questions, with advice for those that are not good."""
    trials = _Trials(planned, users, like)
    return Forecast(users, planned.contract.epsilon, [trials.verdict(question) for question in questions])


def verdict_of(question: str, answer: Answer) -> QuestionVerdict:
    """Return the verdict on an expected answer, without advice."""
    cells = [cell for row in answer.rows for cell in row if isinstance(cell, Estimate)]
    known = sorted((cell for cell in cells if not math.isnan(cell.value)), key=_relative)
    if not known:
        return QuestionVerdict(question, "not predictable", why="no estimate has an expected value")
    typical = known[len(known) // 2]
    relative = _relative(typical)
    good = sum(_relative(cell) <= GOOD for cell in known)
    return QuestionVerdict(question, _word(relative), f"expect {typical}", relative, len(known), good)


def _word(relative: float) -> str:
    return "good" if relative <= GOOD else "rough" if relative <= ROUGH else "too noisy"


def _relative(cell: Estimate) -> float:
    return 0.0 if cell.margin == 0 else cell.margin / abs(cell.value) if cell.value else math.inf


class _Trials:
    """The same questions for variants of the collection, each drafted once."""

    def __init__(self, planned: Planned, users: int, like: Mapping[str, Frequencies] | None) -> None:
        self._contract, self._users, self._like = planned.contract, users, like
        self._compiled: dict[object, Contract | None] = {}
        self._decoders: dict[int, dict[str, Decoder]] = {}

    def verdict(self, question: str) -> QuestionVerdict:
        """Return the verdict on a question, and what would help."""
        try:
            expected = self._expect(question, self._contract)
        except TacitError as error:
            return QuestionVerdict(question, "not predictable", why=error.message)
        if expected.word == "good" or expected.why:
            return expected
        tried = [
            *self._fewer(question, expected),
            *self._more_people(expected),
            *self._more_budget(question, expected),
        ]
        good = [f"{change} (± {_percent(verdict.relative)})" for change, verdict in tried if verdict.word == "good"]
        best = min(tried, key=lambda item: item[1].relative, default=None)
        if good:
            advice = f"Good with {', or '.join(good)}"
        elif best and best[1].relative < expected.relative:
            instead = "ask about fewer groups" if expected.groups > 1 else "ask more people, or about coarser values"
            advice = f"Even with {best[0]} ± {_percent(best[1].relative)} ({best[1].word}); {instead}"
        else:
            advice = "Ask about larger groups or coarser values"
        return replace(expected, advice=(advice,))

    def _expect(self, question: str, contract: Contract) -> QuestionVerdict:
        names = [service.name for service in contract.schema.services]
        like = None if self._like is None else {name: self._like[name] for name in names if name in self._like}
        answer = predict(
            contract,
            question,
            users=self._users,
            like=like,
            options=Options(),
            most_groups=MOST_GROUPS,
            decoders=self._decoders.setdefault(id(contract), {}),
        )
        return verdict_of(question, answer)

    def _try(self, question: str, contract: Contract | None) -> QuestionVerdict | None:
        try:
            return None if contract is None else self._expect(question, contract)
        except TacitError:
            return None

    def _compile(self, key: object, make: Callable[[], Contract]) -> Contract | None:
        if key not in self._compiled:
            try:
                self._compiled[key] = make()
            except TacitError:  # it does not fit in a contract
                self._compiled[key] = None
        return self._compiled[key]

    def _fewer(self, question: str, expected: QuestionVerdict) -> Iterator[tuple[str, QuestionVerdict]]:
        """Yield the effect of leaving out attributes: half of those that the question does not use, or all of them."""
        schema = self._contract.schema
        words = {word.lower() for word in re.findall(r"\w+", question)}
        mentioned = [service for service in schema.services if service.name.lower() in words]
        used = {(service.name, a.name) for service in mentioned for a in service.sensitive if a.name.lower() in words}
        spare = [(s.name, a.name) for s in schema.services for a in s.sensitive if (s.name, a.name) not in used]
        halves = [spare[len(spare) // 2 :]] if expected.relative <= WITHIN_REACH * GOOD else []
        for dropped in [*halves, spare] if used else []:
            make = partial(draft_contract, self._contract, schema=_without(schema, dropped))
            other = self._try(question, self._compile(tuple(dropped), make)) if dropped else None
            if other and (other.word == "good" or dropped is spare):
                yield f"{len(dropped)} attribute{'s' if len(dropped) > 1 else ''} fewer", other
                return

    def _more_people(self, expected: QuestionVerdict) -> Iterator[tuple[str, QuestionVerdict]]:
        """Yield the effect of as many more people as are needed: relative errors shrink with their square root."""
        for factor in PEOPLE_FACTORS:
            near = expected.relative / math.sqrt(factor)
            if _word(near) == "good":
                yield f"{factor} times the people", replace(expected, relative=near, word="good")
                return

    def _more_budget(self, question: str, expected: QuestionVerdict) -> Iterator[tuple[str, QuestionVerdict]]:
        """Yield the effect of the smallest larger budget that suffices."""
        for factor in BUDGET_FACTORS if expected.relative <= 2 * WITHIN_REACH * GOOD else ():
            epsilon = self._contract.epsilon * factor
            draft = self._compile(epsilon, partial(draft_contract, self._contract, epsilon=epsilon))
            other = self._try(question, draft)
            if other and other.word == "good":
                yield f"epsilon {decimal_text(epsilon)}", other
                return


def _percent(relative: float) -> str:
    return f"{number_text(relative * 100, 2)} %" if math.isfinite(relative) else "any"


def _without(schema: Schema, dropped: Iterable[tuple[str, str]]) -> Schema:
    """Return the schema without some attributes, and without services that have none left."""
    gone = set(dropped)
    services = []
    for service in schema.services:
        attributes = [a for a in service.attributes if (service.name, a.name) not in gone]
        if any(a in service.sensitive for a in attributes):
            remaining = Service(
                service.name,
                service.key,
                attributes,
                at_most=service.at_most,
                sends=service.sends,
                optional=service.optional,
            )
            services.append(remaining)
    return Schema(services)
