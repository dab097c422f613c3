"""Rounds of a panel in a forecast: all have the same expected error, so one prediction serves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tacit.contract.panel import Panel
from tacit.errors import UnsupportedSqlError
from tacit.sql.predicates import conjuncts

__all__ = ["Rounds", "one_round"]


@dataclass(frozen=True)
class Rounds:
    """The rounds that a question covers, and the name and place of their column, if its answer has one."""

    labels: Sequence[str]
    shown: tuple[int, str] | None

    def spread(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
        """Repeat the rows of one round for every round."""
        at, head = (self.shown[0], [self.shown[1]]) if self.shown else (0, [])
        labels = [[label] if self.shown else [] for label in self.labels]
        return [*names[:at], *head, *names[at:]], [[*row[:at], *label, *row[at:]] for label in labels for row in rows]


def one_round(statement: exp.Select, panel: Panel, text: str) -> tuple[exp.Select, Rounds | None]:
    """Reduce a question to one round, and return it with the rounds it covers; None if it names no round.

    Questions may group by, show, order by and select rounds (= or IN); questions that compare rounds are refused.
    """
    if not any(map(_is_round, statement.find_all(exp.Column))):
        return statement, None
    labels = [panel.label(number) for number in range(1, panel.rounds + 1)]
    rewritten = statement.copy()
    where = rewritten.args.get("where")
    for leaf in conjuncts(where.this if where else None):
        if (chosen := _rounds_of(leaf)) is not None:
            labels = [label for label in labels if label in chosen]
            leaf.replace(exp.true())
    if where and all(isinstance(leaf, exp.Boolean) for leaf in conjuncts(where.this)):
        rewritten.set("where", None)
    elif where:
        conditions = [leaf.copy() for leaf in conjuncts(where.this) if not isinstance(leaf, exp.Boolean)]
        rewritten.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    place = next((i for i, shown in enumerate(rewritten.expressions) if _is_round(shown.unalias())), None)
    name = "round" if place is None else rewritten.expressions[place].alias_or_name
    grouped, ordered = (
        [expression for expression in rewritten.args[part].expressions if _means_round(expression, place)]
        if rewritten.args.get(part)
        else []
        for part in ("group", "order")
    )
    if ordered and ordered[0] is rewritten.args["order"].expressions[0] and ordered[0].args.get("desc"):
        labels.reverse()
    for part in ("group", "order"):
        if rewritten.args.get(part):
            left = [
                expression for expression in rewritten.args[part].expressions if not _means_round(expression, place)
            ]
            rewritten.args[part].set("expressions", [_renumber(item, place) for item in left])
            if not left:
                rewritten.set(part, None)
    if place is not None:
        rewritten.set("expressions", [column for i, column in enumerate(rewritten.expressions) if i != place])
    is_one = bool(grouped) or (len(labels) == 1 and place is None)
    compares = any(map(_is_round, rewritten.find_all(exp.Column))) or bool(rewritten.args.get("limit"))
    if not is_one or compares or not rewritten.expressions or not labels:
        message = (
            "Predict rounds of a panel by GROUP BY round, or one by round = '…'. All have the same predicted error; "
            "sums and comparisons of rounds have none."
        )
        raise UnsupportedSqlError(message, code="not-predictable", text=text)
    return rewritten, Rounds(labels, None if place is None else (place, name))


def _is_round(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == "round"


def _rounds_of(leaf: exp.Expr) -> set[str] | None:
    """Return the rounds that a condition selects; None if it is another kind of condition."""
    if isinstance(leaf, exp.In) and _is_round(leaf.this) and leaf.expressions:
        texts = leaf.expressions
    elif isinstance(leaf, exp.EQ) and (_is_round(leaf.this) or _is_round(leaf.expression)):
        texts = [leaf.expression if _is_round(leaf.this) else leaf.this]
    else:
        return None
    is_text = all(isinstance(text, exp.Literal) and text.is_string for text in texts)
    return {text.name for text in texts} if is_text else None


def _means_round(item: exp.Expr, place: int | None) -> bool:
    """Return whether an item of GROUP BY or ORDER BY is the round, by name or position."""
    inner = item.this if isinstance(item, exp.Ordered) else item
    return _is_round(inner) or (isinstance(inner, exp.Literal) and place is not None and inner.name == str(place + 1))


def _renumber(item: exp.Expr, place: int | None) -> exp.Expr:
    """Return an item whose position does not count the round's column."""
    inner = item.this if isinstance(item, exp.Ordered) else item
    if place is not None and isinstance(inner, exp.Literal) and inner.is_int and int(inner.name) > place + 1:
        inner.replace(exp.Literal.number(int(inner.name) - 1))
    return item
