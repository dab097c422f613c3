"""An empirical check of the shipped encoder: encode two records many times, and bound how well they are told apart.

The exact audit proves what the contract's integers do. Trials test the actual output of `Collection.encode` with the
system's generator. For two people with different records, the most distinguishing event is that a code supports one's
cell and not the other's. Clopper-Pearson bounds on its two probabilities give a lower bound on the realised epsilon.
How often cells are supported must also agree with the exact channel, so that encoders that are too private, or private
in another way, are detected too. All bounds of a run hold simultaneously except with probability 1e-6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.contract import Channel, CompiledView, ServiceContract
from tacit.contract.schema import Categorical, Service
from tacit.estimate.student import proportion_bounds

__all__ = ["FALSE_ALARM", "Encode", "Trial", "Trials", "expectations", "run_trials"]

FALSE_ALARM = 1e-6
"""Probability of any false alarm for a correct encoder."""

BOUNDS = 6
"""Bounds per trial: two for the distinguishing event, four for how often a cell is supported."""

AT_ONCE = 100_000
"""People encoded together."""

Encode = Callable[..., Mapping[str, pa.Table]]
Counts = dict[str, int]
Place = tuple[str, str, str, str]
"""Service, channel, and two kinds of people."""


@dataclass(frozen=True)
class Trial:
    """How often two kinds of people sent codes that distinguish the first from the second."""

    service: str
    channel: str
    first: str
    second: str
    epsilon: Fraction
    trials: int
    told: tuple[int, int]
    """Codes that support only the first one's cell, sent by the first and by the second."""
    supported: tuple[int, int]
    """Codes that support the first one's cell, sent by the first and by the second."""
    expected: tuple[Fraction, Fraction]
    """Their exact probabilities."""

    def lower_bound(self, alpha: float) -> float:
        """Return a lower bound on the channel's epsilon, wrong with probability at most twice alpha."""
        low, _ = proportion_bounds(self.told[0], self.trials, alpha)
        _, high = proportion_bounds(self.told[1], self.trials, alpha)
        return math.log(low / high) if low > 0 else -math.inf

    def problem(self, alpha: float) -> str:
        """Return the problem, or ""."""
        if self.lower_bound(alpha) > self.epsilon:
            return "reveals more than its budget allows"
        for count, chance in zip(self.supported, self.expected, strict=True):
            low, high = proportion_bounds(count, self.trials, alpha)
            if not low <= chance <= high:
                return "is not the channel of the contract"
        return ""


@dataclass(frozen=True)
class Trials:
    """All trials of a collection."""

    found: tuple[Trial, ...]

    @property
    def alpha(self) -> float:
        """Error probability of each bound: one in a million over all of them."""
        return FALSE_ALARM / max(1, BOUNDS * len(self.found))

    @property
    def problems(self) -> list[str]:
        """The problems, by channel."""
        judged = [(trial, trial.problem(self.alpha)) for trial in self.found]
        return [
            f"{trial.service}, {trial.channel}, {trial.first} and {trial.second}: {why}" for trial, why in judged if why
        ]

    @property
    def ok(self) -> bool:
        """Whether the trials found no evidence against the encoder."""
        return not self.problems

    @property
    def lower_bound(self) -> dict[str, float]:
        """The largest lower bound of each channel, by service and name."""
        bounds: dict[str, float] = {}
        for trial in self.found:
            name = f"{trial.service}, {trial.channel}"
            bounds[name] = max(bounds.get(name, -math.inf), trial.lower_bound(self.alpha))
        return bounds


def run_trials(collection: Collection, trials: int, *, encode: Encode | None = None) -> Trials:
    """Encode people of each kind repeatedly, with the public encoder or another one, and count."""
    encoder: Encode = encode or collection.encode
    services = [
        service for service in collection.contract.services if not service.derived
    ]  # baselines first round at random
    counts: dict[Place, Counts] = {}
    pairs = [(service, first, second) for service in services for first, second in _pairs(service)]
    for kind in ("low", "high", "none"):
        for start in range(0, trials, AT_ONCE):
            people = range(start, min(start + AT_ONCE, trials))
            tables = {
                service.service.name: _rows(service.service, kind, people) for service in collection.contract.services
            }
            reports = encoder(people=people, **tables)
            for service, first, second in pairs:
                if kind in (first, second):
                    _count(service, (first, second), kind, reports[service.service.name], counts)
    return Trials(tuple(_trials(collection, trials, counts)))


def _pairs(compiled: ServiceContract) -> list[tuple[str, str]]:
    """Return the ordered pairs of people to compare: extreme values, and no row if that is possible."""
    pairs = [("low", "high"), ("high", "low")]
    return [*pairs, ("none", "low"), ("low", "none")] if compiled.extras else pairs


