"""The assumed population of a forecast: uniform values, or frequencies from samples or weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.contract.contract import Contract, ServiceContract
from tacit.contract.randomness import insecure_rng
from tacit.contract.schema import Ordinal, Service
from tacit.encode.tables import as_table
from tacit.encode.values import reader_of
from tacit.errors import UsageError
from tacit.estimate.functional import Vector
from tacit.estimate.population import Population
from tacit.tables.compute import pc

__all__ = ["Frequencies", "frequencies_of", "populations_of"]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequencies of the values of each attribute, and of the numbers of rows per person (None for exactly one)."""

    values: Mapping[str, Vector]
    rows: Vector | None


def populations_of(contract: Contract, services: Sequence[ServiceContract], like: Any) -> list[Population]:
    """Return a population for each service of a question.

    ``like`` is a sample table, or a dict of weights, for one service; for several, a dict of these by service. People
    of a one-to-one service's sample who are not in a one-to-many sample have no rows.
    """
    if like is None:
        return [Population.of(service) for service in services]
    known = {compiled.service.name: compiled for compiled in contract.services}
    if len(services) == 1 and not (isinstance(like, Mapping) and like.keys() & known.keys()):
        return [_population(services[0], like, 0)]
    if not isinstance(like, Mapping) or not like.keys() <= known.keys():
        message = f"like: pass a dict with a sample or weights for any of {', '.join(known)}."
        raise UsageError(message, code="bad-option")
    people = max((_people(known[name], sample) for name, sample in like.items()), default=0)
    return [_population(service, like.get(service.service.name), people) for service in services]


def _people(service: ServiceContract, sample: Any) -> int:
    """Return the number of people in a sample; 0 if it is unknown."""
    if isinstance(sample, Frequencies) or not service.service.one_to_one or _is_weights(service, sample):
        return 0
    return len(as_table(service.service, sample))


def _is_weights(service: ServiceContract, like: Any) -> bool:
    return isinstance(like, Mapping) and service.service.key not in like


def _population(service: ServiceContract, like: Any, people: int) -> Population:
    if like is None:
        return Population.of(service)
    if not isinstance(like, Frequencies) and _is_weights(service, like):
        return _from_weights(service, like)
    frequencies = like if isinstance(like, Frequencies) else frequencies_of(service.service, like, people)
    return Population.of(service, [frequencies.values[a.name] for a in service.service.sensitive], frequencies.rows)


def frequencies_of(service: Service, sample: Any, people: int) -> Frequencies:
    """Return the frequencies of values in a sample; ``people`` also counts those without rows in it."""
    table = as_table(service, sample)
    shares = {}
    for i, attribute in enumerate(service.sensitive):
        reader = reader_of(service.name, attribute)
        column = table.column(attribute.name).combine_chunks()
        dithered = isinstance(attribute, Ordinal) and attribute.dithered
        values = reader.values(*reader.positions(column, 0), insecure_rng(i).draws(len(column)) if dithered else None)
        shares[attribute.name] = np.bincount(values, minlength=attribute.size) / max(1, len(column))
    return Frequencies(shares, _rows(service, table, people))


def _rows(service: Service, table: pa.Table, people: int) -> Vector | None:
    """Return the frequencies of the numbers of rows per person, limited to the number of rows that count."""
    if service.one_to_one:
        return None
    counts = np.asarray(pc.value_counts(table.column(service.key)).field("counts"))
    most = service.rows_at_most
    rows: Vector = np.bincount(np.minimum(counts, most), minlength=most + 1).astype(np.float64)
    rows[0] = max(0, people - len(counts))
    return rows / max(1.0, float(rows.sum()))


def _from_weights(service: ServiceContract, like: Mapping[str, Any]) -> Population:
    names = [attribute.name for attribute in service.service.sensitive]
    frequencies = list(Population.of(service).frequencies)
    for name, weights in like.items():
        if name not in names:
            message = (
                f"like: {str(name)[:60]!r} is not a sensitive attribute. Pass weights for some of: {', '.join(names)}."
            )
            raise UsageError(message, code="bad-option")
        place = names.index(name)
        array = np.asarray(weights, dtype=np.float64)
        if array.shape != frequencies[place].shape or not (array >= 0).all() or not 0 < array.sum() < math.inf:
            message = f"like: {name} needs one weight, 0 or more, for each of its {len(frequencies[place])} values."
            raise UsageError(message, code="bad-option")
        frequencies[place] = array / array.sum()
    return Population.of(service, frequencies)
