"""Averages of what each person has, as in AVG(spent) of SELECT uid, SUM(amount) AS spent … GROUP BY uid.

A sum over people of a person's sum is the sum over all rows, so the subquery need not be evaluated: SUM(spent) is
SUM(amount), and AVG(spent) divides it by the number of people, COUNT(DISTINCT uid). The binder, which knows the keys,
refuses the latter for any other column.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

__all__ = ["PEOPLE", "merge_per_person"]

PEOPLE = "people of a subquery"
"""Mark of COUNT(DISTINCT …) that stands for the rows of a subquery: the name of its table."""

NOT_PLAIN = ("having", "limit", "offset", "distinct", "qualify", "joins")


def merge_per_person(outer: exp.Select, holder: exp.Expr, inner: exp.Select) -> exp.Select | None:
    """Return the outer SELECT over the rows of the inner one, whose groups are people; None if it is no such pair."""
    group, source = inner.args.get("group"), inner.args.get("from_")
    keys = group.expressions if group is not None else []
    outputs = {str(node.alias_or_name).lower(): node.unalias() for node in inner.expressions}
    table = source.this.copy() if source is not None else None
    if not isinstance(table, exp.Table) or len(keys) != 1 or not isinstance(keys[0], exp.Column):
        return None
    if any(inner.args.get(word) for word in NOT_PLAIN) or outer.args.get("distinct"):
        return None
    alias = str(holder.this.alias or holder.this.name or table.alias_or_name)
    person = _Person(alias, keys[0].name, outputs)
    nodes = [*outer.expressions, *(outer.args[word] for word in ("where", "group", "order") if outer.args.get(word))]
    replaced = {id(node): person.replace(node) for node in nodes}
    if any(outer.args.get(word) for word in ("having", "qualify")) or any(node is None for node in replaced.values()):
        return None
    merged = outer.copy()
    merged.set("expressions", [replaced[id(node)] for node in outer.expressions])
    for word in ("where", "group", "order"):
        if outer.args.get(word):
            merged.set(word, replaced[id(outer.args[word])])
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    holders = [merged.args["from_"], *(merged.args.get("joins") or [])]
    before = [outer.args["from_"], *(outer.args.get("joins") or [])]
    holders[[clause is holder for clause in before].index(True)].set("this", table)
    where = inner.args.get("where")
    if where is not None:
        condition = _with_table(where.this, alias)
        outer_where = merged.args.get("where")
        merged.set("where", exp.Where(this=exp.and_(outer_where.this, condition) if outer_where else condition))
    return merged


class _Person:
    """The columns of a subquery whose groups are people."""

    def __init__(self, alias: str, key: str, outputs: Mapping[str, exp.Expr]) -> None:
        self._alias, self._key, self._outputs = alias, key, outputs

    def replace(self, node: exp.Expr) -> exp.Expr | None:
        """Return a part of the outer SELECT over rows; None if it uses a person's sum otherwise than in SUM or AVG."""
        replaced = node.copy().transform(self._substitute)
        sums = [name for name, output in self._outputs.items() if output.find(exp.AggFunc)]
        left = [
            column for column in replaced.find_all(exp.Column) if column.name.lower() in sums and self._is_mine(column)
        ]
        return None if left or replaced.find(_Unknown) else replaced

    def _substitute(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.AggFunc) or node.meta.get(PEOPLE) or isinstance(node.parent, exp.Window):
            return node
        if isinstance(node, exp.Count) and (node.this is None or isinstance(node.this, exp.Star)):
            return self._people(everybody=True)
        summed = node.this
        everybody = isinstance(summed, exp.Coalesce) and [str(constant) for constant in summed.expressions] == ["0"]
        rows = self._rows(summed.this if everybody else summed)
        if rows is None or not isinstance(node, exp.Sum | exp.Avg | exp.Count):
            return _Unknown(this=node)
        people = self._people(everybody=everybody, summed=rows.this if isinstance(rows, exp.Sum) else None)
        if isinstance(node, exp.Count):
            return people
        return rows if isinstance(node, exp.Sum) else exp.Paren(this=rows / people)

    def _rows(self, node: exp.Expr) -> exp.Expr | None:
        """Return the aggregate over rows that a person's sum or count becomes."""
        output = self._outputs.get(node.name.lower()) if isinstance(node, exp.Column) and self._is_mine(node) else None
        if isinstance(output, exp.Count) and (output.this is None or isinstance(output.this, exp.Star)):
            return exp.Count(this=exp.column(self._key, table=self._alias))
        plain = isinstance(output, exp.Count | exp.Sum) and not output.find(exp.Distinct)
        return _with_table(output, self._alias) if plain and output is not None else None

    def _people(self, *, everybody: bool, summed: exp.Expr | None = None) -> exp.Expr:
        """Return the number of people with rows (in which what is summed is not NULL), or of all people of the join."""
        column: exp.Expr = exp.column(self._key, table=None if everybody else self._alias)
        if summed is not None and not everybody:
            present = exp.Not(this=exp.Is(this=summed.copy(), expression=exp.null()))
            column = exp.Case(ifs=[exp.If(this=present, true=column)])
        people = exp.Count(this=exp.Distinct(expressions=[column]))
        people.meta[PEOPLE] = self._alias.lower()
        return people

    def _is_mine(self, column: exp.Column) -> bool:
        return column.table.lower() in ("", self._alias.lower())


class _Unknown(exp.Expression):
    """An aggregate that has no counterpart over rows."""


def _with_table(node: exp.Expr, alias: str) -> exp.Expr:
    """Return a copy of a node whose columns name the table."""
    named = node.copy()
    for column in named.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias))
    return named
