"""Limits on the size of a question, checked on its syntax tree before any other work.

Code that reads a tree recurses, and products multiply the terms of their factors, so a short text can cause unbounded
work.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import ParseError

__all__ = ["check_size"]

MAX_CONDITIONS = 128
"""Maximum ANDs and ORs in a question: a chain of them is a tree as deep as it is long."""

MAX_TREE = 150
"""Maximum levels of a syntax tree: each needs a few of the thousand nested calls that Python allows."""

MAX_FACTORS = 8
"""Maximum factors of one product: higher powers of reports are mostly noise."""

MAX_AGGREGATES = 64
"""Maximum aggregates of a question."""

MAX_CASES = 64
"""Maximum branches of all CASE expressions."""

MAX_JOINS = 8
"""Maximum joins of a question."""


def check_size(statement: exp.Expr, text: str) -> None:
    """Refuse a question that is too deep or has too much of something."""
    deepest = _depth(statement)
    if deepest > MAX_TREE:
        raise _refusal(
            f"The question is nested {deepest} levels deep; at most {MAX_TREE} are allowed. Flatten it.",
            "too-deep",
            text,
        )
    counts = (
        (exp.Connector, MAX_CONDITIONS, "AND and OR", "too-deep", "Use IN or BETWEEN."),
        (exp.AggFunc, MAX_AGGREGATES, "aggregates", "too-many-aggregates", "Ask several questions."),
        (exp.If, MAX_CASES, "branches of CASE", "too-many-cases", "Use width_bucket, or several questions."),
        (exp.Join, MAX_JOINS, "joins", "too-many-joins", "Join fewer tables."),
    )
    nodes = list(statement.walk())
    for kind, most, name, code, instead in counts:
        count = sum(isinstance(node, kind) for node in nodes)
        if count > most:
            raise _refusal(f"The question has {count} {name}; at most {most} are allowed. {instead}", code, text)
    factors = _factors(statement)
    if factors > MAX_FACTORS:
        message = (
            f"A product has {factors} factors; at most {MAX_FACTORS} are allowed. Multiply fewer columns and numbers."
        )
        raise _refusal(message, "too-many-factors", text)


def _depth(statement: exp.Expr) -> int:
    """Return how many levels a tree has, without recursion."""
    deepest, waiting = 0, [(statement, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in node.iter_expressions()]
    return deepest


def _factors(node: exp.Expr) -> int:
    """Return the number of factors of the longest product; a sum has as many as its longest part."""
    inner = [_factors(child) for child in node.iter_expressions()]
    if isinstance(node, exp.Mul | exp.Div):
        return sum(inner)
    return max([int(isinstance(node, exp.Column | exp.Literal)), *inner])


def _refusal(message: str, code: str, text: str) -> ParseError:
    return ParseError(message, code=code, text=text)
