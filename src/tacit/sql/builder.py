"""A question as data, for screens that build questions from menus: outputs, tables, conditions, groups.

``model_of`` reads a text and ``text_of`` writes one; a round trip keeps the meaning. ``model_of`` checks this for every
text: a question that would change is not supported by the model, and stays text.

A model is plain JSON::

    {"outputs": [{"kind": "group", "column": "region", "name": ""},
                 {"kind": "measure", "function": "AVG", "of": "income", "where": null, "name": "mean"},
                 {"kind": "formula", "text": "2 * AVG(age) - 1", "name": "x"}],
     "tables": [{"name": "shop", "alias": ""}, {"name": "clinic", "alias": "", "using": "uid"}],
     "where": {"all": [{"column": "age", "op": ">=", "value": {"number": "30"}},
                       {"any": [{"column": "region", "op": "in", "values": [{"text": "north"}, {"text": "east"}]},
                                {"not": {"column": "visits", "op": "between", "values": [{"number": "1"}, …]}}]}]},
     "group": ["region"], "having": null, "order": [{"by": "mean", "descending": true}], "limit": 10}

Columns are texts as SQL writes them (``shop.age``); constants are ``number``, ``text``, ``date``, ``flag``, or another
``column``.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tacit.errors import QueryError, UnsupportedSqlError, UsageError
from tacit.sql.parse import parse, span_of, sql_of
from tacit.sql.predicates import MIRRORED
from tacit.sql.public import is_list, literal_of
from tacit.sql.scalars import COMPARISONS
from tacit.sql.semijoins import SEMI_JOIN
from tacit.sql.writing import FUNCTIONS, text_of

__all__ = ["Model", "model_of", "normalise", "text_of"]

Model = dict[str, Any]

NAMES = {kind: name for name, kind in FUNCTIONS.items()}
SIGNS = {sign: kind for kind, sign in COMPARISONS.items()}


class _Outside(Exception):  # noqa: N818  never leaves this module
    """A construct that the model does not support."""

    def __init__(self, node: exp.Expr | None = None) -> None:
        super().__init__()
        self.node = node


def model_of(text: str) -> Model:
    """Return a question as a model; refuse one that a round trip would change."""
    statement = parse(text)
    place: exp.Expr | None = None
    try:
        if any(node.comments for node in statement.walk()):
            raise _Outside
        model = _Reader().model(statement)
        if normalise(parse(text_of(model))) == normalise(statement):
            return model
    except _Outside as outside:
        place = outside.node
    except (QueryError, UsageError):
        pass  # the written text cannot be parsed
    message = "The builder cannot show this question. You can still run it as SQL."
    raise UnsupportedSqlError(message, code="outside-builder", text=text, span=span_of(place) if place else None)


def normalise(statement: exp.Expr) -> exp.Expr:
    """Normalise everything that does not change a statement's meaning: parentheses, quotes, sides of comparisons."""
    normal = statement.copy()
    for node in reversed(list(normal.walk())):  # from the leaves up; replacing a node keeps what is below it
        plainer = _plainer(node)
        if plainer is not node:
            node.replace(plainer)
    return normal


def _plainer(node: exp.Expr) -> exp.Expr:
    """Normalise a node whose children are normalised already."""
    if isinstance(node, exp.Paren):
        return _inner(node)
    if type(node) in COMPARISONS and literal_of(node.this) and isinstance(node.expression, exp.Column):
        mirrored = SIGNS[MIRRORED[COMPARISONS[type(node)]]]
        return mirrored(this=node.expression, expression=node.this)
    if isinstance(node, exp.And | exp.Or):
        first, *others = _flat(node, type(node))
        for other in others:
            first = type(node)(this=first, expression=other)
        return first
    if isinstance(node, exp.Identifier):
        return exp.to_identifier(node.name, quoted=False)
    return node


