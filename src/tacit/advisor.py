"""The error of an answer before anything is collected.

The exact variance of the contributions is averaged over records with independent attributes: uniform ones, or with the
frequencies of a sample. A column of a question is arithmetic of totals; its error is that of the one functional that
its gradient makes of them, because decoding is linear.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.answer import Answer, Estimate
from tacit.contract import Contract, ServiceContract
from tacit.decode.decoder import Decoder, DecoderName
from tacit.decode.functional import Functional, Vector
from tacit.decode.variance import expected_variance, uniform_frequencies
from tacit.encode.tables import as_table
from tacit.encode.values import reader_of
from tacit.errors import UnknownNameError, UnsupportedSqlError, UsageError
from tacit.randomness import insecure_rng
from tacit.sql.aggregates import Dual, Formula
from tacit.sql.bind import bind, service_name
from tacit.sql.parse import parse

__all__ = ["check_options", "predict"]


def check_options(confidence: object, decoder: object) -> None:
    """Refuse levels and decoders that do not exist."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1 - 1e-12:
        message = "confidence must be a number between 0 and 1, such as 0.95."
        raise UsageError(message, code="bad-option")
    if decoder not in ("blue", "cover", "rdc"):
        raise UnknownNameError("decoder", str(decoder), ["blue", "cover", "rdc"])


def predict(contract: Contract, text: str, *, users: int, like: Any, confidence: float, decoder: DecoderName) -> Answer:
    """Return the answer that could be expected from a number of people, with its error."""
    check_options(confidence, decoder)
    if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= 10**12:
        message = "users must be a whole number of people, from 1 to 10**12."
        raise UsageError(message, code="bad-option")
    statement = parse(text)
    service = contract[service_name(statement, text)]
    bound = bind(statement, text, service.service)
    if bound.conditions or bound.public:
        message = "Public columns are not known before collecting. Ask without them."
        raise UnsupportedSqlError(message, code="public-not-known", text=text)
    frequencies = uniform_frequencies(service) if like is None else _frequencies(service, like)
    reader = Decoder(service, decoder)
    rows = []
    for group in bound.groups():
        estimates = [_expected(f, users, frequencies, reader, confidence) if f else None for f in bound.formulas(group)]
        rows.append(bound.row(group, (), estimates))
    assumed = "uniform attributes" if like is None else "the sample's frequencies"
    notes = [f"expected from {users:,} people, assuming {assumed}, independent of each other", *bound.notes()]
    return Answer(bound.names, bound.selected(rows), notes=notes)


def _expected(made: Formula, users: int, frequencies: list[Vector], decoder: Decoder, confidence: float) -> Estimate:
    if any(total.powers for total in made.totals):
        message = "Public columns are not known before collecting. Ask without them."
        raise UnsupportedSqlError(message, code="public-not-known")
    means = [users * _mean(total.functional, frequencies) for total in made.totals]
    size = len(means)
    result = made.evaluate([Dual(mean, np.eye(size)[k]) for k, mean in enumerate(means)])
    if math.isnan(result.value) or not np.isfinite(result.gradient).all():
        return Estimate(math.nan, math.nan, users, confidence)
    combined = Functional(made.totals[0].functional.sizes, ()) if size else None
    for weight, total in zip(result.gradient, made.totals, strict=False):
        combined = total.functional.scaled(float(weight)) + combined if combined else None
    if combined is None:
        return Estimate(result.value, 0.0, users, confidence)
    variance = expected_variance(decoder.service, decoder.decode(combined), frequencies)
    return Estimate(result.value, math.sqrt(max(0.0, users * variance)), users, confidence)


def _mean(functional: Functional, frequencies: list[Vector]) -> float:
    return sum(
        term.coefficient * math.prod(float(vector @ frequencies[i]) for i, vector in term.factors.items())
        for term in functional.terms
    )


def _frequencies(service: ServiceContract, like: Any) -> list[Vector]:
    """Return the frequencies of values in a sample table of the service."""
    table = as_table(service.service, like)
    found = []
    for i, attribute in enumerate(service.service.sensitive):
        reader = reader_of(service.service.name, attribute)
        column = table.column(attribute.name).combine_chunks()
        draws = insecure_rng(i).draws(len(column)) if i in service.dithered else None
        values = reader.values(*reader.positions(column, 0), draws)
        found.append(np.bincount(values, minlength=attribute.size) / len(column))
    return found
