"""The posterior error of one or two attributes for a known number of people, and the views that minimise it.

Post-processed answers take large effects from fine views, and the remainder from coarse views, from tables of single
attributes and from neighbouring values. As a model of that, shares of values have the prior covariance

    K = (1 1' + R) x (1 1' + R) / cells**2,     R = exp(-distance / LENGTH), the distance as a share of all values,

which is as rough as a random walk and has a relative spread of 1; categories have R = I. Reports of n people add the
information ``n G = n sum_v pi_v u_v W_v'W_v``, so the posterior squared error of a question f is ``f' (K^-1 + n G)^-1
f``, given the total. Only the first eigenvectors of K are used. Shares are found by the multiplicative rule: each is
multiplied by the root of what it saves, until all save the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from tacit.contract.layouts.grams import Matrix
from tacit.contract.layouts.information import information
from tacit.contract.layouts.shifted import PartitionFamily

__all__ = ["Prospect"]

LENGTH = 0.25
"""Correlation length of the prior, as a share of an attribute's values."""

FUNCTIONS = {1: 48, 2: 12}
"""Eigenvectors of K of each attribute, by the number of attributes."""

STEPS = 40
"""Steps of the multiplicative rule."""

FLOOR = 0.02
"""Minimum share of single values, as in designs for any number of people."""

FEWEST = 0.01
"""Minimum share of a single attribute beside a pair."""

Set = tuple[int, ...]


@lru_cache(maxsize=64)
def _axis(values: int, null: bool, ordered: bool, most: int) -> tuple[Matrix, Matrix]:  # noqa: FBT001
    """Return the largest eigenvalues of K of one attribute, and their eigenvectors."""
    size = values + null
    place = np.arange(size) / size
    alike = np.exp(-np.abs(np.subtract.outer(place, place)) / LENGTH) if ordered else np.eye(size)
    if null:
        alike[-1, :-1] = alike[:-1, -1] = 0.0
    roots, vectors = np.linalg.eigh((1 + alike) / size**2)
    return roots[::-1][:most], vectors[:, ::-1][:, :most]


@lru_cache(maxsize=256)
def _grams_of(family: PartitionFamily, ordered: bool, most: int) -> Matrix:  # noqa: FBT001
    """Return for each group of partitions the mean of W'W, on the eigenvectors."""
    _, vectors = _axis(family.values, family.null, ordered, most)
    return np.stack([vectors.T @ gram @ vectors for gram in family.grams()])


