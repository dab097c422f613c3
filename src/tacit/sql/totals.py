"""Totals: sums over people of a functional, under public conditions, times public columns.

Every sum in a question is a **total**: a sum of **pieces**, each a functional of the sensitive attributes that counts
only where all its guards (conditions on public columns) hold, times powers of public columns. Totals are closed under
+, scaling and multiplication, so conditions, groups, measures and their squares are all totals.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.estimate.functional import Functional

__all__ = ["Piece", "Total"]


@dataclass(frozen=True, eq=False)
class Piece:
    """A functional, where all guards hold, times public columns to powers (0 marks "is present")."""

    functional: Functional
    guards: tuple[exp.Expr, ...] = ()
    powers: Mapping[exp.Expr, int] = field(default_factory=dict)

    def times(self, other: Piece) -> Piece:
        """Return the product."""
        powers = dict(self.powers)
        for column, power in other.powers.items():
            powers[column] = powers.get(column, 0) + power
        guards = self.guards + tuple(guard for guard in other.guards if guard not in self.guards)
        return Piece(self.functional * other.functional, guards, powers)

    @property
    def weights(self) -> Total:
        """The total of the factors of the functional's noise variance: 1 for everybody without guards."""
        doubled = {column: 2 * power for column, power in self.powers.items()}
        return Total((Piece(Functional.constant(self.functional.sizes), self.guards, doubled),))

    @property
    def place(self) -> Hashable:
        """The key that pieces must share to be added up."""
        return frozenset(self.guards), frozenset(self.powers.items())


MAX_PRODUCTS = 10_000
"""Maximum terms of a product before equal ones are merged: branches of CASE on public columns double them."""

LARGEST = 1e30
"""Upper limit of coefficients, so that sums of fourth powers of contributions are finite."""


@dataclass(frozen=True, eq=False)
class Total:
    """A sum of pieces."""

    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, functional: Functional) -> Total:
        """Return the total of a functional over everybody."""
        return cls((Piece(functional),) if functional.terms else ())

    @classmethod
    def of_guard(cls, sizes: tuple[int, ...], guard: exp.Expr) -> Total:
        """Return 1 where a public condition holds."""
        return cls((Piece(Functional.constant(sizes), (guard,)),))

    @classmethod
    def power(cls, sizes: tuple[int, ...], column: exp.Expr, power: int) -> Total:
        """Return a public column to a power: 0 is 1 where it is present."""
        return cls((Piece(Functional.constant(sizes), (), {column: power}),))

    @classmethod
    def sum(cls, totals: Iterable[Total]) -> Total:
        """Return the sum of any number of totals."""
        return _gather(tuple(piece for total in totals for piece in total.pieces))

    def __add__(self, other: Total) -> Total:
        return _gather((*self.pieces, *other.pieces))

    def __sub__(self, other: Total) -> Total:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Total) -> Total:
        if other.is_one or (self is other and self.functional is not None and self.functional.is_indicator):
            return self
        if self.terms * other.terms > MAX_PRODUCTS:
            message = f"The question expands to more than {MAX_PRODUCTS} terms. Use fewer CASE, OR and sums."
            raise UnsupportedSqlError(message, code="too-many-terms")
        return _gather(tuple(left.times(right) for left in self.pieces for right in other.pieces))

    @cached_property
    def is_one(self) -> bool:
        """Whether it is 1 for everybody."""
        functional = self.functional
        if functional is None or len(functional.terms) != 1:
            return False
        return not functional.terms[0].factors and functional.terms[0].coefficient == 1

    @property
    def terms(self) -> int:
        """The number of products in the sum."""
        return sum(len(piece.functional.terms) for piece in self.pieces)

    @property
    def is_finite(self) -> bool:
        """Whether all coefficients are below the limit."""
        return all(abs(term.coefficient) < LARGEST for piece in self.pieces for term in piece.functional.terms)

    def bound(self, peaks: dict[int, float]) -> float:
        """Return the largest absolute value of a person's part; 0 where a public column is summed: it has no limit.

        ``peaks`` are largest absolute values of vectors by identity, which many totals share.
        """
        if any(any(piece.powers.values()) for piece in self.pieces):
            return 0.0
        return sum(term.bound(peaks) for piece in self.pieces for term in piece.functional.terms)

    def scaled(self, by: float) -> Total:
        """Return the total times a number."""
        return Total(tuple(Piece(p.functional.scaled(by), p.guards, p.powers) for p in self.pieces) if by else ())

    @property
    def functional(self) -> Functional | None:
        """The functional of a total without public columns; None for any other."""
        if len(self.pieces) != 1 or self.pieces[0].guards or self.pieces[0].powers:
            return None
        return self.pieces[0].functional

    @property
    def is_plain(self) -> bool:
        """Whether no public column is involved."""
        return not any(piece.guards or piece.powers for piece in self.pieces)

    @cached_property
    def key(self) -> Hashable:
        """The key that equal totals share."""
        return tuple((piece.place, piece.functional.key) for piece in self.pieces)


def _gather(pieces: tuple[Piece, ...]) -> Total:
    """Merge pieces with the same guards and powers."""
    if len(pieces) == 1:
        return Total(pieces if pieces[0].functional.terms else ())
    by_place: dict[Hashable, Piece] = {}
    for piece in pieces:
        known = by_place.get(piece.place)
        by_place[piece.place] = (
            Piece(known.functional + piece.functional, known.guards, known.powers) if known is not None else piece
        )
    return Total(tuple(piece for piece in by_place.values() if piece.functional.terms))
