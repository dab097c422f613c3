"""Columns of a subquery by name: SELECT * and what it stands for, and names that FROM gives to columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.parse_spans import span_of
from tacit.sql.replacing import name_of, spelled_group, with_columns_of, with_name

__all__ = ["BESIDE_STAR", "expand_stars", "outputs_of", "with_column_names"]

BESIDE_STAR = "beside a star"
"""Mark of an expression that SELECT *, … AS name computes: its name, then the tables of the star."""

EXPANDED = "from a star"
"""Mark of an output column that * stood for."""


def is_star(node: exp.Expr) -> bool:
    """Return whether an output column is * or table.*."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def expand_stars(outer: exp.Select, names: Sequence[str], *, keep: bool) -> exp.Select:
    """Return a SELECT whose * is the columns of a subquery, and still * where it has others (``keep``).

    EXCLUDE, REPLACE and RENAME become columns; the columns of services that they hide can still be named.
    """
    if not any(map(is_star, outer.expressions)):
        return outer
    result = outer.copy()
    result.set("expressions", [part for node in outer.expressions for part in _columns_of_star(node, names, keep=keep)])
    return result


def _columns_of_star(node: exp.Expr, names: Sequence[str], *, keep: bool) -> Iterator[exp.Expr]:
    if not is_star(node):
        yield node.copy()
        return
    star = node.this if isinstance(node, exp.Column) else node
    changed = [*(star.args.get("replace") or []), *(star.args.get("rename") or [])]
    hidden = {part.name.lower() for part in star.args.get("except_") or []}
    hidden |= {part.alias.lower() for part in star.args.get("replace") or []}
    hidden |= {part.this.name.lower() for part in star.args.get("rename") or []}
    for name in names:
        if name.lower() not in hidden:
            column = with_name(exp.column(name), name)
            column.meta[EXPANDED] = True
            yield column
    if keep:
        yield exp.Star()
    yield from (part.copy() for part in changed)


def outputs_of(inner: exp.Select, text: str) -> tuple[dict[str, exp.Expr], bool]:
    """Return the columns of a subquery by their names, and whether it has all columns of a service besides."""
    starred = any(map(is_star, inner.expressions))
    tables = tuple(table.name.lower() for table in inner.find_all(exp.Table))
    explicit = [node for node in inner.expressions if not is_star(node)]
    outputs: dict[str, exp.Expr] = {}
    for node in expand_stars(inner, (), keep=True).expressions:
        name = name_of(node).lower()
        if isinstance(node, exp.Star):
            continue
        if name in outputs:
            message = f"The subquery has two columns called {name_of(node)!r}. Give one of them another name with AS."
            raise BindError(message, code="ambiguous-column", text=text, span=span_of(node))
        outputs[name] = node.unalias()
        if starred and isinstance(node, exp.Alias) and node in explicit and not node.meta.get(EXPANDED):
            outputs[name].meta.setdefault(BESIDE_STAR, (node.alias, tables))
    return outputs, starred


def with_column_names(inner: exp.Select, alias: exp.Expr | None, text: str) -> exp.Select:
    """Return a subquery whose columns have the names that FROM or WITH gives them, as in t(month, n)."""
    names = [column.name for column in (alias.args.get("columns") or [])] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return inner
    if any(map(is_star, inner.expressions)) or len(names) > len(inner.expressions):
        message = "Names in parentheses behind a table need a subquery that lists at least as many columns."
        raise UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(inner))
    before, _ = outputs_of(inner, text)
    result = inner.copy()
    shown = [*names, *(name_of(node) for node in inner.expressions[len(names) :])]
    result.set(
        "expressions",
        [with_name(node.unalias().copy(), name) for node, name in zip(inner.expressions, shown, strict=True)],
    )
    result.set("group", spelled_group(inner, before))
    for word in ("having", "qualify", "order"):
        if inner.args.get(word):
            result.set(word, with_columns_of(inner.args[word], "", before))
    return result
