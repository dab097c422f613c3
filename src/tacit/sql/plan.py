"""From totals to contributions: what each code of a person adds to each total.

Every total is decoded into **factors**, one set for each service, whose values per (channel, code) are uploaded; a
**measure** is a person's part of a total, as arithmetic of her factors. `tacit.sql.statement` writes the SQL around it.
Where nothing but codes matters, a histogram of codes is enough.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.contract import ServiceContract
from tacit.contract.panel import Design
from tacit.errors import UnanswerableError, UnsupportedSqlError
from tacit.estimate.decoder import Decoded, Decoder
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.reading import WHOLE_ALPHABET, Factor, contributions
from tacit.estimate.widths import Widths
from tacit.sql.mixed import Reading
from tacit.sql.scope import LABELS, Found, Scope
from tacit.sql.totals import Piece, SqlPiece, Total

__all__ = ["Plan", "ReportSource", "Rollup", "Round", "finite", "needs_codes_only"]

SMALL_ALPHABET, TINY_ALPHABET = 200_000, 4_096
"""Codes up to which a histogram of codes is fetched instead of joining every report: of many totals, or of a few.

Counting 20 million reports by 117,592 codes took twice as long as joining them for one total, as long for three, and a
seventh for 16; tiny alphabets are counted without hashing.
"""

FEW_TOTALS = 2


@dataclass(frozen=True)
class Rollup:
    """A table of how many people reported each code, by some public columns."""

    table: str
    by: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A service's reports in one round: the table, how its functionals are decoded, and a rollup if there is one."""

    table: str
    decoder: Decoder
    rollup: Rollup | None = None

    @property
    def service(self) -> ServiceContract:
        """The compiled service."""
        return self.decoder.service

    @property
    def is_one_report(self) -> bool:
        """Whether a person has a single row."""
        return len(self.service.channels) == 1 and self.service.service.sends == 1


@dataclass(frozen=True, eq=False)
class Round:
    """The stored services of one collection, in the order of the scope."""

    labels: dict[str, str]
    stored: tuple[ReportSource, ...]
    design: Design | None = None
    """How a panel chose its people."""

    assigned: bool = False
    """Whether views and seeds were assigned to people who could not choose their ids."""

    @property
    def weight(self) -> float:
        """How many people one of its people stands for: others, in a panel, are asked in other rounds."""
        return self.design.weight if self.design else 1.0

    @property
    def name(self) -> str:
        """Its labels, for people."""
        return ", ".join(text for text in self.labels.values() if text) or "unnamed"


def finite(number: float) -> str:
    """Return a number as SQL."""
    if not math.isfinite(number):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise UnsupportedSqlError(message, code="number-too-large")
    return f"CAST({number!r} AS DOUBLE)"


