"""A SELECT over the groups of another SELECT, as one: it filters and shows groups, or adds them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.sql.grouping_sets import has_sets
from tacit.sql.replacing import (
    conjuncts,
    has_aggregate,
    name_of,
    refuse_subquery,
    replace_columns,
    spelled_group,
    with_columns_of,
    with_condition,
    with_name,
)

__all__ = ["merge_groups"]

Outputs = Mapping[str, exp.Expr]

WHY_SUM = (
    "The only supported aggregates of an aggregate are SUM of a COUNT or SUM, grouped by columns of the groups, and "
    "MAX(CASE WHEN column = 'value' THEN n END) of a single group, because the number of groups depends on noise. Ask "
    "for the groups, and summarise the answer: the largest is the first with ORDER BY … DESC LIMIT 1. How many rows "
    "single people have is not in reports."
)

WHY_RANKS = (
    "Ranks of groups depend on noise, so groups cannot be put together by them. Ask for the top first, with ORDER BY "
    "COUNT(*) DESC LIMIT 3, then for CASE WHEN column IN ('a', 'b', 'c') THEN column ELSE 'Others' END."
)

WHY_SETS = "ROLLUP, CUBE and GROUPING SETS work in the outermost SELECT only. Write nothing around it."

WHY_PICKED = (
    "LIMIT and QUALIFY in a subquery choose groups, which may then only be shown. Put WHERE, ORDER BY, windows and "
    "QUALIFY beside them, in one SELECT."
)

WHY_WINDOWS = (
    "A window over groups that WHERE chooses by another window is not supported. Put its condition into the "
    "subquery's WHERE or HAVING, or compute both windows in one SELECT."
)


def merge_groups(outer: exp.Select, inner: exp.Select, alias: str, outputs: Outputs, text: str) -> exp.Select:
    """Return a SELECT over the groups of another SELECT as one."""
    if has_sets(inner):
        raise refuse_subquery(WHY_SETS, inner, text)
    if outer.args.get("group") or outer.args.get("distinct") or has_aggregate(outer):
        return _sum_of_groups(outer, inner, alias, outputs, text)
    changed = replace_columns(outer, alias, outputs, text, keep=False)
    where = changed.args.get("where")
    windows = any(node.find(exp.Window) for node in inner.expressions)
    after = windows or bool(inner.args.get("qualify"))  # shares and ranks refer to all groups
    _check_choices(outer, inner, text, later=after and where is not None)
    result = inner.copy()
    result.set("expressions", changed.expressions)
    result.set("group", spelled_group(inner, outputs))
    if result.args.get("distinct"):
        result.set("distinct", None)
        result.set("group", exp.Group(expressions=[node.copy() for node in outputs.values()]))
    for part in conjuncts(where.this if where else None):
        of_groups = part.find(exp.AggFunc) or not part.find(exp.Column)  # WHERE 1 = 0 leaves no group, not empty ones
        word = "qualify" if after else "having" if of_groups else "where"
        result = with_condition(result, word, part)
    result = with_condition(result, "qualify", changed.args.get("qualify"))
    for word in ("order", "limit", "offset"):
        if changed.args.get(word):
            result.set(word, changed.args[word])
    order = result.args.get("order")
    if order is not None and not changed.args.get("order"):
        result.set("order", with_columns_of(order, "", outputs))
    return result


def _check_choices(outer: exp.Select, inner: exp.Select, text: str, *, later: bool) -> None:
    """Refuse windows and choices that would see groups which the subquery, or WHERE, has left out before."""
    windows = any(node.find(exp.Window) for node in outer.expressions) or bool(outer.args.get("qualify"))
    picks = bool(inner.args.get("limit") or inner.args.get("offset"))
    chooses = any(outer.args.get(word) for word in ("where", "qualify", "order", "limit", "offset", "having"))
    if picks and (windows or chooses):
        raise refuse_subquery(WHY_PICKED, inner, text)
    if windows and inner.args.get("qualify"):
        raise refuse_subquery(WHY_PICKED, inner, text)
    if windows and later:
        raise refuse_subquery(WHY_WINDOWS, outer, text)


def _sum_of_groups(outer: exp.Select, inner: exp.Select, alias: str, outputs: Outputs, text: str) -> exp.Select:
    """Return SUM over the counts or sums of groups as the same aggregate over their rows."""
    names = {name_of(node).lower(): node.unalias() for node in outer.expressions}
    group, where = spelled_group(outer, names), outer.args.get("where")
    sums = _Sums(alias, outputs, inner, group.expressions if group is not None else [])
    shown = [sums.replace(node.unalias()) for node in outer.expressions]
    keys = [sums.replace(node) for node in (group.expressions if group is not None else [])]
    after = {word: sums.replace(outer.args[word].this, names) for word in ("having", "qualify") if outer.args.get(word)}
    order = outer.args.get("order")
    ordered = sums.replace(order, names) if order is not None else None
    condition = sums.replace(where.this) if where is not None else None
    is_complete = not any(inner.args.get(word) for word in ("having", "limit", "offset", "distinct", "qualify"))
    of_keys = [*keys, *([condition] if condition is not None else [])]
    if (
        not is_complete
        or sums.unknown
        or outer.args.get("distinct")
        or any(node.find(exp.AggFunc, exp.Window) for node in of_keys)
    ):
        ranked = any(node.find(exp.Window) for node in inner.expressions)
        raise refuse_subquery(WHY_RANKS if ranked else WHY_SUM, outer.expressions[0], text)
    result = inner.copy()
    result.set(
        "expressions", [with_name(node, name_of(was)) for node, was in zip(shown, outer.expressions, strict=True)]
    )
    result.set("group", exp.Group(expressions=keys) if keys else None)
    result.set("order", ordered)
    for word in ("limit", "offset"):
        result.set(word, outer.args[word].copy() if outer.args.get(word) else None)
    for word, test in after.items():
        result = with_condition(result, word, test)
    return with_condition(result, "where", condition)


class _Sums:
    """The columns of groups in a SELECT that adds them up: keys, and counts or sums inside SUM."""

    def __init__(self, alias: str, outputs: Outputs, inner: exp.Select, keys: Sequence[exp.Expr]) -> None:
        self._alias, self._outputs = alias, outputs
        grouped = spelled_group(inner, outputs)
        self._inner_keys = {key.unnest() for key in grouped.expressions} if grouped is not None else set()
        self._keys = {self._key_of(key).unnest() for key in keys}
        self.unknown = False
        """Whether a column or an aggregate was found that has no counterpart over rows."""

    def replace(self, node: exp.Expr, names: Outputs | None = None) -> exp.Expr:
        """Return an expression over rows; ``names`` are output columns, which ORDER BY and HAVING may name."""

        def substitute(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.IgnoreNulls) and isinstance(part.this, exp.AnyValue):
                return self._aggregate(part.this)
            if isinstance(part, exp.AggFunc | exp.Filter) and not isinstance(part.parent, exp.Window | exp.Filter):
                return self._aggregate(part)
            if isinstance(part, exp.Window) and isinstance(part.this, exp.Sum | exp.Avg):
                inside = part.this.this  # SUM(SUM(n)) OVER (…)
                if isinstance(inside, exp.AggFunc | exp.Filter):
                    replacement = part.copy()
                    replacement.this.set("this", self._aggregate(inside))
                    for word in ("partition_by", "order"):
                        value = part.args.get(word)
                        if isinstance(value, list):
                            replacement.set(word, [self._key_of(each) for each in value])
                        elif value is not None:
                            replacement.set(word, self._key_of(value))
                    return replacement
            if isinstance(part, exp.Window | exp.Subquery):
                self.unknown = True
                return part
            if isinstance(part, exp.Column):
                return self._column(part, names or {})
            return part

        return node.copy().transform(substitute)

    def _key_of(self, node: exp.Expr) -> exp.Expr:
        return node.copy().transform(lambda part: self._column(part, {}) if isinstance(part, exp.Column) else part)

    def _column(self, column: exp.Column, names: Outputs) -> exp.Expr:
        is_mine = column.table.lower() in ("", self._alias)
        if not column.table and column.name.lower() in names:
            return column
        output = self._outputs.get(column.name.lower()) if is_mine else None
        if output is None or output.find(exp.AggFunc, exp.Window, exp.Subquery):
            self.unknown = True
            return column
        return output.copy() if isinstance(output, exp.Column) else exp.Paren(this=output.copy())

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        """Return the aggregate over rows that a SUM over groups is, with its FILTER."""
        tested = self._key_of(node.expression.this) if isinstance(node, exp.Filter) else None
        summed = node.this if isinstance(node, exp.Filter) else node
        column = summed.this
        if isinstance(column, exp.Case) and tested is None and (read := _read_pivot(column, summed)) is not None:
            column, tested = read[0], self._key_of(read[1])
        output = self._outputs.get(column.name.lower()) if isinstance(column, exp.Column) else None
        plain = isinstance(output, exp.Count | exp.Sum) and not output.find(exp.Distinct)
        is_single = isinstance(summed, OF_ONE) and tested is not None and self._is_one_group(tested)
        if output is None or not ((plain and isinstance(summed, exp.Sum)) or (is_single and _is_filterable(output))):
            self.unknown = True
            return node
        return output.copy() if tested is None else _with_filter(output, tested)

    def _is_one_group(self, test: exp.Expr) -> bool:
        """Return whether only one group satisfies a condition and agrees with a row in the outer columns."""
        fixed = {part.this.unnest() for part in conjuncts(test) if _is_constant_test(part)}
        return self._inner_keys <= fixed | self._keys


OF_ONE = (exp.Sum, exp.Max, exp.Min, exp.Avg, exp.AnyValue)
"""Aggregates that are, over one group, what that group has."""


def _read_pivot(case: exp.Case, around: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return column and condition of CASE WHEN condition THEN column END, or of ELSE 0 in a SUM; None for any other."""
    branches, other = case.args.get("ifs") or [], case.args.get("default")
    is_zero = isinstance(other, exp.Literal) and other.this == "0" and isinstance(around, exp.Sum)
    if len(branches) != 1 or not (other is None or isinstance(other, exp.Null) or is_zero):
        return None
    test = branches[0].this
    if case.this is not None:
        test = exp.EQ(this=case.this.copy(), expression=test.copy())
    return branches[0].args["true"], test


def _is_constant_test(part: exp.Expr) -> bool:
    """Return whether a condition is column = constant."""
    return isinstance(part, exp.EQ) and isinstance(part.expression, exp.Literal | exp.Boolean)


def _is_filterable(output: exp.Expr) -> bool:
    """Return whether a group's column consists of aggregates that take FILTER."""
    return bool(output.find(exp.AggFunc)) and not output.find(exp.Window, exp.Subquery, exp.Filter)


def _with_filter(output: exp.Expr, test: exp.Expr) -> exp.Expr:
    """Return a column with its aggregates over the rows that satisfy a condition."""

    def add(node: exp.Expr) -> exp.Expr:
        if isinstance(node.parent, exp.WithinGroup | exp.Filter):
            return node
        if isinstance(node, exp.AggFunc | exp.WithinGroup):
            return exp.Filter(this=node.copy(), expression=exp.Where(this=test.copy()))
        return node

    return output.copy().transform(add)