def _rows(service: Service, kind: str, people: range) -> dict[str, Any]:
    """Return a table in which everybody has the same rows: as many as count, with the lowest or the highest values."""
    each = service.rows_at_most
    if kind == "none" and not service.one_to_one:
        people = people[:0]
    columns: dict[str, Any] = {service.key: np.repeat(np.arange(people.start, people.stop), each)}
    for attribute in service.attributes:
        if attribute in service.public:
            value: Any = "public"
        elif isinstance(attribute, Categorical):
            value = attribute.values[-1 if kind == "high" else 0]
        else:
            value = attribute.high if kind == "high" else attribute.low  # type: ignore[union-attr]
        columns[attribute.name] = pa.array([value]).take(pa.array(np.zeros(each * len(people), dtype=np.int64)))
    return columns


def _cells(compiled: ServiceContract, view: CompiledView, kind: str) -> tuple[int, ...]:
    """Return the cell of a kind of people in each active attribute of a view."""
    sizes = view.oracle.sizes
    if kind == "none" and compiled.extras:
        return (sizes[0] - compiled.extras, *(0 for _ in sizes[1:]))
    levels = [(compiled.levels[i], view.levels[i]) for i in view.active]
    last = [levels_of.size - 1 - levels_of.has_null for levels_of, _ in levels]
    if view.parity:  # levels are bit masks
        masks = [mask for _, mask in levels]
        return (sum((most & mask).bit_count() for most, mask in zip(last, masks, strict=True)) % 2 * (kind == "high"),)
    return tuple(
        levels_of[depth].cell_of(most if kind == "high" else 0)
        for (levels_of, depth), most in zip(levels, last, strict=True)
    )


def _count(
    compiled: ServiceContract, pair: tuple[str, str], kind: str, table: pa.Table, counts: dict[Place, Counts]
) -> None:
    """Count how often people of a kind sent codes that support the first one's cell and not the second one's."""
    channels, codes = np.asarray(table.column("channel")), np.asarray(table.column("code"))
    side = "first" if kind == pair[0] else "second"
    for index, channel in enumerate(compiled.channels):
        mine = codes[channels == index]
        offsets = np.array([view.offset for view in channel.views])
        views = np.searchsorted(offsets, mine, side="right") - 1
        counted = counts.setdefault((compiled.service.name, channel.name, *pair), {})
        for number, view in enumerate(channel.views):
            sent = mine[views == number] - view.offset
            if not len(sent):
                continue
            first, second = (_supports(view, _cells(compiled, view, value), sent) for value in pair)
            for name, marks in (("told", first & ~second), ("supported", first)):
                counted[f"{name} {side}"] = counted.get(f"{name} {side}", 0) + int(marks.sum())


def _supports(view: CompiledView, cells: tuple[int, ...], codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which codes support a cell."""
    marks = [np.eye(1, size, cell)[0] for size, cell in zip(view.oracle.sizes, cells, strict=True)]
    supported: npt.NDArray[np.bool_] = view.oracle.sums([marks], codes) > 0.5
    return supported


def expectations(collection: Collection) -> dict[Place, tuple[Fraction, int, tuple[Fraction, Fraction]]]:
    """Return the expectations for each channel and pair: the budget, reports per person, and exact probabilities."""
    expected = {}
    for compiled in collection.contract.services:
        for channel, pair in itertools.product(compiled.channels, [] if compiled.derived else _pairs(compiled)):
            chances = _chance(compiled, channel, pair, pair[0]), _chance(compiled, channel, pair, pair[1])
            place = compiled.service.name, channel.name, *pair
            expected[place] = channel.epsilon, compiled.service.sends, chances
    return expected


def _trials(collection: Collection, trials: int, counts: dict[Place, Counts]) -> Iterator[Trial]:
    for place, (epsilon, sends, chances) in expectations(collection).items():
        told, supported = (
            (counts[place].get(f"{name} first", 0), counts[place].get(f"{name} second", 0))
            for name in ("told", "supported")
        )
        yield Trial(*place, epsilon, trials * sends, told, supported, chances)


def _chance(compiled: ServiceContract, channel: Channel, pair: tuple[str, str], kind: str) -> Fraction:
    """Return the exact probability that people of a kind send a code that supports the first one's cell."""
    total = Fraction(0)
    for index, view in enumerate(channel.views):
        share = Fraction(channel.view_weight(index), view.oracle.span)
        same = _cells(compiled, view, pair[0]) == _cells(compiled, view, kind)
        total += share * (view.oracle.keep if same else view.oracle.lie)
    return total
