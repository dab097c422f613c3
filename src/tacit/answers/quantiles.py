"""Quantiles from the estimated tests at all numbers: values, intervals, and how far liars can move them.

The value is where the isotonic regression of the tests crosses zero. The interval is Woodruff's: the numbers at which
the regression is not significantly different from zero. It needs no density, is never empty at a spike, and is always
connected. The regression averages noise over neighbouring tests; its error is estimated by drawing noise with their
correlation. The same draws show how many standard errors the interval needs: fewer than a Gaussian's, because it is
the hull of all numbers that may be the crossing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from tacit.answers.batches import in_batches
from tacit.answers.group_sums import GroupSums, SumsRequest
from tacit.answers.located_tests import LocatedTest, LocatedTests
from tacit.answers.people import FEW_PEOPLE, FEW_REPORTS, People
from tacit.answers.rows import PendingEstimate
from tacit.answers.sums import Fetch, Values, fetch_by_code, fetch_sums
from tacit.errors import UnsupportedSqlError
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Vector
from tacit.estimate.isotonic import isotonic, isotonic_rows
from tacit.estimate.threads import one_thread
from tacit.sql.plan import Plan
from tacit.sql.quantiles import Quantile
from tacit.sql.scope import BoundColumn
from tacit.sql.shifts import Shifts

__all__ = ["FEW_CORRELATED", "WIDE", "Curve", "Noise", "PendingQuantile", "fetch_quantiles", "interpolate", "spread"]

MEASURED, MEASURED_LEAST, MEASURED_IN_ALL = 33, 9, 2**12
"""Tests of a quantile whose errors are computed, fewer for each of many groups; between them they are interpolated."""

TESTS_BY_CODE, TESTS_AT_ONCE = 4_000, 48
"""Maximum tests of one request: with sums by code, and where each test adds a few columns to a statement."""

MOST_TESTS = 100_000
"""Maximum tests of a question, over all groups: half a minute on one core."""

LOOKED_AT, MOST_CORRELATED, FEW_CORRELATED = 64, 48, 24
"""Maximum tests of one interval, and those whose correlation is computed with sums by code or with statements."""

DRAWS, DRAWN_WITH = 64, 2
"""Draws of noise, with a fixed seed, so that equal questions have equal answers."""

LEAST_ERRORS = 0.9
"""Least number of errors of an interval, relative to a Gaussian's: the estimated curve has steps where the true one is
smooth, so that draws around it locate the crossing too well."""

WIDE = 2.5
"""Standard errors within which a crossing is searched before the level is known."""

PLANNED = 9
"""Number of tests whose planned errors are computed; the others are interpolated."""

Places = npt.NDArray[np.int64]

NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Curve:
    """The estimated tests of a quantile, in the order of its numbers, with their errors and the number of people."""

    quantile: Quantile
    tests: Vector
    errors: Vector
    freedom: float
    people: int

    def reach(self, quantile: float) -> tuple[int, int]:
        """Return the first and last number at which a single test may cross zero, within the given number of errors."""
        return crossing(self.tests, quantile * self.errors)

    def estimate(self, level: float, noise: Callable[[], Noise] | None) -> tuple[float, tuple[float, float]]:
        """Return the value and the interval at a level; without ``noise``, the interval of single tests."""
        monotone = isotonic(self.tests)
        value = self.quantile.value(monotone)
        if math.isnan(value):
            return value, (math.nan, math.nan)
        quantile = t_quantile(0.5 + level / 2, self.freedom)
        first, last = self.reach(quantile)
        places = spread(last + 1, LOOKED_AT, max(0, first - 1))
        if last - first > 1 and noise is not None and np.isfinite(self.errors[places]).all():
            every = np.arange(places[0], places[-1] + 1)
            smoothed, needed = noise().smooth(places, monotone[places], self.errors[places], level)
            margins = quantile * needed * np.interp(every, places, smoothed)
            own_first, own_last = crossing(monotone[every], margins)
            first = max(first, int(every[own_first]))
            last = max(first, min(last, int(every[own_last])))
        low, high = _between(self.quantile, first, last)
        return value, (min(low, value), max(high, value))

    def at(
        self, level: float, noise: Callable[[], Noise] | None, shift: Callable[[], float] = lambda: math.nan
    ) -> Estimate:
        """Return the estimate; its error is half of the interval over the quantile of the level."""
        value, interval = self.estimate(level, noise)
        error = (interval[1] - interval[0]) / 2 / t_quantile(0.5 + level / 2, self.freedom)
        return Estimate(value, error, self.people, level, self.freedom, interval=interval, shift=shift)

    def movement(self, shifts: Callable[[Sequence[int]], Vector]) -> float:
        """Return how far the value moves if each test moves by its shift, in either direction.

        The shifts of some tests are asked for at a time, from either end: few people move most quantiles that far.
        """
        tests = isotonic(self.tests)
        value, count = self.quantile.value(tests), len(tests)
        first, last = count - 1, 0
        for places in _from_one_end(range(count)):
            above = np.flatnonzero(tests[places] + shifts(places) >= 0)
            if len(above):
                first = places[above[0]]
                break
        for places in _from_one_end(range(count - 2, -1, -1)):
            below = np.flatnonzero(tests[places] - shifts(places) < 0)
            if len(below):
                last = 1 + places[below[0]]
                break
        low, high = _between(self.quantile, min(first, last), max(first, last))
        return max(high - value, value - low)


class Noise:
    """The correlation of the tests' noise, which determines how much of it the isotonic regression averages away."""

    def __init__(self, places: Places, covariance: Vector, measured: Sequence[int]) -> None:
        self._measured = measured
        scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = np.nan_to_num(covariance / np.outer(scale, scale), posinf=0.0, neginf=0.0).clip(-1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation)
        self._scale = scale
        draws = np.random.default_rng(DRAWN_WITH).normal(size=(len(places), DRAWS))
        self._places = places
        self._draws: Vector = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * draws)

    def smooth(self, places: Places, monotone: Vector, errors: Vector, level: float) -> tuple[Vector, float]:
        """Return the errors of the isotonic regression at some places, at most those of the tests themselves.

        Also return how many errors an interval at a level needs, relative to a Gaussian's. Noise is drawn, with both
        signs, and added to the regression, which is then fitted again. Between places with known noise it is
        interpolated linearly: smoother than it is, so that less of it is averaged away.
        """
        errors = errors * self._unevenness(places)
        drawn = np.stack([np.interp(places, self._places, draw) for draw in self._draws.T])
        size = np.sqrt(np.mean(np.square(drawn), axis=0))
        drawn = drawn / np.where(size > 0, size, 1.0) * errors
        again = isotonic_rows(monotone + np.concatenate([drawn, -drawn]))
        smoothed = np.minimum(np.sqrt(np.mean(np.square(again - monotone), axis=0)), errors)
        around = len(smoothed) // 8  # one test with a large error must not widen the interval
        ends = np.pad(smoothed, around, mode="edge")
        smoothed = np.convolve(ends, np.full(2 * around + 1, 1 / (2 * around + 1)), mode="valid")
        if not (smoothed > 0).all():
            return smoothed, 1.0
        place = min(int(np.searchsorted(monotone, 0.0)), len(monotone) - 1)
        needed = np.quantile(_errors_to_cross(again / smoothed, place), level)
        return smoothed, float(np.clip(needed / NORMAL.inv_cdf(0.5 + level / 2), LEAST_ERRORS, 1.0))

    def _unevenness(self, places: Places) -> Vector:
        """Return how much errors differ from a linear interpolation of the measured ones."""
        every = np.interp(places, self._places, self._scale)
        inside = [place for place in self._measured if self._places[0] <= place <= self._places[-1]]
        if len(inside) < 2:
            return np.ones(len(places))
        lines = np.interp(places, inside, np.interp(inside, self._places, self._scale))
        return np.where(lines > 0, every / np.where(lines > 0, lines, 1.0), 1.0)


