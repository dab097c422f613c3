"""From totals to one statement: factors to upload, sums to fetch.

Every total is decoded into factors, one set for each service. The statement joins reports with (channel, code) tables
of the factors' values, adds them up per person where a person has several reports, joins the services on the key, and
then sums each total, the squares and products that standard errors need, and the fourth powers that say how many
reports really count. Where nothing but codes matters, a histogram of codes is enough.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract import ServiceContract
from tacit.decode.decoder import Decoded, Decoder
from tacit.decode.functional import Functional, Vector
from tacit.decode.reading import WHOLE_ALPHABET, Factor, contributions
from tacit.errors import UnsupportedSqlError
from tacit.sql.scope import LABELS, Found, Scope
from tacit.sql.totals import Piece, SqlPiece, Total

__all__ = ["Plan", "Round", "Stored", "needs_codes_only"]

SMALL_ALPHABET = 200_000
"""Codes up to which a histogram of codes is fetched instead of joining every report."""


@dataclass(frozen=True, eq=False)
class Stored:
    """A service's reports in one round: the table, and how its functionals are decoded."""

    table: str
    decoder: Decoder

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
    stored: tuple[Stored, ...]

    @property
    def name(self) -> str:
        """Its labels, for people."""
        return ", ".join(text for text in self.labels.values() if text) or "unnamed"


