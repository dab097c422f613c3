"""Clauses of SELECT that a question, and every subquery in it, may have."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = ["check_clauses"]

CLAUSES = frozenset(
    {"distinct", "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset"}
)
"""Clauses that a question may have; all others are refused by name."""


def check_clauses(statement: exp.Select, text: str) -> None:
    """Refuse unsupported clauses, and windows that WINDOW does not define."""
    for clause, value in statement.args.items():
        if value and clause not in CLAUSES:
            name = clause.strip("_").upper()
            words = "WITH, SELECT, FROM, JOIN, WHERE, GROUP BY, HAVING, QUALIFY, ORDER BY, LIMIT and OFFSET"
            message = f"{name} is not supported. Use {words}."
            span = span_of(value) if isinstance(value, exp.Expr) else None
            raise UnsupportedSqlError(message, text=text, span=span)
    for window in statement.find_all(exp.Window):
        if window.alias:
            message = f"{window.alias} is no window of WINDOW, or OVER adds to it. Write the whole window in OVER."
            raise UnsupportedSqlError(message, code="unsupported-window", text=text, span=span_of(window))
