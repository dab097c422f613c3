"""Where in a question's text a node of its syntax tree stands."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["span_of"]


def span_of(node: exp.Expr) -> tuple[int, int] | None:
    """Return where in the text a node stands, as far as the parser remembers."""
    spans = [part.meta for part in node.find_all(exp.Identifier, exp.Func) if "start" in part.meta]
    if not spans:
        return None
    return min(span["start"] for span in spans), max(span["end"] for span in spans) + 1
