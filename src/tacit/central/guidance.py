"""The DPCube paper's guidance on choosing a budget: what an attacker may learn, and how many rows an error needs.

The paper's alpha is our epsilon, its epsilon our error.
"""

from __future__ import annotations

import math

from tacit.errors import UsageError

__all__ = ["posterior_bound", "sufficient_epsilon", "useful_error", "useful_rows"]


def _between(name: str, value: float, low: float, high: float) -> float:
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not low < value < high:
        message = f"{name} is {value!r}; it must be a number above {low:g} and below {high:g}."
        raise UsageError(message, code="bad-option")
    return float(value)


def posterior_bound(prior: float, epsilon: float, queries: int = 1) -> float:
    """Return an attacker's largest posterior belief after some answers, each epsilon-private.

    Theorem 33: the posterior is at most ``prior exp(queries epsilon)``.

    Parameters
    ----------
    prior : float
        The prior belief: a probability.
    epsilon : float
        Budget of one answer.
    queries : int
        Answers about the same person. A release counts once, however often it is queried.

    Examples
    --------
    >>> round(posterior_bound(0.01, 0.5, queries=3), 4)
    0.0448
    """
    prior = _between("prior", prior, 0, 1)
    epsilon = _between("epsilon", epsilon, 0, math.inf)
    queries = int(_between("queries", queries, 0, math.inf))
    return min(1.0, prior * math.exp(min(700.0, queries * epsilon)))


def sufficient_epsilon(*, prior: float | None = None, factor: float | None = None, queries: int = 1) -> float:
    """Return the bound below which every budget of an answer keeps an attacker's belief in check (Corollary 31).

    Parameters
    ----------
    prior : float, optional
        Belief before: the bound keeps the posterior below certainty, ``-ln(prior)/queries``.
    factor : float, optional
        The bound keeps the posterior below this many times the prior, ``ln(factor)/queries``.
    queries : int
        Answers about the same person.

    Examples
    --------
    >>> round(sufficient_epsilon(prior=0.01, queries=10), 3), round(sufficient_epsilon(factor=2), 3)
    (0.461, 0.693)
    """
    if (prior is None) == (factor is None):
        message = "Give either prior= or factor=."
        raise UsageError(message, code="bad-option")
    count = int(_between("queries", queries, 0, math.inf))
    if prior is not None:
        return -math.log(_between("prior", prior, 0, 1)) / count
    return math.log(_between("factor", factor or 0, 1, math.inf)) / count


def useful_error(cells: int, epsilon: float, *, delta: float = 0.05) -> float:
    """Return an error bound of counts over a cell release, valid for all ranges at once with probability 1 - delta.

    Corollary 41: ``cells ln(cells/delta) / epsilon``. Actual errors are far smaller: this is a worst case over all
    noise.

    Examples
    --------
    >>> round(useful_error(100, 0.05))
    15202
    """
    cells = int(_between("cells", cells, 0, math.inf))
    epsilon, delta = _between("epsilon", epsilon, 0, math.inf), _between("delta", delta, 0, 1)
    return cells * math.log(cells / delta) / epsilon


def useful_rows(cells: int, epsilon: float, error: float, *, delta: float = 0.05) -> int:
    """Return how many rows make the error of relative counts at most ``error`` with probability 1 - delta.

    Corollary 41: ``n >= cells ln(cells/delta) / (epsilon error)``.

    Examples
    --------
    >>> useful_rows(100, 0.05, 0.1)
    152019
    """
    return math.ceil(useful_error(cells, epsilon, delta=delta) / _between("error", error, 0, 1))