@lru_cache(maxsize=4096)
def spread(count: int, most: int, first: int = 0) -> Places:
    """Return at most ``most`` of ``count`` places, evenly spaced, including the first and the last."""
    return np.unique(np.linspace(first, count - 1, most).round().astype(np.int64))


def interpolate(count: int, variance: Callable[[int], float]) -> Vector:
    """Return the variance of every test: computed for some, interpolated linearly between them."""
    places = spread(count, PLANNED)
    return np.interp(np.arange(count), places, [variance(int(i)) for i in places])


def crossing(tests: Vector, margins: Vector) -> tuple[int, int]:
    """Return the first and the last number at which tests may turn from negative to not negative."""
    above, below = tests + margins >= 0, tests[:-1] - margins[:-1] < 0
    first = int(np.argmax(above)) if above.any() else len(tests) - 1
    last = 1 + int(np.flatnonzero(below)[-1]) if below.any() else 0
    return min(first, last), max(first, last)


def _from_one_end(places: Sequence[int]) -> Iterator[list[int]]:
    """Yield one of some places, then ever more of them at a time."""
    start, step = 0, 1
    while start < len(places):
        yield list(places[start : start + step])
        start, step = start + step, 4 * step


def _errors_to_cross(curves: Vector, place: int) -> Vector:
    """Return for each curve, in errors, the least margin with which `crossing` includes a place."""
    low: Vector = -curves[:, : place + 1].max(axis=1)
    high: Vector = curves[:, max(0, place - 1) :].min(axis=1)
    return np.asarray(np.maximum(0.0, np.maximum(low, high)))