def _finite(number: float) -> str:
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
    ) -> None:
        self.scope, self.round, self.pairs, self.keys, self.conditions = scope, asked, pairs, keys, conditions
        self.factors: list[list[Factor]] = [[] for _ in scope.sources]
        self._guards: list[SqlPiece] = []
        self._powers: list[str] = []
        self._known: dict[tuple[int, Hashable], list[tuple[float, list[int]]]] = {}
        self.is_histogram = needs_codes_only(asked, totals)
        self.noisy: list[bool] = []
        self._decoded: list[list[tuple[float, list[int]]]] = []
        self.measures = [self._measure(total) for total in totals]

    # --- decoding

    def _measure(self, total: Total) -> str:
        """Return a person's part of a total, as SQL over the columns of ``people``."""
        texts, noisy = [], False
        self._decoded.append([])
        for piece in total.pieces:
            text, reads = self._contribution(piece.functional)
            noisy |= reads
            texts.append(" * ".join([*self._multipliers(piece), f"({text})"]))
        self.noisy.append(noisy)
        return " + ".join(texts) or "CAST(0 AS DOUBLE)"

    def _multipliers(self, piece: Piece) -> list[str]:
        found = []
        for guard in piece.guards:
            if guard not in self._guards:
                self._guards.append(guard)
            found.append(f'"0g{self._guards.index(guard)}"')
        for column, power in piece.powers.items():
            if column not in self._powers:
                self._powers.append(column)
            name = f'"0p{self._powers.index(column)}"'
            value = " * ".join([f"CAST({name} AS DOUBLE)"] * power) or "1"
            found.append(f"CASE WHEN {name} IS NULL THEN 0 ELSE {value} END")
        return found

    def _contribution(self, functional: Functional) -> tuple[str, bool]:
        """Return a person's contribution as SQL, and whether it reads any codes."""
        texts, noisy = [], False
        for parts in self.scope.separated(functional):
            factors = []
            for number, local in parts.items():
                products = self._decode(number, local)
                noisy |= any(self.factors[number][i].readings for _, used in products for i in used)
                factors.append(" + ".join(self._product(number, *product) for product in products) or _finite(0.0))
                self._decoded[-1] += products
            texts.append(" * ".join(f"({text})" for text in factors))
        return " + ".join(texts) or _finite(0.0), noisy

    def _decode(self, number: int, local: Functional) -> list[tuple[float, list[int]]]:
        """Return coefficients and factor numbers of a functional of one service; equal ones share their factors."""
        key = number, local.key
        if key not in self._known:
            decoded: Decoded = self.round.stored[number].decoder.decode(local)
            self._known[key] = []
            for coefficient, factors in decoded.products:
                start = len(self.factors[number])
                self.factors[number] += factors
                self._known[key].append((coefficient, list(range(start, start + len(factors)))))
        return self._known[key]

    def _product(self, number: int, coefficient: float, factors: list[int]) -> str:
        parts = [_finite(coefficient)]
        for index in factors:
            factor = self.factors[number][index]
            parts.append(f'"0f{number}_{index}"' if factor.readings else _finite(factor.constant))
        return " * ".join(parts)

    # --- what is uploaded

    def used_channels(self, number: int) -> list[int]:
        """Return the channels of a service that some factor reads."""
        return sorted({channel for factor in self.factors[number] for channel in factor.readings})

    def large_channels(self, number: int) -> list[int]:
        """Return the channels whose alphabets are too large to upload whole."""
        channels = self.round.stored[number].service.channels
        return [channel for channel in self.used_channels(number) if channels[channel].alphabet > WHOLE_ALPHABET]

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

    # --- the histogram of codes

    def histogram(self) -> tuple[str, list[object]]:
        """Return the statement that counts codes, group by group."""
        keys = [f'{key.column} AS "0k{i}"' for i, key in enumerate(self.keys)]
        columns = [*keys, "s0.code AS code", "count(*) AS people"]
        source, parameters = self._source(0, joined=False)
        names = ", ".join([f'"0k{i}"' for i in range(len(keys))] + ["code"])
        return (
            f"SELECT {', '.join(columns)} FROM {source}{self._where()} GROUP BY {names}",  # noqa: S608
            [*parameters, *self._where_parameters()],
        )

    def measured(self, codes: npt.NDArray[np.int64]) -> Vector:
        """Return a column for each measure with what each code adds, in a plan that a histogram answers."""
        values = self._values(0, 0, codes)
        values += np.array([factor.constant for factor in self.factors[0]])
        result = np.zeros((len(codes), len(self.measures)), order="F")
        for column, products in enumerate(self._decoded):
            for coefficient, factors in products:
                product = values[:, factors[0]] if len(factors) == 1 else np.prod(values[:, factors], axis=1)
                result[:, column] += coefficient * product
        return result

    # --- the statement

    def statement(self) -> tuple[str, list[object]]:
        """Return the SQL and its parameters."""
        sources, parameters = [], []
        for number in range(len(self.scope.sources)):
            text, given = self._source(number, joined=True)
            sources.append(text)
            parameters += given
        first = self.scope.sources[0]
        joined = sources[0] + "".join(
            f' JOIN {text} ON {first.alias}."{first.service.key}" = {source.alias}."{source.service.key}"'
            for text, source in zip(sources[1:], self.scope.sources[1:], strict=True)
        )
        keys = [f'"0k{i}"' for i in range(len(self.keys))]
        columns = [f"{key.column} AS {name}" for key, name in zip(self.keys, keys, strict=True)]
        columns += [f'CASE WHEN {g.text} THEN 1.0 ELSE 0.0 END AS "0g{i}"' for i, g in enumerate(self._guards)]
        columns += [f'{column} AS "0p{i}"' for i, column in enumerate(self._powers)]
        columns += [self._factor(number, index) for number, index in self._read_factors()]
        named = [f'"0m{index}"' for index in range(len(self.measures))]
        terms = [f"{text} AS {name}" for text, name in zip(self.measures, named, strict=True)]
        sums = ["count(*)", *(f"sum({name})" for name in named)]
        sums += [f"sum({named[i]} * {named[j]})" for i, j in self.pairs]
        sums += [f"sum({' * '.join([named[i]] * 4)})" for i in sorted({i for i, _ in self.pairs})]
        shown = [f'{text} AS "0x{index}"' for index, text in enumerate(sums)]
        tail = f" GROUP BY {', '.join(keys)}" if keys else ""
        guards = [value for guard in self._guards for value in guard.parameters]
        return (
            f"WITH people AS (SELECT {', '.join(columns) or '1 AS one'} FROM {joined}{self._where()}), "  # noqa: S608
            f"measures AS (SELECT {', '.join([*keys, *terms]) or '1 AS one'} FROM people) "
            f"SELECT {', '.join([*keys, *shown])} FROM measures{tail}",
            [*guards, *parameters, *self._where_parameters()],
        )

    def _read_factors(self) -> list[tuple[int, int]]:
        return [(n, i) for n, all_ in enumerate(self.factors) for i, factor in enumerate(all_) if factor.readings]

    def _factor(self, number: int, index: int) -> str:
        name = f'"0f{number}_{index}"'
        if not self.round.stored[number].is_one_report:
            return f"s{number}.{name} AS {name}"
        return f"c{number}.{name} + {_finite(self.factors[number][index].constant)} AS {name}"

    def _source(self, number: int, *, joined: bool) -> tuple[str, list[object]]:
        """Return a service's reports as a table of people, and its parameters."""
        stored, alias = self.round.stored[number], f"s{number}"
        public = [attribute.name for attribute in stored.service.service.public]
        table = f'"{stored.table}"'
        parameters: list[object] = []
        labels = self._labels(number)
        if labels:
            columns = ", ".join(f'CAST(? AS VARCHAR) AS "{name}"' for name in labels)
            table, parameters = f"(SELECT *, {columns} FROM {table})", [self.round.labels[name] for name in labels]  # noqa: S608
        read = [index for index, factor in enumerate(self.factors[number]) if factor.readings]
        if stored.is_one_report:
            join = f" JOIN contributions{number} c{number} ON {alias}.code = c{number}.code"
            return f"{table} {alias}{join if joined and read else ''}", parameters
        key = f'r."{stored.service.service.key}"'
        names = [key, *(f'r."{name}"' for name in (*public, *labels))]
        sums = [
            f'sum(coalesce(c."0f{number}_{i}", 0)) + {_finite(self.factors[number][i].constant)} '
            f'* sum(CASE WHEN r.channel = 0 THEN 1 ELSE 0 END) AS "0f{number}_{i}"'
            for i in read
        ]
        join = f" LEFT JOIN contributions{number} c ON r.channel = c.channel AND r.code = c.code" if read else ""
        people = f"SELECT {', '.join([*names, *sums])} FROM {table} r{join} GROUP BY {', '.join(names)}"  # noqa: S608
        return f"({people}) {alias}", parameters

    def _labels(self, number: int) -> list[str]:
        """Return the labels of the collection that anything in this plan looks at."""
        texts = [*(piece.text for piece in (*self.conditions, *self._guards)), *self._powers]
        texts += [key.column for key in self.keys]
        return [name for name in LABELS if any(f's{number}."{name}"' in text for text in texts)]

    def _where(self) -> str:
        texts = [piece.text for piece in self.conditions]
        return f" WHERE {' AND '.join(texts)}" if texts else ""

    def _where_parameters(self) -> list[object]:
        return [value for piece in self.conditions for value in piece.parameters]


def needs_codes_only(asked: Round, totals: Sequence[Total]) -> bool:
    """Tell whether a histogram of codes answers: one report per person, few codes, nothing public in the totals."""
    [first, *others] = asked.stored
    small = first.is_one_report and first.service.channels[0].alphabet <= SMALL_ALPHABET
    return not others and small and all(total.is_plain for total in totals)
