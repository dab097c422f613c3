"""One population, encoded again and again: errors of many questions at once, measured, stated and predicted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tacit as tc
from bench.common import figure, seed_of
from bench.joint.worlds import MEASURE, Kind, World, world_of

__all__ = [
    "AVG",
    "COUNT",
    "SUM",
    "Campaign",
    "Errors",
    "Reader",
    "Workload",
    "campaign_errors",
    "point_of",
    "predicted",
]

COUNT, SUM, AVG = "count", "sum", "avg"

AT_ONCE = 25
"""Conditions in one statement."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Workload:
    """Questions with one summed column: COUNT, SUM and AVG under each condition."""

    name: str
    summed: str
    conditions: tuple[str, ...]
    asked: tuple[str, ...] = (COUNT, SUM, AVG)

    def columns(self, asked: Sequence[str], label: str = "") -> list[str]:
        """Return the selected columns, named by aggregate, label and number."""
        written = {COUNT: "COUNT(*)", SUM: f"SUM({self.summed})", AVG: f"AVG({self.summed})"}
        return [
            f"{written[one]} FILTER (WHERE {condition}) AS {one}{label}{i}"
            for i, condition in enumerate(self.conditions)
            for one in asked
        ]

    def text(self, source: str, asked: Sequence[str]) -> str:
        """Return all questions as one statement."""
        return f"SELECT {', '.join(self.columns(asked))} FROM {source}"


@dataclass(frozen=True)
class Reader:
    """A curve: how reports are made and read; ``asked`` leaves out what would take too long."""

    name: str
    mechanism: str
    oracle: str
    decoder: Any
    asked: tuple[str, ...] = (COUNT, SUM, AVG)
    measured: bool = True


@dataclass(frozen=True)
class Campaign:
    """Reports that several readers and workloads share."""

    kind: Kind
    epsilon: float
    mechanism: str
    oracle: str
    sends: int = 1

    @property
    def name(self) -> str:
        """Key of the campaign."""
        many = f" | tau {self.sends}" if self.sends > 1 else ""
        return f"{self.kind.name} | eps {self.epsilon:g}{many} | {self.mechanism} {self.oracle}"


@dataclass
class Errors:
    """What one workload's questions gave, encodings by rows, for each aggregate; scales as in the paper's metrics."""

    truth: dict[str, Floats]
    scale: dict[str, float]
    values: dict[str, Floats]
    stated: dict[str, Floats]
    seconds: float = 0.0

    def squared(self, aggregate: str) -> Floats:
        """Return the mean squared error of each encoding."""
        return np.asarray(np.mean((self.values[aggregate] - self.truth[aggregate]) ** 2, axis=1))


def truths(world: World, workload: Workload) -> tuple[dict[str, Floats], dict[str, float]]:
    row = np.array(world.plain(workload.text(world.source, (COUNT, SUM, AVG))), dtype=np.float64)
    truth = {name: row[place::3] for place, name in enumerate((COUNT, SUM, AVG))}
    truth[SUM] = np.nan_to_num(truth[SUM])  # of no rows
    [rows, whole] = world.plain(f"SELECT COUNT(*), SUM(ABS({workload.summed})) FROM {world.source}")
    return truth, {COUNT: float(rows), SUM: float(whole)}


def _together(workloads: Sequence[Workload]) -> Iterator[list[Workload]]:
    """Yield workloads that share a statement: they share the join with the reports."""
    some: list[Workload] = []
    for workload in workloads:
        if some and sum(len(each.conditions) for each in [*some, workload]) > AT_ONCE:
            yield some
            some = []
        some.append(workload)
    yield some


def _ask(
    db: tc.Database, world: World, reader: Reader, some: list[Workload], found: dict[tuple[Reader, Workload], Errors]
) -> dict[tuple[Workload, str], list[Any]]:
    """Ask several workloads in one statement; its seconds are shared by the number of questions."""
    asked = {workload: [one for one in workload.asked if one in reader.asked] for workload in some}
    columns = [column for k, each in enumerate(some) for column in each.columns(asked[each], f"_{k}_")]
    start = time.perf_counter()
    answer = db.sql(f"SELECT {', '.join(columns)} FROM {world.source}", decoder=reader.decoder)
    spent = (time.perf_counter() - start) / sum(len(each.conditions) for each in some)
    cells = {}
    for k, workload in enumerate(some):
        numbers = range(len(workload.conditions))
        found[reader, workload].seconds += spent * len(numbers)
        cells |= {(workload, one): [answer[f"{one}_{k}_{i}"] for i in numbers] for one in asked[workload]}
    return cells