def _between(quantile: Quantile, first: int, last: int) -> tuple[float, float]:
    """Return the range of a quantile that lies at one of the given places."""
    return float(quantile.outcomes.least[first]), float(quantile.outcomes.most[last])


def fetch_quantiles(
    people: People,
    quantiles: Sequence[Quantile],
    keys: Sequence[BoundColumn],
    conditions: Sequence[exp.Expr],
    *,
    superpopulation: bool,
) -> tuple[dict[Values, list[PendingQuantile]], list[Plan]]:
    """Return the curves of quantiles for each group of public values, and the plans that were run."""
    if (count := sum(len(quantile.outcomes) for quantile in quantiles)) > MOST_TESTS:
        message = (
            f"{len(quantiles):,} quantiles are searched among {count:,} numbers in all; at most {MOST_TESTS:,} are "
            "tried in one question. Ask for fewer groups with WHERE, for coarser ones, or round the column, as in "
            "MEDIAN(ROUND(column, -1))."
        )
        raise UnsupportedSqlError(message, code="too-many-groups", text=people.scope.text)
    tests = [(number, place) for number, quantile in enumerate(quantiles) for place in range(len(quantile.totals))]
    most = min(MEASURED, max(MEASURED_LEAST, MEASURED_IN_ALL // max(1, len(quantiles))))
    measured = [set(spread(len(quantile.totals), most).tolist()) for quantile in quantiles]
    squares = people.squares([total for quantile in quantiles for total in quantile.totals])
    requests: list[tuple[dict[Values, GroupSums], list[Shifts]]] = []
    located: list[list[tuple[int, int]]] = [[] for _ in quantiles]

    def measure(batch: Sequence[tuple[int, int]], fetch: Fetch) -> list[Plan] | None:
        request = SumsRequest(squares)
        places = [
            (request.alone if place in measured[number] else request.place)(quantiles[number].totals[place])
            for number, place in batch
        ]
        fetched = fetch(people, request, keys, conditions)
        if fetched is None:
            return None
        sums, ran = fetched
        for (number, _), place in zip(batch, places, strict=True):
            located[number].append((len(requests), place))
        requests.append((sums, list(map(Shifts, ran))))
        return ran

    plans = list(itertools.chain.from_iterable(in_batches(tests, TESTS_BY_CODE, TESTS_AT_ONCE, measure)))
    alike: dict[Hashable, _Alike] = {}
    pending: dict[Values, list[PendingQuantile]] = {}
    places = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in located]
    for values in dict.fromkeys(values for sums, _ in requests for values in sums):
        pending[values] = []
        parts = [(sums[values], shifts) for sums, shifts in requests]
        for quantile, where in zip(quantiles, places, strict=True):
            same = alike.setdefault(quantile.key, _Alike(people, conditions, most))
            curve = LocatedTests(parts, where)
            pending[values].append(PendingQuantile(people, quantile, curve, same, squares, superpopulation))
            same.members.append(pending[values][-1])
    return pending, plans


class _Alike:
    """Quantiles of one column and share in all groups, whose noise is assumed to have the same correlation."""

    def __init__(self, people: People, conditions: Sequence[exp.Expr], measured: int) -> None:
        self._people, self._conditions = people, conditions
        self.most_measured = measured
        self.members: list[PendingQuantile] = []

    @cached_property
    def noise(self) -> Noise:
        """The correlation, from the products of all people's contributions to some tests."""
        spans = np.array([member.curve.reach(WIDE) for member in self.members])
        first, last = int(np.quantile(spans[:, 0], 0.1)), int(np.quantile(spans[:, 1], 0.9))
        return self._between(first, last, MOST_CORRELATED, fetch_by_code) or self._pool(first, last)

    def prepare_shifts(self, places: Sequence[int]) -> None:
        """Read how far people can move some tests, in all groups together: reading all codes takes most of the time."""
        wanted: dict[Shifts, dict[int, None]] = {}
        for member, place in itertools.product(self.members, places):
            for shifts in member.measured[place].shifts:
                wanted.setdefault(shifts, {})[member.measured[place].place] = None
        for shifts, places_of_tests in wanted.items():
            shifts.prepare(list(places_of_tests))

    def _pool(self, first: int, last: int) -> Noise:
        """Return the correlation of fewer tests, where every pair needs a column of a statement."""
        noise = self._between(first, last, FEW_CORRELATED, fetch_sums)
        assert noise is not None  # noqa: S101  statements answer whatever sums by code do not
        return noise

    def _between(self, first: int, last: int, most: int, fetch: Fetch) -> Noise | None:
        places = spread(last + 1, most, max(0, first - 1))
        quantile = self.members[0].quantile
        request = SumsRequest(squares=False)
        spots = request.places([quantile.totals[i] for i in (*places, len(quantile.totals) - 1)])
        people = self._people
        fetched = fetch(people, request, (), self._conditions)
        if fetched is None:
            return None
        [sums] = fetched[0].values()
        return Noise(
            places,
            self._covariance(sums, spots, float(quantile.share)),
            spread(len(quantile.totals), self.most_measured).tolist(),
        )

    def _covariance(self, sums: GroupSums, spots: Sequence[int], share: float) -> Vector:
        """Return the covariance of tests u <= v, of which h_u h_v = (1 - q) h_u - q h_v + q h_last, without noise."""
        squares = self.members[0].squares
        tests = sums.totals[list(spots)]
        matrix = np.zeros((len(spots) - 1, len(spots) - 1))
        for (a, i), (b, j) in itertools.combinations_with_replacement(enumerate(spots[:-1]), 2):
            beside = (1 - share) * tests[a] - share * tests[b] + share * tests[-1]
            if not squares:
                beside = tests[a] * tests[b] / max(1, sums.count)
            matrix[a, b] = matrix[b, a] = sums.products[min(i, j), max(i, j)] - beside
        return matrix


@dataclass(frozen=True, eq=False)
class PendingQuantile(PendingEstimate):
    """A quantile whose level is not known yet."""

    people: People
    quantile: Quantile
    measured: LocatedTests
    alike: _Alike
    squares: bool
    superpopulation: bool

    @cached_property
    def curve(self) -> Curve:
        """The estimated tests; errors are computed for some and interpolated between them."""
        count = max(sums.count for sums, _ in self.measured.parts)
        values = self.measured.read(lambda sums: sums.totals)
        places = spread(len(values), self.alike.most_measured)
        variances = np.array([self._variance(self.measured[i]) for i in places])
        freedom = float(
            np.median([test.sums.effective([test.place]) for test in map(self.measured.__getitem__, places)])
        )
        if (freedom < FEW_REPORTS or count < FEW_PEOPLE) and variances.any():
            variances = np.maximum(variances, self._planned_variances()[places])
        errors = np.interp(np.arange(len(values)), places, np.sqrt(np.maximum(variances, 0.0)))
        errors = np.where(self.measured.read(lambda sums: sums.noisy) > 0, errors, 0.0)
        return Curve(self.quantile, values, errors, max(1.0, freedom - 1), count)

    def _variance(self, test: LocatedTest) -> float:
        variance = test.sums.variance(test.place, superpopulation=self.superpopulation)
        return variance if not math.isnan(variance) else math.inf

    def _planned_variances(self) -> Vector:
        """Return the planned variance of each test."""
        totals = self.quantile.totals
        return interpolate(
            len(totals), lambda i: self.people.planned_variance(((1.0, totals[i]),), self.measured[i].sums)
        )

    def at(self, level: float) -> Estimate:
        """Return the estimate; its error is half of the interval over the normal quantile."""
        return self.curve.at(level, lambda: self.alike.noise, self._movement)

    @one_thread
    def _movement(self) -> float:
        """Return how far 1 % of the people can move the value: usually, tests at both ends decide."""
        self.alike.prepare_shifts(sorted({0, max(0, len(self.measured) - 2)}))
        return self.curve.movement(self._shifts)

    def _shifts(self, places: Sequence[int]) -> Vector:
        """Return how far 1 % of the people can move some tests, in the round in which they can move each most."""
        tests = [(self.measured[place], self.quantile.totals[place]) for place in places]
        for shifts in tests[0][0].shifts:
            shifts.prepare([test.place for test, _ in tests if test.shifts is tests[0][0].shifts])
        return np.array(
            [
                max(shifts.shift_of(total, test.place, test.sums.count) for shifts in test.shifts)
                for test, total in tests
            ]
        )
