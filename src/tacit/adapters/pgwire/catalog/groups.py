"""Aggregates over a group of rows, and numbers of rows in windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import CompiledAggregate, Compiler, unsupported_error
from tacit.adapters.pgwire.catalog.scope import CatalogScope, Env
from tacit.adapters.pgwire.catalog.values import check_length, text_of

__all__ = ["compile_aggregate", "order_key", "sort_key"]

Work = Callable[[list[Any]], Any]

AGGREGATES: dict[type[exp.Expr], tuple[str, Work]] = {
    exp.Min: ("", lambda values: min(values, default=None)),
    exp.Max: ("", lambda values: max(values, default=None)),
    exp.Sum: ("", lambda values: sum(values) if values else None),
    exp.LogicalAnd: ("bool", lambda values: all(values) if values else None),
    exp.LogicalOr: ("bool", lambda values: any(values) if values else None),
    exp.Avg: ("float8", lambda values: sum(values) / len(values) if values else None),
}


def compile_aggregate(compiler: Compiler, node: exp.Expr, scope: CatalogScope) -> CompiledAggregate:
    """Return a function of a group's rows; for a window, a function of all rows with a value for each."""
    if isinstance(node, exp.Window):
        if not isinstance(node.this, exp.RowNumber):
            raise unsupported_error(node)
        return CompiledAggregate(_row_numbers(compiler, node, scope), "int8")
    inner = node.this
    ordering = inner if isinstance(inner, exp.Order) else None
    inner = ordering.this if ordering is not None else inner
    is_distinct = isinstance(inner, exp.Distinct)
    inner = inner.expressions[0] if is_distinct else inner
    if isinstance(node, exp.Count) and (inner is None or isinstance(inner, exp.Star)):
        return CompiledAggregate(len, "int8")
    value = compiler.compile(inner, scope)
    run, key = value.run, order_key(compiler, ordering, scope)

    def values(envs: Any, *, nulls: bool = False) -> list[Any]:
        placed = sorted(envs, key=key) if key else envs
        result = [value for value in map(run, placed) if nulls or value is not None]
        return list(dict.fromkeys(result)) if is_distinct else result

    if isinstance(node, exp.Count):
        return CompiledAggregate(lambda envs: len(values(envs)), "int8")
    if isinstance(node, exp.ArrayAgg):
        return CompiledAggregate(lambda envs: values(envs, nulls=True) or None, f"_{value.type}")
    if isinstance(node, exp.GroupConcat):
        separator = node.args.get("separator")
        by = str(separator.name) if isinstance(separator, exp.Literal) else ","
        return CompiledAggregate(lambda envs: _concatenate(by, values(envs)), "text")
    if type(node) not in AGGREGATES:
        raise unsupported_error(node)
    kind, work = AGGREGATES[type(node)]
    if isinstance(node, exp.Sum):
        kind = {"int2": "int8", "int4": "int8", "int8": "numeric"}.get(value.type, "")
    return CompiledAggregate(lambda envs: work(values(envs)), kind or value.type)


def _concatenate(by: str, values: list[Any]) -> str | None:
    shown = [text_of(value) for value in values]
    check_length(sum(len(value) + len(by) for value in shown))
    return by.join(shown) if shown else None


def _row_numbers(compiler: Compiler, node: exp.Window, scope: CatalogScope) -> Callable[[Any], list[int]]:
    """Return the number of each row within its part, in order."""
    parts = [compiler.compile(key, scope).run for key in node.args.get("partition_by") or ()]
    key = order_key(compiler, node.args.get("order"), scope)

    def number(envs: Sequence[Env]) -> list[int]:
        counts: dict[str, int] = {}
        numbers = [0] * len(envs)
        places = sorted(range(len(envs)), key=lambda place: key(envs[place])) if key else range(len(envs))
        for place in places:
            part = repr([run(envs[place]) for run in parts])
            counts[part] = numbers[place] = counts.get(part, 0) + 1
        return numbers

    return number


def order_key(compiler: Compiler, order: exp.Expr | None, scope: CatalogScope) -> Callable[[Env], Any] | None:
    """Return the key to sort rows by for an ORDER BY; None if there is none."""
    if order is None:
        return None
    runs = [(compiler.compile(expression.this, scope).run, expression) for expression in order.expressions]
    return lambda env: [sort_key(run(env), ordered) for run, ordered in runs]


class _Turned:
    """A value that sorts in descending order."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Turned) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turned) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def sort_key(value: Any, ordered: exp.Expr) -> Any:
    """Return the sort key of a value: by default NULLs are last, or first in descending order."""
    descending = bool(ordered.args.get("desc"))
    nulls_first = ordered.args.get("nulls_first")
    first = descending if nulls_first is None else bool(nulls_first)
    kind = "" if value is None else "n" if isinstance(value, int | float) else "s"
    shown = value if isinstance(value, int | float) else "" if value is None else text_of(value)
    rank = (0 if first else 1) if value is None else (1 if first else 0)
    return rank, kind, _Turned(shown) if descending else shown
