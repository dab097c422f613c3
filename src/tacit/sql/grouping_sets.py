"""ROLLUP, CUBE and GROUPING SETS as one question for each set of groups."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = ["has_sets", "questions_of"]

MOST_SETS = 16
"""Maximum sets of one question."""

Keys = tuple[exp.Expr, ...]

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)

WORDS: dict[type[exp.Expr], str] = {exp.Rollup: "rollup", exp.Cube: "cube", exp.GroupingSets: "grouping_sets"}
"""The parser's arguments for WITH ROLLUP and WITH CUBE."""


def has_sets(statement: exp.Expr) -> bool:
    """Return whether a statement groups by several sets of columns."""
    group = statement.args.get("group") if isinstance(statement, exp.Select) else None
    return group is not None and any(_members(group, kind) for kind in SETS)


def questions_of(statement: exp.Select, text: str) -> list[exp.Select]:
    """Return the statement once for each set, without ORDER BY, with NULL for columns that a set leaves out."""
    group = statement.args["group"]
    factors = [[(_key(statement, node),)] for node in group.expressions if not isinstance(node, SETS)]
    plain = tuple(key for factor in factors for keys in factor for key in keys)
    sets: list[list[Keys]] = [[plain]] if plain else []
    for kind in SETS:
        for member in _members(group, kind):
            sets.append(_sets_of(statement, member, plain))
    if any(member for kind in SETS for member in _members(group, kind) if not member.expressions):
        sets = sets[1:]  # WITH ROLLUP and WITH CUBE take the columns before them
    combined = [tuple(itertools.chain(*factors)) for factors in itertools.product(*sets)]
    if len(combined) > MOST_SETS:
        message = (
            f"The question groups by {len(combined)} sets of columns; at most {MOST_SETS} are allowed. Name fewer."
        )
        raise UnsupportedSqlError(message, code="unsupported-group", text=text, span=span_of(group))
    every = list(dict.fromkeys(key for keys in combined for key in keys))
    return [_question(statement, keys, every) for keys in combined]


def _members(group: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    members = [node for node in group.expressions if isinstance(node, kind)]
    more = group.args.get(WORDS[kind])
    return [*members, *(more if isinstance(more, list) else [])]


def _sets_of(statement: exp.Select, member: exp.Expr, plain: Keys) -> list[Keys]:
    """Return the sets of columns of ROLLUP, CUBE or GROUPING SETS."""
    sets = [_keys(statement, node) for node in member.expressions] or [(key,) for key in plain]
    if isinstance(member, exp.GroupingSets):
        return sets
    if isinstance(member, exp.Rollup):
        return [tuple(itertools.chain(*sets[:count])) for count in range(len(sets), -1, -1)]
    chosen = itertools.product((True, False), repeat=len(sets))
    return [tuple(itertools.chain(*itertools.compress(sets, mask))) for mask in chosen]


def _keys(statement: exp.Select, node: exp.Expr) -> Keys:
    inner = node.expressions if isinstance(node, exp.Tuple) else [node.this if isinstance(node, exp.Paren) else node]
    return tuple(_key(statement, key) for key in inner)


def _key(statement: exp.Select, node: exp.Expr) -> exp.Expr:
    """Return a key, with positions and names of output columns replaced by their expressions."""
    outputs = statement.expressions
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(outputs):
        shown: exp.Expr = outputs[int(node.this) - 1].unalias()
        return shown
    named: dict[str, exp.Expr] = {
        output.alias.lower(): output.this for output in outputs if isinstance(output, exp.Alias)
    }
    name = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
    meant = named.get(name, node)
    is_column = any(column.name.lower() == name for column in meant.find_all(exp.Column))  # COALESCE(a, 'all') AS a
    return node if is_column else meant


def _question(statement: exp.Select, keys: Keys, every: Sequence[exp.Expr]) -> exp.Select:
    question = statement.copy()
    question.set("expressions", [_output(node, keys, every) for node in statement.expressions])
    question.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    for word in ("order", "limit", "offset"):
        question.set(word, None)
    return question


def _output(node: exp.Expr, keys: Keys, every: Sequence[exp.Expr]) -> exp.Expr:
    """Return an output column of one set, with NULL for columns of other sets, and GROUPING as its number."""
    inner = node.unalias()
    replaced = _in_set(inner, keys, every)
    if replaced == inner:
        return node.copy()
    return exp.alias_(replaced, node.alias_or_name or inner.sql(dialect="duckdb"), quoted=True)


def _in_set(node: exp.Expr, keys: Keys, every: Sequence[exp.Expr]) -> exp.Expr:
    """Return an expression as a set of columns sees it."""
    if isinstance(node, exp.Grouping):
        number = int("".join("0" if part in keys else "1" for part in node.expressions), 2)
        return exp.cast(exp.Literal.string(str(number)), "BIGINT")  # a label: no estimate

    def see(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.AggFunc) and not isinstance(part, exp.Grouping):
            return part.copy()
        if isinstance(part, exp.Grouping):
            return _in_set(part, keys, every)
        return exp.Null() if part in every and part not in keys else part

    return node.transform(see)