class Prospect:
    """Views of a set of one or two attributes, and of each of two alone, with shares that add up to 1."""

    def __init__(
        self,
        families: Mapping[Set, Sequence[tuple[PartitionFamily, Sequence[float]]]],
        home: Set,
        ordered: Mapping[int, bool],
        epsilon: float,
        people: float,
    ) -> None:
        """Take the partitions of each attribute in each set, on copies of few values, with their real cells."""
        most, self._home, self._people = FUNCTIONS[len(home)], home, people
        axes = [
            _axis(family.values, family.null, ordered[i], most)
            for i, (family, _) in zip(home, families[home], strict=True)
        ]
        self._vectors = dict(zip(home, (vectors for _, vectors in axes), strict=True))
        roots = np.ones(1)
        for some_roots, _ in axes:
            roots = np.multiply.outer(roots, some_roots).ravel()
        self._prior = np.diag(1 / roots)
        self._ones = {i: vectors.sum(axis=0) for i, vectors in self._vectors.items()}
        grown = math.exp(min(epsilon, 30.0))
        self.groups: dict[Set, list[Matrix]] = {}
        self._says: dict[Set, Matrix] = {}
        self._seen: dict[Set, list[Matrix]] = {}
        for shown, partitions in families.items():
            cells = [counts for _, counts in partitions]
            says = [information(math.prod(counts), grown) for counts in itertools.product(*cells)]
            self._says[shown] = np.array(says).reshape([len(counts) for counts in cells])
            self._seen[shown] = [
                _grams_of(family, ordered[i], most) for i, (family, _) in zip(shown, partitions, strict=True)
            ]
            self.groups[shown] = [np.full(len(counts), 1 / len(counts)) for counts in cells]
        self.shares = dict.fromkeys(families, 1 / len(families))

    def gram_of(self, grams: Mapping[int, Matrix]) -> Matrix:
        """Return a mean Gram matrix of questions on the eigenvectors; attributes they do not ask about are summed."""
        product: Matrix = np.ones((1, 1))
        for i in self._home:
            vectors, ones = self._vectors[i], self._ones[i]
            shown = vectors.T @ grams[i] @ vectors if i in grams else np.outer(ones, ones)
            product = np.asarray(np.kron(product, shown), np.float64)
        return product

    def error(self, wanted: Matrix) -> float:
        """Return the posterior mean squared error of questions, as a share of the people squared."""
        return float((self._posterior() * wanted).sum())

    def unknown(self, wanted: Matrix) -> float:
        """Return the prior mean squared error of questions."""
        return float((self._given_total(np.diag(1 / np.diag(self._prior))) * wanted).sum())

    def design(self, wanted: Matrix, least: float) -> None:
        """Find the shares with the least posterior error; all attributes together keep at least the share ``least``."""
        for _ in range(STEPS):
            left = self._posterior()
            sharp = left @ wanted @ left
            roots = {}
            for shown, groups in self.groups.items():
                saved = self._says[shown] * self._about(shown, sharp)
                for axis, shares in enumerate(groups):
                    saved = saved * _along(shares, axis, saved.ndim)
                roots[shown] = math.sqrt(max(float(saved.sum()), 0.0)) * self.shares[shown]
                sums = [saved.sum(axis=tuple(k for k in range(saved.ndim) if k != axis)) for axis in range(saved.ndim)]
                self.groups[shown] = [_multiply_shares(part, shares) for part, shares in zip(sums, groups, strict=True)]
            total = sum(roots.values())
            floored = {
                shown: max(root / total, least if shown == self._home else FEWEST) for shown, root in roots.items()
            }
            self.shares = {shown: share / sum(floored.values()) for shown, share in floored.items()}

    def _posterior(self) -> Matrix:
        said = sum(self.shares[group] * self._matrix(group) for group in self.groups)
        precision = self._prior + self._people * np.asarray(said)
        return self._given_total(np.asarray(np.linalg.inv(precision), np.float64))

    def _given_total(self, covariance: Matrix) -> Matrix:
        ones = np.ones(1)
        for i in self._home:
            ones = np.multiply.outer(ones, self._ones[i]).ravel()
        total = covariance @ ones
        centred: Matrix = covariance - np.outer(total, total) / float(ones @ total)
        return centred

    def _matrix(self, shown: Set) -> Matrix:
        """Return the information of one report of a set."""
        views = self._says[shown]
        for axis, shares in enumerate(self.groups[shown]):
            views = views * _along(shares, axis, views.ndim)
        seen = self._seen[shown]
        if len(shown) == 2:
            a, b = seen[0].shape[1], seen[1].shape[1]
            matrix: Matrix = np.einsum("gh,gik,hjl->ijkl", views, *seen, optimize=True).reshape(a * b, a * b)
            return matrix
        product: Matrix = np.ones((1, 1))
        alone = np.tensordot(views, seen[0], 1)
        for i in self._home:
            product = np.asarray(
                np.kron(product, alone if (i,) == shown else np.outer(self._ones[i], self._ones[i])), np.float64
            )
        return product

    def _about(self, shown: Set, sharp: Matrix) -> Matrix:
        """Return for every view of a set the trace of its W'W times a matrix."""
        seen = self._seen[shown]
        if len(self._home) == 1:
            return np.tensordot(seen[0], sharp, 2)
        four = sharp.reshape([len(self._ones[i]) for i in self._home] * 2)
        if len(shown) == 2:
            traces: Matrix = np.einsum("ijkl,gik,hjl->gh", four, *seen, optimize=True)
            return traces
        first = shown[0] == self._home[0]
        ones = self._ones[self._home[1] if first else self._home[0]]
        summed = np.einsum("ijkl,j,l->ik" if first else "ijkl,i,k->jl", four, ones, ones)
        return np.tensordot(seen[0], summed, 2)


def _along(shares: Matrix, axis: int, axes: int) -> Matrix:
    return shares.reshape([-1 if k == axis else 1 for k in range(axes)])


def _multiply_shares(saved: Matrix, shares: Matrix) -> Matrix:
    """Return shares times the roots of what each would save; the last one, of single values, has a floor."""
    roots = np.sqrt(np.maximum(saved * shares, 0.0))
    roots /= roots.sum()
    roots[-1] = max(roots[-1], FLOOR)
    normalised: Matrix = roots / roots.sum()
    return normalised
