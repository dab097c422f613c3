"""Questions that views are designed for: representative classes, or those that will be asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.contract.layouts.base import Asked
from tacit.contract.layouts.calendar import calendar_gram, coarse_cells
from tacit.contract.layouts.grams import Matrix, centred_gram, point_gram, range_gram, value_gram
from tacit.contract.layouts.shifted import AttributeShape

__all__ = [
    "Grams",
    "QuestionClass",
    "coarse_vector",
    "counts_values",
    "merge_questions",
    "pool_means",
    "standard_questions",
]


@dataclass(frozen=True, eq=False)
class QuestionClass:
    """A class of questions: a weight, and for each attribute the mean of f f' over its vectors f."""

    weight: float
    grams: Mapping[int, Matrix]
    vectors: Mapping[int, Matrix] = field(default_factory=dict)
    """The vectors themselves, if the class is one question."""

    @classmethod
    def of(cls, weight: float, vectors: Mapping[int, Matrix]) -> QuestionClass:
        """Return one question that is a product of vectors."""
        return cls(weight, {i: np.outer(vector, vector) for i, vector in vectors.items()}, vectors)

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes it is about."""
        return tuple(sorted(self.grams))

    @property
    def spread(self) -> float:
        """Variance of f itself over uniform records, which estimates do not add."""
        squares = math.prod(float(np.trace(gram)) / len(gram) for gram in self.grams.values())
        return squares - math.prod(float(gram.mean()) for gram in self.grams.values())


def pool_means(questions: Sequence[QuestionClass | Asked], variances: Sequence[float]) -> list[float]:
    """Return for each question the mean variance of those of its kind, by their weights.

    Counts about the same attributes, of single values or of several, are of one kind: their errors are all in people.
    So a design for ranges has the least mean variance, instead of treating narrow ranges as well as wide ones.
    """
    kinds = [_kind_of(question) for question in questions]
    sums: dict[object, tuple[float, float]] = {}
    for kind, question, variance in zip(kinds, questions, variances, strict=True):
        weight, total = sums.get(kind, (0.0, 0.0))
        sums[kind] = weight + question.weight, total + question.weight * variance
    return [sums[kind][1] / sums[kind][0] for kind in kinds]


def _kind_of(question: QuestionClass | Asked) -> object:
    """Return what questions have in common that are pooled: attributes, and whether values are counted one by one."""
    if not counts_values(question.vectors):
        return id(question)
    return tuple((i, float(question.vectors[i].sum()) == 1) for i in sorted(question.vectors))


def counts_values(vectors: Mapping[int, Matrix]) -> bool:
    """Return whether a question is a count: its vectors are 0 and 1."""
    return bool(vectors) and all(np.isin(vector, (0.0, 1.0)).all() for vector in vectors.values())


class Grams:
    """The Gram matrices of several questions about one attribute; of single vectors, the vectors stand for them."""

    def __init__(self, questions: Sequence[QuestionClass], attribute: int) -> None:
        self._single = [k for k, question in enumerate(questions) if question.vectors]
        self._several = [k for k, question in enumerate(questions) if not question.vectors]
        size = len(questions[0].grams[attribute])
        self._vectors = np.array([questions[k].vectors[attribute] for k in self._single]).reshape(-1, size)
        self._grams = np.array([questions[k].grams[attribute] for k in self._several]).reshape(-1, size, size)

    def traces(self, matrix: Matrix) -> Matrix:
        """Return for each question the trace of its Gram matrix times a symmetric matrix."""
        traces = np.zeros(len(self._single) + len(self._several))
        traces[self._single] = np.einsum("qi,qi->q", self._vectors @ matrix, self._vectors)
        traces[self._several] = np.tensordot(self._grams, matrix, axes=2)
        return traces

    def total(self, weights: Matrix) -> Matrix:
        """Return the weighted sum of the Gram matrices."""
        single = self._vectors.T @ (weights[self._single, None] * self._vectors)
        total: Matrix = single + np.tensordot(weights[self._several], self._grams, axes=1)
        return total


def merge_questions(questions: Iterable[QuestionClass]) -> list[QuestionClass]:
    """Return the same questions, those that occur several times once, with the sum of their weights."""
    merged: dict[object, QuestionClass] = {}
    for question in questions:
        key = (
            tuple((i, question.vectors[i].tobytes()) for i in question.attributes) if question.vectors else id(question)
        )
        merged[key] = replace(question, weight=question.weight + (merged[key].weight if key in merged else 0.0))
    return list(merged.values())


def standard_questions(shapes: Sequence[AttributeShape], sets: Sequence[tuple[int, ...]]) -> list[QuestionClass]:
    """Return the default classes of questions, with equal weights.

    Of one attribute: ranges, single values, and its values (sums and means); of two: ranges of both, and values of one
    under a range of the other. Categories have single values for ranges; dates also months, quarters and years.
    """
    questions = []
    for attributes in sets:
        gram_of = {i: (range_gram if shapes[i].ordered else point_gram)(*shapes[i][:2]) for i in attributes}
        if len(attributes) == 1:
            values, null, ordered, calendar = shapes[attributes[0]]
            grams = [range_gram, point_gram, value_gram] if ordered else [point_gram]
            questions += [QuestionClass(1.0, {attributes[0]: gram(values, null)}) for gram in grams]
            if calendar:
                questions.append(QuestionClass(1.0, {attributes[0]: calendar_gram(values, null, calendar)}))
        elif len(attributes) == 2:
            questions.append(QuestionClass(1.0, gram_of))
            if any(shapes[i].ordered for i in attributes):
                questions.append(QuestionClass(1.0, {i: point_gram(*shapes[i][:2]) for i in attributes}))
            for i in attributes:
                if shapes[i].calendar:
                    months = calendar_gram(shapes[i].values, shapes[i].null, shapes[i].calendar)
                    questions.append(QuestionClass(1.0, gram_of | {i: months}))
                if shapes[i].ordered:
                    questions.append(QuestionClass(0.5, gram_of | {i: value_gram(*shapes[i][:2])}))
                    questions.append(QuestionClass(0.5, gram_of | {i: centred_gram(*shapes[i][:2])}))
    return questions


def coarse_vector(vector: Matrix, shape: AttributeShape, most: int) -> Matrix:
    """Return a vector on the coarse copy of an attribute's values: the mean over the values of each cell."""
    values, null, _, calendar = shape
    cells = coarse_cells(values, calendar, most)
    means = np.bincount(cells, vector[:values]) / np.bincount(cells)
    return np.append(means, vector[values:]) if null else means
