"""The position of a syntax node in the text of a question."""

from __future__ import annotations

import re

from sqlglot import exp

__all__ = ["span_in", "span_of"]

CALLED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\s*\(\s*(?:distinct\s+)?\Z", re.IGNORECASE)
"""Text before the first argument of a function."""

CLOSING = re.compile(r"[^()'\"]*\)")


def span_of(node: exp.Expr) -> tuple[int, int] | None:
    """Return the span of a node, as far as the parser records it."""
    parts = node.find_all(exp.Identifier, exp.Func, exp.Literal)
    spans = [part.meta for part in parts if "start" in part.meta]
    if not spans:
        return None
    return min(span["start"] for span in spans), max(span["end"] for span in spans) + 1


def span_in(text: str, node: exp.Expr) -> tuple[int, int] | None:
    """Return the span of a node; for a function with its name and parentheses, which the parser does not record."""
    span = span_of(node)
    if span is None or not isinstance(node, exp.Func) or "start" in node.meta:
        return span
    start, end = span
    before, after = CALLED.search(text, 0, start), CLOSING.match(text, end)
    return (before.start(), after.end()) if before and after else span