class Plan:
    """What one round is asked: measures are sums over people, pairs index the products that are summed too."""

    def __init__(
        self,
        scope: Scope,
        asked: Round,
        totals: Sequence[Total],
        pairs: Sequence[tuple[int, int]],
        keys: Sequence[Found],
        conditions: Sequence[SqlPiece],
        reading: Reading,
    ) -> None:
        self.scope, self.round, self.pairs, self.keys, self.reading = scope, asked, pairs, keys, reading
        self.totals = totals
        self.conditions = [self.resolved(piece) for piece in conditions]
        self.key_columns = [reading.resolve(key.column) for key in keys]
        self.known_factors: list[list[Factor]] = [[] for _ in scope.sources]
        """What was decoded so far, service by service."""
        self._crossed: dict[tuple[int, int, int], None] = {}
        self._known: dict[tuple[int, Hashable], list[tuple[float, list[int]]]] = {}
        self._noisy: list[bool] = []
        self.ranges: dict[int, tuple[float, float]] = {}
        """The least and the most that a person can add to a measure, once that was looked at."""
        self.widths: dict[int, Widths | None] = {}
        """How far a person can move a measure within what is assigned, once that was looked at; None if not known."""
        self._decoded: list[list[tuple[int, float, list[int]]]] = []
        pieces = [piece for total in totals for piece in total.pieces]
        guards = dict.fromkeys(self.resolved(guard) for piece in pieces for guard in piece.guards)
        self.guards = list(guards)
        self.powers = list(dict.fromkeys(reading.resolve(column) for piece in pieces for column in piece.powers))
        marked = [guard.text for piece in pieces for guard in piece.guards]
        marked += [column for piece in pieces for column in piece.powers]
        read = reading.numbers([*marked, *(piece.text for piece in conditions)])
        self.read_as_numbers = {(number, name) for number, name in read if name not in LABELS}
        """Services and their columns whose texts are read as numbers."""
        self.by_code: tuple[str, list[object]] | None = None
        """The statement that was run instead, where sums by code were enough."""
        self.rollup, self.why_no_rollup = self._rolled_up()
        self.is_histogram = needs_codes_only(asked, totals, rolled_up=self.rollup is not None)

    @cached_property
    def measures(self) -> list[str]:
        """A person's part of each total, as SQL over the columns of ``people``; making them decodes the totals."""
        return [self._measure(total) for total in self.totals]

    def _decode(self) -> None:
        """Decode the totals, once."""
        _ = self.measures

    @property
    def factors(self) -> list[list[Factor]]:
        """The factors of all measures, service by service."""
        self._decode()
        return self.known_factors

    @property
    def noisy(self) -> list[bool]:
        """Whether each measure reads any codes."""
        self._decode()
        return self._noisy

    @property
    def crossed(self) -> dict[tuple[int, int, int], None]:
        """Service and two of its factors whose products are added up over a person's reports."""
        self._decode()
        return self._crossed

    @property
    def is_added_up(self) -> bool:
        """Whether all that is summed is known for each code, squares included: nothing is multiplied row by row."""
        return (
            not self.is_histogram
            and len(self.round.stored) == 1
            and self.round.stored[0].is_one_report
            and len(self.measures) <= FEW_TOTALS
            and all(total.is_plain for total in self.totals)
            and bool(self.used_channels(0))
        )

    def _rolled_up(self) -> tuple[Rollup | None, str]:
        """Return the rollup that stands for the reports, or why there is none."""
        [first, *others] = self.round.stored
        if first.rollup is None or others:
            return None, "joins need one row per person" if others else "none exists"
        missing = sorted(self.columns(0) - {*first.rollup.by, *LABELS})
        if missing:
            return None, f"it does not include {', '.join(missing)}"
        return first.rollup, ""

    def columns(self, number: int) -> set[str]:
        """Return the public columns and labels of a service that anything in this plan looks at."""
        texts = [*(piece.text for piece in (*self.conditions, *self.guards)), *self.powers]
        texts += self.key_columns
        return {name for text in texts for name in re.findall(rf's{number}\."([^"]+)"', text)}

    def table(self, number: int) -> str:
        """Return the table that a service's codes are read from."""
        return self.rollup.table if self.rollup else self.round.stored[number].table

    def _measure(self, total: Total) -> str:
        """Return a person's part of a total, as SQL over the columns of ``people``."""
        texts, noisy = [], False
        self._decoded.append([])
        for piece in total.pieces:
            text, reads = self._contribution(piece.functional)
            noisy |= reads
            texts.append(" * ".join([*self._multipliers(piece), f"({text})"]))
        self._noisy.append(noisy)
        return " + ".join(texts) or "CAST(0 AS DOUBLE)"

    def _multipliers(self, piece: Piece) -> list[str]:
        found = [f'"0g{self.guards.index(guard)}"' for guard in map(self.resolved, piece.guards)]
        for marked, power in piece.powers.items():
            name = f'"0p{self.powers.index(self.reading.resolve(marked))}"'
            value = " * ".join([f"CAST({name} AS DOUBLE)"] * power) or "1"
            found.append(f"CASE WHEN {name} IS NULL THEN 0 ELSE {value} END")
        return found

    def resolved(self, piece: SqlPiece) -> SqlPiece:
        """Return a condition as SQL for this round's tables."""
        return SqlPiece(self.reading.resolve(piece.text), piece.parameters)

    def _contribution(self, functional: Functional) -> tuple[str, bool]:
        """Return a person's contribution as SQL, and whether it reads any codes."""
        texts, before = [], len(self._decoded[-1])
        for parts in self.scope.separated(functional):
            texts.append(" * ".join(f"({text})" for text in self._factors(parts)))
        used = self._decoded[-1][before:]
        noisy = any(self.known_factors[number][i].readings for number, _, indices in used for i in indices)
        return " + ".join(texts) or finite(0.0), noisy

    def _factors(self, parts: dict[int, Functional]) -> Iterator[str]:
        """Yield the factor of each service in a product; one that is joined with itself makes one of both."""
        for number, local in parts.items():
            source = self.scope.sources[number]
            twins = [other.number for other in self.scope.sources if other.twin == number]
            if twins:
                yield self._two_rows(number, local, parts[twins[0]])
            elif source.twin is None:
                yield self._read(number, local)

    def _read(self, number: int, local: Functional) -> str:
        products = self.decoded(number, local)
        self._decoded[-1] += [(number, *product) for product in products]
        return " + ".join(self._product(number, *product) for product in products) or finite(0.0)

    def _two_rows(self, number: int, left: Functional, right: Functional) -> str:
        """Return a person's sum over pairs of rows: of different ones from different reports, of equal ones from one.

        Two given rows are both reported with probability sends (sends - 1) / (most (most - 1)), while each functional
        is scaled for one of them.
        """
        service = self.round.stored[number].service
        most, sends = service.service.rows_at_most, service.service.sends
        if len(service.channels) > 1:
            message = (
                f"Joining {service.service.name} with itself needs a mechanism with one channel. Use hio, fc or pairs."
            )
            raise UnanswerableError(message)
        ratio = (most - 1) * sends / (most * (sends - 1))
        texts = [self._read(number, (left * right).scaled(sends / most))]
        lefts, rights = self.decoded(number, left), self.decoded(number, right)
        self._decoded[-1] += [(number, *product) for product in (*lefts, *rights)]
        for (a, [i]), (b, [j]) in itertools.product(lefts, rights):
            self._crossed[number, i, j] = None
            both = f'"0f{number}_{i}" * "0f{number}_{j}" - "0q{number}_{i}_{j}"'
            texts.append(f"{finite(ratio * a * b)} * ({both})")
        return " + ".join(texts)

    def decoded(self, number: int, local: Functional) -> list[tuple[float, list[int]]]:
        """Return coefficients and factor numbers of a functional of one service; equal ones share their factors."""
        key = number, local.key
        if key not in self._known:
            decoded: Decoded = self.round.stored[number].decoder.decode(local)
            self._known[key] = []
            for coefficient, factors in decoded.products:
                start = len(self.known_factors[number])
                self.known_factors[number] += factors
                self._known[key].append((coefficient, list(range(start, start + len(factors)))))
        return self._known[key]

    def _product(self, number: int, coefficient: float, factors: list[int]) -> str:
        parts = [finite(coefficient)]
        for index in factors:
            factor = self.known_factors[number][index]
            parts.append(f'"0f{number}_{index}"' if factor.readings else finite(factor.constant))
        return " * ".join(parts)

    def used_channels(self, number: int) -> list[int]:
        """Return the channels of a service that some factor reads."""
        return sorted({channel for factor in self.factors[number] for channel in factor.readings})

    def large_channels(self, number: int, whole: int) -> list[int]:
        """Return the channels whose alphabets are larger than what is uploaded whole."""
        channels = self.round.stored[number].service.channels
        most = min(whole, WHOLE_ALPHABET)
        return [channel for channel in self.used_channels(number) if channels[channel].alphabet > most]

    def uploads(self, occurring: dict[tuple[int, int], npt.NDArray[np.int64]]) -> dict[str, pa.Table]:
        """Return the (channel, code) -> factor values tables; ``occurring`` has the codes of large channels."""
        tables = {}
        for number in range(len(self.round.stored)):
            parts = []
            for channel in self.used_channels(number):
                codes = occurring.get((number, channel))
                values = self._values(number, channel, codes)
                columns: dict[str, object] = {
                    "channel": np.full(len(values), channel, dtype=np.int32),
                    "code": np.arange(len(values)) if codes is None else codes,
                }
                names = [f"0f{number}_{index}" for index in range(values.shape[1])]
                parts.append(pa.table(columns | {name: values[:, i] for i, name in enumerate(names)}))
            if parts:
                tables[f"contributions{number}"] = pa.concat_tables(parts)
        return tables

    def _values(self, number: int, channel: int, codes: npt.NDArray[np.int64] | None) -> Vector:
        readings = [factor.readings.get(channel) for factor in self.factors[number]]
        return contributions(self.round.stored[number].service.channels[channel], readings, codes)

    def measured(self, codes: npt.NDArray[np.int64] | None) -> Vector:
        """Return a column for each measure with what each code adds, or all codes, where a histogram answers."""
        values = self._values(0, 0, codes)
        values += np.array([factor.constant for factor in self.factors[0]])
        result = np.zeros((len(values), len(self.measures)), order="F")
        for column, products in enumerate(self._decoded):
            for _, coefficient, factors in products:
                product = values[:, factors[0]] if len(factors) == 1 else np.prod(values[:, factors], axis=1)
                result[:, column] += coefficient * product
        if codes is None:
            ends = zip(result.min(axis=0).tolist(), result.max(axis=0).tolist(), strict=True)
            self.ranges = dict(enumerate(ends))
        return result

    def summands(self, codes: npt.NDArray[np.int64] | None) -> pa.Table:
        """Return what each code adds to each sum after the count: measures, products of pairs, fourth powers."""
        values = self.measured(codes)
        columns = [values[:, i] for i in range(values.shape[1])]
        columns += [values[:, i] * values[:, j] for i, j in self.pairs]
        columns += [np.square(values[:, i] ** 2) for i in sorted({i for i, _ in self.pairs})]
        named = {f"0x{1 + index}": column for index, column in enumerate(columns)}
        return pa.table({"code": np.arange(len(values)) if codes is None else codes} | named)


def needs_codes_only(asked: Round, totals: Sequence[Total], *, rolled_up: bool = False) -> bool:
    """Tell whether a histogram of codes answers: one report per person, few codes, nothing public in the totals."""
    [first, *others] = asked.stored
    most = WHOLE_ALPHABET if rolled_up else TINY_ALPHABET if len(totals) <= FEW_TOTALS else SMALL_ALPHABET
    small = first.is_one_report and first.service.channels[0].alphabet <= most
    return not others and small and all(total.is_plain for total in totals)