def campaign_errors(
    campaign: Campaign, wanted: Sequence[tuple[Reader, Workload]], folder: Path | None, encodings: int
) -> Iterator[tuple[Reader, Workload, Errors]]:
    """Encode, load and ask; yield what every reader found of its workload."""
    world = world_of(campaign.kind, folder)
    collection = world.collection(campaign.epsilon, campaign.mechanism, campaign.oracle, campaign.sends)
    found = {pair: Errors(*truths(world, pair[1]), values={}, stated={}) for pair in wanted}
    rows: dict[tuple[Reader, Workload, str], list[list[Any]]] = {}
    for encoding in range(encodings):
        db = tc.connect()
        db.create(collection)
        db.load(collection.encode(**world.tables, rng=tc.insecure_rng(seed_of(campaign.name, encoding))))
        for reader in dict.fromkeys(reader for reader, _ in wanted):
            for some in _together([workload for other, workload in wanted if other == reader]):
                for (workload, one), cells in _ask(db, world, reader, some, found).items():
                    rows.setdefault((reader, workload, one), []).append(cells)
        db.close()
    for (reader, workload, one), answers in rows.items():
        errors = found[reader, workload]
        errors.values[one] = np.array([[cell.value for cell in cells] for cells in answers])
        errors.stated[one] = np.array([[cell.error for cell in cells] for cells in answers])
    for (reader, workload), errors in found.items():
        yield reader, workload, errors


def predicted(
    campaign: Campaign, reader: Reader, workloads: Sequence[Workload], folder: Path | None
) -> dict[Workload, dict[str, float]]:
    """Return the predicted mean squared errors of COUNT and SUM, from the population's frequencies.

    A public measure is not known before collecting: its root mean square stands for every person's.
    """
    world = world_of(campaign.kind, folder)
    collection = world.collection(campaign.epsilon, campaign.mechanism, campaign.oracle, campaign.sends)
    like = world.tables if len(world.tables) > 1 else next(iter(world.tables.values()))
    asked = {
        each: [
            one
            for one in ((COUNT,) if each.summed == MEASURE else (COUNT, SUM))
            if one in reader.asked and one in each.asked
        ]
        for each in workloads
    }
    columns = [column for k, each in enumerate(workloads) for column in each.columns(asked[each], f"_{k}_")]
    text = f"SELECT {', '.join(columns)} FROM {world.source}"
    answer = collection.predict(text, users=world.people, like=like, decoder=reader.decoder)
    found: dict[Workload, dict[str, float]] = {}
    for k, each in enumerate(workloads):
        numbers = range(len(each.conditions))
        found[each] = {
            one: float(np.mean([answer[f"{one}_{k}_{i}"].error ** 2 for i in numbers])) for one in asked[each]
        }
        if each.summed == MEASURE:
            [square] = world.plain(f"SELECT AVG({MEASURE} * {MEASURE}) FROM {world.source}")
            found[each][SUM] = found[each][COUNT] * float(square)
    return found


def point_of(errors: Errors, expected: dict[str, float]) -> dict[str, Any]:
    """Return a point as results.json holds it: NMSE of COUNT and SUM, MRE of AVG, with deviations over encodings."""
    point: dict[str, Any] = {"seconds": round(errors.seconds, 2)}
    for one in errors.values:
        point["encodings"], point["questions"] = errors.values[one].shape
        if one == AVG:
            known = np.isfinite(errors.truth[AVG])
            if not known.any():  # of no rows
                continue
            off = np.abs(errors.values[AVG] / errors.truth[AVG] - 1)[:, known]
            point["mre_avg"], point["mre_avg_std"] = figure(np.mean(off)), figure(np.std(np.mean(off, axis=1)))
            point["mre_avg_median"] = figure(np.median(off))
            continue
        square = errors.squared(one) / errors.scale[one] ** 2
        point[f"nmse_{one}"], point[f"nmse_{one}_std"] = figure(np.mean(square)), figure(np.std(square))
        point[f"nmse_{one}_stated"] = figure(np.mean(errors.stated[one] ** 2) / errors.scale[one] ** 2)
    for one, square in expected.items():
        point[f"nmse_{one}_predicted"] = figure(square / errors.scale[one] ** 2)
    return point
