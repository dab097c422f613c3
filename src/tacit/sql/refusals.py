"""Why aggregates have no answer, and what to ask instead."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = ["REFUSED", "REFUSED_NAMES", "refuse_table_functions"]

_RAREST = (
    "The {0} value belongs to single people, so it has no estimate that protects them. Ask for QUANTILE(COLUMN, {1})."
)

REFUSED: dict[type[exp.Expr], str] = {
    exp.Min: _RAREST.format("least", 0.01),
    exp.Max: _RAREST.format("largest", 0.99),
    exp.Mode: "MODE takes a column: write MODE(column).",
    exp.ArgMax: "The row of the largest value belongs to a single person. Group by the column and sort the groups.",
    exp.ArgMin: "The row of the smallest value belongs to a single person. Group by the column and sort the groups.",
    exp.AnyValue: "Any row's value belongs to a single person. Group by the column.",
    exp.GroupConcat: "Lists of values show single rows. Group by the column and count.",
    exp.ArrayAgg: "Lists of values show single rows. Group by the column and count.",
    exp.First: "The first row belongs to a single person. Group by the column.",
    exp.Last: "The last row belongs to a single person. Group by the column.",
    exp.LogicalOr: "Whether anybody meets a condition depends on single people. Use COUNT_IF(condition).",
    exp.LogicalAnd: "Whether everybody meets a condition depends on single people. Use COUNT_IF(condition).",
}
"""Why aggregates have no answer, and what to ask instead."""

REFUSED_NAMES = {
    "entropy": "ENTROPY has no unbiased estimate. Group by the column and count.",
    "product": "PRODUCT has no unbiased estimate. Ask for SUM or AVG.",
}


def refuse_table_functions(statement: exp.Expr, text: str) -> None:
    """Refuse functions that return rows: series of dates or numbers, lists, files."""
    for node in statement.find_all(exp.GenerateSeries, exp.Explode, exp.Unnest, exp.Table):
        if not isinstance(node, exp.Table):
            message = (
                "Series and lists of rows are not supported, and not needed to fill gaps: GROUP BY a sensitive column "
                "returns a row for every declared value, such as every day, even if nobody has it. Write "
                "SELECT day, COUNT(*) … GROUP BY day."
            )
        elif isinstance(node.this, exp.Func) and not isinstance(node.this, exp.GenerateSeries):
            message = "FROM takes names of services, not functions. Load files with tacit, and name their service."
        else:
            continue
        raise UnsupportedSqlError(message, code="table-function", text=text, span=span_of(node))