def _inner(node: exp.Expr) -> exp.Expr:
    return _inner(node.this) if isinstance(node, exp.Paren) else node


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return the operands of a connector, with nested parentheses flattened."""
    node = _inner(node)
    if isinstance(node, kind) and isinstance(node, exp.Connector):
        return _flat(node.left, kind) + _flat(node.right, kind)
    return [node]


class _Reader:
    """Reads the clauses of a statement."""

    def model(self, statement: exp.Select) -> Model:
        """Return the model of a statement."""
        where, having, group, order, limit = (
            statement.args.get(word) for word in ("where", "having", "group", "order", "limit")
        )
        if group and any(value for word, value in group.args.items() if word != "expressions"):
            raise _Outside(group)
        grouped = [sql_of(node) for node in group.expressions] if group else []
        return {
            "outputs": [self._output(node, grouped) for node in statement.expressions],
            "tables": self._tables(statement),
            "where": self._condition(where.this) if where else None,
            "group": grouped,
            "having": self._condition(having.this) if having else None,
            "order": [self._order(item) for item in order.expressions] if order else [],
            "limit": self._limit(limit),
        }

    def _output(self, node: exp.Expr, grouped: list[str]) -> Model:
        name, inner = (node.alias, node.this) if isinstance(node, exp.Alias) else ("", node)
        if isinstance(inner, exp.Column):
            return {"kind": "group", "column": self._column(inner), "name": name}
        where = None
        aggregate = inner
        if isinstance(inner, exp.Filter):
            where, aggregate = self._condition(inner.expression.this), inner.this
        if type(aggregate) in NAMES:
            of = aggregate.this
            distinct = isinstance(of, exp.Distinct)
            written = ", ".join(sql_of(argument) for argument in (of.expressions if distinct else [of]) if argument)
            measure = {"kind": "measure", "function": NAMES[type(aggregate)], "of": written or "*", "name": name}
            return measure | {"distinct": distinct, "where": where}
        kind = "bands" if name in grouped or not inner.find(exp.AggFunc) else "formula"
        return {"kind": kind, "text": sql_of(inner), "name": name}

    def _column(self, node: exp.Expr) -> str:
        if not isinstance(node, exp.Column) or node.args.get("db") or isinstance(node.this, exp.Star):
            raise _Outside(node)
        return sql_of(node)

    def _tables(self, statement: exp.Select) -> list[Model]:
        source = statement.args.get("from_")
        if source is None:
            raise _Outside
        tables = [self._table(source.this)]
        for join in statement.args.get("joins") or []:
            words = {word for word, value in join.args.items() if value} - {"this", "kind", "using", "on"}
            if words or join.meta.get(SEMI_JOIN) or str(join.args.get("kind") or "INNER").upper() != "INNER":
                raise _Outside(join)
            using, on = join.args.get("using"), join.args.get("on")
            table = self._table(join.this)
            if using and len(using) == 1:
                tables.append(table | {"using": using[0].name})
            elif isinstance(on, exp.EQ):
                tables.append(table | {"on": [self._column(on.this), self._column(on.expression)]})
            else:
                raise _Outside(join)
        return tables

    def _table(self, node: exp.Expr) -> Model:
        if not isinstance(node, exp.Table) or {word for word, value in node.args.items() if value} - {"this", "alias"}:
            raise _Outside(node)
        return {"name": node.name, "alias": node.alias}

    def _condition(self, node: exp.Expr) -> Model:
        node = _inner(node)
        if isinstance(node, exp.And | exp.Or):
            word = "all" if isinstance(node, exp.And) else "any"
            return {word: [self._condition(part) for part in _flat(node, type(node))]}
        if isinstance(node, exp.Not):
            inner = _inner(node.this)
            condition = self._condition(inner)
            if isinstance(inner, exp.In | exp.Is) and inner is node.this:  # written NOT IN and IS NOT NULL
                return condition | {"op": "not in" if isinstance(inner, exp.In) else "is not null"}
            return {"not": condition}
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            ends = [self._constant(node.args[word]) for word in ("low", "high")]
            return {"column": self._column(_inner(node.this)), "op": "between", "values": ends}
        if isinstance(node, exp.In) and is_list(node):
            values = [self._constant(item) for item in node.expressions]
            return {"column": self._column(_inner(node.this)), "op": "in", "values": values}
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return {"column": self._column(_inner(node.this)), "op": "is null"}
        if type(node) not in COMPARISONS:
            raise _Outside(node)
        left, right, sign = _inner(node.this), _inner(node.expression), COMPARISONS[type(node)]
        if not isinstance(left, exp.Column):
            left, right, sign = right, left, MIRRORED[sign]
        return {"column": self._column(left), "op": sign, "value": self._constant(right)}

    def _constant(self, node: exp.Expr) -> Model:
        if isinstance(node, exp.Column):
            return {"column": self._column(node)}
        if isinstance(node, exp.Boolean):
            return {"flag": bool(node.this)}
        literal = literal_of(node)
        if literal is None:
            raise _Outside(node)
        if isinstance(_inner(node), exp.Cast):
            return {"date": literal[0]}
        return {"text": literal[0]} if literal[1] else {"number": literal[0]}

    def _order(self, item: exp.Expr) -> Model:
        return {"by": sql_of(item.this), "descending": bool(item.args.get("desc"))}

    def _limit(self, node: exp.Expr | None) -> int | None:
        count = node.args.get("expression") if node else None
        if node is None:
            return None
        if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
            raise _Outside(node)
        return int(str(count.this)[:18])
