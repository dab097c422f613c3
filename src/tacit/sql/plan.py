"""From a bound question to one statement: factors to upload, sums to fetch.

Every total is decoded into factors. The statement joins reports with a (channel, code) table of the factors' values,
adds them up per person where a person has several reports, and then sums each total, the squares and products that
standard errors need, and the fourth powers that say how many reports really count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tacit.contract import ServiceContract
from tacit.decode.decoder import Decoded, Decoder
from tacit.decode.functional import Functional
from tacit.decode.reading import WHOLE_ALPHABET, Factor
from tacit.errors import UnsupportedSqlError
from tacit.sql.aggregates import Total
from tacit.sql.predicates import SqlPiece

__all__ = ["Plan", "Planner"]


MEASURE = "0m"
"""Prefix of generated measure columns: no name of a schema starts with a digit, so none can collide."""


def factor_name(index: int) -> str:
    """Return the name of a factor's column, which no schema can have."""
    return f"0f{index}"


def _finite(number: float) -> float:
    if not math.isfinite(number):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise UnsupportedSqlError(message, code="number-too-large")
    return number


@dataclass
class Plan:
    """One statement: measures are sums over people, pairs index the products of measures that are summed too."""

    service: ServiceContract
    table: str
    measures: list[str] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)
    groups: Sequence[str] = ()
    where: Sequence[SqlPiece] = ()
    publics: Sequence[str] = ()
    noisy: list[bool] = field(default_factory=list)

    @property
    def parameters(self) -> list[object]:
        """Parameters of the statement, in order."""
        return [value for piece in self.where for value in piece.parameters]

    def contributions(self, occurring: dict[int, np.ndarray]) -> pa.Table | None:
        """Return the (channel, code) -> factor values table; None if every factor is a constant."""
        channels = sorted({channel for factor in self.factors for channel in factor.readings})
        parts = []
        for channel in channels:
            codes = occurring.get(channel)
            count = self.service.channels[channel].alphabet if codes is None else len(codes)
            columns: dict[str, object] = {
                "channel": np.full(count, channel, dtype=np.int32),
                "code": np.arange(count) if codes is None else codes,
            }
            for index, factor in enumerate(self.factors):
                reading = factor.readings.get(channel)
                columns[factor_name(index)] = np.zeros(count) if reading is None else reading.contributions(codes)
            parts.append(pa.table(columns))
        return pa.concat_tables(parts) if parts else None

    def large_channels(self) -> list[int]:
        """Return the channels whose alphabets are too large to upload whole."""
        used = {channel for factor in self.factors for channel in factor.readings}
        return [channel for channel in sorted(used) if self.service.channels[channel].alphabet > WHOLE_ALPHABET]

    def explain(self, groups: Sequence[tuple[int, ...]]) -> str:
        """Return what is read and run, for people."""
        views = {
            (channel, view)
            for factor in self.factors
            for channel, reading in factor.readings.items()
            for view in reading.products
        }
        total = sum(len(channel.views) for channel in self.service.channels)
        codes = sum(self.service.channels[channel].alphabet for channel in {channel for channel, _ in views})
        return "\n".join(
            [
                f"service {self.service.service.name}, mechanism {self.service.layout}; groups: {len(groups)}",
                f"factors decoded: {len(self.factors)}; views read: {len(views)} of {total}; codes: {codes:,}",
                f"totals summed: {len(self.measures)}; products for errors: {len(self.pairs)}",
                self.statement(),
            ]
        )

    def statement(self) -> str:
        """Return the SQL."""
        groups = [f'"{name}"' for name in self.groups]
        named = [f'"{MEASURE}{index}"' for index in range(len(self.measures))]
        terms = [f"{text} AS {name}" for text, name in zip(self.measures, named, strict=True)]
        sums = ["count(*)", *(f"sum({name})" for name in named)]
        sums += [f"sum({named[i]} * {named[j]})" for i, j in self.pairs]
        sums += [f"sum({' * '.join([named[i]] * 4)})" for i in sorted({i for i, _ in self.pairs})]
        tail = f" GROUP BY {', '.join(groups)} ORDER BY {', '.join(groups)}" if groups else ""
        return (
            f"WITH people AS ({self._people()}), measures AS (SELECT {', '.join([*groups, *terms]) or 1} FROM people) "  # noqa: S608
            f"SELECT {', '.join([*groups, *sums])} FROM measures{tail}"
        )

    def _people(self) -> str:
        """Return one row for each person: public columns and factors, added up over the person's reports."""
        names = [f'r."{name}"' for name in self.publics]
        where = " AND ".join(piece.text for piece in self.where) or "TRUE"
        used = any(factor.readings for factor in self.factors)
        if len(self.service.channels) == 1:
            columns = [*names, *self._columns("c.{0}")]
            on, tail = "r.code = c.code", ""
        else:
            columns = [*names, *self._columns("sum(c.{0})")]
            on = "r.channel = c.channel AND r.code = c.code"
            key = f'r."{self.service.service.key}"'
            tail = f" GROUP BY {', '.join([key, *names])}"
        join = f" LEFT JOIN contributions c ON {on}" if used else ""
        return f'SELECT {", ".join(columns) or "1"} FROM "{self.table}" r{join} WHERE {where}{tail}'  # noqa: S608

    def _columns(self, template: str) -> list[str]:
        used = [f'"{factor_name(index)}"' for index, factor in enumerate(self.factors) if factor.readings]
        return [f"coalesce({template.format(name)}, 0) AS {name}" for name in used]


class Planner:
    """Collects totals and turns them into a plan; equal functionals share a factor."""

    def __init__(self, decoder: Decoder, plan: Plan) -> None:
        self._decoder, self.plan = decoder, plan
        self._decoded: list[tuple[Functional, str, bool]] = []

    def measure(self, total: Total) -> int:
        """Return the index of the measure of a total."""
        expression, noisy = self._contribution(total.functional)
        for name, power in total.powers.items():
            column = f'"{name}"'
            factor = "1" if power == 0 else " * ".join([f"CAST({column} AS DOUBLE)"] * power)
            expression = f"CASE WHEN {column} IS NULL THEN 0 ELSE {factor} END * ({expression})"
        if expression in self.plan.measures:
            return self.plan.measures.index(expression)
        self.plan.measures.append(expression)
        self.plan.noisy.append(noisy)
        return len(self.plan.measures) - 1

    def _contribution(self, functional: Functional) -> tuple[str, bool]:
        """Return a person's contribution as SQL, and whether it reads any codes."""
        for known, text, noisy in self._decoded:
            if not (known - functional).terms:
                return text, noisy
        decoded = self._decoder.decode(functional)
        text = " + ".join(self._product(decoded)) or "CAST(0 AS DOUBLE)"
        noisy = any(factor.readings for _, factors in decoded.products for factor in factors)
        self._decoded.append((functional, text, noisy))
        return text, noisy

    def _product(self, decoded: Decoded) -> list[str]:
        found = []
        for coefficient, factors in decoded.products:
            parts = [f"CAST({_finite(coefficient)!r} AS DOUBLE)"]
            for factor in factors:
                self.plan.factors.append(factor)
                column = f' + "{factor_name(len(self.plan.factors) - 1)}"' if factor.readings else ""
                parts.append(f"(CAST({_finite(factor.constant)!r} AS DOUBLE){column})")
            found.append(" * ".join(parts))
        return found
