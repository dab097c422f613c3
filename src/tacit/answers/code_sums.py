"""Sums over people from sums over codes: any number of groups in one pass over the reports.

A person's part of a total is a **weight** times the contribution of one service's code. The weight is computed from
public columns and the person's reports to other services; the engine sums it by code and public group. Tables of the
views (`tacit.estimate.tallies`) turn these sums into totals. Second and fourth moments, which errors need, are summed
over all codes if these are few, else over a random sample of each view's seeds: the answers to one seed together show
every cell equally often.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tacit.answers.code_cache import FetchedSums, fetch_code_sums
from tacit.answers.columns import Values, numbers_of
from tacit.answers.moments import Request, higher_moments
from tacit.answers.sampling import GroupedCodes
from tacit.contract.contract import Channel
from tacit.engines.base import Engine
from tacit.estimate.batch import FunctionalBatch, batch_of
from tacit.estimate.blocks import totals_of
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.tallies import is_read_by_code, table_work
from tacit.sql.nodes import Sums
from tacit.sql.plan import Plan
from tacit.sql.printing import print_query
from tacit.sql.scope import Scope
from tacit.sql.totals import Piece, Total

__all__ = ["CodePlan", "GroupMoments", "Values", "plan_by_code"]

FEW_MEASURES = 4
"""Maximum totals of a join for which joining contributions and summing is as fast."""

FEW_TOTALS = 2
"""Maximum totals for which joining contributions is faster than reading the codes of views that have no table."""

MOST_COLUMNS = 128
"""Maximum sums in one statement: weights, products and fourth powers of weights."""

MOST_UPLOADED = 2**26
"""Maximum contributions of other services in one statement: half a gigabyte."""

TOTALS_AT_ONCE = 48
"""Totals that a statement adds up which joins contributions; four such statements take about two seconds."""

MOST_WORK = 2**28
"""Maximum cells visited to tally all groups: about two seconds."""

SAMPLED, SAMPLED_LEAST = 2**14, 2**11
"""Codes that second moments are computed from, over all views, and the minimum."""

SAMPLED_WEIGHTED = 2**15
"""Codes that weighted moments are computed from, however many totals: no known totals correct them."""

SAMPLED_BY_CODE = 2**18
"""Minimum codes where some views have no table: few codes of so many views decide their moments."""

SAMPLED_VALUES = 2**19
"""Maximum codes times totals: with more totals, fewer codes are sampled."""


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """The sums of one public group: people, totals, sums of products of totals, and of fourth powers."""

    count: int
    totals: Vector
    products: Vector
    fourths: Vector


@dataclass
class _Weights:
    """The distinct weights of some totals; None stands for 1."""

    totals: list[Total] = field(default_factory=list)
    _places: dict[Hashable, int] = field(default_factory=dict)

    def place(self, weight: Total | None) -> int | None:
        if weight is None:
            return None
        key = weight.key
        if key not in self._places:
            self._places[key] = len(self.totals)
            self.totals.append(weight)
        return self._places[key]


class CodePlan:
    """The query for one round's sums by code, and how totals are computed from them."""

    from_tables = True

    def __init__(
        self,
        plan: Plan,
        side: int,
        weight: Sequence[int | None],
        pairs: Sequence[tuple[int, int]],
        batch: FunctionalBatch,
        squared: tuple[Sequence[int], FunctionalBatch],
    ) -> None:
        self.plan, self.side, self._weight, self._pairs, self._batch = plan, side, weight, pairs, batch
        self._squared, self._second = squared
        batch.share_contributions(self._squared, self._second)
        self._place = {total: place for place, total in enumerate(self._squared)}
        both = {_in_order(weight[i], weight[j]) for i, j in pairs}
        self._weight_pairs = sorted((i, j) for i, j in both if i is not None and j is not None)
        self._fourth_weights = sorted({index for i in self._squared if (index := weight[i]) is not None})
        self.columns = 1 + len(plan.totals) + len(self._weight_pairs) + len(self._fourth_weights)

    @property
    def channel(self) -> Channel:
        """The channel whose codes are counted."""
        return self.plan.round.stored[self.side].service.channels[0]

    @property
    def query(self) -> Sums:
        """The engine's query: the sums of weights, of their products, and of their fourth powers."""
        return self.plan.sums_by_code(self.side, self._weight_pairs, self._fourth_weights)

    def run(self, engine: Engine) -> dict[Values, GroupMoments] | None:
        """Return the sums of each public group; None if there are too many groups to make tables for."""
        if self._expects_too_much(engine):
            return None
        uploads = partial(self.plan.uploads, engine.codes, engine.whole_alphabet)
        fetched = fetch_code_sums(engine, self.query, self.channel, uploads, self._weights_key)
        counts = fetched.counts
        if self._work(np.diff(counts.bounds(self.channel)).tolist(), counts.groups) > self._most_work:
            return None
        totals = self._totals(fetched)
        products, fourths = self._higher(fetched)
        return {
            values: GroupMoments(int(counts.people[place]), totals[place], products[place], fourths[place])
            for place, values in enumerate(fetched.values)
        }

    @property
    def _weights_key(self) -> Hashable:
        """The key that equal weights share; tables of reports are in the statement."""
        decoders = tuple(stored.decoder.name for stored in self.plan.round.stored)
        return (decoders, *(total.key for total in self.plan.totals))

    def _expects_too_much(self, engine: Engine) -> bool:
        """Estimate whether weights need too much memory, and from the number of people whether tables take too long.

        If even all codes of one group are few enough, the people are not counted.
        """
        if self._count_uploads(engine.whole_alphabet) > MOST_UPLOADED:
            return True
        views = self.channel.views
        if self._work([view.oracle.alphabet for view in views]) <= self._most_work:
            return False
        counted = engine.fetch(*print_query(Sums(self.plan.reports.people)), {})
        people = int(numbers_of(counted.column(0)).sum())
        sizes = [
            -view.oracle.alphabet * math.expm1(-people * self.channel.probability(number) / view.oracle.alphabet)
            for number, view in enumerate(views)
        ]
        return self._work(sizes) > self._most_work

    def _count_uploads(self, whole_alphabet: int) -> int:
        """Return how many contributions of other services weights need; of large alphabets, few codes occur."""
        decoding = self.plan.decoding
        return sum(
            min(channel.alphabet, whole_alphabet) * len(decoding.read(number))
            for number, stored in enumerate(self.plan.round.stored)
            for channel in stored.service.channels
        )

    @property
    def _most_work(self) -> int:
        """How many cells may be visited: as long as joining contributions would take."""
        return MOST_WORK * max(1, self._batch.count // (4 * TOTALS_AT_ONCE))

    def _work(self, sizes: Iterable[float], groups: int = 1) -> int:
        """Return how many cells are visited to tally these numbers of codes per view, for all groups and weights."""
        oracles = [(view.oracle, count) for view, count in zip(self.channel.views, sizes, strict=True) if count]
        if self._batch.count <= FEW_TOTALS:
            each = sum(oracle.tally_work(round(count)) for oracle, count in oracles)
        else:
            each = sum(table_work(oracle, count) for oracle, count in oracles)
        return each * groups * len(set(self._weight))

    def _totals(self, fetched: FetchedSums) -> Vector:
        """Return the totals of each group."""
        groups = fetched.counts.groups
        totals = np.zeros((groups, self._batch.count))
        columns = np.array([0 if index is None else 1 + index for index in self._weight])
        for group, column in itertools.product(range(groups), sorted(set(columns.tolist()))):
            tallies = fetched.tallies(self.channel, group, column)
            read = totals_of(self._batch, tallies)
            totals[group, columns == column] = read[columns == column]
        return totals

    def _higher(self, fetched: FetchedSums) -> tuple[Vector, Vector]:
        """Return sums of products of pairs, and of fourth powers, of each group."""
        counts = fetched.counts
        if not self._squared:
            return np.zeros((counts.groups, 0)), np.zeros((counts.groups, 0))
        left, right = (np.array([self._place[pair[side]] for pair in self._pairs]) for side in (0, 1))
        pair_columns = np.array([self._pair_column(i, j) for i, j in self._pairs])
        fourth_columns = np.array([self._fourth_column(i) for i in self._squared])
        decoder = self.plan.round.stored[self.side].decoder
        sample = fetched.sample(decoder, self._second, self._quota(counts))
        return higher_moments(self._second, sample, Request(left, right, pair_columns, fourth_columns))

    def _quota(self, counts: GroupedCodes) -> int:
        """Return how many codes are sampled for second moments."""
        strata = (1 + counts.strata[1]) // 2
        unweighted = max(SAMPLED_LEAST, min(SAMPLED, SAMPLED_VALUES // len(self._squared)))
        wanted = strata * (SAMPLED_WEIGHTED if self.plan.totals else unweighted)
        sizes = np.diff(counts.bounds(self.channel)).tolist()
        if any(is_read_by_code(view.oracle, count) for view, count in zip(self.channel.views, sizes, strict=True)):
            wanted = max(wanted, SAMPLED_BY_CODE)
        return int(2 ** (wanted.bit_length() - 1))  # rounded, so that similar questions share a sample

    def _pair_column(self, i: int, j: int) -> int:
        left, right = _in_order(self._weight[i], self._weight[j])
        if left is None:
            return 0 if right is None else 1 + right
        assert right is not None  # noqa: S101  None comes first
        return 1 + len(self.plan.totals) + self._weight_pairs.index((left, right))

    def _fourth_column(self, i: int) -> int:
        index = self._weight[i]
        if index is None:
            return 0
        return 1 + len(self.plan.totals) + len(self._weight_pairs) + self._fourth_weights.index(index)

    def noisy(self) -> tuple[bool, ...]:
        """Return, for each total, whether it reads any codes."""
        reads = self._batch.reads_codes()
        others = [False if index is None else self.plan.decoding.reads_codes[index] for index in self._weight]
        return tuple(bool(mine) or other for mine, other in zip(reads, others, strict=True))


def plan_by_code(wanted: Plan) -> CodePlan | None:
    """Plan the sums of totals by the codes of one service; None where that is impossible or unnecessary."""
    scope, stored, totals = wanted.scope, wanted.round.stored, wanted.totals
    if any(source.twin is not None for source in scope.sources) or any(len(total.pieces) > 1 for total in totals):
        return None
    if len(scope.sources) > 1 and len(totals) <= FEW_MEASURES:
        return None
    sides = [number for number, source in enumerate(stored) if source.is_one_report]
    splits = [(side, split) for side in sides if (split := _split(scope, side, totals)) is not None]
    if len(splits) > 1:
        splits.sort(key=lambda candidate: -len({local.key for local, _ in candidate[1]}))
    squared = sorted({i for pair in wanted.pairs for i in pair})
    for side, split in splits:
        weights = _Weights()
        weight = [weights.place(total) for _, total in split]
        decoder = stored[side].decoder
        batch = batch_of(decoder, [local for local, _ in split])
        if batch is None or len(weights.totals) > MOST_COLUMNS:
            continue
        second = batch if len(squared) == len(split) else batch.part(squared)
        plan = replace(wanted, totals=weights.totals, pairs=[])
        code_plan = CodePlan(plan, side, weight, wanted.pairs, batch, (squared, second))
        if code_plan.columns <= MOST_COLUMNS:
            return code_plan
    return None


def _split(scope: Scope, side: int, totals: Sequence[Total]) -> list[tuple[Functional, Total | None]] | None:
    """Return each total as a functional of one service times a weight; None where it is a sum of such products."""
    source = scope.sources[side]
    first, sizes = source.first, source.sizes
    parts: list[tuple[Functional, Total | None]] = []
    for total in totals:
        if not total.pieces:
            parts.append((Functional(sizes, ()), None))
            continue
        [piece] = total.pieces
        if len(scope.sources) == 1 and not piece.guards and not piece.powers:
            parts.append((piece.functional, None))
            continue
        terms, others = [], {}
        for term in piece.functional.terms:
            mine = {i - first: vector for i, vector in term.factors.items() if first <= i < first + len(sizes)}
            theirs = {i: vector for i, vector in term.factors.items() if not first <= i < first + len(sizes)}
            others[tuple((i, vector.tobytes()) for i, vector in sorted(theirs.items()))] = theirs
            terms.append(Term(term.coefficient, mine))
        if len(others) > 1:
            return None
        [theirs] = others.values()
        plain = not theirs and not piece.guards and not piece.powers
        beside = Functional(scope.sizes, (Term(1.0, theirs),))
        weight = None if plain else Total((Piece(beside, piece.guards, piece.powers),))
        parts.append((Functional(sizes, tuple(terms)), weight))
    return parts


def _in_order(left: int | None, right: int | None) -> tuple[int | None, int | None]:
    return (left, right) if left is None or (right is not None and left <= right) else (right, left)
